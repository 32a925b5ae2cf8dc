"""What raters hold goes back to the others while they or somebody else may be at work on it."""

from __future__ import annotations

from functools import partial

from annotation.services.rating.returns import kept_by, return_kept, return_one
from annotation.services.transactions import repeated_if_undone
from db import Database


def give_back(database: Database, rater_id: int, project_id: int | None = None) -> int:
    """Let go of what the rater holds, so that others can have it at once; how many pairs.

    Each pair goes in a transaction of its own. With several locked, an import that has rated one of them and
    comes to another would wait for this, and this for the import, which may last.

    Args:
        project_id: where; None for everywhere.

    Raises:
        UnreachableError: an import that goes on has rated one of the pairs. Those before it are given back.
    """

    def one(assignment_id: int) -> int:
        with database.session() as session:
            return return_one(session.connection(), assignment_id, rater_id)

    def claimed_meanwhile() -> int:
        with database.session() as session:
            return return_kept(session.connection(), rater_id, project_id)

    with database.reading() as session:
        kept = kept_by(session.connection(), rater_id, project_id)
    count = sum(repeated_if_undone(partial(one, assignment_id)) for assignment_id in kept)
    return count + repeated_if_undone(claimed_meanwhile)
