"""Keys and credentials as the Cozy stack makes them, fixed: made with Go's `x/crypto/nacl/box`."""

import base64
from pathlib import Path

from nacl.public import Box, PrivateKey

SENDER, RECEIVER = PrivateKey(b"\1" * 32), PrivateKey(b"\2" * 32)
ENCRYPTOR = """\
-----BEGIN NACL KEY-----
zo060cy2M+x7cMF4FKXHbs0CloUFDTRHRboFhw5YfVkBAQEBAQEBAQEBAQEBAQEB
AQEBAQEBAQEBAQEBAQEBAQ==
-----END NACL KEY-----
"""
DECRYPTOR = """\
-----BEGIN NACL KEY-----
pOCSkrZRwni5dyxWn1+puxPZBrRqtoyd+dwrRAn4ogkCAgICAgICAgICAgICAgIC
AgICAgICAgICAgICAgICAg==
-----END NACL KEY-----
"""
LOGIN, PASSWORD = "old-model", "sk-clé-1234"
PROVIDER_KEY, PROVIDER_URL = 'sk-clé/12"34-and-more', "https://me:pass%20word@llm.test/v1?token=t0ken"
PROVIDER_PARTS = ("sk-cl", "34-and-more", "pass%20word", "t0ken")  # in whatever spelling
ACCOUNT_KEY = "sk-very-secret"
PASSPHRASE = "correct horse: bättery"
DATABASE_USER, DATABASE_PASSWORD = "owner", "p4ssw0rd-of-the-database"
SEALED = "bmFjbAcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHB58YHXNIR9Vl3ls54tCytB0ohNZilEjdN5TD9xJPSZ6OfjQYYvET3ddt"


def sealed(plain: bytes, prefix: bytes = b"nacl") -> str:
    """Any bytes in a box that the decryptor opens."""
    return base64.b64encode(prefix + Box(SENDER, RECEIVER.public_key).encrypt(plain)).decode()


def sealed_credentials(login: str, password: str) -> str:
    return sealed(len(login.encode()).to_bytes(4, "big") + login.encode() + password.encode())


def encryptor_file(folder: Path, text: str = ENCRYPTOR) -> Path:
    path = folder / "encryptor.pem"
    path.write_text(text)
    return path


def decryptor_file(folder: Path, text: str = DECRYPTOR) -> Path:
    path = folder / "decryptor.pem"
    path.write_text(text)
    return path
