"""Downloads: files that are made for one reader, and only after a look at their role."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import partial, wraps
from os import SEEK_END
from tempfile import TemporaryFile
from typing import IO, ParamSpec
from urllib.parse import quote

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, Request
from starlette.responses import Response, StreamingResponse

from annotation.crowds import lines_as_csv
from annotation.errors import AccessError, NotFoundError, SettingsError
from annotation.files.gold_folder import write_archive
from annotation.gold import ExportOptions, Format, RaterColumns, Unfinished
from annotation.relevance import DEFAULT_RANKS, THRESHOLD, JudgedPool, check_options
from annotation.services.accounts import AccountService
from annotation.services.crowds import CrowdService
from annotation.services.gold import GoldService
from annotation.services.leaderboard import Board, SystemService, board_as_csv, board_as_json
from annotation.services.predictions import JudgementService
from annotation.services.projects import ProjectService
from annotation.translation import _
from annotation.types import Project, Role, User
from annotation.web.api import user_in
from annotation.wording import plain_name, quote_value, whole_in
from kpdemo.io.files import temporary_folder
from kpdemo.translation import language_of, use_language


@dataclass(frozen=True, slots=True)
class Admission:
    accounts: AccountService
    projects: ProjectService

    def admitted(self, request: Request, project_id: str, *roles: Role) -> tuple[User, Project]:
        """Who sends the request, with one of the roles in the project of its address, and that project.

        Raises:
            NotFoundError: there is no such project.
            AccessError: nobody is signed in, or with none of the roles.
        """
        user = user_in(request)
        number = _project_number(project_id)
        admitted = self.accounts.require(user.name if user else None, number, *roles)
        return admitted, self.projects.get(number)


def _project_number(text: str) -> int:
    number = whole_in(text)
    if number is None:
        raise NotFoundError(
            _("There is no project {value}: see the list of projects.", value=quote_value(text))
        )
    return number


FOLDER = "/annotate/download/{project_id}/"
"""Where the files of a project are."""
GOLD_PATH = FOLDER + "gold.zip"
MADE_AT_ONCE = 4
"""Files of one route that are made at once."""
_PREFIX = "gold-"
_BLOCK = 2**18
"""Bytes."""
_P = ParamSpec("_P")


def in_turn(make: Callable[_P, Response]) -> Callable[_P, Awaitable[Response]]:
    """The route with threads of its own: waiting for a file takes none that other pages need."""
    limiter = CapacityLimiter(MADE_AT_ONCE)

    @wraps(make)
    async def answer(*args: _P.args, **kwargs: _P.kwargs) -> Response:
        return await to_thread.run_sync(partial(make, *args, **kwargs), limiter=limiter)

    return answer


def build_downloads(admission: Admission, gold: GoldService, folder: str = FOLDER) -> APIRouter:
    """The routes of downloads, under `folder` as those of the next functions."""
    router = APIRouter()

    @router.get(folder + "gold.zip")
    @in_turn
    def download_gold(
        request: Request,
        project_id: str,
        format: str = "",
        unfinished: str = "",
        raters: str = "",
        comments: str = "",
    ) -> Response:
        with use_language(language_of(request.cookies, request.headers)):  # files are in English
            if request.headers.get("sec-fetch-site") == "cross-site":  # a download is kept in the events
                raise AccessError(_("Another site asked for this download: start it on the project's page."))
            user, project = admission.admitted(request, project_id, Role.ADMINISTRATOR)
            options = read_options(format, unfinished, raters, comments)
            gold.check(project.id, options)
        return _archive(gold, project.id, options, archive_name(project.name, options), user.id)

    return router


def gold_address(project_id: int, options: ExportOptions) -> str:
    """Where the gold set of a project is downloaded."""
    path = GOLD_PATH.format(project_id=project_id)
    said = "&comments=yes" if options.comments else ""
    return f"{path}?format={options.format}&unfinished={options.unfinished}&raters={options.raters}{said}"


def read_options(format: str, unfinished: str, raters: str, comments: str = "") -> ExportOptions:
    """The options of an address; what is empty has its default.

    Raises:
        NotFoundError: there is no such option.
    """
    default = ExportOptions()
    try:
        return ExportOptions(
            Format(format or default.format),
            Unfinished(unfinished or default.unfinished),
            RaterColumns(raters or default.raters),
            comments == "yes",
        )
    except ValueError as error:
        raise NotFoundError(
            _("{problem}: choose the options on the project's page.", problem=error)
        ) from None


def archive_name(project: str, options: ExportOptions) -> str:
    """The name of the folder in the archive, and of the archive without its suffix."""
    return f"{plain_name(project)}-gold-{options.format}"


def attachment(name: str) -> str:
    """The header that has a browser save a file under this name."""
    plain = name.encode("ascii", "replace").decode().replace("?", "-")
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"


def _archive(gold: GoldService, project_id: int, options: ExportOptions, name: str, by: int) -> Response:
    """The archive from a file: a reader with a slow line holds no transaction open, and no memory.

    The file has no name, so that nothing of it stays when the server stops before it is read.
    """
    with temporary_folder(_PREFIX) as folder:
        gold.export(project_id, folder / "files", options, by=by)
        archive = TemporaryFile()  # noqa: SIM115  # for as long as somebody reads it
        write_archive(folder / "files", archive, name)
    size = archive.seek(0, SEEK_END)
    archive.seek(0)
    return StreamingResponse(
        stream_blocks(archive),
        media_type="application/zip",
        headers={"content-disposition": attachment(f"{name}.zip"), "content-length": str(size)},
    )


def stream_blocks(stream: IO[bytes]) -> Iterator[bytes]:
    """A file in pieces, which is closed then."""
    with stream:
        while block := stream.read(_BLOCK):
            yield block


Lines = Callable[[JudgedPool], Iterable[str]]


def build_judgement_downloads(
    admission: Admission, judgements: JudgementService, folder: str = FOLDER
) -> APIRouter:
    """The routes of these files; only for administrators, as they tell which model predicted what."""
    router = APIRouter(include_in_schema=folder != FOLDER)

    def answer(request: Request, project_id: str, suffix: str, lines: Lines) -> Response:
        _user, project = admission.admitted(request, project_id, Role.ADMINISTRATOR)
        return Response(
            "".join(lines(judgements.pool(project.id))),
            media_type="text/plain; charset=utf-8",
            headers={"content-disposition": attachment(f"{plain_name(project.name)}.{suffix}")},
        )

    @router.get(folder + "gold-keyphrases.jsonl")
    @in_turn
    def download_gold(request: Request, project_id: str, threshold: str = "") -> Response:
        return answer(
            request, project_id, "gold.jsonl", lambda pool: pool.gold_lines(read_threshold(threshold))
        )

    @router.get(folder + "keyphrases.qrels")
    @in_turn
    def download_qrels(request: Request, project_id: str) -> Response:
        return answer(request, project_id, "qrels", JudgedPool.qrels_lines)

    @router.get(folder + "keyphrases.run")
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
        return check_options(Decimal(text), DEFAULT_RANKS).threshold if text else THRESHOLD
    except InvalidOperation:
        raise SettingsError(f"The lowest grade is a number such as 3, not {quote_value(text)}.") from None


WORKERS_PATH = FOLDER + "workers.csv"


def build_worker_downloads(admission: Admission, crowds: CrowdService, folder: str = FOLDER) -> APIRouter:
    """The route of the table by which a crowd is paid; only for administrators."""
    router = APIRouter(include_in_schema=folder != FOLDER)

    @router.get(folder + "workers.csv")
    @in_turn
    def download_workers(request: Request, project_id: str) -> Response:
        _user, project = admission.admitted(request, project_id, Role.ADMINISTRATOR)
        return Response(
            lines_as_csv(crowds.workers(project.id)),
            media_type="text/csv; charset=utf-8",
            headers={"content-disposition": attachment(f"{plain_name(project.name)}-workers.csv")},
        )

    return router


def workers_address(project_id: int) -> str:
    return WORKERS_PATH.format(project_id=project_id)


_BOARD = "leaderboard.{ending}"
BOARD_PATH = FOLDER + _BOARD
_TYPES = {"csv": "text/csv; charset=utf-8", "json": "application/json"}


def build_board_downloads(admission: Admission, systems: SystemService, folder: str = FOLDER) -> APIRouter:
    """The routes that give a leaderboard as CSV and as JSON."""
    router = APIRouter()

    @router.get(folder + _BOARD)
    @in_turn
    def download_board(request: Request, project_id: str, ending: str, gold: str = "") -> Response:
        _user, project = admission.admitted(request, project_id, Role.ADMINISTRATOR, Role.ADJUDICATOR)
        golds = [] if gold else systems.golds(project.id)
        gold_id = golds[0].id if golds else whole_in(gold)
        if ending not in _TYPES or gold_id is None:
            raise NotFoundError(_("There is no such file: choose it on the leaderboard."))
        name = f"{plain_name(project.name)}-leaderboard.{ending}"
        return Response(
            _render_board(systems.board(project.id, gold_id), ending),
            media_type=_TYPES[ending],
            headers={"content-disposition": attachment(name)},
        )

    return router


def board_address(project_id: int, gold_id: int, ending: str) -> str:
    """Where a leaderboard is downloaded as "csv" or "json"."""
    return f"{BOARD_PATH.format(project_id=project_id, ending=ending)}?gold={gold_id}"


def _render_board(board: Board, ending: str) -> str:
    if ending == "csv":
        return board_as_csv(board)
    return json.dumps(board_as_json(board), ensure_ascii=False, indent=2) + "\n"
