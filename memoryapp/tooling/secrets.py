"""Tokens of other servers at rest: encrypted by a key that is derived from ``SECRET_KEY``.

A copy of the database alone opens none of them. ``SECRET_KEY_FALLBACKS`` still opens what an earlier key has sealed.
"""

import base64

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

from memoryapp.errors import MemoryAppError

_PURPOSE = b"strata: tokens of tool servers"  # so that no other use of SECRET_KEY has the same key


class SecretKeyChangedError(MemoryAppError):
    """What was sealed under another ``SECRET_KEY`` cannot be opened."""

    code = "secret_key_changed"
    http_status = 409


def seal(secret: str) -> str:
    """The secret, encrypted and authenticated; empty stays empty."""
    return _fernet().encrypt(secret.encode()).decode() if secret else ""


def unseal(sealed: str) -> str:
    """Raises ``SecretKeyChangedError``."""
    if not sealed:
        return ""
    try:
        return _fernet().decrypt(sealed).decode()
    except InvalidToken as error:
        raise SecretKeyChangedError(
            "The stored token cannot be read: SECRET_KEY has changed since it was entered. An admin has to enter it "
            "again, or put the old key into SECRET_KEY_FALLBACKS."
        ) from error


def _fernet() -> MultiFernet:
    return MultiFernet([_of_key(key) for key in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)])


def _of_key(secret_key: str | bytes) -> Fernet:
    material = secret_key.encode() if isinstance(secret_key, str) else secret_key
    # No salt: the key has to be the same in every process. RFC 5869 allows that for strong input, and SECRET_KEY is.
    derived = HKDF(algorithm=SHA256(), length=32, salt=None, info=_PURPOSE).derive(material)
    return Fernet(base64.urlsafe_b64encode(derived))
