"""RAMKG (Gao et al. 2022, Retrieval-Augmented Multilingual Keyphrase Generation): passages and keyphrases."""
