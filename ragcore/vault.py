"""The vault: opens and seals the credentials of accounts (`contracts/cozy.md`, Assistants, accounts, conversations).

Who answers questions needs the key that opens, who takes accounts in the one that seals: each reads its own file.
"""

import base64
import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nacl.exceptions import CryptoError
from nacl.public import Box, PrivateKey, PublicKey

from ragcore import config
from ragcore.config import ConfigError
from ragcore.errors import RagcoreError

PREFIX = b"nacl"
LENGTH = 4  # bytes of the login's length, big endian

_OPENS = "vault.credentials_decryptor_key"
_SEALS = "vault.credentials_encryptor_key"
_PEM = re.compile(r"-----BEGIN NACL KEY-----\s(.*?)-----END NACL KEY-----", re.DOTALL)


class Sealed(RagcoreError):
    """Credentials that cannot be opened: they are damaged, made for other keys, or there are no keys."""


class NoKey(RagcoreError):
    """A secret that cannot be sealed: no key is configured."""


@dataclass(frozen=True)
class Credentials:
    login: str = field(repr=False)
    password: str = field(repr=False)


class Vault:
    """Without keys, it opens nothing. Nothing of a key or of credentials is in its errors."""

    def __init__(self, box: Box | None = None) -> None:
        self._box = box

    @classmethod
    def load(cls, files: config.Vault) -> "Vault":
        """Raises ConfigError. Only the decryptor's file is read."""
        path = files.credentials_decryptor_key
        return cls(_read_key(_OPENS, Path(path))) if path else cls()

    def open(self, sealed: str) -> Credentials:
        """Raises Sealed, which holds no cause: the cause of a text that is not UTF-8 would hold the text."""
        if self._box is None:
            raise Sealed(f"no key is configured ({_OPENS})")
        credentials = _open(self._box, sealed)
        if credentials is None:
            raise Sealed("the credentials are damaged, or were made for another key")
        return credentials


class Sealer:
    """Without a key, it seals nothing."""

    def __init__(self, box: Box | None = None) -> None:
        self._box = box

    @classmethod
    def load(cls, files: config.Vault) -> "Sealer":
        """Raises ConfigError. Only the encryptor's file is read."""
        path = files.credentials_encryptor_key
        return cls(_read_key(_SEALS, Path(path))) if path else cls()

    def credentials(self, login: str, password: str) -> str:
        """What `Vault.open` opens. Raises NoKey."""
        name = login.encode()
        return self._seal(len(name).to_bytes(LENGTH, "big") + name + password.encode())

    def data(self, value: Any) -> str:
        """Any value, as JSON, in a box of the same kind. Raises NoKey."""
        return self._seal(json.dumps(value).encode())

    def _seal(self, plain: bytes) -> str:
        if self._box is None:
            raise NoKey(f"the account holds a secret, and no key is configured to seal it ({_SEALS})")
        return base64.b64encode(PREFIX + self._box.encrypt(plain)).decode()


def _read_key(key: str, path: Path) -> Box:
    try:
        blocks = _PEM.findall(path.read_text(encoding="ascii"))
    except OSError as error:
        raise ConfigError(f"{key}: {path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        blocks = []
    box = _box(blocks[0]) if len(blocks) == 1 else None
    if box is None:
        raise ConfigError(f"{key}: {path}: must hold one PEM block of type NACL KEY, of 64 bytes")
    return box


def _box(block: str) -> Box | None:
    """Of a public key, the other side's, and a private key."""
    try:
        keys = base64.b64decode("".join(block.split()), validate=True)
        return Box(PrivateKey(keys[PublicKey.SIZE :]), PublicKey(keys[: PublicKey.SIZE]))
    except (ValueError, CryptoError):
        return None


def _open(box: Box, sealed: str) -> Credentials | None:
    try:
        data = base64.b64decode(sealed, validate=True)
        if not data.startswith(PREFIX):
            return None
        plain = box.decrypt(data[len(PREFIX) :])  # a nonce, then the box
        end = LENGTH + int.from_bytes(plain[:LENGTH], "big")
        return Credentials(plain[LENGTH:end].decode(), plain[end:].decode()) if LENGTH <= end <= len(plain) else None
    except (ValueError, CryptoError):
        return None
