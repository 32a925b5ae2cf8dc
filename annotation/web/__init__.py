"""What annotation serves beside its pages: sign-in, the rating interface, downloads."""
