"""Errors of the database with one sentence for the user: what is wrong, the value, what to do."""


class DatabaseError(Exception):
    """The base of every error that the database raises on purpose."""


class UrlError(DatabaseError, ValueError):
    """The URL names no database of a known kind."""


class UnreachableError(DatabaseError):
    """The server or the file system refused: no such server, not a database, locked."""

    for_users = "The database is not responding: try again in a moment."
    """For everybody: it names neither the server's address nor its files."""


class DamagedError(DatabaseError):
    """The file is not whole; trying again does not help."""

    for_users = "The database is damaged: tell the person who runs this server."

    def __init__(self, database: str, reason: str) -> None:
        super().__init__(
            f"{database} is damaged ({reason}): look at it with `python -m db check`, and restore a backup."
        )
        self.reason = reason
