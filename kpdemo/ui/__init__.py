"""The pages of the demo, in Gradio."""

import os

# Gradio reads them when it is imported, which every module of the pages does after this one.
os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"  # it calls home otherwise
os.environ.setdefault("GRADIO_ANALYTICS_CACHE_FREQUENCY", "1000000000")  # no summary after every event
