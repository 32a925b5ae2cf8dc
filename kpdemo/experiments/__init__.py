"""SimCKP's experiments at our size: its tables with our figures next to the published ones."""
