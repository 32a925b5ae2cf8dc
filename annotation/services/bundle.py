"""All services of annotation on one database, as the pages and routes are given them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError

from annotation.passwords import Passwords
from annotation.predictions.handovers import HandOvers
from annotation.senses.dictionary import Dictionary
from annotation.services.access.accounts import AccountService
from annotation.services.access.invitations import InvitationService
from annotation.services.access.sign_ins import SignInService
from annotation.services.adjudication import AdjudicationService
from annotation.services.agreement import AgreementService
from annotation.services.consents import ConsentService
from annotation.services.events import EventService
from annotation.services.gold import GoldService
from annotation.services.imports.importing import ImportService
from annotation.services.judgements import JudgementService
from annotation.services.keys import KeyService
from annotation.services.known_pairs import KnownPairService
from annotation.services.overview import OverviewService
from annotation.services.pair_list import PairListService
from annotation.services.pair_removal import PairRemovalService
from annotation.services.pair_withdrawal import PairWithdrawalService
from annotation.services.projects import ProjectService
from annotation.services.quality import QualityService
from annotation.services.rating.assignment import AssignmentService
from annotation.services.rating.ratings import RatingService
from annotation.services.rating.stuck import StuckService
from annotation.services.remarks import RemarkService
from annotation.services.sending import SendService
from annotation.services.senses import SenseService
from annotation.services.set_aside import SetAsideService
from annotation.services.systems import SystemService
from annotation.services.training import TrainingService
from annotation.services.work import WorkService
from annotation.services.writing.editing import EditingService
from annotation.services.writing.item_withdrawal import ItemWithdrawalService
from annotation.services.writing.items import ItemService
from annotation.services.writing.reports import WritingReportService
from annotation.services.writing.writers import WritingService
from annotation.systems.baselines import Similarities
from db import DEFAULT_URL, Database, DatabaseError
from db.errors import DamagedError as DamagedError  # for pages and routes, which know no db
from db.errors import UnreachableError as UnreachableError
from db.migrations import prepare
from db.models import Project

SPACE_DISK = Path("/data")
"""What a Hugging Face Space keeps when it starts again, where its owner has added it."""


@dataclass(frozen=True)
class Services:
    database: Database
    accounts: AccountService
    sign_ins: SignInService
    invitations: InvitationService
    projects: ProjectService
    importing: ImportService
    assignment: AssignmentService
    ratings: RatingService
    consents: ConsentService
    agreement: AgreementService
    adjudication: AdjudicationService
    gold: GoldService
    events: EventService
    overview: OverviewService
    stuck: StuckService
    pair_list: PairListService
    pair_removal: PairRemovalService
    pair_withdrawal: PairWithdrawalService
    remarks: RemarkService
    sending: SendService
    judgements: JudgementService
    dictionary: Dictionary
    items: ItemService
    item_withdrawal: ItemWithdrawalService
    writing: WritingService
    editing: EditingService
    writing_reports: WritingReportService
    quality: QualityService
    known_pairs: KnownPairService
    training: TrainingService
    work: WorkService
    set_aside: SetAsideService
    systems: SystemService
    handovers: HandOvers
    keys: KeyService
    senses: SenseService

    def answers(self) -> bool:
        """Whether the database can be asked at this moment."""
        try:
            with self.database.reading() as session:
                session.execute(select(Project.id).limit(1))  # a file that was deleted comes back empty
        except (SQLAlchemyError, DatabaseError):
            return False
        return True


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
        invitations=InvitationService(database, passwords=passwords),
        projects=ProjectService(database),
        importing=importing,
        assignment=assignment,
        ratings=RatingService(database, assignments=assignment),
        consents=ConsentService(database),
        agreement=AgreementService(database),
        adjudication=AdjudicationService(database),
        gold=GoldService(database),
        events=EventService(database),
        overview=OverviewService(database),
        stuck=StuckService(database),
        pair_list=PairListService(database),
        pair_removal=PairRemovalService(database),
        pair_withdrawal=PairWithdrawalService(database),
        remarks=RemarkService(database),
        sending=SendService(database),
        judgements=JudgementService(database),
        items=ItemService(database),
        item_withdrawal=ItemWithdrawalService(database),
        writing=writing,
        editing=EditingService(database, dictionary=dictionary),
        writing_reports=WritingReportService(database),
        quality=QualityService(database),
        known_pairs=KnownPairService(database),
        training=TrainingService(database),
        work=WorkService(database),
        set_aside=SetAsideService(database),
        systems=SystemService(database, similarities=similarities),
        handovers=HandOvers(),
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
