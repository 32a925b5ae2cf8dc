"""Downloads of judged predictions: gold keyphrases, TREC qrels, and the run of each model."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal, InvalidOperation
from urllib.parse import quote

from fastapi import APIRouter, Request
from starlette.responses import Response

from annotation.characters import shown
from annotation.errors import AnnotationError, SettingsError
from annotation.names import plain_name
from annotation.predictions.judgements import CUT, THRESHOLD, JudgedPool, check_options
from annotation.services.judgements import JudgementService
from annotation.types import Role
from annotation.web.admission import Admission
from annotation.web.downloads import attachment, in_turn
from annotation.web.refusals import refused

FOLDER = "/annotate/download/{project_id}/"
"""Where the files are: gold-keyphrases.jsonl, keyphrases.qrels, keyphrases.run."""
Lines = Callable[[JudgedPool], Iterable[str]]


def build_judgement_downloads(admission: Admission, judgements: JudgementService) -> APIRouter:
    """The routes of these files; only for administrators, as they tell which model predicted what."""
    router = APIRouter(include_in_schema=False)

    def answer(request: Request, project_id: str, suffix: str, lines: Lines) -> Response:
        try:
            _, project = admission.admitted(request, project_id, Role.ADMINISTRATOR)
            return Response(
                "".join(lines(judgements.pool(project.id))),
                media_type="text/plain; charset=utf-8",
                headers={"content-disposition": attachment(f"{plain_name(project.name)}.{suffix}")},
            )
        except AnnotationError as error:
            return refused(error)

    @router.get(FOLDER + "gold-keyphrases.jsonl")
    @in_turn
    def download_gold(request: Request, project_id: str, threshold: str = "") -> Response:
        return answer(
            request, project_id, "gold.jsonl", lambda pool: pool.gold_lines(read_threshold(threshold))
        )

    @router.get(FOLDER + "keyphrases.qrels")
    @in_turn
    def download_qrels(request: Request, project_id: str) -> Response:
        return answer(request, project_id, "qrels", JudgedPool.qrels_lines)

    @router.get(FOLDER + "keyphrases.run")
    @in_turn
    def download_run(request: Request, project_id: str, model: str = "") -> Response:
        return answer(request, project_id, "run", lambda pool: pool.run_lines(model))

    return router


def gold_keyphrases_address(project_id: int, threshold: Decimal) -> str:
    return f"{FOLDER.format(project_id=project_id)}gold-keyphrases.jsonl?threshold={threshold}"


def qrels_address(project_id: int) -> str:
    return f"{FOLDER.format(project_id=project_id)}keyphrases.qrels"


def run_address(project_id: int, model: str) -> str:
    return f"{FOLDER.format(project_id=project_id)}keyphrases.run?model={quote(model, safe='')}"


def read_threshold(text: str) -> Decimal:
    """The lowest grade of a gold keyphrase, as an address has it.

    Raises:
        SettingsError: it is not a grade.
    """
    try:
        return check_options(Decimal(text), CUT).threshold if text else THRESHOLD
    except InvalidOperation:
        raise SettingsError(f"The lowest grade is a number such as 3, not {shown(text)}.") from None
