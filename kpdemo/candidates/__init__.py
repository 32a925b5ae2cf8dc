"""Present keyphrase candidates: tokens, part-of-speech tags, chunks and their n-grams."""
