"""The page that a folder of results is shown on: SimCKP's part, RAMKG's, or both."""

from __future__ import annotations

from kpdemo.errors import ConfigError
from kpdemo.experiments.multilingual_page import multilingual_page
from kpdemo.experiments.results import Results
from kpdemo.experiments.simckp_page import simckp_page


def write_page(results: Results) -> None:
    """Write the Markdown page beside the folder of results.

    Raises:
        ConfigError: nothing was measured there.
    """
    parts = [part for part in (simckp_page(results), multilingual_page(results)) if part]
    if not parts:
        raise ConfigError(f"{results.folder} holds no figures: name the --output of an earlier experiment.")
    results.page.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
