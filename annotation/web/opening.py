"""What there is to say when the server starts."""

from __future__ import annotations

from pathlib import Path

from annotation.services.bundle import SPACE_DISK, Services


def start_notes(services: Services, address: str, *, in_space: bool) -> list[str]:
    """What the person who starts the server should know, one sentence each."""
    notes = []
    database = services.database
    if in_space and database.is_sqlite and not Path(database.url.database or "").is_relative_to(SPACE_DISK):
        notes.append(
            "Accounts and ratings are lost when this Space restarts: add a disk to it, or name a PostgreSQL "
            "server in the variable KPDEMO_DATABASE_URL."
        )
    token = services.invitations.setup_token()
    if token is not None:
        where = "https://ADDRESS-OF-THE-SPACE" if in_space else address
        notes.append(f"Nobody can sign in yet. Make the first account at {where}/set-up/{token}")
    return notes
