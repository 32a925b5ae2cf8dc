"""Downloads of judged predictions: gold keyphrases, TREC qrels, and the run of each model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from urllib.parse import quote

from fastapi import APIRouter, Request
from starlette.responses import Response

from annotation.characters import shown
from annotation.errors import AnnotationError, SettingsError
from annotation.names import plain_name
from annotation.predictions.judgements import JudgingOptions, check_options
from annotation.services.judgements import JudgementService
from annotation.types import Role
from annotation.web.admission import Admission
from annotation.web.downloads import attachment, in_turn
from annotation.web.refusals import refused

FOLDER = "/annotate/download/{project_id}/"
"""Where the files are: gold-keyphrases.jsonl, keyphrases.qrels, keyphrases.run."""


class JudgementDownloads:
    """Only for administrators: the files tell which model predicted what."""

    def __init__(self, admission: Admission, judgements: JudgementService) -> None:
        self._admission = admission
        self._judgements = judgements

    def add_to(self, router: APIRouter) -> None:
        router.add_api_route(FOLDER + "gold-keyphrases.jsonl", in_turn(self.gold), methods=["GET"])
        router.add_api_route(FOLDER + "keyphrases.qrels", in_turn(self.qrels), methods=["GET"])
        router.add_api_route(FOLDER + "keyphrases.run", in_turn(self.run), methods=["GET"])

    def gold(self, request: Request, project_id: str, threshold: str = "") -> Response:
        def lines(number: int) -> str:
            options = read_threshold(threshold)
            return "".join(self._judgements.pool(number).gold_lines(options.threshold))

        return self._answer(request, project_id, "gold.jsonl", lines)

    def qrels(self, request: Request, project_id: str) -> Response:
        return self._answer(
            request, project_id, "qrels", lambda number: "".join(self._judgements.pool(number).qrels_lines())
        )

    def run(self, request: Request, project_id: str, model: str = "") -> Response:
        return self._answer(
            request, project_id, "run", lambda number: "".join(self._judgements.pool(number).run_lines(model))
        )

    def _answer(
        self, request: Request, project_id: str, suffix: str, content: Callable[[int], str]
    ) -> Response:
        try:
            _, project = self._admission.admitted(request, project_id, Role.ADMINISTRATOR)
            name = f"{plain_name(project.name)}.{suffix}"
            return Response(
                content(project.id),
                media_type="text/plain; charset=utf-8",
                headers={"content-disposition": attachment(name)},
            )
        except AnnotationError as error:
            return refused(error)


def build_judgement_downloads(downloads: JudgementDownloads) -> APIRouter:
    router = APIRouter(include_in_schema=False)
    downloads.add_to(router)
    return router


def gold_keyphrases_address(project_id: int, threshold: Decimal) -> str:
    return f"{FOLDER.format(project_id=project_id)}gold-keyphrases.jsonl?threshold={threshold}"


def qrels_address(project_id: int) -> str:
    return f"{FOLDER.format(project_id=project_id)}keyphrases.qrels"


def run_address(project_id: int, model: str) -> str:
    return f"{FOLDER.format(project_id=project_id)}keyphrases.run?model={quote(model, safe='')}"


def read_threshold(text: str) -> JudgingOptions:
    """The options of an address.

    Raises:
        SettingsError: the threshold is no grade.
    """
    default = JudgingOptions()
    if not text:
        return default
    try:
        return replace(default, threshold=check_options(Decimal(text), default.k).threshold)
    except InvalidOperation:
        raise SettingsError(f"The lowest grade is a number such as 3, not {shown(text)}.") from None
