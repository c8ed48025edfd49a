"""Certificates of servers that tests start."""

import subprocess
from pathlib import Path


def certificate(folder: Path, name: str) -> Path:
    """Signed by itself, its key in the same file. `name` is like `IP:127.0.0.1` or `DNS:other.example`."""
    place = folder / "certificate.pem"
    words = ["-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=test", "-addext", f"subjectAltName={name}"]
    subprocess.run(["openssl", "req", "-x509", *words, "-keyout", place, "-out", folder / "c.pem"], check=True,
                   capture_output=True)  # fmt: skip
    place.write_text(place.read_text() + (folder / "c.pem").read_text())
    return place
