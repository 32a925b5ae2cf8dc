"""How often a sign-in may be tried, on both databases."""

from __future__ import annotations

import pytest

from annotation.errors import SignInError, TooManyAttemptsError
from annotation.services import sign_in
from annotation.services.sign_in import SignInService
from db.models import SignInAttempt
from tests.people import HERE, OTHER, PASSWORD, THERE, at_once, count


def fail(sign_ins: SignInService, name: str, address: str, mark: str | None = None) -> None:
    with pytest.raises(SignInError, match="do not fit"):
        sign_ins.sign_in(name, "a wild guess", address, mark)


@pytest.mark.parametrize("name", ["Ana", "nobody", "x" * 9999, "a\x00b", "\ud800"])
def test_the_sixth_attempt_within_a_quarter_of_an_hour_is_refused(ana, clock, name):
    for _ in range(5):
        fail(ana, name, HERE)
        clock.forward(seconds=30)
    clock.forward(seconds=30)
    with pytest.raises(TooManyAttemptsError, match="try again in 12 minutes") as refused:
        ana.sign_in(name, PASSWORD, HERE)
    assert refused.value.minutes == 12


def test_the_door_opens_again_also_while_somebody_keeps_knocking(ana, clock):
    for _ in range(5):
        fail(ana, "Ana", HERE)
    for _ in range(14):
        clock.forward(minutes=1)
        with pytest.raises(TooManyAttemptsError):
            ana.sign_in("Ana", "a wild guess", HERE)
    clock.forward(minutes=1)
    ana.sign_in("Ana", PASSWORD, HERE)


def test_a_name_that_nobody_has_is_answered_like_any_other(ana, accounts):
    accounts.add_user("invited")
    accounts.add_user("gone", PASSWORD)
    accounts.disable("gone")
    said = set()
    for name, password in (("nobody", PASSWORD), ("Ana", OTHER), ("invited", ""), ("gone", PASSWORD)):
        with pytest.raises(SignInError) as refused:
            ana.sign_in(name, password, HERE)
        said.add((type(refused.value), str(refused.value)))
    assert len(said) == 1


def test_who_mistyped_four_times_and_then_did_not_may_mistype_again(ana):
    for _ in range(3):
        for _ in range(4):
            fail(ana, "Ana", HERE)
        ana.sign_in("Ana", PASSWORD, HERE)


def test_one_address_with_many_names_is_stopped_and_other_addresses_are_not(ana):
    for number in range(sign_in.PER_ADDRESS):
        fail(ana, f"name {number}", HERE)
    with pytest.raises(TooManyAttemptsError):
        ana.sign_in("Ana", PASSWORD, HERE)
    ana.sign_in("Ana", PASSWORD, THERE)


def test_an_ipv6_home_counts_as_one_address(ana):
    for number in range(5):
        fail(ana, "Ana", f"2001:db8:1:2::{number}")
    with pytest.raises(TooManyAttemptsError):
        ana.sign_in("Ana", PASSWORD, "2001:db8:1:2:ffff::1")
    ana.sign_in("Ana", PASSWORD, "2001:db8:1:3::1")


def test_a_guesser_with_many_addresses_is_stopped_but_shuts_out_no_known_browser(ana):
    ana.sign_in("Ana", PASSWORD, HERE)
    mark = ana.browser_mark("Ana")
    for number in range(sign_in.PER_NAME):
        fail(ana, "Ana", f"198.51.100.{number}")
    with pytest.raises(TooManyAttemptsError):
        ana.sign_in("Ana", PASSWORD, THERE)
    ana.sign_in("Ana", PASSWORD, THERE, mark)


def test_a_mark_is_of_one_user_and_one_password_and_is_limited_itself(ana, accounts):
    accounts.add_user("Ben", PASSWORD)
    mark = ana.browser_mark("Ana")
    for number in range(sign_in.PER_NAME):
        fail(ana, "Ben", f"198.51.100.{number}")
    for foreign in (mark, "", "\udcff", "x" * 9999):
        with pytest.raises(TooManyAttemptsError):
            ana.sign_in("Ben", PASSWORD, HERE, foreign)
    for _ in range(5):
        fail(ana, "Ana", HERE, mark)
    with pytest.raises(TooManyAttemptsError):
        ana.sign_in("Ana", PASSWORD, THERE, mark)
    accounts.set_password("Ana", OTHER)
    assert ana.browser_mark("Ana") != mark


@pytest.mark.both_databases
def test_fifty_guesses_at_once_are_five(ana, database):
    answers = at_once([lambda: ana.sign_in("Ana", "a wild guess", HERE) for _ in range(50)])
    assert sum(isinstance(answer, TooManyAttemptsError) for answer in answers) == 45
    assert count(database, SignInAttempt) == 5


def test_attempts_are_forgotten_when_they_no_longer_count(ana, database, clock):
    fail(ana, "Ana", HERE)
    clock.forward(minutes=15)
    fail(ana, "Ben", HERE)
    assert count(database, SignInAttempt) == 1
