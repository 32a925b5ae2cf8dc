"""SimCKP's experiments at our size: its tables with our figures beside the published ones."""
