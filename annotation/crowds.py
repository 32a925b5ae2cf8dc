"""Crowds: whose id stands in an address, what is told at the end, and the table by which work is paid."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any
from urllib.parse import quote, urlsplit

from annotation.errors import InvitationError, SettingsError
from annotation.translation import _, mark
from annotation.wording import quote_value
from kpdemo.io.tables import spreadsheet_csv

MOST_PEOPLE = 10_000
"""Of a shared link."""
MOST_DAYS = 366
LONGEST_CODE = 60
LONGEST_ADDRESS = 500
LONGEST_CONTACT = 200
CODE_PLACE = "{code}"
"""Of a return address: where the code goes."""
OWN_PLACE = "{id}"
"""Of a code: where the worker's own letters go."""
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,79}", re.ASCII)
_PREVIEW = "ASSIGNMENT_ID_NOT_AVAILABLE"


class Source(StrEnum):
    """How somebody came by a shared link."""

    OPEN = "open"
    """With a name of their own."""
    PROLIFIC = "prolific"
    MTURK = "mturk"


FIELDS = {
    Source.PROLIFIC: ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID"),
    Source.MTURK: ("workerId", "hitId", "assignmentId"),
}
"""What a platform adds to the address: worker, study and this visit."""
NAMES = {Source.PROLIFIC: "Prolific", Source.MTURK: "MTurk", Source.OPEN: mark("by name")}


@dataclass(frozen=True, slots=True)
class Worker:
    """Who comes from a platform."""

    source: Source
    id: str
    study: str = ""
    session: str = ""

    def fields(self) -> dict[str, str]:
        """As the address has it."""
        return dict(zip(FIELDS[self.source], (self.id, self.study, self.session), strict=True))


def worker_in(query: Mapping[str, str]) -> Worker | None:
    """The worker whose ids an address or a form has; None where it has none.

    Raises:
        InvitationError: what stands there is no id, or only a preview was opened.

    >>> worker_in({"PROLIFIC_PID": "5f3a", "STUDY_ID": "s1", "SESSION_ID": "v1"})
    Worker(source=<Source.PROLIFIC: 'prolific'>, id='5f3a', study='s1', session='v1')
    >>> worker_in({"tab": "rate"}) is None
    True
    """
    for source, (worker, study, session) in FIELDS.items():
        if query.get(session) == _PREVIEW:
            raise InvitationError(
                _("This is only a preview of the task: accept it, and open the link again.")
            )
        if worker not in query:
            continue
        ids = [query.get(name, "") for name in (worker, study, session)]
        for name, given in zip((worker, study, session), ids, strict=True):
            if _ID.fullmatch(given) is None and (given or name == worker):
                raise InvitationError(
                    _(
                        "{name} in the address is {value}, which is no id: open the link from {platform} "
                        "again.",
                        name=name,
                        value=quote_value(given),
                        platform=_(NAMES[source]),
                    )
                )
        return Worker(source, *ids)
    return None


class Outcome(StrEnum):
    """How the work of somebody who came by a shared link ended."""

    FINISHED = "finished"
    """Their share is graded."""
    SCREENED_OUT = "screened_out"
    """They did not pass the training in the tries that there are."""
    NOTHING_LEFT = "nothing_left"
    """Others had graded the pairs before they could."""


@dataclass(frozen=True, slots=True)
class CrowdSettings:
    """What a project tells those who came by a shared link at the end."""

    completion_code: str = ""
    """For who is finished; `{id}` in it becomes letters of each worker's own."""
    screen_out_code: str = ""
    """For who did not pass the training, or found nothing left."""
    return_address: str = ""
    """Where both go then; `{code}` in it becomes the code."""
    contact: str = ""
    """Whom to ask."""


_WRONG_COMPLETION_CODE = mark("The completion code is {code}: give at most {most} characters on one line.")
_WRONG_OTHER_CODE = mark("The other code is {code}: give at most {most} characters on one line.")


def check_crowd_settings(settings: CrowdSettings) -> CrowdSettings:
    """The settings without space around them.

    Raises:
        SettingsError: one of them cannot be used.
    """
    kept = CrowdSettings(
        settings.completion_code.strip(),
        settings.screen_out_code.strip(),
        settings.return_address.strip(),
        " ".join(settings.contact.split()),
    )
    for said, code in (
        (_WRONG_COMPLETION_CODE, kept.completion_code),
        (_WRONG_OTHER_CODE, kept.screen_out_code),
    ):
        if len(code) > LONGEST_CODE or not code.isprintable():
            raise SettingsError(_(said, code=quote_value(code), most=LONGEST_CODE))
    if len(kept.contact) > LONGEST_CONTACT or not kept.contact.isprintable():
        raise SettingsError(
            _(
                "Whom to ask has {length} characters: give at most {most}.",
                length=len(kept.contact),
                most=LONGEST_CONTACT,
            )
        )
    if kept.return_address:
        _check_address(kept.return_address)
    return kept


def _check_address(address: str) -> None:
    try:
        parts = urlsplit(address.replace(CODE_PLACE, "x"))
        is_whole = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        is_whole = False
    if not is_whole or len(address) > LONGEST_ADDRESS or not address.isprintable() or " " in address:
        raise SettingsError(
            _(
                "The return address is {address}: give one that begins with https://, or leave it empty.",
                address=quote_value(address),
            )
        )


@dataclass(frozen=True, slots=True)
class Completion:
    """What somebody is told at the end."""

    outcome: Outcome
    code: str = ""
    address: str = ""
    """Where to go with the code; empty for nowhere."""
    contact: str = ""


def completion_of(settings: CrowdSettings, outcome: Outcome, key: str) -> Completion:
    """The code and address for an outcome.

    >>> settings = CrowdSettings("DONE-{id}", "OUT", "https://example.org/end?cc={code}")
    >>> completion_of(settings, Outcome.FINISHED, "k7m2").address
    'https://example.org/end?cc=DONE-k7m2'
    """
    template = settings.completion_code if outcome is Outcome.FINISHED else settings.screen_out_code
    code = template.replace(OWN_PLACE, key)
    needs_code = CODE_PLACE in settings.return_address
    address = settings.return_address.replace(CODE_PLACE, quote(code, safe=""))
    may_return = bool(code) if needs_code else outcome is Outcome.FINISHED
    return Completion(outcome, code, address if may_return else "", settings.contact)


@dataclass(frozen=True, slots=True)
class WorkerLine:
    """What somebody who came by a shared link did."""

    account: str
    source: Source
    worker: str
    """The platform's id; empty for who chose a name."""
    study: str
    session: str
    link: int
    started_at: datetime
    ended_at: datetime | None
    pairs: int
    """That they graded, without check pairs, set aside or not."""
    skipped: int
    minutes: float
    """That graded pairs were looked at."""
    checks: int
    checks_passed: int
    tries: int
    """Finished ways through the training."""
    state: str
    code: str


HEADS = (
    *("worker", "source", "account", "study", "session", "link", "started", "finished"),
    *("pairs", "skipped", "minutes", "checks", "checks_passed", "training_tries", "state", "code"),
)


def line_as_json(line: WorkerLine) -> dict[str, Any]:
    """By `HEADS`; moments in ISO 8601."""
    return {
        "worker": line.worker or line.account,
        "source": line.source.value,
        "account": line.account,
        "study": line.study,
        "session": line.session,
        "link": line.link,
        "started": _iso(line.started_at),
        "finished": None if line.ended_at is None else _iso(line.ended_at),
        "pairs": line.pairs,
        "skipped": line.skipped,
        "minutes": round(line.minutes, 1),
        "checks": line.checks,
        "checks_passed": line.checks_passed,
        "training_tries": line.tries,
        "state": line.state,
        "code": line.code,
    }


def lines_as_csv(lines: Iterable[WorkerLine]) -> str:
    """The table with a header; no cell runs as a formula."""
    cells = (["" if value is None else str(value) for value in line_as_json(line).values()] for line in lines)
    return spreadsheet_csv([list(HEADS), *cells])


def _iso(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="seconds")


PSEUDONYM = "rater-"
"""Begins the made-up name of who came by a shared link and gave none."""
MOST_INVITED = 1000
_SEPARATORS = re.compile(r"[\n\r,;\t]+")


def read_names(text: str) -> list[str]:
    """Names or addresses, one a line or between commas, semicolons and tabs; empty ones are left out.

    >>> read_names("Ana, ben@example.org;\\n  Cleo Ng \\n\\n")
    ['Ana', 'ben@example.org', 'Cleo Ng']
    """
    return [name for name in (" ".join(part.split()) for part in _SEPARATORS.split(text)) if name]
