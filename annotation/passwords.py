"""Passwords: which are good enough, and keeping them as argon2 hashes."""

from __future__ import annotations

import base64
import threading
import unicodedata

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from annotation.errors import SettingsError
from annotation.translation import _
from annotation.wording import name_key

SHORTEST_PASSWORD = 10
LONGEST_PASSWORD = 1024
FEWEST_CHARACTERS = 4
"""At least this many different ones: aaaaaaaaaa is as long as it is easy."""

AT_ONCE = 2
"""Each hash being made takes MEMORY_KIB and a core."""

# The second of the settings that OWASP calls equal (Password Storage Cheat Sheet): 19 MiB, two passes.
MEMORY_KIB = 19 * 1024
PASSES = 2
LANES = 1

_COMMON_WORDS = """
1234567890 0123456789 0987654321 9876543210 12345678910 123456789a q1w2e3r4t5 1q2w3e4r5t
qwertyuiop qwerty12345 qwerty123456 password12 password123 password1234 passwordpassword
iloveyou12 iloveyou123 administrator changeme123 letmein123 welcome123 abcdefghij abcdefghijk
abc1234567 1qaz2wsx3edc keyphrases annotation1 annotations
"""
COMMON = frozenset(_COMMON_WORDS.split())
"""Those that a guesser tries first, of the length that is allowed."""


def check_password(password: str, name: str) -> None:
    """Length is what counts (NIST SP 800-63B); no kind of character is asked for.

    Raises:
        SettingsError: anybody would guess it.
    """
    length = len(_normal(password))
    if length < SHORTEST_PASSWORD:
        raise SettingsError(
            _(
                "The password has {length} characters: use at least {least}.",
                length=length,
                least=SHORTEST_PASSWORD,
            )
        )
    if length > LONGEST_PASSWORD:
        raise SettingsError(
            _(
                "The password has {length} characters: use at most {most}.",
                length=length,
                most=LONGEST_PASSWORD,
            )
        )
    folded = name_key(password)
    if folded == name_key(name):
        raise SettingsError(_("The password is the name: choose another."))
    if len(set(folded)) < FEWEST_CHARACTERS or folded in COMMON:
        raise SettingsError(_("The password is easy to guess: choose another."))


class Passwords:
    """Makes and checks hashes, a few at a time: many who sign in at once must not use up the memory."""

    def __init__(self, *, memory_kib: int = MEMORY_KIB, passes: int = PASSES, lanes: int = LANES) -> None:
        self._hasher = PasswordHasher(time_cost=passes, memory_cost=memory_kib, parallelism=lanes)
        self._turns = threading.BoundedSemaphore(AT_ONCE)
        salt, digest = (base64.b64encode(bytes(size)).decode().rstrip("=") for size in (16, 32))
        self._nobody = f"$argon2id$v=19$m={memory_kib},t={passes},p={lanes}${salt}${digest}"

    def hash(self, password: str) -> str:
        with self._turns:
            return self._hasher.hash(_encode(password))

    def checked_hash(self, password: str, name: str) -> str:
        """The hash of a new password for the account of that name.

        Raises:
            SettingsError: anybody would guess it.
        """
        check_password(password, name)
        return self.hash(password)

    def fits(self, password_hash: str | None, password: str) -> bool:
        """Whether the password is the one; without a hash it takes as long, and is not."""
        if len(password) > LONGEST_PASSWORD:
            return False
        with self._turns:
            try:
                self._hasher.verify(password_hash or self._nobody, _encode(password))
            except (VerificationError, InvalidHashError):
                return False
        return password_hash is not None

    def is_outdated(self, password_hash: str) -> bool:
        """Whether the hash was made with other settings than today's."""
        return self._hasher.check_needs_rehash(password_hash)


def _normal(password: str) -> str:
    """Keyboards write é in two ways."""
    return unicodedata.normalize("NFKC", password)


def _encode(password: str) -> bytes:
    return _normal(password).encode("utf-8", "surrogatepass")
