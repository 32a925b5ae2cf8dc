"""The leaderboard as a file, for users who may see the page."""

from __future__ import annotations

import json

from fastapi import APIRouter, Request
from starlette.responses import Response

from annotation.errors import AnnotationError, NotFoundError
from annotation.names import plain_name
from annotation.numbers import whole_in
from annotation.services.board_files import board_as_csv, board_as_json
from annotation.services.systems import Board, SystemService
from annotation.types import Role
from annotation.web.admission import Admission
from annotation.web.downloads import attachment, in_turn
from annotation.web.refusals import refused

BOARD_PATH = "/annotate/download/{project_id}/leaderboard.{ending}"
_TYPES = {"csv": "text/csv; charset=utf-8", "json": "application/json"}


def build_board_downloads(admission: Admission, systems: SystemService) -> APIRouter:
    """The routes that give a leaderboard as CSV and as JSON."""
    router = APIRouter()

    @router.get(BOARD_PATH)
    @in_turn
    def download_board(request: Request, project_id: str, ending: str, gold: str = "") -> Response:
        try:
            roles = (Role.ADMINISTRATOR, Role.ADJUDICATOR)
            _, project = admission.admitted(request, project_id, *roles)
            gold_id = whole_in(gold)
            if ending not in _TYPES or gold_id is None:
                raise NotFoundError("There is no such file: choose it on the leaderboard.")
            board = systems.board(project.id, gold_id)
            name = f"{plain_name(project.name)}-leaderboard.{ending}"
        except AnnotationError as error:
            return refused(error)
        return Response(
            _written(board, ending),
            media_type=_TYPES[ending],
            headers={"content-disposition": attachment(name)},
        )

    return router


def board_address(project_id: int, gold_id: int, ending: str) -> str:
    """Where a leaderboard is downloaded as "csv" or "json"."""
    return f"{BOARD_PATH.format(project_id=project_id, ending=ending)}?gold={gold_id}"


def _written(board: Board, ending: str) -> str:
    if ending == "csv":
        return board_as_csv(board)
    return json.dumps(board_as_json(board), ensure_ascii=False, indent=2) + "\n"
