"""The JSON interface of the rating page. A rater sees their own pairs, grades and comments, and no more."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from fastapi import APIRouter
from starlette.requests import Request

from annotation.assignment import PairForRater, Queue, RaterProject
from annotation.characters import shown
from annotation.comparison import comparison_type
from annotation.errors import ConsentError, NotFoundError, TrainingError
from annotation.pair_names import PairNames
from annotation.senses.view import ShownItem, shown_items
from annotation.services.consents import ConsentService
from annotation.services.rating.assignment import AssignmentService
from annotation.services.rating.ratings import RatingService
from annotation.services.training import TrainingService
from annotation.training import Feedback, TrainingQueue
from annotation.types import SkipReason, User
from annotation.web.bodies import Body, BodyError
from annotation.web.consents import in_place_of_work
from annotation.web.json_routes import Answer, UserOf, asked_id, json_routes, read_seconds

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

    def queue(self, user: User, request: Request, body: Body) -> Answer:
        project_id = asked_id(request, "project")
        try:
            queue = self.assignments.queue(project_id, user.id)
        except TrainingError:
            return _training(self.training.queue(project_id, user.id))
        except ConsentError:
            asked = in_place_of_work(self.consents, project_id, user)
            return asked or self.queue(user, request, body)  # there is none any more, or they just agreed
        return {"project": _project(queue.project), **self._queue(queue)}

    def history(self, user: User, request: Request, body: Body) -> Answer:
        return {
            "pairs": [self._pair(pair) for pair in self.ratings.recent(asked_id(request, "project"), user.id)]
        }

    def pair(self, user: User, request: Request, body: Body) -> Answer:
        return self._pair(self.ratings.pair(self._asked(request), user.id))

    def rate(self, user: User, request: Request, body: Body) -> Answer:
        saved = self.ratings.rate(self._asked(request), user.id, body.number("grade"), read_seconds(body))
        return {"saved_at": saved.at.isoformat(), **self._queue(saved.queue)}

    def skip(self, user: User, request: Request, body: Body) -> Answer:
        reason = body.text("reason")
        if reason not in tuple(SkipReason):
            raise BodyError(f"'reason' is {', '.join(SkipReason)}, not {shown(reason)}.")
        note = body.text("note")
        saved = self.assignments.skip(self._asked(request), user.id, SkipReason(reason), note)
        return {"saved_at": saved.at.isoformat(), **self._queue(saved.queue)}

    def stop(self, user: User, request: Request, body: Body) -> Answer:
        self.assignments.give_back(asked_id(request, "project"), user.id)
        return {}

    def comment(self, user: User, request: Request, body: Body) -> Answer:
        saved_at = self.ratings.comment(
            self._asked(request), user.id, body.text("text"), body.flag("flagged")
        )
        return {"saved_at": saved_at.isoformat()}

    def train(self, user: User, request: Request, body: Body) -> Answer:
        told = self.training.grade(
            asked_id(request, "pair"), user.id, body.number("grade"), read_seconds(body)
        )
        return {
            "saved_at": told.at.isoformat(),
            "feedback": _feedback(told),
            **_training(told.queue),
        }

    def try_again(self, user: User, request: Request, body: Body) -> Answer:
        return _training(self.training.try_again(asked_id(request, "project"), user.id))

    def _asked(self, request: Request) -> int:
        """The pair that the path names.

        Raises:
            NotFoundError: it is none.
        """
        pair_id = self.names.id_of(request.path_params["pair"])
        if pair_id is None:
            raise NotFoundError("There is no such pair: open your queue again.")
        return pair_id

    def _pair(self, pair: PairForRater) -> Answer:
        return {"id": self.names.name_of(pair.id), **_content(pair)}

    def _queue(self, queue: Queue) -> Answer:
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


def _training(queue: TrainingQueue) -> Answer:
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


def _content(pair: PairForRater) -> Answer:
    kind = comparison_type(pair.type)
    left, right = shown_items(pair.type, pair.left, pair.right, pair.senses)
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


def _meaning(side: str, item: ShownItem) -> Answer:
    if item.is_plain:
        return {}
    groups = [
        {"title": group.title, "texts": [asdict(text) for text in group.texts], "more": group.more}
        for group in item.groups
    ]
    return {f"{side}_meaning": {"note": item.note, "definition": item.definition, "groups": groups}}
