"""Errors of the database with one sentence for the user: what is wrong, the value, what to do."""


class DatabaseError(Exception):
    """The base of every error that the database raises on purpose."""


class UrlError(DatabaseError, ValueError):
    """The URL names no database of a known kind."""


class UnreachableError(DatabaseError):
    """The server or the file system refused: no such server, not a database, damaged, locked."""
