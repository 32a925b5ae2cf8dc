"""To be imported before Gradio by everything that serves pages: how Gradio behaves, and quick imports."""

from __future__ import annotations

import os

from kpdemo.quick_start import import_gradio, uncollected

os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"  # read when gradio is imported: it calls home otherwise
os.environ.setdefault("GRADIO_ANALYTICS_CACHE_FREQUENCY", "1000000000")  # no summary after every event

with uncollected():
    import_gradio()
