"""Rating pairs of texts: the scale, who grades what, agreement and gold sets."""

__version__ = "0.1.0"
