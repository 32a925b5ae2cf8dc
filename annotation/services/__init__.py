"""What touches the database: the only modules of annotation that open sessions. Plain values in and out."""
