"""The JSON interfaces of the rating, writing and adjudication pages, whose scripts keep what is typed.

Every answer is worked out in a thread, a few at a time, and refused in a sentence with a fitting status. A
reader gets what is theirs alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from decimal import Decimal
from functools import cached_property
from hashlib import blake2b
from typing import Any, NoReturn

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from annotation.assignment import Feedback, PairForRater, Queue, RaterProject, TrainingQueue
from annotation.authoring import Check, Task, WritingDesk, WrittenText
from annotation.comparison import comparison_type, guidance
from annotation.errors import (
    AccessError,
    AnnotationError,
    AssignmentError,
    ConsentError,
    ExportError,
    NotFoundError,
    SignedOutError,
    StaleTextError,
    TextError,
    TrainingPairsError,
    WritingError,
)
from annotation.senses import WORD_TO_SENSE, ItemView, item_views, word_label
from annotation.services.accounts import AccountService
from annotation.services.adjudication import AdjudicationService
from annotation.services.assignment import AssignmentService
from annotation.services.consents import ConsentService
from annotation.services.quality import TrainingService
from annotation.services.ratings import RatingService
from annotation.services.sign_in import NOT_SIGNED_IN
from annotation.services.writing import WritingService
from annotation.types import Role, SkipReason, User
from annotation.wording import can_be_stored, quote_value, shorten, whole_in
from kpdemo.ui.html import markdown_html

LARGEST_BODY = 64 * 1024


class BodyError(AnnotationError, ValueError):
    """The body of a request is not what the address takes."""

    status = 422


class LargeBodyError(BodyError):
    status = 413


@dataclass(frozen=True, slots=True)
class Body:
    """The fields of a JSON object; asking for one checks it."""

    fields: Mapping[str, Any]

    def number(self, name: str) -> Decimal:
        value = self._value(name)
        if isinstance(value, bool) or not isinstance(value, int | Decimal):
            raise BodyError(f"{name!r} is a number, not {_quote(value)}.")
        return Decimal(value)

    def text(self, name: str) -> str:
        value = self._value(name)
        if not isinstance(value, str):
            raise BodyError(f"{name!r} is a text, not {_quote(value)}.")
        return value

    def flag(self, name: str) -> bool:
        value = self._value(name)
        if not isinstance(value, bool):
            raise BodyError(f"{name!r} is true or false, not {_quote(value)}.")
        return value

    def _value(self, name: str) -> object:
        if name not in self.fields:
            raise BodyError(f"The request has no {name!r}: send it too.")
        return self.fields[name]


async def read_body(request: Request, *names: str) -> Body:
    """The JSON object that was sent; a larger one is refused before it is all read.

    Args:
        names: the fields that it may have.

    Raises:
        BodyError: it is not such an object.
    """
    content = bytearray()
    async for piece in request.stream():
        content += piece
        if len(content) > LARGEST_BODY:
            raise LargeBodyError(f"The request is too large: send at most {LARGEST_BODY:,} bytes.")
    try:
        fields = json.loads(content, parse_float=Decimal, parse_constant=_refuse)
    except (ValueError, ArithmeticError, RecursionError):
        raise BodyError("The request is not JSON: send an object.") from None
    if not isinstance(fields, dict):
        raise BodyError(f"The request is {_quote(fields)}: send a JSON object.")
    for name in fields:
        if name not in names:
            raise BodyError(f"The request has an unknown field {_quote(name)}: send {' and '.join(names)}.")
    return Body(fields)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def _quote(value: object) -> str:
    return shorten(json.dumps(value, default=str))


_STATUS: tuple[tuple[type[AnnotationError], int], ...] = (
    (SignedOutError, 401),
    (ConsentError, 428),
    (AccessError, 403),
    (NotFoundError, 404),
    (AssignmentError, 409),
    (ExportError, 409),
    (StaleTextError, 412),
    (TextError, 422),
    (WritingError, 409),
)
"""The first that fits counts. 409 is a state in which what was asked cannot be done, 428 one they can end."""
_NOT_USABLE = 422
"""What was asked cannot be used as it is, a grade or a setting for instance."""


def status_of(error: AnnotationError) -> int:
    """The HTTP status of an error, 401 to 422."""
    if isinstance(error, BodyError):
        return error.status
    return next((status for kind, status in _STATUS if isinstance(error, kind)), _NOT_USABLE)


def refusal(error: AnnotationError) -> Response:
    """The sentence of an error in place of what was asked for."""
    return JSONResponse({"error": str(error)}, status_code=status_of(error))


API = "/annotate/api"
AT_ONCE = 8
"""Grades that are written at once; more threads would only wait for each other."""
LONGEST_SECONDS = Decimal(24 * 3600)
"""A page left open reports more; its time is then worthless, but its grade is not."""
RATER_HEADER = "x-rater"
"""The id of the user for whom the page was made: in another tab somebody else may have signed in since."""

UserOf = Callable[[Request], User | None]
Result = dict[str, Any]
Handler = Callable[[User, Request, Body], Result]
Route = tuple[str, str, Handler, tuple[str, ...]]
"""Method, path under the prefix, what answers, and the fields of its body."""


def json_routes(routes: Iterable[Route], user_of: UserOf, *, at_once: int = AT_ONCE) -> APIRouter:
    """The addresses under /annotate/api that a page talks to.

    Args:
        user_of: who sends a request, None for nobody; called in a thread.
        at_once: how many of these requests are worked on; those that wait hold no thread and no connection.
    """
    limiter = CapacityLimiter(at_once)

    def answering(work: Handler, *fields: str) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            try:
                body = await read_body(request, *fields) if fields else Body({})
                content = await to_thread.run_sync(_work, work, user_of, request, body, limiter=limiter)
            except AnnotationError as error:
                return refusal(error)
            return Response(content, media_type="application/json")

        return answer

    router = APIRouter()
    for method, path, work, fields in routes:
        # Plain routes: what FastAPI would add for each request are checks that are made here in sentences.
        router.add_route(f"{API}/{path}", answering(work, *fields), methods=[method], include_in_schema=False)
    return router


def path_id(request: Request, name: str) -> int:
    """The number in the place `name` of the path.

    Raises:
        NotFoundError: it is none.
    """
    text: str = request.path_params[name]
    number = whole_in(text)
    if number is None:
        raise NotFoundError(f"There is no {name} {quote_value(text)}: open your queue again.")
    return number


def read_seconds(body: Body) -> float:
    """How long somebody was at a pair or a text.

    Raises:
        BodyError: the field is not a number, or less than 0.
    """
    seconds = body.number("seconds")
    if seconds < 0:
        raise BodyError(f"'seconds' is 0 or more, not {seconds}.")
    return float(min(seconds, LONGEST_SECONDS))


def _work(work: Handler, user_of: UserOf, request: Request, body: Body) -> bytes:
    user = user_of(request)
    if user is None:
        raise SignedOutError(NOT_SIGNED_IN)
    if request.headers.get(RATER_HEADER, str(user.id)) != str(user.id):
        raise SignedOutError("Somebody else is signed in here now: sign in and go on where you were.")
    return json.dumps(work(user, request, body), ensure_ascii=False, separators=(",", ":")).encode()


def in_place_of_work(consents: ConsentService, project_id: int, user: User) -> Result | None:
    """What a page is answered in place of work; None where there is nothing to agree to by now."""
    asked = consents.asked(project_id, user.id)
    if asked is None:
        return None
    html = markdown_html(asked.text)
    return {"consent": {"html": html, "sha256": asked.sha256, "changed": asked.is_changed}}


def build_consent_routes(consents: ConsentService, user_of: UserOf) -> APIRouter:
    """The address under /annotate/api where raters and writers agree; arguments as of `json_routes`."""

    def agree(user: User, request: Request, body: Body) -> Result:
        consents.agree(path_id(request, "project"), user.id, body.text("sha256"))
        return {}

    return json_routes([("POST", "projects/{project}/consent", agree, ("sha256",))], user_of)


_ROUNDS = 4
_HALF = 4
"""Bytes of each half; an id fits into one."""
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

    def name_of(self, pair_id: int) -> str:
        """The name of a pair: 16 hexadecimal digits."""
        left, right = bytes(_HALF), pair_id.to_bytes(_HALF, "big")
        for round in range(_ROUNDS):
            left, right = right, bytes(self._mixed(left, right, round))
        return (left + right).hex()

    def id_of(self, name: str) -> int | None:
        """The id behind a name; None when the name is none of ours."""
        if _NAME.fullmatch(name) is None:
            return None
        whole = bytes.fromhex(name)
        left, right = whole[:_HALF], whole[_HALF:]
        for round in reversed(range(_ROUNDS)):
            left, right = bytes(self._mixed(right, left, round)), left
        return None if any(left) else int.from_bytes(right, "big")

    def _mixed(self, one: bytes, other: bytes, round: int) -> Iterator[int]:
        digest = blake2b(bytes([round]) + other, key=self._key, digest_size=_HALF).digest()
        return (a ^ b for a, b in zip(one, digest, strict=True))


STOPS_AT_ONCE = 4
"""Raters who stop for the day and are served at once; the others wait in line without a connection."""


@dataclass(frozen=True)
class RatingHandlers:
    """What each address answers. The services check the role in the transaction of the answer itself."""

    assignments: AssignmentService
    ratings: RatingService
    training: TrainingService
    consents: ConsentService
    names: PairNames

    def queue(self, user: User, request: Request, body: Body) -> Result:
        project_id = path_id(request, "project")
        try:
            queue = self.assignments.queue(project_id, user.id)
        except TrainingPairsError:
            return _training(self.training.queue(project_id, user.id))
        except ConsentError:
            asked = in_place_of_work(self.consents, project_id, user)
            return asked or self.queue(user, request, body)  # there is none any more, or they just agreed
        return {"project": _project(queue.project), **self._queue(queue)}

    def history(self, user: User, request: Request, body: Body) -> Result:
        return {
            "pairs": [self._pair(pair) for pair in self.ratings.recent(path_id(request, "project"), user.id)]
        }

    def pair(self, user: User, request: Request, body: Body) -> Result:
        return self._pair(self.ratings.pair(self._asked(request), user.id))

    def rate(self, user: User, request: Request, body: Body) -> Result:
        saved = self.ratings.rate(self._asked(request), user.id, body.number("grade"), read_seconds(body))
        return {"saved_at": saved.at.isoformat(), **self._queue(saved.queue)}

    def skip(self, user: User, request: Request, body: Body) -> Result:
        reason = body.text("reason")
        if reason not in tuple(SkipReason):
            raise BodyError(f"'reason' is {', '.join(SkipReason)}, not {quote_value(reason)}.")
        note = body.text("note")
        saved = self.assignments.skip(self._asked(request), user.id, SkipReason(reason), note)
        return {"saved_at": saved.at.isoformat(), **self._queue(saved.queue)}

    def stop(self, user: User, request: Request, body: Body) -> Result:
        self.assignments.give_back(path_id(request, "project"), user.id)
        return {}

    def comment(self, user: User, request: Request, body: Body) -> Result:
        saved_at = self.ratings.comment(
            self._asked(request), user.id, body.text("text"), body.flag("flagged")
        )
        return {"saved_at": saved_at.isoformat()}

    def train(self, user: User, request: Request, body: Body) -> Result:
        told = self.training.grade(
            path_id(request, "pair"), user.id, body.number("grade"), read_seconds(body)
        )
        return {
            "saved_at": told.at.isoformat(),
            "feedback": _feedback(told),
            **_training(told.queue),
        }

    def try_again(self, user: User, request: Request, body: Body) -> Result:
        return _training(self.training.try_again(path_id(request, "project"), user.id))

    def _asked(self, request: Request) -> int:
        """The pair that the path names.

        Raises:
            NotFoundError: it is none.
        """
        pair_id = self.names.id_of(request.path_params["pair"])
        if pair_id is None:
            raise NotFoundError("There is no such pair: open your queue again.")
        return pair_id

    def _pair(self, pair: PairForRater) -> Result:
        return {"id": self.names.name_of(pair.id), **_content(pair)}

    def _queue(self, queue: Queue) -> Result:
        return {
            "progress": {"rated": queue.progress.rated, "total": queue.progress.total},
            "pairs": [self._pair(pair) for pair in queue.pairs],
            "waiting": queue.is_waiting,
            "share_graded": queue.is_share_graded,
        }


def build_rating_routes(
    assignments: AssignmentService,
    ratings: RatingService,
    training: TrainingService,
    consents: ConsentService,
    names: PairNames,
    user_of: UserOf,
) -> APIRouter:
    """The addresses under /annotate/api that the rating page talks to.

    Args:
        names: what the page calls pairs.
        user_of: who sends a request, None for nobody; called in a thread.
    """
    handlers = RatingHandlers(assignments, ratings, training, consents, names)
    router = json_routes(
        (
            ("GET", "projects/{project}/queue", handlers.queue, ()),
            ("GET", "projects/{project}/history", handlers.history, ()),
            ("GET", "pairs/{pair}", handlers.pair, ()),
            ("PUT", "pairs/{pair}/rating", handlers.rate, ("grade", "seconds")),
            ("POST", "pairs/{pair}/skip", handlers.skip, ("reason", "note")),
            ("PUT", "pairs/{pair}/comment", handlers.comment, ("text", "flagged")),
            ("POST", "projects/{project}/training", handlers.try_again, ()),
            ("PUT", "training/{pair}/rating", handlers.train, ("grade", "seconds")),
        ),
        user_of,
    )
    # Who stops may wait long for an import, and must not keep those waiting who grade.
    stop = ("POST", "projects/{project}/stop", handlers.stop, ())
    router.include_router(json_routes([stop], user_of, at_once=STOPS_AT_ONCE))
    return router


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
        },
    }


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
        "type_label": kind.label,
        "larger_label": kind.headings[0],
        "smaller_label": kind.headings[1],
        "question": kind.question,
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


@dataclass(frozen=True)
class WritingHandlers:
    """What each address answers. The service checks the role in the transaction of the answer itself."""

    writing: WritingService
    consents: ConsentService

    def desk(self, user: User, request: Request, body: Body) -> Result:
        project_id = path_id(request, "project")
        try:
            return _desk(self.writing.desk(project_id, user.id))
        except ConsentError:
            asked = in_place_of_work(self.consents, project_id, user)
            return asked or self.desk(user, request, body)

    def recent(self, user: User, request: Request, body: Body) -> Result:
        found = self.writing.recent(path_id(request, "project"), user.id)
        return {"texts": [_written(each) for each in found]}

    def task(self, user: User, request: Request, body: Body) -> Result:
        return _task(self.writing.task(path_id(request, "writing"), user.id))

    def keep(self, user: User, request: Request, body: Body) -> Result:
        draft = self.writing.keep(path_id(request, "writing"), user.id, *_text(body))
        return {
            "saved_at": draft.at.isoformat(),
            "version": draft.version,
            "check": _check(draft.check),
            "lost": draft.lost,
        }

    def submit(self, user: User, request: Request, body: Body) -> Result:
        return _desk(self.writing.submit(path_id(request, "writing"), user.id, *_text(body)))

    def leave_blank(self, user: User, request: Request, body: Body) -> Result:
        return _desk(self.writing.leave_blank(path_id(request, "writing"), user.id, body.text("note")))


def build_writing_routes(writing: WritingService, consents: ConsentService, user_of: UserOf) -> APIRouter:
    """The addresses under /annotate/api that the writing page talks to; arguments as of `json_routes`."""
    handlers = WritingHandlers(writing, consents)
    text = ("text", "version", "seconds")
    return json_routes(
        (
            ("GET", "projects/{project}/writing", handlers.desk, ()),
            ("GET", "projects/{project}/written", handlers.recent, ()),
            ("GET", "writings/{writing}", handlers.task, ()),
            ("PUT", "writings/{writing}/draft", handlers.keep, text),
            ("POST", "writings/{writing}/submit", handlers.submit, text),
            ("POST", "writings/{writing}/blank", handlers.leave_blank, ("note",)),
        ),
        user_of,
    )


def _text(body: Body) -> tuple[str, int, float]:
    version = body.number("version")
    if not 0 <= version < 2**31 or version != version.to_integral_value():
        raise BodyError(f"'version' is a whole number, not {version}.")
    return body.text("text"), int(version), read_seconds(body)


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
        "type_label": kind.label,
        "larger_label": kind.larger,
        "smaller_label": kind.smaller,
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


def _written(text: WrittenText) -> Result:
    return {
        "id": text.id,
        "type_label": comparison_type(text.type).label,
        "left": _word_or_text(text.type, text.left)[:300],
        "text": text.text,
        "grade": text.grade,
        "state": text.state,
        "note": text.note,
        "at": text.at.isoformat(),
    }


def build_adjudication_routes(
    accounts: AccountService, adjudication: AdjudicationService, user_of: UserOf
) -> APIRouter:
    """The address under /annotate/api that tells an open page whether it is still up to date.

    Args:
        user_of: who sends a request, None for nobody; called in a thread.
    """

    def count(user: User, request: Request, body: Body) -> Result:
        """By the names of `Which`; `type` in the address leaves out other comparison types."""
        project_id = path_id(request, "project")
        accounts.require(user.name, project_id, Role.ADJUDICATOR, Role.ADMINISTRATOR)
        type = request.query_params.get("type") or None
        if type is not None and not can_be_stored(type):
            raise NotFoundError(f"There is no type {quote_value(type)}: choose one from the list.")
        counts = adjudication.counts(project_id, type, viewer=user.id)
        return {which.value: count for which, count in counts.items()}

    return json_routes([("GET", "projects/{project}/adjudication", count, ())], user_of)
