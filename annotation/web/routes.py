"""The JSON interfaces of the rating, writing and adjudication pages; a reader gets what is theirs alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import asdict
from decimal import Decimal
from functools import cached_property
from hashlib import blake2b
from typing import Annotated, Any

from fastapi import APIRouter, Depends
from pydantic import AfterValidator, Field

from annotation.assignment import Feedback, PairForRater, Queue, RaterProject, TrainingQueue
from annotation.authoring import Check, Task, WritingDesk, WrittenText
from annotation.comparison import comparison_type, guidance
from annotation.crowds import Completion
from annotation.errors import ConsentError, NotFoundError, TrainingPairsError
from annotation.senses import WORD_TO_SENSE, ItemView, item_views, word_label
from annotation.services.accounts import AccountService
from annotation.services.adjudication import AdjudicationService
from annotation.services.bundle import Services
from annotation.services.consents import ConsentService
from annotation.services.writing import WritingService
from annotation.translation import _
from annotation.types import Role, SkipReason, User
from annotation.web.answers import Nothing, RaterPair, RaterPairs, SavedMoment, Trained
from annotation.web.answers import Queue as QueueAnswer
from annotation.web.answers import Saved as SavedAnswer
from annotation.web.api import (
    API,
    Account,
    Body,
    BodyError,
    NoBody,
    Number,
    ProjectId,
    answers,
    describe_body,
    json_body,
    json_route,
    path_id,
)
from annotation.wording import can_be_stored, quote_value
from kpdemo.ui.html import markdown_html

Result = dict[str, Any]
AT_ONCE = 8
"""Grades that are written at once; more threads would only wait for each other."""
AT_ONCE_ON_SQLITE = 2
"""While one writes, which only one can, the next is read."""
STOPS_AT_ONCE = 4
"""Raters who stop for the day and are served at once; the others wait in line without a connection."""
LONGEST_SECONDS = Decimal(24 * 3600)
"""A page left open reports more; its time is then worthless, but its grade is not."""


def _to_seconds(value: Decimal) -> Decimal:
    if value < 0:
        raise BodyError(f"'seconds' is 0 or more, not {value}.")
    return min(value, LONGEST_SECONDS)


def _find_reason(value: str) -> str:
    if value not in tuple(SkipReason):
        raise BodyError(f"'reason' is {', '.join(SkipReason)}, not {quote_value(value)}.")
    return value


Seconds = Annotated[Number, AfterValidator(_to_seconds)]
"""How long somebody was at a pair or a text."""
String = Annotated[str, Field(description="a text")]


class Agreement(Body):
    sha256: String


class Grade(Body):
    grade: Number
    seconds: Seconds


class Skip(Body):
    reason: Annotated[str, AfterValidator(_find_reason), Field(description="a text")]
    note: String


class Comment(Body):
    text: String
    flagged: Annotated[bool, Field(description="true or false")]


class Draft(Body):
    text: String
    version: Annotated[Number, Field(ge=0, lt=2**31, multiple_of=1, description="a whole number")]
    seconds: Seconds


class Blank(Body):
    note: String


AgreementBody = Annotated[Agreement, Depends(json_body(Agreement))]
GradeBody = Annotated[Grade, Depends(json_body(Grade))]
SkipBody = Annotated[Skip, Depends(json_body(Skip))]
CommentBody = Annotated[Comment, Depends(json_body(Comment))]
DraftBody = Annotated[Draft, Depends(json_body(Draft))]
BlankBody = Annotated[Blank, Depends(json_body(Blank))]
TrainingPairId = Annotated[int, Depends(path_id("pair"))]
WritingId = Annotated[int, Depends(path_id("writing"))]


def new_router(at_once: int = AT_ONCE, prefix: str = API) -> APIRouter:
    """A router of addresses under `prefix`, `at_once` of whose requests are worked on at once."""
    return APIRouter(prefix=prefix, include_in_schema=prefix != API, route_class=json_route(at_once))


def in_place_of_work(consents: ConsentService, project_id: int, user: User) -> Result | None:
    """What a page is answered in place of work; None where there is nothing to agree to by now."""
    asked = consents.text_to_agree(project_id, user.id)
    if asked is None:
        return None
    html = markdown_html(asked.text)
    return {"consent": {"html": html, "sha256": asked.sha256, "changed": asked.is_changed}}


def build_consent_routes(consents: ConsentService, prefix: str = API) -> APIRouter:
    """The address where raters and writers agree."""
    router = new_router(prefix=prefix)

    @router.post(
        "/projects/{project}/consent", responses=answers(Nothing), openapi_extra=describe_body(Agreement)
    )
    def agree(user: Account, project: ProjectId, body: AgreementBody) -> Result:
        consents.agree(project, user.id, body.sha256)
        return {}

    return router


_ROUNDS = 4
_HALF = 4
"""Bytes of each half; an id fits into one."""
_REPEAT = (1).to_bytes(_HALF, "big")
"""In place of zeros where a pair came back to its rater."""
_NAME = re.compile(r"[0-9a-f]{16}", re.ASCII)


class PairNames:
    """What a rater's page calls pairs: names that do not tell when a pair was made, or after which other.

    Ids count up. Hidden check pairs are imported together, so that their ids would stand in a block and give
    them away. A name is the id, turned over by a key that only the server has: a Feistel network of four
    rounds, which needs no table and always gives the same name. The key is asked for when the first name is.
    """

    def __init__(self, key: Callable[[], bytes]) -> None:
        self._ask = key

    @cached_property
    def _key(self) -> bytes:
        return self._ask()

    def name_of(self, pair_id: int, *, is_repeat: bool = False) -> str:
        """The name of a pair, or of the pair that came back: 16 hexadecimal digits, which do not tell."""
        left, right = _REPEAT if is_repeat else bytes(_HALF), pair_id.to_bytes(_HALF, "big")
        for round in range(_ROUNDS):
            left, right = right, bytes(self._mix(left, right, round))
        return (left + right).hex()

    def find(self, name: str) -> tuple[int, bool] | None:
        """The id behind a name, and whether it is that of a repeat; None when the name is none of ours."""
        if _NAME.fullmatch(name) is None:
            return None
        whole = bytes.fromhex(name)
        left, right = whole[:_HALF], whole[_HALF:]
        for round in reversed(range(_ROUNDS)):
            left, right = bytes(self._mix(right, left, round)), left
        if left not in (bytes(_HALF), _REPEAT):
            return None
        return int.from_bytes(right, "big"), left == _REPEAT

    def _mix(self, one: bytes, other: bytes, round: int) -> Iterator[int]:
        digest = blake2b(bytes([round]) + other, key=self._key, digest_size=_HALF).digest()
        return (a ^ b for a, b in zip(one, digest, strict=True))


def build_rating_routes(services: Services, names: PairNames, prefix: str = API) -> APIRouter:
    """The addresses that the rating page talks to, and those where programs rate.

    The services check the role in the transaction of the answer itself.

    Args:
        names: what the page calls pairs.
        prefix: begins the addresses.
    """
    assignments, ratings, training = services.assignment, services.ratings, services.training
    consents, crowds = services.consents, services.crowds
    router = new_router(AT_ONCE_ON_SQLITE if services.database.is_sqlite else AT_ONCE, prefix)

    def find(pair: str) -> tuple[int, bool]:
        found = names.find(pair)
        if found is None:
            raise NotFoundError(_("There is no such pair: open your queue again."))
        return found

    def shown(pair: PairForRater) -> Result:
        return {"id": names.name_of(pair.id, is_repeat=pair.is_repeat), **_content(pair)}

    def queued(queue: Queue, user: User) -> Result:
        found = {
            "progress": {"rated": queue.progress.rated, "total": queue.progress.total},
            "pairs": [shown(pair) for pair in queue.pairs],
            "waiting": queue.is_waiting,
            "share_graded": queue.is_share_graded,
        }
        if queue.pairs or queue.is_waiting:
            return found
        ended = crowds.settle(queue.project.id, user.id, has_share=queue.is_share_graded)
        return {**found, **_completion(ended)}

    def trained(queue: TrainingQueue, user: User) -> Result:
        ended = None
        if queue.progress.is_screened_out:
            ended = crowds.screen_out(queue.project.id, user.id)
        return {**_training(queue), **_completion(ended)}

    @router.put("/pairs/{pair}/rating", responses=answers(SavedAnswer), openapi_extra=describe_body(Grade))
    def rate(user: Account, body: GradeBody, pair: str) -> Result:
        id, is_repeat = find(pair)
        keep = ratings.rate_again if is_repeat else ratings.rate
        saved = keep(id, user.id, body.grade, float(body.seconds))
        if saved.is_blocked:  # the page asks again, and is told why there is nothing more
            return {"saved_at": saved.at.isoformat(), "ended": True}
        return {"saved_at": saved.at.isoformat(), **queued(saved.queue, user)}

    @router.get("/projects/{project}/queue", responses=answers(QueueAnswer))
    def show_queue(user: Account, project: ProjectId) -> Result:
        while True:
            try:
                queue = assignments.queue(project, user.id)
            except TrainingPairsError:
                return trained(training.queue(project, user.id), user)
            except ConsentError:
                if asked := in_place_of_work(consents, project, user):
                    return asked
                continue  # there is none any more, or they just agreed
            return {"project": _project(queue.project), **queued(queue, user)}

    @router.get("/projects/{project}/history", responses=answers(RaterPairs))
    def show_history(user: Account, project: ProjectId) -> Result:
        return {"pairs": [shown(pair) for pair in ratings.recent(project, user.id)]}

    @router.get("/pairs/{pair}", responses=answers(RaterPair))
    def show_pair(user: Account, pair: str) -> Result:
        id, is_repeat = find(pair)
        show = ratings.pair_again if is_repeat else ratings.pair
        return shown(show(id, user.id))

    @router.post("/pairs/{pair}/skip", responses=answers(SavedAnswer), openapi_extra=describe_body(Skip))
    def skip(user: Account, body: SkipBody, pair: str) -> Result:
        id, is_repeat = find(pair)
        pass_over = ratings.skip_again if is_repeat else assignments.skip
        saved = pass_over(id, user.id, SkipReason(body.reason), body.note)
        return {"saved_at": saved.at.isoformat(), **queued(saved.queue, user)}

    @router.put("/pairs/{pair}/comment", responses=answers(SavedMoment), openapi_extra=describe_body(Comment))
    def comment(user: Account, body: CommentBody, pair: str) -> Result:
        id, is_repeat = find(pair)
        keep = ratings.comment_again if is_repeat else ratings.comment
        return {"saved_at": keep(id, user.id, body.text, body.flagged).isoformat()}

    @router.post("/projects/{project}/training", responses=answers(QueueAnswer))
    def try_again(user: Account, project: ProjectId, body: NoBody) -> Result:
        return trained(training.try_again(project, user.id), user)

    @router.put("/training/{pair}/rating", responses=answers(Trained), openapi_extra=describe_body(Grade))
    def train(user: Account, pair: TrainingPairId, body: GradeBody) -> Result:
        told = training.grade(pair, user.id, body.grade, float(body.seconds))
        return {"saved_at": told.at.isoformat(), "feedback": _feedback(told), **trained(told.queue, user)}

    # Who stops may wait long for an import, and must not keep those waiting who grade.
    stops = new_router(STOPS_AT_ONCE, prefix)

    @stops.post("/projects/{project}/stop", responses=answers(Nothing))
    def stop(user: Account, project: ProjectId, body: NoBody) -> Result:
        assignments.give_back(project, user.id)
        return {}

    both = APIRouter()
    both.include_router(router)
    both.include_router(stops)
    return both


def _training(queue: TrainingQueue) -> Result:
    """A queue of training pairs. Their ids in the page are not those of any pair of the work."""
    progress = queue.progress
    pairs = [{"id": f"training-{pair.id}", **_content(pair), "training": pair.id} for pair in queue.pairs]
    return {
        "project": _project(queue.project),
        "progress": {"rated": progress.graded, "total": progress.pairs},
        "pairs": pairs,
        "waiting": False,
        "training": {
            "attempt": progress.attempt,
            "phase": progress.phase,
            "graded": progress.graded,
            "pairs": progress.pairs,
            "accepted": progress.accepted,
            "distance": float(progress.distance),
            "pass_percent": progress.pass_percent,
            "tries_left": progress.tries_left,
        },
    }


def _completion(ended: Completion | None) -> Result:
    if ended is None:
        return {}
    told = {"code": ended.code, "address": ended.address, "contact": ended.contact}
    return {"completion": {"outcome": ended.outcome, **told}}


def _feedback(told: Feedback) -> Result:
    return {
        "grade": float(told.grade),
        "known": float(told.known),
        "accepted": told.is_accepted,
        "explanation": told.explanation,
    }


def _project(project: RaterProject) -> Result:
    return {
        "id": project.id,
        "name": project.name,
        "step": float(project.step),
        "may_revise": project.may_revise,
    }


def _content(pair: PairForRater) -> Result:
    kind = comparison_type(pair.type)
    left, right = item_views(pair.type, pair.left, pair.right, pair.senses)
    return {
        "type": pair.type,
        "type_label": _(kind.label),
        "larger_label": _(kind.headings[0]),
        "smaller_label": _(kind.headings[1]),
        "question": _(kind.question),
        "left": left.text,
        "right": right.text,
        "grade": None if pair.grade is None else float(pair.grade),
        "comment": pair.comment,
        "flagged": pair.is_flagged,
        "rated_at": None if pair.rated_at is None else pair.rated_at.isoformat(),
        **_meaning("left", left),
        **_meaning("right", right),
    }


def _meaning(side: str, item: ItemView) -> Result:
    if item.is_plain:
        return {}
    groups = [
        {"title": group.title, "texts": [asdict(text) for text in group.texts], "more": group.more}
        for group in item.groups
    ]
    return {f"{side}_meaning": {"note": item.note, "definition": item.definition, "groups": groups}}


def build_writing_routes(writing: WritingService, consents: ConsentService) -> APIRouter:
    """The addresses that the writing page talks to; the service checks the role in its own transaction."""
    router = new_router()

    @router.get("/projects/{project}/writing")
    def show_desk(user: Account, project: ProjectId) -> Result:
        while True:
            try:
                return _desk(writing.desk(project, user.id))
            except ConsentError:
                if asked := in_place_of_work(consents, project, user):
                    return asked

    @router.get("/projects/{project}/written")
    def show_written(user: Account, project: ProjectId) -> Result:
        return {"texts": [_text_json(each) for each in writing.recent(project, user.id)]}

    @router.get("/writings/{writing}")
    def show_task(user: Account, task: WritingId) -> Result:
        return _task(writing.task(task, user.id))

    @router.put("/writings/{writing}/draft")
    def keep(user: Account, task: WritingId, body: DraftBody) -> Result:
        draft = writing.keep(task, user.id, body.text, int(body.version), float(body.seconds))
        return {
            "saved_at": draft.at.isoformat(),
            "version": draft.version,
            "check": _check(draft.check),
            "lost": draft.lost,
        }

    @router.post("/writings/{writing}/submit")
    def submit(user: Account, task: WritingId, body: DraftBody) -> Result:
        return _desk(writing.submit(task, user.id, body.text, int(body.version), float(body.seconds)))

    @router.post("/writings/{writing}/blank")
    def leave_blank(user: Account, task: WritingId, body: BlankBody) -> Result:
        return _desk(writing.leave_blank(task, user.id, body.note))

    return router


def _desk(desk: WritingDesk) -> Result:
    return {
        "task": None if desk.task is None else _task(desk.task),
        "submitted": desk.submitted,
        "accepted": desk.accepted,
        "sent_back": desk.sent_back,
        "unwritten": desk.unwritten,
        "waiting": desk.is_waiting,
        "balance": None if desk.balance is None else list(desk.balance),
        "has_genre": desk.has_genre,
    }


def _task(task: Task) -> Result:
    kind = comparison_type(task.type)
    return {
        "id": task.id,
        "type": task.type,
        "type_label": _(kind.label),
        "larger_label": _(kind.larger),
        "smaller_label": _(kind.smaller),
        "left": _word_or_text(task.type, task.left),
        "grade": task.grade,
        "text": task.text,
        "version": task.version,
        "sent_back": task.state == "sent_back",
        "note": task.note,
        "seconds": task.seconds,
        "guidance": "" if task.bounds is None else guidance(task.bounds),
        "check": None if task.check is None else _check(task.check),
    }


def _word_or_text(type: str, left: str) -> str:
    """The larger item as raters see it: "mouse (noun)" of "mouse#n"."""
    return word_label(left) if type == WORD_TO_SENSE else left


def _check(check: Check) -> Result:
    return {
        "words": check.size.words,
        "sentences": check.size.sentences,
        "problem": check.problem,
        "warnings": list(check.warnings),
    }


def _text_json(text: WrittenText) -> Result:
    return {
        "id": text.id,
        "type_label": _(comparison_type(text.type).label),
        "left": _word_or_text(text.type, text.left)[:300],
        "text": text.text,
        "grade": text.grade,
        "state": text.state,
        "note": text.note,
        "at": text.at.isoformat(),
    }


def build_adjudication_routes(accounts: AccountService, adjudication: AdjudicationService) -> APIRouter:
    """The address that tells an open page whether it is still up to date."""
    router = new_router()

    @router.get("/projects/{project}/adjudication")
    def count(user: Account, project: ProjectId, type: str = "") -> Result:
        """By the names of `Which`; `type` in the address leaves out other comparison types."""
        accounts.require(user.name, project, Role.ADJUDICATOR, Role.ADMINISTRATOR)
        if not can_be_stored(type):
            raise NotFoundError(
                _("There is no type {value}: choose one from the list.", value=quote_value(type))
            )
        counts = adjudication.counts(project, type or None, viewer=user.id)
        return {which.value: count for which, count in counts.items()}

    return router
