"""Rating pairs of texts: the scale, who grades what, agreement and gold sets."""
