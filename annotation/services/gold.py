"""The gold set: what stands for each pair, counted, streamed and exported with its manifest."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from annotation import __version__
from annotation.cards.gold_card import gold_card
from annotation.clock import Clock, utcnow
from annotation.files.gold_columns import Extras
from annotation.files.gold_files import open_gold, open_unfinished
from annotation.files.gold_folder import GoldFolder, describe_files, write_card, write_manifest
from annotation.gold import (
    ExportOptions,
    Format,
    RaterColumns,
    Tally,
    Unfinished,
    anonymous_label,
    gold_row,
    label_key,
)
from annotation.gold_manifest import manifest
from annotation.predictions.queue_order import QueueOrder
from annotation.reliability.gold_agreement import AgreementTally
from annotation.services.audit import record
from annotation.services.consents import told_consent
from annotation.services.gold_counts import GoldCounts, checked_counts, count_gold
from annotation.services.gold_origin import other_counts, told_quality
from annotation.services.gold_rows import has_senses, stream_pairs
from annotation.services.numbering import NumberService, keep_exported
from annotation.services.projects import as_project, find_project
from annotation.services.protocol_history import protocol_history
from annotation.services.raters import names_of, rater_ids
from annotation.services.rating.queue_order import order_of
from annotation.services.set_aside_rows import read_set_aside, told_in_gold
from annotation.types import ProjectSettings
from db import Database
from db.models import Export, User

LISTED = 20
"""Exports of a project that its page tells."""


@dataclass(frozen=True, slots=True)
class ExportedGold:
    manifest: dict[str, Any]
    manifest_sha256: str


@dataclass(frozen=True, slots=True)
class ExportRecord:
    """An export of the past."""

    at: datetime
    by: str | None
    """None for the command line."""
    options: ExportOptions
    pairs: int
    manifest_sha256: str


class GoldService:
    def __init__(self, database: Database, *, clock: Clock = utcnow) -> None:
        self._database = database
        self._clock = clock
        self._numbers = NumberService(database, clock)

    def counts(self, project_id: int) -> GoldCounts:
        """How many pairs have a gold grade, and what the others lack."""
        with self._database.reading() as session:
            return count_gold(session, find_project(session, project_id))

    def check(self, project_id: int, options: ExportOptions) -> GoldCounts:
        """What an export would find.

        Raises:
            ExportError: it would be refused.
        """
        with self._database.reading() as session:
            return checked_counts(session, find_project(session, project_id), options)

    def export(
        self,
        project_id: int,
        folder: Path,
        options: ExportOptions,
        *,
        by: int | None = None,
        force: bool = False,
        progress: Callable[[int], None] | None = None,
    ) -> ExportedGold:
        """Write the gold set to a folder, whole or not at all, and write down that it was done.

        Args:
            folder: empty, or does not exist yet.
            by: the account; None stands for the command line.
            force: an earlier export in the folder is replaced.
            progress: is called with the number of pairs that are done, now and then.

        Raises:
            ExportError: pairs are unfinished and to be refused, there are none, or the folder is not free.
        """
        options = options.written
        with GoldFolder(folder, force=force) as target:
            return self._exported(project_id, target, options, by, progress)

    def _exported(
        self,
        project_id: int,
        target: GoldFolder,
        options: ExportOptions,
        by: int | None,
        progress: Callable[[int], None] | None,
    ) -> ExportedGold:
        """Write and publish the files."""
        with self._database.reading() as session:
            project = find_project(session, project_id)
            counts = checked_counts(session, project, options)
            aside = read_set_aside(session, project_id)
            raters = names_of(session, rater_ids(session, project_id))
            # Raters whose grades are all set aside still sign comments, but have no column of grades.
            named = raters | {line.rater_id: line.name for line in aside}
            numbers = None
            if options.raters is RaterColumns.ANONYMOUS:
                numbers = self._numbers.give(project_id, named)
            labels = _labels(named, options, numbers)
            labelled = None if labels is None else [labels[name] for name in raters.values()]
            columns = labelled and sorted(labelled, key=label_key)
            settings = as_project(project).settings
            folder = target.partial
            written = _write(session, project_id, settings, folder, options, labels, columns, progress)
            told = told_in_gold(aside, options.raters, numbers)
            written |= {"set_aside": [each.as_json() for each in told]} if told else {}
            written |= told_consent(session, project, raters) | protocol_history(session, project)
            if (order := order_of(session, project_id)) is not QueueOrder.PROJECT:
                written["protocol"]["order_of_predictions"] = order.value
            written["protocol"] |= told_quality(session, project_id)
        written["card"] = write_card(target.partial, gold_card(written))
        exported = ExportedGold(written, write_manifest(target.partial, written))
        with self._database.session() as session:
            find_project(session, project_id, lock=True)  # it stays until this is written down
            if numbers is not None:
                keep_exported(session, project_id, named)
            _remember(session, project_id, exported, counts.with_gold, by, self._clock())
            target.publish()  # before the commit: when that fails, the folder takes it back
        return exported

    def exports(self, project_id: int) -> list[ExportRecord]:
        """The exports of a project, the last first, at most `LISTED`."""
        statement = (
            select(Export, User.name)
            .outerjoin(User, User.id == Export.user_id)
            .where(Export.project_id == project_id)
            .order_by(Export.id.desc())
            .limit(LISTED)
        )
        with self._database.reading() as session:
            return [_as_record(row, name) for row, name in session.execute(statement)]


def _remember(
    session: Session,
    project_id: int,
    exported: ExportedGold,
    pairs: int,
    by: int | None,
    now: datetime,
) -> None:
    """Write down the export."""
    options: dict[str, Any] = exported.manifest["options"]
    digest = exported.manifest_sha256
    session.add(
        Export(
            project_id=project_id,
            user_id=by,
            format=options["format"],
            options=dict(options),
            pairs=pairs,
            manifest_sha256=digest,
            created_at=now,
        )
    )
    record(
        session,
        now,
        "gold exported",
        user_id=by,
        project_id=project_id,
        pairs=pairs,
        manifest_sha256=digest,
        **options,
    )
    session.flush()


def _write(
    session: Session,
    project_id: int,
    settings: ProjectSettings,
    folder: Path,
    options: ExportOptions,
    labels: dict[str, str] | None,
    columns: list[str] | None,
    progress: Callable[[int], None] | None,
) -> dict[str, Any]:
    """Write the files of a gold set; what its manifest says."""
    tally, agreement = Tally(), AgreementTally(settings)
    with ExitStack() as files:
        extras = Extras(has_senses=has_senses(session, project_id), has_comments=options.comments)
        gold = files.enter_context(open_gold(options.format, folder, settings.types, columns, extras))
        listed = None
        if options.unfinished is Unfinished.LIST:
            listed = files.enter_context(open_unfinished(options.format, folder, columns, extras))
        pairs = stream_pairs(session, project_id, with_comments=options.comments)
        for done, pair in enumerate(pairs, 1):
            row = gold_row(pair, settings, labels)
            tally.add(row)
            agreement.add(pair)
            if row.reason is None:
                gold.add(row)
            elif listed is not None:
                listed.add(row)
            if progress and done % 1000 == 0:
                progress(done)
    rows = {**gold.rows, **(listed.rows if listed else {})}
    names = {**gold.columns, **(listed.columns if listed else {})}
    others = other_counts(session, find_project(session, project_id))
    return manifest(
        settings,
        options,
        version=__version__,
        counts={**tally.as_json(), **others},
        agreement=agreement.as_json(),
        files=describe_files(folder, rows, names),
    )


def _labels(
    names: dict[int, str], options: ExportOptions, numbers: dict[int, int] | None
) -> dict[str, str] | None:
    """What stands in the files for each account name; None where single ratings are left out."""
    if options.raters is RaterColumns.NONE:
        return None
    if numbers is None:
        return {name: name for name in names.values()}
    return {name: anonymous_label(numbers[rater]) for rater, name in names.items()}


def _as_record(row: Export, name: str | None) -> ExportRecord:
    options = ExportOptions(
        Format(row.options["format"]),
        Unfinished(row.options["unfinished"]),
        RaterColumns(row.options["raters"]),
        bool(row.options.get("comments", False)),
    )
    return ExportRecord(row.created_at, name, options, row.pairs, row.manifest_sha256)
