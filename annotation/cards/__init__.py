"""The dataset card of a gold set, from its manifest alone."""
