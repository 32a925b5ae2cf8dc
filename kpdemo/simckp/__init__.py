"""SimCKP (Choi et al. 2023, Findings of EMNLP): contrastive extraction of present keyphrases."""
