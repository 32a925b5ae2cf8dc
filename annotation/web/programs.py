"""The addresses for programs: projects, pairs, ratings, agreement, decisions and exports, with a token.

The guard has looked the token up; what its owner may do is asked of the same services as the pages ask.
"""

from __future__ import annotations

import io
import re
import shutil
import sys
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterable
from dataclasses import replace
from decimal import Decimal
from functools import partial
from tempfile import SpooledTemporaryFile
from typing import IO, Annotated, Any, cast

from anyio import to_thread
from fastapi import APIRouter, Depends, FastAPI, Request
from fastapi.openapi.utils import get_openapi
from pydantic import Field
from starlette.responses import JSONResponse, Response, StreamingResponse

from annotation.adjudication import Which, entry_json
from annotation.agreement import DEFAULT_RESAMPLES, DEFAULT_SEED
from annotation.columns import parse_columns
from annotation.errors import NotFoundError, SettingsError
from annotation.exchange import FileFormat, ReadingNotes, read_items_or_errors
from annotation.files.gold_files import RatingFormat, rating_json
from annotation.files.scores import GoldPair, read_uploaded_scores
from annotation.projects import Order, check_type_of, project_json
from annotation.reliability.report import agreement_to_json
from annotation.reliability.system_rater import rater_json, system_raters
from annotation.scale import parse_scale
from annotation.sense_pairs import add_senses
from annotation.services.bundle import Services
from annotation.services.leaderboard import check_gold, coverage_json
from annotation.services.pairs import PairState, pair_json
from annotation.services.ratings import RatingExportService
from annotation.system_report import System
from annotation.types import Average, ProjectSettings, Role, import_json
from annotation.web.answers import (
    AddedSystem,
    Adjudications,
    Agreement,
    CountedProject,
    Import,
    Pairs,
    Project,
    Projects,
    Ratings,
)
from annotation.web.api import (
    Account,
    Body,
    BusyError,
    LargeBodyError,
    Number,
    answers,
    describe_body,
    json_body,
    user_in,
)
from annotation.web.downloads import (
    Admission,
    attachment,
    build_board_downloads,
    build_downloads,
    build_judgement_downloads,
    build_worker_downloads,
    in_turn,
    stream_blocks,
)
from annotation.web.responder import DESCRIPTION, PROGRAMS
from annotation.web.routes import PairNames, build_consent_routes, build_rating_routes
from annotation.wording import check_name, plain_name, quote_value, whole_in
from kpdemo.io.files import temporary_folder
from kpdemo.io.tables import open_stream
from kpdemo.translation import ENGLISH

_ROOT = PROGRAMS.rstrip("/")
_PROJECT = f"{_ROOT}/projects/{{project_id}}"
EXPORTS = f"{_PROJECT}/exports/"
LARGEST_IMPORT = 64 * 1024 * 1024
"""Bytes of a file of pairs or ratings."""
_IN_MEMORY = 1024 * 1024
MOST_RESAMPLES = 10_000
"""Which take minutes on many pairs already."""
PAGE, LARGEST_PAGE = 100, 1000
"""Rows of a list, unless so many are asked for, and the most that can be."""
AT_ONCE_OF_ACCOUNT = 8
"""Requests of one account that are answered at once; another one is told to come again."""
_MEDIA_TYPES = {
    "application/json": FileFormat.JSONL,
    "application/x-ndjson": FileFormat.JSONL,
    "application/jsonl": FileFormat.JSONL,
    "text/csv": FileFormat.CSV,
    "text/tab-separated-values": FileFormat.TSV,
}
_SCORES_SUFFIX = {
    "application/x-ndjson": ".jsonl",
    "application/jsonl": ".jsonl",
    "text/csv": ".csv",
    "text/tab-separated-values": ".tsv",
}
_Text = Annotated[str, Field(description="a text")]
_Yes = Annotated[bool, Field(description="true or false")]
_Whole = Annotated[Number, Field(ge=0, lt=2**63, multiple_of=1, description="a whole number")]


def _body_of(kinds: Iterable[str]) -> dict[str, Any]:
    """What the description says of a file."""
    content = {kind: {"schema": {"type": "string"}} for kind in kinds}
    return {"requestBody": {"required": True, "content": content}}


_FILE_ANSWER: dict[str, Any] = {
    "200": {
        "description": "The file.",
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}
_REFUSAL = {
    "type": "object",
    "properties": {
        "error": {"type": "string", "description": "One sentence: what is wrong, and what to do."}
    },
    "required": ["error"],
    "additionalProperties": False,
}
_REFUSED = {
    status: {
        "description": told,
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Refusal"}}},
    }
    for status, told in {
        "401": "There is no valid token.",
        "403": "It is not for your role.",
        "404": "There is no such project, pair or file.",
        "409": "It is not possible as things stand, such as a grade of a pair that others have taken.",
        "413": "What was sent is too large.",
        "422": "Something that was sent cannot be used.",
        "428": "The project's text is to be agreed to first.",
        "429": "Too many requests of your account are being answered; Retry-After says when to ask again.",
        "503": "The database cannot be reached; Retry-After says when to ask again.",
        "507": "The disk is full.",
    }.items()
}
"""Whatever the address is."""


def _places(path: str) -> list[dict[str, Any]]:
    """The parameters in a path; some are read by dependencies of ours, which FastAPI does not list."""
    said = {"in": "path", "required": True, "schema": {"type": "string"}}
    return [{"name": name, **said} for name in re.findall(r"{(\w+)}", path)]


def _asked(operation: dict[str, Any]) -> list[dict[str, Any]]:
    """The parameters after a path."""
    return [each for each in operation.get("parameters", ()) if each["in"] != "path"]


def _media_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def _named(raters: str) -> bool:
    if raters not in ("anonymous", "named"):
        raise SettingsError(f"'raters' is anonymous or named, not {quote_value(raters)}.")
    return raters == "named"


class NewProject(Body):
    """The settings of a project as `project --json` has them; what is left out has its default."""

    name: _Text
    types: Annotated[list[str], Field(description="a list of comparison types")]
    guidelines: _Text = ""
    raters_per_pair: _Whole = Decimal(ProjectSettings(name="").raters_per_pair)
    threshold: Annotated[Number | None, Field(description="a number, or null for no adjudication")] = (
        ProjectSettings(name="").threshold
    )
    average: Annotated[str, Field(description="mean or median")] = "mean"
    grades: Annotated[str, Field(description="a scale such as clss, sts or 1-5/0.5")] = "clss"
    step: Annotated[Number | None, Field(description="a number")] = None
    order: Annotated[str, Field(description="random or file")] = "random"
    seed: _Whole = Decimal(ProjectSettings(name="").seed)
    may_revise: _Yes = True
    lease_minutes: _Whole = Decimal(ProjectSettings(name="").lease_minutes)
    most_per_rater: Annotated[_Whole | None, Field(description="a whole number, or null")] = None
    repeat_percent: _Whole = Decimal(0)
    consent: _Text = ""
    scale_words: _Text = ""
    language: Annotated[str, Field(description="a language of the pages such as de")] = ENGLISH

    def settings(self) -> ProjectSettings:
        """Raises:
        SettingsError: one of them cannot be used.
        """
        scale, step = parse_scale(self.grades)
        for said, known in ((self.average, Average), (self.order, Order)):
            if said not in {each.value for each in known}:
                raise SettingsError(f"{quote_value(said)} is none of {', '.join(known)}: give one of these.")
        most = self.most_per_rater
        return ProjectSettings(
            name=self.name,
            types=tuple(self.types),
            guidelines=self.guidelines,
            raters_per_pair=int(self.raters_per_pair),
            threshold=self.threshold,
            average=Average(self.average),
            scale=scale,
            step=step if self.step is None else self.step,
            is_random=self.order == Order.RANDOM,
            seed=int(self.seed),
            may_revise=self.may_revise,
            lease_minutes=int(self.lease_minutes),
            most_per_rater=None if most is None else int(most),
            repeat_percent=int(self.repeat_percent),
            consent=self.consent,
            scale_words=self.scale_words,
            language=self.language,
        )


class Busy:
    """A dependency: so many requests of an account at once, and for another one 429."""

    def __init__(self, most: int = AT_ONCE_OF_ACCOUNT) -> None:
        self._most = most
        self._taken: Counter[int] = Counter()

    async def __call__(self, request: Request) -> AsyncIterator[None]:
        user = user_in(request)
        whose = 0 if user is None else user.id
        if self._taken[whose] >= self._most:
            raise BusyError(
                f"{self._most} other requests of your account are being answered: try again in a second."
            )
        self._taken[whose] += 1
        try:
            yield
        finally:
            self._taken[whose] -= 1
            self._taken += Counter()  # forgets those without any


async def _file(request: Request) -> AsyncIterator[IO[bytes]]:
    """What was sent, in a file; too much is refused before it is all read."""
    with SpooledTemporaryFile(_IN_MEMORY) as file:
        size = 0
        async for piece in request.stream():
            size += len(piece)
            if size > LARGEST_IMPORT:
                raise LargeBodyError(f"The file is too large: send at most {LARGEST_IMPORT:,} bytes at once.")
            await to_thread.run_sync(file.write, piece)
        file.seek(0)
        yield cast("IO[bytes]", file)


SentFile = Annotated[IO[bytes], Depends(_file)]


def _part(limit: str = str(PAGE), offset: str = "0") -> tuple[int, int]:
    """Which rows of a list: at most `limit`, after `offset` others."""
    found = whole_in(limit), whole_in(offset)
    if found[0] is None or not 1 <= found[0] <= LARGEST_PAGE:
        raise SettingsError(f"'limit' is 1 to {LARGEST_PAGE:,}, not {quote_value(limit)}.")
    if found[1] is None:
        raise SettingsError(f"'offset' is 0 or more, not {quote_value(offset)}.")
    return found[0], found[1]


Part = Annotated[tuple[int, int], Depends(_part)]


def _one_of(name: str, value: str, known: Any) -> Any:
    """The member of the enumeration.

    Raises:
        SettingsError: it has no such one.
    """
    if value not in {each.value for each in known}:
        raise SettingsError(f"{name!r} is one of {', '.join(known)}, not {quote_value(value)}.")
    return known(value)


def build_program_routes(services: Services, names: PairNames) -> APIRouter:
    """All of them.

    Args:
        names: what raters' programs call pairs, as their pages do.
    """
    admission = Admission(services.accounts, services.projects)
    exports = RatingExportService(services.database)
    router = APIRouter()

    @router.get(f"{_ROOT}/projects", summary="Your projects", responses=answers(Projects))
    def list_projects(user: Account) -> dict[str, Any]:
        return {
            "projects": [
                {
                    "id": line.id,
                    "name": line.name,
                    "roles": sorted(line.roles),
                    "pairs": line.pairs,
                    "finished": line.finished,
                    "to_adjudicate": line.to_adjudicate,
                }
                for line in services.overview.projects(user)
            ]
        }

    @router.post(
        f"{_ROOT}/projects",
        status_code=201,
        summary="Make a project",
        openapi_extra=describe_body(NewProject),
        responses=answers(Project, 201),
    )
    def create_project(
        user: Account, body: Annotated[NewProject, Depends(json_body(NewProject))]
    ) -> dict[str, Any]:
        services.accounts.require(user.name, None)
        return project_json(services.projects.create(body.settings(), user))

    @router.get(_PROJECT, summary="A project, its settings and counts", responses=answers(CountedProject))
    def read_project(request: Request, project_id: str) -> dict[str, Any]:
        user, project = admission.admitted(request, project_id, Role.ADMINISTRATOR, Role.ADJUDICATOR)
        counts = services.projects.counts(project.id, viewer=user.id)
        told = ("pairs", "ratings", "finished", "flagged", "to_adjudicate", "withdrawn")
        return {**project_json(project), "counts": {name: getattr(counts, name) for name in told}}

    def import_rows(
        request: Request, project_id: str, file: IO[bytes], said: dict[str, str]
    ) -> dict[str, Any]:
        user, project = admission.admitted(request, project_id, Role.ADMINISTRATOR)
        kind = _media_type(request)
        format = _one_of("format", said["format"], FileFormat) if said["format"] else _MEDIA_TYPES.get(kind)
        if format is None:
            raise SettingsError(
                f"Content-Type is {', '.join(_MEDIA_TYPES)}, not {quote_value(kind)}: name the format."
            )
        notes, settings = ReadingNotes(), project.settings
        source = open_stream(io.BufferedReader(cast(Any, file)), "the request", any_encoding=True)
        items = read_items_or_errors(
            source,
            format=format,
            type=said["type"] or None,
            only_type=settings.only_type,
            columns=parse_columns(said["columns"]),
            notes=notes,
            scale=settings.scale,
        )
        summary = services.importing.import_pairs(
            project.id,
            add_senses(items, services.dictionary.open_or_none),
            merges_equal_texts=said["merge_equal_texts"] == "true",
            by=user,
            files=[said["name"]],
        )
        told = [*notes.sentences(source.name), *summary.notes]
        return {**import_json(project, summary, notes.made_ids), "notes": told}

    def add_import(path: str, summary: str) -> None:
        @router.post(
            f"{_PROJECT}/{path}",
            summary=summary,
            openapi_extra=_body_of(_MEDIA_TYPES),
            name=f"import {path}",
            responses=answers(Import),
        )
        def import_file(
            request: Request,
            project_id: str,
            file: SentFile,
            format: str = "",
            type: str = "",
            columns: str = "",
            merge_equal_texts: str = "",
            name: str = "the request",
        ) -> dict[str, Any]:
            said = {"format": format, "type": type, "columns": columns, "name": name[:200]}
            return import_rows(request, project_id, file, {**said, "merge_equal_texts": merge_equal_texts})

    add_import("pairs", "Import pairs, with ratings or without: everything or nothing")
    add_import("ratings", "Import ratings in long form (id, rater, grade): everything or nothing")

    @router.post(
        f"{_PROJECT}/systems",
        status_code=201,
        summary="Add the scores of a system to the leaderboard, measured on the project's gold as it is now",
        openapi_extra=_body_of(_SCORES_SUFFIX),
        responses=answers(AddedSystem, 201),
    )
    def add_system(request: Request, project_id: str, file: SentFile, name: str = "") -> dict[str, Any]:
        user, project = admission.admitted(request, project_id, Role.ADMINISTRATOR)
        kind = _media_type(request)
        if kind not in _SCORES_SUFFIX:
            raise SettingsError(f"Content-Type is {', '.join(_SCORES_SUFFIX)}, not {quote_value(kind)}.")
        gold = services.systems.own_gold(project.id)
        check_gold(gold)
        with temporary_folder("scores-") as folder:
            path = folder / f"scores{_SCORES_SUFFIX[kind]}"
            with path.open("wb") as copy:
                shutil.copyfileobj(file, copy)
            found = read_uploaded_scores([path], gold.pairs, gold.ungraded)
        system = System(check_name(name), found.values, left_out=found.left_out)
        kept = services.systems.add(project.id, gold, system, by=user)
        measured = system_raters(
            rated(project.id, gold.pairs),
            [(system.name, system.scores)],
            resamples=DEFAULT_RESAMPLES,
            seed=DEFAULT_SEED,
            scale=project.settings.scale,
        )
        return {
            "gold": {"id": kept, "pairs": len(gold.pairs), "sha256": gold.sha256},
            **coverage_json(system, gold),
            "as_rater": [rater_json(part) for part in measured],
        }

    def rated(project_id: int, pairs: Iterable[GoldPair]) -> list[GoldPair]:
        """The pairs with the ratings of people."""
        ratings: defaultdict[tuple[str, str], list[tuple[str, Decimal]]] = defaultdict(list)
        for row in exports.page(project_id, named=False, limit=sys.maxsize, offset=0)[1]:
            ratings[row.type, row.id].append((row.rater, row.grade))
        return [replace(pair, ratings=tuple(ratings[pair.key])) for pair in pairs]

    @router.get(f"{_PROJECT}/pairs", summary="Pairs in the order of import", responses=answers(Pairs))
    def list_pairs(
        request: Request, project_id: str, part: Part, search: str = "", state: str = ""
    ) -> dict[str, Any]:
        user, project = admission.admitted(request, project_id, Role.ADMINISTRATOR)
        limit, offset = part
        page = services.pairs.pairs(
            project.id,
            search=search,
            state=_one_of("state", state, PairState) if state else None,
            limit=limit,
            offset=offset,
            has_whole_texts=True,
            viewer=user.id,
        )
        return {"total": page.total, "offset": offset, "pairs": [pair_json(line) for line in page.items]}

    @router.get(
        f"{_PROJECT}/ratings", summary="Single ratings in the order of import", responses=answers(Ratings)
    )
    def list_ratings(
        request: Request, project_id: str, part: Part, raters: str = "anonymous"
    ) -> dict[str, Any]:
        _, project = admission.admitted(request, project_id, Role.ADMINISTRATOR)
        limit, offset = part
        named = _named(raters)
        total, rows = exports.page(project.id, named=named, limit=limit, offset=offset)
        return {"total": total, "offset": offset, "ratings": [rating_json(row) for row in rows]}

    @router.get(
        f"{_PROJECT}/agreement",
        summary="Agreement, as `agreement --json` prints it",
        responses=answers(Agreement),
    )
    def read_agreement(
        request: Request,
        project_id: str,
        resamples: str = str(DEFAULT_RESAMPLES),
        seed: str = str(DEFAULT_SEED),
    ) -> dict[str, Any]:
        user, project = admission.admitted(request, project_id, Role.ADMINISTRATOR, Role.ADJUDICATOR)
        drawn, start = whole_in(resamples), whole_in(seed)
        if drawn is None or not 1 <= drawn <= MOST_RESAMPLES or start is None:
            raise SettingsError(
                f"'resamples' is 1 to {MOST_RESAMPLES:,} and 'seed' a whole number, not "
                f"{quote_value(resamples)} and {quote_value(seed)}."
            )
        named = user.is_administrator or Role.ADMINISTRATOR in services.accounts.roles(user.name, project.id)
        report = services.agreement.report(
            project.id, resamples=drawn, seed=start, named=named, viewer=user.id
        )
        return agreement_to_json(report)

    @router.get(
        f"{_PROJECT}/adjudications",
        summary="The queue of adjudication, largest spread first",
        responses=answers(Adjudications),
    )
    def list_adjudications(
        request: Request, project_id: str, which: str = "open", type: str = ""
    ) -> dict[str, Any]:
        user, project = admission.admitted(request, project_id, Role.ADMINISTRATOR, Role.ADJUDICATOR)
        part = _one_of("which", which, Which)
        if type:
            check_type_of(project.name, project.settings.types, type)
        page = services.adjudication.queue(project.id, part, type or None, limit=None, viewer=user.id)
        return {
            "project": project.name,
            "which": part.value,
            "counts": {each.value: count for each, count in page.counts.items()},
            "held_back": page.held_back,
            "pairs": [entry_json(entry) for entry in page.entries],
        }

    @router.get(EXPORTS + "ratings.{ending}", summary="Every single rating as a file: jsonl, csv or tsv")
    @in_turn
    def export_ratings(
        request: Request, project_id: str, ending: str, raters: str = "anonymous", second: str = ""
    ) -> Response:
        user, project = admission.admitted(request, project_id, Role.ADMINISTRATOR)
        if ending not in set(RatingFormat):
            raise NotFoundError(
                f"There are ratings.jsonl, ratings.csv and ratings.tsv, not {quote_value(ending)}."
            )
        format, is_second = RatingFormat(ending), second == "true"
        with temporary_folder("ratings-") as folder:
            file = folder / "ratings"
            exports.export(project.id, file, format, named=_named(raters), second=is_second, by=user)
            stream, size = file.open("rb"), file.stat().st_size  # open, it outlives its name
        name = f"{plain_name(project.name)}-{'second' if is_second else 'ratings'}.{ending}"
        return StreamingResponse(
            stream_blocks(stream),
            media_type="text/plain; charset=utf-8",
            headers={"content-disposition": attachment(name), "content-length": str(size)},
        )

    whole = APIRouter(dependencies=[Depends(Busy())])
    whole.include_router(router)
    for made in (
        build_downloads(admission, services.gold, EXPORTS),
        build_board_downloads(admission, services.systems, EXPORTS),
        build_judgement_downloads(admission, services.judgements, EXPORTS),
        build_worker_downloads(admission, services.crowds, EXPORTS),
        build_consent_routes(services.consents, _ROOT),
        build_rating_routes(services, names, _ROOT),
    ):
        whole.include_router(made)
    return whole


def add_program_routes(server: FastAPI, services: Services, names: PairNames) -> None:
    """Add the addresses for programs, their description, and the refusal of all others under the prefix."""
    routes = build_program_routes(services, names)
    server.include_router(routes)
    described = partial(
        get_openapi,
        title="Annotation",
        version="1",
        description="Projects, pairs, ratings, agreement and exports, with “Authorization: Bearer TOKEN”.",
        routes=routes.routes,
    )

    async def describe(request: Request) -> Response:
        told = await to_thread.run_sync(described)
        for path, methods in told["paths"].items():
            for operation in methods.values():
                operation["parameters"] = [*_places(path), *_asked(operation)]
                operation["responses"] |= _REFUSED | (_FILE_ANSWER if "/exports/" in path else {})
        told["components"] = {
            "schemas": {**told["components"]["schemas"], "Refusal": _REFUSAL},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        }
        return JSONResponse({**told, "security": [{"token": []}]})

    async def refuse(request: Request) -> Response:
        raise NotFoundError(
            f"There is nothing for {request.method} at this address: {DESCRIPTION} lists what there is."
        )

    server.add_route(DESCRIPTION, describe, ["GET"], include_in_schema=False)
    methods = ["GET", "POST", "PUT", "PATCH", "DELETE"]
    server.add_route(PROGRAMS + "{rest:path}", refuse, methods, include_in_schema=False)
