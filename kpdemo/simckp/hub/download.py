"""Fetching models of the Hugging Face Hub; nothing heavy is imported to find that one cannot be had."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from httpx2 import HTTPError
from huggingface_hub import HfApi, snapshot_download
from huggingface_hub.errors import (
    EntryNotFoundError,
    GatedRepoError,
    HFValidationError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
)

from kpdemo.errors import ModelLoadError
from kpdemo.identity import CONFIG, SUMS, is_own, stored_config
from kpdemo.simckp.hub.profiles import OWN_PROFILE

PATIENCE = 5.0
"""Seconds that the Hub may take to answer at all."""

_DESCRIPTIONS = (".json", ".txt", ".model")
_SAFE_WEIGHTS = re.compile(r"model.*\.safetensors")
_OLD_WEIGHTS = re.compile(r"pytorch_model.*\.bin")


def fetch(name: str) -> Path:
    """The folder of a model of the Hub; one that is on this machine already is not asked for again.

    Args:
        name: "owner/name".

    Raises:
        ModelLoadError: it is not here, and there is none of that name or the Hub cannot be reached.
    """
    return on_this_machine(name) or _download(name)


def fetch_config(name: str) -> Path:
    """As `fetch`, but of a model that is not here only `config.json` is fetched."""
    here = on_this_machine(name)
    if here is not None:
        return here
    with _hub_errors(name):
        HfApi().model_info(name, timeout=PATIENCE)
        return Path(snapshot_download(name, allow_patterns=[CONFIG]))


def check_there(name: str) -> None:
    """As `fetch`, but a model that is not here is only looked up."""
    if on_this_machine(name) is None:
        with _hub_errors(name):
            HfApi().model_info(name, timeout=PATIENCE)


def choose_files(files: Iterable[str]) -> list[str]:
    """Of a foreign model's files those that are needed: descriptions, and weights in their safest form."""
    top = [file for file in sorted(files) if "/" not in file]
    safe = [file for file in top if _SAFE_WEIGHTS.fullmatch(file)]
    weights = safe or [file for file in top if _OLD_WEIGHTS.fullmatch(file)]
    return [file for file in top if file.endswith(_DESCRIPTIONS) or file == OWN_PROFILE] + weights


def on_this_machine(name: str) -> Path | None:
    """A copy that is whole; None when there is none."""
    patterns = [*(f"*{ending}" for ending in _DESCRIPTIONS), "model*.safetensors", OWN_PROFILE]
    try:
        folder = Path(
            snapshot_download(name, local_files_only=True, allow_patterns=patterns, ignore_patterns=["*/*"])
        )
        if is_own(folder) and (folder / SUMS).is_file():
            return Path(snapshot_download(name, local_files_only=True))
    except (EntryNotFoundError, HFValidationError):
        return None
    names = [path.name for path in folder.iterdir()]
    return folder if any(_SAFE_WEIGHTS.fullmatch(n) or _OLD_WEIGHTS.fullmatch(n) for n in names) else None


def _download(name: str) -> Path:
    with _hub_errors(name):
        listed = HfApi().model_info(name, timeout=PATIENCE)
        files = sorted(sibling.rfilename for sibling in listed.siblings or ())
        # A checkpoint of kpdemo is needed as a whole; a foreign model may have a SHA256SUMS too.
        whole = SUMS in files and "model_type" not in stored_config(
            Path(snapshot_download(name, allow_patterns=[CONFIG]))
        )
        return Path(snapshot_download(name, allow_patterns=files if whole else choose_files(files)))


@contextmanager
def _hub_errors(name: str) -> Iterator[None]:
    try:
        yield
    except OfflineModeIsEnabled as error:
        raise ModelLoadError(
            f"There is no folder {name!r} nor a model of that name on this machine, and HF_HUB_OFFLINE "
            "forbids downloading one: unset it, or give a folder."
        ) from error
    except GatedRepoError as error:
        raise ModelLoadError(
            f"The model {name!r} is gated: request access on its page, then log in with `hf auth login`."
        ) from error
    except HFValidationError as error:  # a path, or what no model there can be called
        raise ModelLoadError(f"There is no folder {name!r}: check the name.") from error
    except RepositoryNotFoundError as error:
        raise ModelLoadError(
            f"There is no folder {name!r}, nor a model of that name on the Hugging Face Hub: check the name."
        ) from error
    except (HTTPError, OSError) as error:
        raise ModelLoadError(
            f"There is no folder {name!r}, and the Hugging Face Hub cannot be reached to look for a model of "
            f"that name ({type(error).__name__}): connect to the network, or give a folder."
        ) from error
