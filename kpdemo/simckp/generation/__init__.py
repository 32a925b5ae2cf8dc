"""Absent keyphrases that a decoder writes (SimCKP, section 4.2): decoders, search and checkpoints."""
