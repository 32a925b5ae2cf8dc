"""Documents from files: rows of JSON Lines and tables, whole files, PDF."""
