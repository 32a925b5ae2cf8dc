"""Accounts on both databases, with a clock that tests move."""

from __future__ import annotations

import pytest

from annotation.services.accounts import AccountService, InvitationService
from annotation.services.sign_in import SignInService
from db import Database
from tests.people import CHEAP, PASSWORD, MovableClock, add_project


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock()


@pytest.fixture
def accounts(database: Database, clock: MovableClock) -> AccountService:
    return AccountService(database, clock=clock, passwords=CHEAP)


@pytest.fixture
def sign_ins(database: Database, clock: MovableClock) -> SignInService:
    return SignInService(database, clock=clock, passwords=CHEAP)


@pytest.fixture
def invitations(database: Database, clock: MovableClock) -> InvitationService:
    return InvitationService(database, clock=clock, passwords=CHEAP)


@pytest.fixture
def project(database: Database, clock: MovableClock) -> int:
    return add_project(database, clock(), "News")


@pytest.fixture
def ana(accounts: AccountService, sign_ins: SignInService) -> SignInService:
    """The sign-in, with an account for Ana."""
    accounts.add_user("Ana", PASSWORD)
    return sign_ins
