import base64
import contextlib
import traceback
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nacl.public import Box

from ragcore import config
from ragcore.config import ConfigError
from ragcore.vault import NoKey, Sealed, Sealer, Vault
from tests.support.vault import (
    DECRYPTOR,
    ENCRYPTOR,
    LOGIN,
    PASSWORD,
    RECEIVER,
    SEALED,
    SENDER,
    decryptor_file,
    encryptor_file,
    sealed,
    sealed_credentials,
)

VAULT = Vault(Box(RECEIVER, SENDER.public_key))
KEY = "vault.credentials_decryptor_key"


def load(path: Path | str) -> Vault:
    return Vault.load(config.Vault(credentials_decryptor_key=str(path)))


def pem(data: bytes, kind: str = "NACL KEY") -> str:
    return f"-----BEGIN {kind}-----\n{base64.encodebytes(data).decode()}-----END {kind}-----\n"


def opened(vault: Vault, text: str) -> tuple[str, str]:
    credentials = vault.open(text)
    return credentials.login, credentials.password


@pytest.mark.parametrize("text", [DECRYPTOR, f"made in 2026\n\n{DECRYPTOR}\n", DECRYPTOR.replace("\n", "\r\n")])
def test_credentials_that_a_stack_sealed_are_opened(tmp_path: Path, text: str) -> None:
    assert opened(load(decryptor_file(tmp_path, text)), SEALED) == (LOGIN, PASSWORD)


@given(st.text(), st.text())
def test_what_is_sealed_is_opened(login: str, password: str) -> None:
    assert opened(VAULT, sealed_credentials(login, password)) == (login, password)


BOXED = base64.b64decode(SEALED)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nacl",
        "é",
        "not base64!",
        f"{SEALED[:8]}!{SEALED[8:]}",
        SEALED[:-1],
        SEALED[:-4],
        SEALED[4:],
        SEALED + "AAAA",
        base64.b64encode(BOXED[:4]).decode(),
        base64.b64encode(BOXED[:28]).decode(),
        base64.b64encode(BOXED[:43]).decode(),
        sealed(b"\0\0\0\0", prefix=b"NACL"),
        sealed(b"\0\0\0\0", prefix=b""),
        sealed(b""),
        sealed(b"\0\0\0"),
        sealed(b"\0\0\0\x0asecretkey"),  # a login longer than all that is there
        sealed(b"\xff\xff\xff\xffsecretkey"),
        sealed(b"\0\0\0\0secretkey\xff"),
        sealed(b"\0\0\0\x01\xffsecretkey"),
    ],
    ids=lambda text: "sealed",  # each run seals anew
)
def test_damaged_credentials_are_told_without_their_content(text: str) -> None:
    with pytest.raises(Sealed) as caught:
        VAULT.open(text)
    assert str(caught.value) == "the credentials are damaged, or were made for another key"
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)


@pytest.mark.parametrize("place", range(len(BOXED)))
def test_a_changed_byte_is_damage(place: int) -> None:
    changed = bytearray(BOXED)
    changed[place] ^= 1
    with pytest.raises(Sealed):
        VAULT.open(base64.b64encode(changed).decode())


@given(st.text() | st.binary().map(sealed) | st.binary().map(lambda data: base64.b64encode(data).decode()))
def test_anything_else_is_sealed_or_opened(text: str) -> None:
    with contextlib.suppress(Sealed):
        VAULT.open(text)


def test_keys_of_somebody_else_open_nothing(tmp_path: Path) -> None:
    other = load(decryptor_file(tmp_path, pem(bytes(SENDER.public_key) + b"\3" * 32)))
    with pytest.raises(Sealed, match="another key"):
        other.open(SEALED)


def test_without_a_key_nothing_is_opened() -> None:
    with pytest.raises(Sealed, match=KEY):
        load("").open(SEALED)


def test_the_file_of_the_encryptor_is_not_read(tmp_path: Path) -> None:
    files = config.Vault(
        credentials_encryptor_key=str(tmp_path / "missing"), credentials_decryptor_key=str(decryptor_file(tmp_path))
    )
    assert opened(Vault.load(files), SEALED) == (LOGIN, PASSWORD)


SECRET = b"\2" * 32


@pytest.mark.parametrize(
    "text",
    [
        "",
        "secret",
        "é",
        pem(SECRET + SECRET, "PRIVATE KEY"),
        pem(SECRET + SECRET[:-1]),
        pem(SECRET + SECRET + b"\0"),
        pem(b""),
        pem(b"\0" * 32 + SECRET),  # a public key that gives no secret
        DECRYPTOR + ENCRYPTOR,
        DECRYPTOR.replace("AgIC", "!!!!"),
        DECRYPTOR.removesuffix("-----END NACL KEY-----\n"),
    ],
)
def test_a_file_that_holds_no_key_is_a_mistake_that_names_it(tmp_path: Path, text: str) -> None:
    path = decryptor_file(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        load(path)
    assert str(caught.value) == f"{KEY}: {path}: must hold one PEM block of type NACL KEY, of 64 bytes"
    assert caught.value.__context__ is None


def test_a_file_that_cannot_be_read_is_a_mistake_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=f"^{KEY}: .*missing.pem: cannot be read"):
        load(tmp_path / "missing.pem")


def test_nothing_of_credentials_is_in_a_repr_or_a_trace() -> None:
    shown = repr(VAULT) + repr(VAULT.open(SEALED))
    damaged = sealed(len(LOGIN).to_bytes(4, "big") + LOGIN.encode() + PASSWORD.encode() + b"\xff")
    try:
        VAULT.open(damaged)
    except Sealed as error:
        shown += "".join(traceback.format_exception(error)) + repr(error)
    assert [secret for secret in (LOGIN, PASSWORD, "sk-cl", damaged) if secret in shown] == []


def sealer(path: Path | str) -> Sealer:
    return Sealer.load(config.Vault(credentials_encryptor_key=str(path)))


@pytest.mark.parametrize(("login", "password"), [(LOGIN, PASSWORD), ("", ""), ("é" * 300, "p")])
def test_what_the_sealer_seals_the_vault_opens(tmp_path: Path, login: str, password: str) -> None:
    sealed_text = sealer(encryptor_file(tmp_path)).credentials(login, password)
    assert base64.b64decode(sealed_text).startswith(b"nacl")
    assert opened(load(decryptor_file(tmp_path)), sealed_text) == (login, password)


def test_the_same_credentials_are_never_sealed_alike(tmp_path: Path) -> None:
    made = sealer(encryptor_file(tmp_path))
    assert made.credentials(LOGIN, PASSWORD) != made.credentials(LOGIN, PASSWORD)


def test_without_a_key_nothing_is_sealed() -> None:
    with pytest.raises(NoKey, match="vault.credentials_encryptor_key") as caught:
        sealer("").credentials(LOGIN, PASSWORD)
    assert PASSWORD not in str(caught.value)


def test_a_file_of_the_encryptor_that_holds_no_key_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="^vault.credentials_encryptor_key: "):
        sealer(encryptor_file(tmp_path, "none"))
