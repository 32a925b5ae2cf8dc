"""The JSON interface of the writing page. A writer sees their own items and texts, and no more."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import APIRouter
from starlette.requests import Request

from annotation.authoring import Check, Task, WritingDesk, WrittenText
from annotation.comparison import comparison_type
from annotation.errors import ConsentError
from annotation.senses.network import WORD_TO_SENSE, word_label
from annotation.services.consents import ConsentService
from annotation.services.writing.writers import WritingService
from annotation.sizes import guidance
from annotation.types import User
from annotation.web.bodies import Body, BodyError
from annotation.web.consents import in_place_of_work
from annotation.web.json_routes import Answer, UserOf, asked_id, json_routes, read_seconds


@dataclass(frozen=True)
class WritingHandlers:
    """What each address answers. The service checks the role in the transaction of the answer itself."""

    writing: WritingService
    consents: ConsentService

    def desk(self, user: User, request: Request, body: Body) -> Answer:
        project_id = asked_id(request, "project")
        try:
            return _desk(self.writing.desk(project_id, user.id))
        except ConsentError:
            asked = in_place_of_work(self.consents, project_id, user)
            return asked or self.desk(user, request, body)

    def recent(self, user: User, request: Request, body: Body) -> Answer:
        found = self.writing.recent(asked_id(request, "project"), user.id)
        return {"texts": [_written(each) for each in found]}

    def task(self, user: User, request: Request, body: Body) -> Answer:
        return _task(self.writing.task(asked_id(request, "writing"), user.id))

    def keep(self, user: User, request: Request, body: Body) -> Answer:
        draft = self.writing.keep(asked_id(request, "writing"), user.id, *_text(body))
        return {
            "saved_at": draft.at.isoformat(),
            "version": draft.version,
            "check": _check(draft.check),
            "lost": draft.lost,
        }

    def submit(self, user: User, request: Request, body: Body) -> Answer:
        return _desk(self.writing.submit(asked_id(request, "writing"), user.id, *_text(body)))

    def leave_blank(self, user: User, request: Request, body: Body) -> Answer:
        return _desk(self.writing.leave_blank(asked_id(request, "writing"), user.id, body.text("note")))


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


def _desk(desk: WritingDesk) -> Answer:
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


def _task(task: Task) -> Answer:
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


def _check(check: Check) -> Answer:
    return {
        "words": check.size.words,
        "sentences": check.size.sentences,
        "problem": check.problem,
        "warnings": list(check.warnings),
    }


def _written(text: WrittenText) -> Answer:
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
