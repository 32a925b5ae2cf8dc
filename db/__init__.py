"""The database: its tables, migrations and sessions."""

from db.database import DEFAULT_URL, Database
from db.errors import DatabaseError

__all__ = ["DEFAULT_URL", "Database", "DatabaseError"]
