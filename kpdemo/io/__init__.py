"""Documents, tables and predictions in files."""
