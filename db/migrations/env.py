"""Alembic runs this file to take the steps, on the connection that `db.migrations` hands it."""

from alembic import context

from db.models import Base

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Base.metadata,
    render_as_batch=True,
    transactional_ddl=True,  # SQLite can, though Alembic expects otherwise
)
context.run_migrations()
