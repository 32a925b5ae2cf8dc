"""The JSON interface of the rating page. A rater sees his own pairs, grades and comments, and no more."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from annotation.assignment import Queue, RaterPair, RaterProject
from annotation.comparison import comparison_type
from annotation.errors import (
    AccessError,
    AnnotationError,
    AssignmentError,
    NotFoundError,
    SignedOutError,
    TrainingError,
)
from annotation.pair_senses import text_as_json
from annotation.sense_view import ShownItem, shown_items
from annotation.services.assignment import AssignmentService
from annotation.services.ratings import RatingService
from annotation.services.sign_ins import NOT_SIGNED_IN
from annotation.services.training import TrainingService
from annotation.training import Feedback, TrainingQueue
from annotation.types import SkipReason, User
from annotation.web.bodies import Body, BodyError, read_body

API = "/annotate/api"
AT_ONCE = 8
"""Grades that are written at once; more threads would only wait for each other."""
LONGEST_SECONDS = Decimal(24 * 3600)
"""A page left open says more; the time that it tells is worth nothing then, the grade is."""
RATER_HEADER = "x-rater"
"""The id of the user for whom the page was made: in another tab somebody else may have signed in since."""

_MOST_DIGITS = 18
"""Of an id: no database has larger ones."""
_STATUS: tuple[tuple[type[AnnotationError], int], ...] = (
    (SignedOutError, 401),
    (AccessError, 403),
    (NotFoundError, 404),
    (AssignmentError, 409),
)

UserOf = Callable[[Request], User | None]
Answer = dict[str, Any]
Work = Callable[[User, Request, Body], Answer]


@dataclass(frozen=True)
class RatingHandlers:
    """What each address answers. The services check the role in the transaction of the answer itself."""

    assignments: AssignmentService
    ratings: RatingService
    training: TrainingService

    def queue(self, user: User, request: Request, body: Body) -> Answer:
        project_id = _id(request, "project")
        try:
            queue = self.assignments.queue(project_id, user.id)
        except TrainingError:
            return _training(self.training.queue(project_id, user.id))
        return {"project": _project(queue.project), **_queue(queue)}

    def history(self, user: User, request: Request, body: Body) -> Answer:
        return {"pairs": [_pair(pair) for pair in self.ratings.recent(_id(request, "project"), user.id)]}

    def pair(self, user: User, request: Request, body: Body) -> Answer:
        return _pair(self.ratings.pair(_id(request, "pair"), user.id))

    def rate(self, user: User, request: Request, body: Body) -> Answer:
        saved = self.ratings.rate(_id(request, "pair"), user.id, body.number("grade"), _seconds(body))
        return {"saved_at": saved.at.isoformat(), **_queue(saved.queue)}

    def skip(self, user: User, request: Request, body: Body) -> Answer:
        reason = body.text("reason")
        if reason not in tuple(SkipReason):
            raise BodyError(f"'reason' is {', '.join(SkipReason)}, not {reason[:60]!r}.")
        note = body.text("note")
        saved = self.assignments.skip(_id(request, "pair"), user.id, SkipReason(reason), note)
        return {"saved_at": saved.at.isoformat(), **_queue(saved.queue)}

    def comment(self, user: User, request: Request, body: Body) -> Answer:
        saved_at = self.ratings.comment(
            _id(request, "pair"), user.id, body.text("text"), body.flag("flagged")
        )
        return {"saved_at": saved_at.isoformat()}

    def train(self, user: User, request: Request, body: Body) -> Answer:
        told = self.training.grade(_id(request, "pair"), user.id, body.number("grade"), _seconds(body))
        return {
            "saved_at": told.at.isoformat(),
            "feedback": _feedback(told),
            **_training(told.queue),
        }

    def try_again(self, user: User, request: Request, body: Body) -> Answer:
        return _training(self.training.try_again(_id(request, "project"), user.id))


def build_rating_routes(
    assignments: AssignmentService,
    ratings: RatingService,
    training: TrainingService,
    user_of: UserOf,
    *,
    at_once: int = AT_ONCE,
) -> APIRouter:
    """The addresses under /annotate/api that the rating page talks to.

    Args:
        user_of: who sends a request, None for nobody; called in a thread.
        at_once: how many answers are worked on at once.
    """
    handlers = RatingHandlers(assignments, ratings, training)
    limiter = CapacityLimiter(at_once)

    def answering(work: Work, *fields: str) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            try:
                body = await read_body(request, *fields) if fields else Body({})
                content = await to_thread.run_sync(_work, work, user_of, request, body, limiter=limiter)
            except AnnotationError as error:
                return _refusal(error)
            return Response(content, media_type="application/json")

        return answer

    router = APIRouter()
    for method, path, work, *fields in (
        ("GET", "projects/{project}/queue", handlers.queue),
        ("GET", "projects/{project}/history", handlers.history),
        ("GET", "pairs/{pair}", handlers.pair),
        ("PUT", "pairs/{pair}/rating", handlers.rate, "grade", "seconds"),
        ("POST", "pairs/{pair}/skip", handlers.skip, "reason", "note"),
        ("PUT", "pairs/{pair}/comment", handlers.comment, "text", "flagged"),
        ("POST", "projects/{project}/training", handlers.try_again),
        ("PUT", "training/{pair}/rating", handlers.train, "grade", "seconds"),
    ):
        # Plain routes: what FastAPI would add for each request are checks that are made here in sentences.
        router.add_route(f"{API}/{path}", answering(work, *fields), methods=[method], include_in_schema=False)
    return router


def _work(work: Work, user_of: UserOf, request: Request, body: Body) -> bytes:
    user = user_of(request)
    if user is None:
        raise SignedOutError(NOT_SIGNED_IN)
    if request.headers.get(RATER_HEADER, str(user.id)) != str(user.id):
        raise SignedOutError("Somebody else is signed in here now: sign in and go on where you were.")
    return _encoded(work(user, request, body))


def _id(request: Request, name: str) -> int:
    text: str = request.path_params[name]
    if not (text.isascii() and text.isdigit()) or len(text) > _MOST_DIGITS:
        raise NotFoundError(f"There is no {name} {text[:_MOST_DIGITS]!r}: open your queue again.")
    return int(text)


def _seconds(body: Body) -> float:
    seconds = body.number("seconds")
    if seconds < 0:
        raise BodyError(f"'seconds' is 0 or more, not {seconds}.")
    return float(min(seconds, LONGEST_SECONDS))


def _training(queue: TrainingQueue) -> Answer:
    """A queue of training pairs. Their ids in the page are not those of any pair of the work."""
    progress = queue.progress
    pairs = [{**_pair(pair), "id": f"training-{pair.id}", "training": pair.id} for pair in queue.pairs]
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


def _feedback(told: Feedback) -> Answer:
    return {
        "grade": float(told.grade),
        "known": float(told.known),
        "accepted": told.is_accepted,
        "explanation": told.explanation,
    }


def _project(project: RaterProject) -> Answer:
    return {
        "id": project.id,
        "name": project.name,
        "step": float(project.step),
        "may_revise": project.may_revise,
    }


def _queue(queue: Queue) -> Answer:
    return {
        "progress": {"rated": queue.progress.rated, "total": queue.progress.total},
        "pairs": [_pair(pair) for pair in queue.pairs],
        "waiting": queue.is_waiting,
    }


def _pair(pair: RaterPair) -> Answer:
    kind = comparison_type(pair.type)
    left, right = shown_items(pair.type, pair.left, pair.right, pair.senses)
    return {
        "id": pair.id,
        "type": pair.type,
        "type_label": kind.label,
        "larger_label": kind.larger,
        "smaller_label": kind.smaller,
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


def _meaning(side: str, item: ShownItem) -> Answer:
    if item.is_plain:
        return {}
    groups = [
        {"title": group.title, "texts": [text_as_json(text) for text in group.texts], "more": group.more}
        for group in item.groups
    ]
    return {f"{side}_meaning": {"note": item.note, "definition": item.definition, "groups": groups}}


def _encoded(answer: Answer) -> bytes:
    return json.dumps(answer, ensure_ascii=False, separators=(",", ":")).encode()


def _refusal(error: AnnotationError) -> Response:
    status = next((status for kind, status in _STATUS if isinstance(error, kind)), 422)
    if isinstance(error, BodyError):
        status = error.status
    return Response(_encoded({"error": str(error)}), status_code=status, media_type="application/json")
