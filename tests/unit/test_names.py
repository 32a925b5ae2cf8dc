"""Which names and passwords are good, and what two spellings share."""

from __future__ import annotations

import statistics
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.errors import SettingsError
from annotation.passwords import Passwords, check_password
from annotation.wording import LONGEST_NAME, check_name, name_key
from tests.people import CHEAP, OTHER, PASSWORD


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ana", "ANA"),
        ("Ana", "  ana "),
        ("Ana", "Ａｎａ"),
        ("Straße", "STRASSE"),
        ("Zoë", "Zoe\u0308"),
        ("Ana Maria", "ana\u00a0maria"),
        ("Ana", "A\u200dna"),
        ("ﬁona", "Fiona"),
    ],
)
def test_two_spellings_of_a_name_are_one_account(one, other):
    assert name_key(one) == name_key(other)


@given(st.text(max_size=60))
def test_the_key_of_a_key_is_itself(name):
    assert name_key(name_key(name)) == name_key(name)


@pytest.mark.parametrize(
    "name", ["Ana", "李雷", "محمد", "O'Brien-Ng", "news/1", "<b>x</b>", "👩‍🔬", "می‌خواهم", "x" * LONGEST_NAME]
)
def test_a_name_in_any_script_is_kept_as_it_is(name):
    assert check_name(f" {name} ") == name


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "is empty"),
        (" \u3000 ", "is empty"),
        ("\u0301", "is empty"),
        ("a\tb", r"U\+0009"),
        ("a\x00b", r"U\+0000"),
        ("safe\u202eexe", r"U\+202E"),
        ("zero\u200bwidth", r"U\+200B"),
        ("\u2066x", r"U\+2066"),
        ("half \ud800", r"U\+D800"),
        ("x" * 81, "81 characters"),
        ("\ufdfa" * 20, "written out"),
    ],
)
def test_a_name_that_deceives_or_does_not_fit_is_explained(name, reason):
    with pytest.raises(SettingsError, match=reason):
        check_name(name)


@pytest.mark.parametrize(
    "password", [PASSWORD, "пароль из слов", "一二三四五六七八九十", "ab1 " * 256, "🐴🔋✂️📎🏔️ horse"]
)
def test_length_is_all_that_a_password_needs(password):
    check_password(password, "Ana")


@pytest.mark.parametrize(
    ("password", "reason"),
    [
        ("", "0 characters"),
        ("9 letters", "9 characters"),
        ("x y z " * 200, "at most 1024"),
        ("Ana Maria Perez", "is the name"),
        ("aaaaaaaaaaaa", "easy to guess"),
        ("1234567890", "easy to guess"),
        ("Password123", "easy to guess"),
    ],
)
def test_a_password_that_would_be_guessed_is_refused(password, reason):
    with pytest.raises(SettingsError, match=reason):
        check_password(password, "ANA  maria perez")


def test_hashes_are_argon2id_with_the_recommended_settings():
    made = Passwords().hash(PASSWORD)
    assert made.startswith("$argon2id$v=19$m=19456,t=2,p=1$")
    assert Passwords().fits(made, PASSWORD)
    assert not Passwords().fits(made, PASSWORD + " ")
    assert Passwords().fits(Passwords().hash("cafe\u0301 society"), "café society")


def test_nobody_has_the_password_of_an_account_without_one():
    for password in ("", "x", "\x00" * 32, PASSWORD):
        assert not CHEAP.fits(None, password)


def test_a_name_that_nobody_has_takes_as_long_as_a_wrong_password():
    passwords = Passwords()
    made = passwords.hash(PASSWORD)

    def seconds(password_hash: str | None) -> float:
        start = time.perf_counter()
        passwords.fits(password_hash, OTHER)
        return time.perf_counter() - start

    pairs = [(seconds(made), seconds(None)) for _ in range(9)]
    known, unknown = (statistics.median(column) for column in zip(*pairs, strict=True))
    assert 0.5 < unknown / known < 2
