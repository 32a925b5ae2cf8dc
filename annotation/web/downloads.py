"""Downloads: files that are made for one reader, and only after a look at their role."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from functools import partial, wraps
from os import SEEK_END
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import IO, ParamSpec
from urllib.parse import quote

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, Request
from starlette.responses import Response, StreamingResponse

from annotation.errors import AccessError, AnnotationError, NotFoundError
from annotation.files.gold_folder import write_archive
from annotation.gold import ExportOptions, Format, RaterColumns, Unfinished
from annotation.names import plain_name
from annotation.services.gold import GoldService
from annotation.types import Role
from annotation.web.admission import Admission
from annotation.web.refusals import refused

GOLD_PATH = "/annotate/download/{project_id}/gold.zip"
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


def build_downloads(admission: Admission, gold: GoldService) -> APIRouter:
    """The routes of downloads."""
    router = APIRouter()

    @router.get(GOLD_PATH)
    @in_turn
    def download_gold(
        request: Request,
        project_id: str,
        format: str = "",
        unfinished: str = "",
        raters: str = "",
        comments: str = "",
    ) -> Response:
        try:
            if request.headers.get("sec-fetch-site") == "cross-site":  # a download is kept in the events
                raise AccessError("Another site asked for this download: start it on the project's page.")
            user, project = admission.admitted(request, project_id, Role.ADMINISTRATOR)
            options = read_options(format, unfinished, raters, comments)
            return _archive(gold, project.id, options, archive_name(project.name, options), user.id)
        except AnnotationError as error:
            return refused(error)

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
        raise NotFoundError(f"{error}: choose the options on the project's page.") from None


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
    with TemporaryDirectory(prefix=_PREFIX, ignore_cleanup_errors=True) as folder:
        gold.export(project_id, Path(folder) / "files", options, by=by)
        archive = TemporaryFile()  # noqa: SIM115  # for as long as somebody reads it
        write_archive(Path(folder) / "files", archive, name)
    size = archive.seek(0, SEEK_END)
    archive.seek(0)
    return StreamingResponse(
        _blocks(archive),
        media_type="application/zip",
        headers={"content-disposition": attachment(f"{name}.zip"), "content-length": str(size)},
    )


def _blocks(stream: IO[bytes]) -> Iterator[bytes]:
    with stream:
        while block := stream.read(_BLOCK):
            yield block
