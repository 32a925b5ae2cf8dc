"""Rating pairs of texts: the scale, who grades what, agreement and gold sets."""

from kpdemo import __version__ as __version__
