"""Training of RAMKG (Gao et al. 2022): retrievers, rankers, generators, and the rounds of both."""
