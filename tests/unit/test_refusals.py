"""The HTTP status of each kind of error."""

from __future__ import annotations

import json
from functools import partial

import pytest

from annotation.errors import (
    AccessError,
    AssignmentError,
    GradeError,
    NotFoundError,
    SettingsError,
    SignedOutError,
    StaleTextError,
    TextError,
    TrainingPairsError,
    UnfinishedError,
    WritingError,
)
from annotation.web.api import BodyError, LargeBodyError, refusal, status_of


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        (SignedOutError, 401),
        (AccessError, 403),
        (TrainingPairsError, 403),
        (NotFoundError, 404),
        (AssignmentError, 409),
        (partial(UnfinishedError, missing=1), 409),
        (WritingError, 409),
        (StaleTextError, 412),
        (LargeBodyError, 413),
        (BodyError, 422),
        (GradeError, 422),
        (SettingsError, 422),
        (TextError, 422),
    ],
)
def test_an_error_has_one_status_everywhere(kind, status):
    assert status_of(kind("It is wrong: fix it.")) == status


def test_a_refusal_says_its_sentence():
    answer = refusal(NotFoundError("There is no “å”: look again."))
    assert (answer.status_code, json.loads(answer.body)) == (404, {"error": "There is no “å”: look again."})
