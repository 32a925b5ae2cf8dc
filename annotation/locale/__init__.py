"""What raters meet, in their languages: a catalogue for each, and the command that updates them."""
