"""SimCKP (Choi et al. 2023, Findings of EMNLP): present and absent keyphrases of English texts."""
