"""The page that a folder of results is shown on: SimCKP's part, RAMKG's, or both."""

from __future__ import annotations

from kpdemo.errors import ConfigError
from kpdemo.experiments.cells import paragraphs
from kpdemo.experiments.multilingual_page import multilingual_page
from kpdemo.experiments.results import Results
from kpdemo.experiments.simckp_page import simckp_page


def write_page(results: Results) -> None:
    """Write the Markdown page beside the folder of results.

    Raises:
        ConfigError: nothing was measured there.
    """
    page = paragraphs(simckp_page(results), multilingual_page(results))
    if not page:
        raise ConfigError(f"{results.folder} holds no figures: name the --output of an earlier experiment.")
    results.page.write_text(f"{page}\n", encoding="utf-8")
