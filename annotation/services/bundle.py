"""All services of annotation on one database, as the pages and routes are given them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError

from annotation.passwords import Passwords
from annotation.sense_pairs import Dictionary
from annotation.services.accounts import AccountService, InvitationService
from annotation.services.adjudication import AdjudicationService
from annotation.services.agreement import AgreementService
from annotation.services.assignment import AssignmentService
from annotation.services.audit import EventService
from annotation.services.consents import ConsentService
from annotation.services.crowds import CrowdService
from annotation.services.editing import EditingService, WritingReportService
from annotation.services.excluded_ratings import ExclusionService
from annotation.services.gold import GoldService
from annotation.services.imports import ImportService
from annotation.services.known_pairs import KnownPairService
from annotation.services.larger_items import ItemService
from annotation.services.leaderboard import SystemService
from annotation.services.numbering import KeyService
from annotation.services.pairs import PairService
from annotation.services.predictions import HandOvers, JudgementService, SendService
from annotation.services.projects import OverviewService, ProjectService
from annotation.services.quality import QualityService, TrainingService, WorkService
from annotation.services.ratings import RatingService, RemarkService
from annotation.services.senses import SenseService
from annotation.services.sign_in import SignInService
from annotation.services.tokens import TokenService
from annotation.services.writing import WritingService
from annotation.systems import Similarities
from db import DEFAULT_URL, Database, DatabaseError
from db.errors import DamagedError as DamagedError  # for pages and routes, which know no db
from db.errors import UnreachableError as UnreachableError
from db.errors import UnwritableError as UnwritableError
from db.migrations import prepare
from db.models import Project
from kpdemo.io.files import has_room

SPACE_DISK = Path("/data")
"""What a Hugging Face Space keeps when it starts again, where its owner has added it."""


@dataclass(frozen=True)
class Services:
    database: Database
    accounts: AccountService
    sign_ins: SignInService
    tokens: TokenService
    invitations: InvitationService
    projects: ProjectService
    importing: ImportService
    assignment: AssignmentService
    ratings: RatingService
    consents: ConsentService
    crowds: CrowdService
    agreement: AgreementService
    adjudication: AdjudicationService
    gold: GoldService
    events: EventService
    overview: OverviewService
    pairs: PairService
    remarks: RemarkService
    sending: SendService
    judgements: JudgementService
    dictionary: Dictionary
    items: ItemService
    writing: WritingService
    editing: EditingService
    writing_reports: WritingReportService
    quality: QualityService
    known_pairs: KnownPairService
    training: TrainingService
    work: WorkService
    exclusion: ExclusionService
    systems: SystemService
    handovers: HandOvers
    keys: KeyService
    senses: SenseService

    def state(self) -> str:
        """Of the database at this moment: "ok", "unavailable", or "read-only" where nothing can be saved."""
        try:
            with self.database.reading() as session:
                session.execute(select(Project.id).limit(1))  # a file that was deleted comes back empty
        except (SQLAlchemyError, DatabaseError):
            return "unavailable"
        path = self.database.path
        if path is None or (
            has_room(path.parent) and all(os.access(one, os.W_OK) for one in (path, path.parent))
        ):
            return "ok"
        return "read-only"


def open_services(
    database: Database, wordnet: Path | None = None, *, similarities: Similarities | None = None
) -> Services:
    """The services on `database`, whose tables are up to date.

    Args:
        wordnet: a folder of WordNet's files; None is the system's.
        similarities: what the system `embedding` asks; without it there is none.
    """
    keys = KeyService(database)
    keys.make_missing()
    passwords = Passwords()  # one for all, so that its bound on hashes at once holds
    assignment = AssignmentService(database)
    importing = ImportService(database)
    dictionary = Dictionary(wordnet)
    writing = WritingService(database)
    return Services(
        database=database,
        accounts=AccountService(database, passwords=passwords),
        sign_ins=SignInService(database, passwords=passwords),
        tokens=TokenService(database),
        invitations=InvitationService(database, passwords=passwords),
        projects=ProjectService(database),
        importing=importing,
        assignment=assignment,
        ratings=RatingService(database, assignments=assignment),
        consents=ConsentService(database),
        crowds=CrowdService(database, passwords=passwords),
        agreement=AgreementService(database),
        adjudication=AdjudicationService(database),
        gold=GoldService(database),
        events=EventService(database),
        overview=OverviewService(database),
        pairs=PairService(database),
        remarks=RemarkService(database),
        sending=SendService(database),
        judgements=JudgementService(database),
        items=ItemService(database),
        writing=writing,
        editing=EditingService(database, dictionary=dictionary),
        writing_reports=WritingReportService(database),
        quality=QualityService(database),
        known_pairs=KnownPairService(database),
        training=TrainingService(database),
        work=WorkService(database),
        exclusion=ExclusionService(database),
        systems=SystemService(database, similarities=similarities),
        handovers=HandOvers(database),
        keys=keys,
        dictionary=dictionary,
        senses=SenseService(database, dictionary, writing),
    )


def open_annotation(
    url: str | None = None,
    *,
    in_space: bool = False,
    wordnet: Path | None = None,
    similarities: Similarities | None = None,
) -> Services:
    """The services on the database at `url`, by default a file, with its tables up to date.

    Args:
        url: of the database.
        in_space: whether this is a Hugging Face Space.
        wordnet: a folder of WordNet's files; None is the system's.
        similarities: as of `open_services`.

    Raises:
        DatabaseError: it cannot be used as it is.
    """
    database = Database(url or default_url(in_space=in_space))
    prepare(database)
    return open_services(database, wordnet, similarities=similarities)


def default_url(*, in_space: bool, disk: Path = SPACE_DISK) -> str:
    """Under data/, or on the disk of the Space."""
    return f"sqlite:///{disk / 'kpdemo.db'}" if in_space and disk.is_dir() else DEFAULT_URL
