"""To be filled in."""

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    pass
