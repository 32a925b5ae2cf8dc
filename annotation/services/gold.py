"""The gold set: what stands for each pair, counted, streamed and exported with its manifest."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Executable,
    Row,
    Select,
    String,
    and_,
    cast,
    exists,
    func,
    or_,
    select,
)
from sqlalchemy.orm import Session

from annotation import __version__
from annotation.changes import LONG_TEXTS
from annotation.errors import ExportError, UnfinishedError
from annotation.files.gold_files import Extras, open_gold, open_unfinished
from annotation.files.gold_folder import GoldFolder, describe_files, manifest, write_card, write_manifest
from annotation.gold import (
    ExportOptions,
    Format,
    GoldStanding,
    RaterColumns,
    Tally,
    Unfinished,
    anonymous_label,
    gold_row,
    label_key,
)
from annotation.gold_card import gold_card
from annotation.predictions import QueueOrder
from annotation.reliability.report import AgreementTally
from annotation.scale import Scale
from annotation.sense_pairs import senses_from_json
from annotation.senses import WORD_TO_SENSE
from annotation.services.audit import PROJECT_CHANGED, SENSES_DESCRIBED, record
from annotation.services.consents import consent_for_manifest
from annotation.services.excluded_ratings import excluded_for_manifest, read_excluded
from annotation.services.numbering import NumberService, keep_exported, names_of, rater_ids
from annotation.services.project_rows import (
    HAS_DECISION,
    IN_USE,
    as_project,
    checks_project_of,
    comments_of,
    count_withdrawn,
    find_project,
    is_finished,
    is_flagged,
    is_reopened,
    of_pair_in_use,
    order_of,
    scale_in,
)
from annotation.services.quality import quality_of, training_in_use
from annotation.services.transactions import AT_ONCE, count_where, is_among, parts
from annotation.translation import _, ngettext
from annotation.types import Cause, Clock, ProjectSettings, RatedPair, utcnow
from db import Database
from db.models import Adjudication, AuditEvent, Comment, Export, Pair, Project, Rating, RatingChange, User

_WORD = re.compile(r"[\w-]+")
"""An id that needs no quotes in a sentence."""


def pairs_with_grades(
    project_id: int, *columns: Any, order: Sequence[Any] = (Pair.import_order,)
) -> Select[*tuple[Any, ...]]:
    """These columns of every pair that is not withdrawn; of each row there is a `standing_in`."""
    # For each pair by itself: before PostgreSQL has counted new rows it would go through all for each.
    joined = (
        select(func.aggregate_strings(cast(Rating.quarters, String), " "))
        .where(Rating.pair_id == Pair.id)
        .correlate(Pair)
        .scalar_subquery()
    )
    return (
        select(
            *columns,
            joined.label("grades"),
            Adjudication.quarters.label("decided"),
        )
        .select_from(Pair)
        .outerjoin(Adjudication, Adjudication.pair_id == Pair.id)
        .where(Pair.project_id == project_id, IN_USE)
        .order_by(*order)
        .execution_options(yield_per=AT_ONCE)
    )


def standing_in(row: Row[Any], scale: Scale) -> GoldStanding:
    """Of a row with `grades` and `decided`."""
    return GoldStanding(
        None if row.decided is None else scale.from_steps(row.decided),
        tuple(scale.from_steps(int(quarters)) for quarters in (row.grades or "").split()),
    )


def stream_pairs(session: Session, project_id: int, *, with_comments: bool = False) -> Iterator[RatedPair]:
    """Every pair of the project that is not withdrawn, its raters by account name; a few hundred are held
    at a time."""
    names, scale = names_of(session, rater_ids(session, project_id)), scale_in(session, project_id)
    last = -1
    while pairs := session.execute(_pairs_after(project_id, last)).all():
        ids = [pair.id for pair in pairs]
        ratings = _ratings_of(session, ids, scale)
        comments = comments_of(session, ids) if with_comments else {}
        for pair in pairs:
            rated = _rated_pair(pair, [(names[rater], grade) for rater, grade in ratings[pair.id]], scale)
            yield replace(rated, comments=tuple(comments.get(pair.id, ())))
        last = pairs[-1].import_order


def has_senses(session: Session, project_id: int) -> bool:
    """Whether a pair of the project has definitions of a word or a sense."""
    described = exists().where(Pair.project_id == project_id, Pair.senses.is_not(None), IN_USE)
    return bool(session.scalar(select(described)))


def _pairs_after(project_id: int, import_order: int) -> Executable:
    return (
        select(
            Pair.id,
            Pair.external_id,
            Pair.type,
            Pair.left,
            Pair.right,
            Pair.genre,
            Pair.intended_quarters,
            Pair.source,
            Pair.senses,
            Pair.import_order,
            Adjudication.quarters,
            Adjudication.cause,
        )
        .outerjoin(Adjudication, Adjudication.pair_id == Pair.id)
        .where(Pair.project_id == project_id, IN_USE, Pair.import_order > import_order)
        .order_by(Pair.import_order)
        .limit(AT_ONCE)
    )


def _ratings_of(
    session: Session, pair_ids: Sequence[int], scale: Scale
) -> dict[int, list[tuple[int, Decimal]]]:
    rows = session.execute(
        select(Rating.pair_id, Rating.rater_id, Rating.quarters)
        .where(Rating.pair_id.in_(pair_ids))
        .order_by(Rating.pair_id, Rating.rater_id)
    )
    ratings: dict[int, list[tuple[int, Decimal]]] = defaultdict(list)
    for pair_id, rater_id, quarters in rows:
        ratings[pair_id].append((rater_id, scale.from_steps(quarters)))
    return ratings


def _rated_pair(pair: Row[Any], ratings: list[tuple[str, Decimal]], scale: Scale) -> RatedPair:
    return RatedPair(
        id=pair.id,
        external_id=pair.external_id,
        type=pair.type,
        left=pair.left,
        right=pair.right,
        genre=pair.genre,
        intended=None if pair.intended_quarters is None else scale.from_steps(pair.intended_quarters),
        source=pair.source,
        ratings=tuple(ratings),
        adjudicated=None if pair.quarters is None else scale.from_steps(pair.quarters),
        cause=Cause(pair.cause) if pair.cause else None,
        senses=senses_from_json(pair.senses),
    )


@dataclass(frozen=True, slots=True)
class GoldCounts:
    """How far a project is from a gold set."""

    pairs: int
    too_few_ratings: int
    not_adjudicated: int
    withdrawn: int = 0
    """Pairs that none of the other figures counts."""
    problems: int = 0
    """Pairs with a gold grade that a rater has marked as a problem."""
    reopened: int = 0
    """Pairs with a gold grade that are to be adjudicated again, a grade being younger than their decision."""

    @property
    def with_gold(self) -> int:
        return self.pairs - self.too_few_ratings - self.not_adjudicated


def count_gold(session: Session, project: Project) -> GoldCounts:
    """How many pairs have a gold grade, and what the others lack."""
    return GoldCounts(
        *_count_unfinished(session, project),
        count_withdrawn(session, project.id),
        count_problems(session, project),
        count_reopened(session, project),
    )


def count_graded(session: Session, project: Project) -> int:
    """How many pairs have a gold grade."""
    return GoldCounts(*_count_unfinished(session, project)).with_gold


def check_counts(session: Session, project: Project, options: ExportOptions) -> GoldCounts:
    """What an export would find.

    Raises:
        ExportError: it would be refused.
    """
    counts = GoldCounts(*_count_unfinished(session, project))
    if not counts.pairs and (withdrawn := count_withdrawn(session, project.id)):
        raise ExportError(
            _(
                "Project {project} has only withdrawn pairs ({count}): restore those that should count "
                "first.",
                project=repr(project.name),
                count=f"{withdrawn:,}",
            )
        )
    if not counts.pairs:
        raise ExportError(
            _("Project {project} has no pairs yet: import some first.", project=repr(project.name))
        )
    missing = counts.pairs - counts.with_gold
    if missing and options.unfinished is Unfinished.REFUSE:
        raise UnfinishedError(_missing_text(counts, first_unfinished(session, project)), missing)
    return counts


def _missing_text(counts: GoldCounts, first: tuple[str, str] | None) -> str:
    """How many pairs have no gold grade, the type and id of the first, and what they lack."""
    missing = counts.pairs - counts.with_gold
    figures = {"count": f"{missing:,}", "pairs": f"{counts.pairs:,}"}
    said = (
        ngettext(
            "{count} of {pairs} pairs has no gold grade yet, it is pair {pair} ({type})",
            "{count} of {pairs} pairs have no gold grade yet, the first is pair {pair} ({type})",
            missing,
            pair=first[1] if _WORD.fullmatch(first[1]) else repr(first[1]),
            type=first[0],
            **figures,
        )
        if first
        else ngettext(
            "{count} of {pairs} pairs has no gold grade yet",
            "{count} of {pairs} pairs have no gold grade yet",
            missing,
            **figures,
        )
    )
    few, undecided = counts.too_few_ratings, counts.not_adjudicated
    ratings = ngettext("{count} lacks ratings", "{count} lack ratings", few, count=f"{few:,}")
    decision = ngettext(
        "{count} lacks a decision", "{count} lack a decision", undecided, count=f"{undecided:,}"
    )
    if few and undecided:
        lacks = _("{ratings} and {decision}", ratings=ratings, decision=decision)
    else:
        lacks = ratings if few else decision
    return f"{said}; {lacks}"


def count_problems(session: Session, project: Project) -> int:
    """How many pairs with a gold grade a rater has marked as a problem."""
    few, flagged = _lacks(project)
    marked = exists().where(Comment.pair_id == Pair.id, Comment.is_flagged)
    return count_where(session, Pair.project_id == project.id, IN_USE, ~few, ~flagged, marked)


def count_reopened(session: Session, project: Project) -> int:
    """How many flagged pairs have a decision that is older than one of their ratings."""
    counted = (
        select(func.count(Pair.id))
        .join(Adjudication, Adjudication.pair_id == Pair.id)
        .where(Pair.project_id == project.id, IN_USE, is_reopened(project))
    )
    return session.scalar(counted) or 0


def _count_unfinished(session: Session, project: Project) -> tuple[int, int, int]:
    """How many pairs there are, how many have too few ratings, how many are flagged and undecided."""
    few, flagged = _lacks(project)
    counted = select(func.count(), func.count().filter(few), func.count().filter(flagged))
    of_project = counted.where(Pair.project_id == project.id, IN_USE)
    pairs, without_ratings, without_decision = session.execute(of_project).one()
    return pairs, without_ratings, without_decision


def first_unfinished(session: Session, project: Project) -> tuple[str, str] | None:
    """Type and id of the first pair, in the order of import, without a gold grade."""
    row = session.execute(
        select(Pair.type, Pair.external_id)
        .where(Pair.project_id == project.id, IN_USE, or_(*_lacks(project)))
        .order_by(Pair.import_order)
        .limit(1)
    ).first()
    return None if row is None else (row.type, row.external_id)


def _lacks(project: Project) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    """`annotation.gold.GoldStanding.reason` for a query: an unfinished pair meets one of the two."""
    finished = is_finished(project)
    return ~finished, and_(~HAS_DECISION, finished, is_flagged(project))


def other_counts(session: Session, project: Project) -> dict[str, int]:
    """Of a manifest: raters, and what there is of adjudicators whose decisions stand, of grades from files,
    and of withdrawn, reopened and marked pairs."""
    in_use = of_pair_in_use(Adjudication.pair_id, project.id)
    adjudicators = select(func.count(Adjudication.adjudicator_id.distinct()))
    found = {
        "adjudicators": session.scalar(adjudicators.where(Adjudication.project_id == project.id, in_use))
        or 0,
        "imported_ratings": _count_imported(session, project.id),
        "withdrawn": count_withdrawn(session, project.id),
        "marked_as_problem": count_problems(session, project),
        "reopened": count_reopened(session, project),
    }
    raters = len(rater_ids(session, project.id))
    return {"raters": raters, **{name: number for name, number in found.items() if number}}


def quality_for_manifest(session: Session, project_id: int) -> dict[str, Any]:
    """`training` and `checks` of a manifest's protocol, as they are set now; nothing of what is not used.

    Distances are in points of the scale.
    """
    settings = quality_of(session, project_id)
    told: dict[str, Any] = {}
    if training := count_where(session, training_in_use(project_id)):
        distance = float(settings.training_distance)
        told["training"] = {"pairs": training, "pass_percent": settings.pass_percent, "distance": distance}
    is_check = Pair.project_id == checks_project_of(session, project_id)
    if settings.check_every and (checks := count_where(session, is_check)):
        distance = float(settings.check_distance)
        told["checks"] = {"pairs": checks, "every": settings.check_every, "distance": distance}
    return told


def _count_imported(session: Session, project_id: int) -> int:
    """Grades in force that nobody gave or changed on the page."""
    on_page = exists().where(
        RatingChange.pair_id == Rating.pair_id,
        RatingChange.rater_id == Rating.rater_id,
        RatingChange.origin == "page",
    )
    counts = of_pair_in_use(Rating.pair_id, project_id)
    return count_where(session, Rating.project_id == project_id, counts, ~on_page)


_NAMES = {
    "guidelines": "guidelines",
    "types": "types",
    "step": "step",
    "threshold": "adjudication_threshold",
    "average": "average",
    "raters_per_pair": "raters_per_pair",
    "is_random": "order",
    "seed": "seed",
    "may_revise": "may_revise",
    "most_per_rater": "most_per_rater",
    "repeat_percent": "repeat_percent",
    "consent": "consent",
    "scale_words": "scale_words",
}
"""Settings that bear on grades, or on who gives them, and what the manifest calls them."""


def protocol_history(session: Session, project: Project) -> dict[str, Any]:
    """`protocol_changes` of a manifest, the earliest first, and the texts before them by their hashes.

    The texts are `earlier_guidelines`, `earlier_consent` and `earlier_scale_words`. Nothing where none was
    changed. `ratings_before` are the grades that stand as they were before a change; where senses got
    definitions, those of the pairs that had none.
    """
    events = session.execute(
        select(AuditEvent.at, AuditEvent.action, AuditEvent.detail)
        .where(
            AuditEvent.project_id == project.id, AuditEvent.action.in_((PROJECT_CHANGED, SENSES_DESCRIBED))
        )
        .order_by(AuditEvent.id)
    )
    changes: list[dict[str, Any]] = []
    earlier: dict[str, dict[str, str]] = {name: {} for name in LONG_TEXTS}
    moments: list[datetime] | None = None
    for at, action, detail in events:
        if action == SENSES_DESCRIBED:
            changes += _definitions(session, project.id, at, detail.get("graded"))
            continue
        told = list(_changes(detail))
        if told and moments is None:
            moments = _moments(session, project.id)
        given = bisect_left(moments or (), at)
        changes += [{"at": at.isoformat(), **change, "ratings_before": given} for change in told]
        for name, texts in earlier.items():
            told = detail.get("before", {}).get(name)
            if told and told["text"] != (getattr(project, name) or ""):
                texts[told["sha256"]] = told["text"]
    return {
        **({"protocol_changes": changes} if changes else {}),
        **{f"earlier_{name}": texts for name, texts in earlier.items() if texts},
    }


def _changes(detail: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Of an event; None stands for values that an earlier version did not keep."""
    sides = {side: detail.get(side) for side in ("before", "after")}
    for name in detail["settings"]:
        if name in _NAMES:
            values = {
                side: None if kept is None else _value(name, kept[name]) for side, kept in sides.items()
            }
            yield {"setting": _NAMES[name], **values}


def _definitions(
    session: Session, project_id: int, at: datetime, graded: Sequence[str] | None
) -> Iterator[dict[str, Any]]:
    """That raters had graded pairs by sense keys alone, before these got their definitions.

    Args:
        at: when they got them.
        graded: the pairs' ids; None in events of earlier versions: then any pair of a sense may be one.
    """
    described = select(Pair.id).where(
        Pair.project_id == project_id, Pair.type == WORD_TO_SENSE, Pair.senses.is_not(None), IN_USE
    )
    named = [is_among(session, Pair.external_id, ids) for ids in parts(graded or ())]
    among = [described] if graded is None else [described.where(condition) for condition in named]
    moments = (_moments(session, project_id, Rating.pair_id.in_(pairs)) for pairs in among)
    if before := sum(bisect_left(given, at) for given in moments):
        sides = {"before": "sense keys alone", "after": "definitions of the senses"}
        yield {"at": at.isoformat(), "setting": "definitions", **sides, "ratings_before": before}


def _value(name: str, value: Any) -> Any:
    if name in LONG_TEXTS:
        return value["sha256"]
    if name == "is_random":
        return "random" if value else "import"
    return value


def _moments(session: Session, project_id: int, *which: ColumnElement[bool]) -> list[datetime]:
    """When each grade in force, or each of some, was given, or last changed, the earliest first."""
    change = and_(RatingChange.pair_id == Rating.pair_id, RatingChange.rater_id == Rating.rater_id)
    rows = session.execute(
        select(Rating.created_at, func.max(RatingChange.at))
        .outerjoin(RatingChange, change)
        .where(Rating.project_id == project_id, of_pair_in_use(Rating.pair_id, project_id), *which)
        .group_by(Rating.id)
    )
    return sorted(max(given, changed or given) for given, changed in rows)


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
            return check_counts(session, find_project(session, project_id), options)

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
            return self._export(project_id, target, options, by, progress)

    def _export(
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
            counts = check_counts(session, project, options)
            aside = read_excluded(session, project_id)
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
            told = excluded_for_manifest(aside, options.raters, numbers)
            written |= {"set_aside": [each.as_json() for each in told]} if told else {}
            written |= consent_for_manifest(session, project, raters) | protocol_history(session, project)
            if (order := order_of(session, project_id)) is not QueueOrder.PROJECT:
                written["protocol"]["order_of_predictions"] = order.value
            written["protocol"] |= quality_for_manifest(session, project_id)
        written["card"] = write_card(target.partial, gold_card(written))
        exported = ExportedGold(written, write_manifest(target.partial, written))
        with self._database.session() as session:
            find_project(session, project_id, lock=True)  # it stays until this is written down
            if numbers is not None:
                keep_exported(session, project_id, named)
            _record_export(session, project_id, exported, counts.with_gold, by, self._clock())
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


def _record_export(
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
