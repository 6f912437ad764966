"""A certificate of this machine, which is its own authority."""

import subprocess
from pathlib import Path


def make(folder: Path) -> Path:
    """Its file, with `key.pem` beside it."""
    certificate = folder / "certificate.pem"
    made = (
        *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1"),
        *("-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"),
        *("-keyout", folder / "key.pem", "-out", certificate),
    )
    subprocess.run(made, check=True, capture_output=True)
    return certificate
