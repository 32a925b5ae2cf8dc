"""What lists and reports say of one random study, on PostgreSQL as on SQLite.

Their own tests ask SQLite alone; what locks, claims or counts is tried on both where it is tested.
"""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from pathlib import Path

from annotation.adjudication import Which
from annotation.files.gold_files import RatingFormat
from annotation.services.adjudication import DecisionTableService
from annotation.services.audit import EventService
from annotation.services.known_pairs import KnownPairService
from annotation.services.pairs import PairService
from annotation.services.quality import QualityService, WorkService
from annotation.services.ratings import RatingExportService, RemarkService
from annotation.types import KnownPair
from db import Database
from tests.rated import pair
from tests.studies import build_study, random_study


def reports(database: Database, file: Path) -> dict[str, object]:
    """All that they say, without the numbers of rows."""
    rated = build_study(database, random_study(3))
    known, clock = KnownPairService(database, rated.clock), rated.clock
    known.import_training(rated.id, [KnownPair(pair("training"), Decimal(1))])
    known.import_checks(rated.id, [KnownPair(pair("check"), Decimal(2))])
    RatingExportService(database, clock=clock).export(rated.id, file, RatingFormat.CSV, named=True)
    remarks = RemarkService(database).remarks(rated.id, viewer=rated.adjudicator.id)
    decisions = DecisionTableService(database).items(rated.id, Which.ALL, None)
    lists = PairService(database)
    return {
        "exported": file.read_bytes(),
        "remarks": (remarks.counts, [(each.kind, each.external_id, each.text) for each in remarks.items]),
        "work": WorkService(database, lambda: clock() + timedelta(days=3)).work(rated.id),
        "quality": [
            (each.user.name, each.work) for each in QualityService(database).overview(rated.id).standings
        ],
        "known": [(line.kind, line.external_id, line.grade) for line in known.known(rated.id)],
        "events": [(event.action, event.user) for event in EventService(database).recent(rated.id)],
        "server": sorted(event.action for event in EventService(database).of_server()),
        "decisions": [(item.external_id, item.grades, item.comments) for item in decisions],
        "stuck": PairService(database, clock=clock).stuck(rated.id),
        "found": [
            [line.external_id for line in lists.pairs(rated.id, search=text).items]
            for text in ("1", "HARBOUR", "a boat", "%", "no such text")
        ],
    }


def test_lists_and_reports_say_the_same_on_both_systems(sqlite_database, postgresql_database, tmp_path):
    here, there = (
        reports(sqlite_database, tmp_path / "here"),
        reports(postgresql_database, tmp_path / "there"),
    )
    for part, said in here.items():
        assert there[part] == said, part
        assert said, part
