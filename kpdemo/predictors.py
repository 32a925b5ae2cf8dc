"""Models and baselines by name, also those of other modules as "module:factory"."""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from kpdemo.errors import InputError, ModelLoadError
from kpdemo.identity import CONFIG, RAMKG_KIND, RANKER_KIND, SUMS, is_own, kind_of, read_sums, stored_config
from kpdemo.pipeline import Pipeline
from kpdemo.routing import DEFAULT_MODEL, INDEXER_MODEL, MULTILINGUAL_MODEL
from kpdemo.simckp.hub.profiles import KNOWN, one_line
from kpdemo.text import name_of_value
from kpdemo.types import Document, Prediction, Predictor

_NAME = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*:[^\W\d]\w*")


def is_factory_name(name: str) -> bool:
    """Whether a name is written as "module:factory"."""
    return _NAME.fullmatch(name) is not None


def find_factory(name: str) -> Callable[[], object]:
    """The factory of that name, after its module is imported, which runs its code.

    Raises:
        ModelLoadError: there is no such module or factory, or it cannot be called.
    """
    module, _, factory = name.partition(":")
    try:
        found = getattr(import_module(module), factory, None)
    except ImportError as error:
        raise ModelLoadError(
            f"The module of the model {name!r} cannot be imported ({error}): check its name, or add its "
            "folder to the variable PYTHONPATH."
        ) from error
    if found is None:
        raise ModelLoadError(f"The module {module!r} has no {factory!r}: check the model {name!r}.")
    if not callable(found):
        raise ModelLoadError(
            f"The model {name!r} is {name_of_value(found)}, which cannot be called: name a class or a "
            "function that "
            "returns a predictor."
        )
    return found  # type: ignore[no-any-return]


def call_factory(name: str) -> Predictor:
    """The predictor that the factory of that name returns.

    Raises:
        ModelLoadError: as `find_factory`, or it returns something else.
    """
    made = find_factory(name)()
    if not isinstance(made, Predictor):
        raise ModelLoadError(
            f"The model {name!r} returned {name_of_value(made)}, which is no predictor: return an object "
            "with name, "
            "device and predict, as in kpdemo/types.py."
        )
    return made


def factory_docstring(name: str) -> str:
    """What the factory of that name says of itself; empty where its module does not define or document it.

    The module is read, not imported: the page, which shows this, need not load what the model needs.
    """
    module, _, factory = name.partition(":")
    try:
        spec = find_spec(module)  # imports the packages that the module is in, if any
    except Exception:  # noqa: BLE001 - the code of a package may raise anything
        return ""
    try:
        tree = ast.parse(spec.loader.get_source(module))  # type: ignore[union-attr]
    except (ImportError, AttributeError, TypeError, ValueError, SyntaxError):
        return ""  # it is not there, or not Python source
    made = (node for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef))
    return next((ast.get_docstring(node) or "" for node in made if node.name == factory), "")


ENGLISH_MODEL = "english"
_ASSETS = Path(__file__).parent / "assets"
DEFAULT_FOLDER = _ASSETS / "default"
MULTILINGUAL_FOLDER = _ASSETS / MULTILINGUAL_MODEL
PASSAGES_INDEX = _ASSETS / "passages" / "index"

_SIMCKP = "SimCKP on author keywords"  # such a line fits the list of models on the page in one piece
_INDEXER = {"indexer": "SimCKP on indexers' terms: more, and longer"}
_SHIPPED = {DEFAULT_MODEL: _SIMCKP} | _INDEXER
_SHIPPED_WITH_LANGUAGES = {
    DEFAULT_MODEL: f"{_SIMCKP}; any language",
    MULTILINGUAL_MODEL: "RAMKG for languages other than English",
    ENGLISH_MODEL: f"{_SIMCKP}; reads any text as English",
} | _INDEXER

_BASELINES = {
    "first": "the first noun phrases of the text",
    "tfidf": "TF-IDF over noun phrases",
    "yake": "YAKE (Campos et al. 2020)",
    "textrank": "TextRank (Mihalcea and Tarau 2004)",
    "positionrank": "PositionRank (Florescu and Caragea 2017)",
    "multipartite": "MultipartiteRank (Boudin 2018)",
    "embedding": "like KeyBERT, with the default model's encoder",
}
BASELINES = tuple(_BASELINES)


_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")


def model_folder(model: str | Path) -> Path:
    """The folder of a model that ships, or of one of the Hub on this machine, or else the name as a path."""
    elsewhere = {ENGLISH_MODEL: DEFAULT_FOLDER, MULTILINGUAL_MODEL: MULTILINGUAL_FOLDER}
    if model in shipped_models():
        return elsewhere.get(str(model), _ASSETS / model)
    if _is_of_hub(model):
        from kpdemo.simckp.hub.download import on_this_machine

        return on_this_machine(str(model)) or Path(model)
    return Path(model)


def fetched_folder(model: str | Path) -> Path:
    """As `model_folder`; a model of the Hub that is not on this machine is downloaded.

    Raises:
        ModelLoadError: it cannot be downloaded, or is a checkpoint that this kpdemo does not open.
    """
    if not _is_of_hub(model):
        return model_folder(model)
    from kpdemo.simckp.hub.own import fetch_checked

    return fetch_checked(str(model))


def is_hub_name(name: str) -> bool:
    """Whether a name is written as those of models of the Hub are."""
    return _HUB_NAME.fullmatch(name) is not None


def _is_of_hub(model: str | Path) -> bool:
    """Whether a name is that of a model of the Hub, if of any: a folder goes before it."""
    return is_hub_name(str(model)) and not Path(model).is_dir()


def model_name(folder: str) -> str:
    """What `model_folder` finds `folder` by: the name of a model that ships, of others the folder itself."""
    return next((name for name in shipped_models() if str(model_folder(name)) == folder), folder)


def shipped_models() -> dict[str, str]:
    """The models that ship, the default one first; several languages have one where it is installed."""
    return _SHIPPED_WITH_LANGUAGES if (MULTILINGUAL_FOLDER / CONFIG).is_file() else _SHIPPED


def available_models() -> dict[str, str]:
    """Names that `load_predictor` takes, each with one line on what it is; the default first.

    `yake` is among them where its package is installed.
    """
    here = {name: line for name, line in _BASELINES.items() if name != "yake" or find_spec(name)}
    return shipped_models() | here


def hub_models() -> dict[str, str]:
    """Models of the Hugging Face Hub whose ways are known, with one line on each; others may work too."""
    return {name: one_line(profile) for name, profile in KNOWN.items()}


def load_predictor(
    model: str | Path = DEFAULT_MODEL,
    *,
    device: str = "auto",
    index: str | Path | None = None,
    nested: bool = True,
) -> Pipeline:
    """A predictor by name; what is heavy loads with the first prediction.

    The default one reads English itself and leaves other languages to the model that ships for them, see
    `kpdemo.routing`.

    Args:
        model: a name of `available_models`, a checkpoint folder, the folder of a model in Hugging Face's
            form, the "owner/name" of one on the Hub, or "module:factory": the module is imported at once, and
            the factory called without arguments for a `Predictor` with the first prediction.
        device: "auto" (CUDA when there is one), "cpu" or "cuda"; baselines run on the CPU.
        index: the folder of a passage index for a model that retrieves; by default the one that ships for
            `multilingual`, and none for others.
        nested: as of `PredictionOptions`, where a prediction does not say.

    Raises:
        InputError: the model is neither a name nor a path, or the index no path.
        ModelLoadError: there is no such model, or it reads no passages but there is an `index`. One that is
            damaged, or cannot be fetched from the Hub, is found out at the first prediction, unless there is
            an `index`.
    """
    if not isinstance(model, str | Path):
        raise InputError(
            f"The model must be a name or the path of a folder, not {name_of_value(model)}: leave it out "
            "for the "
            "default."
        )
    if index is not None and not isinstance(index, str | Path):
        raise InputError(
            f"The index must be the path of a folder, not {name_of_value(index)}: leave it out for none."
        )
    name, passages = str(model), None if index is None else Path(index)
    if MULTILINGUAL_MODEL in shipped_models() and name in (DEFAULT_MODEL, MULTILINGUAL_MODEL):
        multilingual = partial(_multilingual, device, passages or own_index(name))
        if name == MULTILINGUAL_MODEL:
            return Pipeline(name, multilingual, nested=nested)
        english = partial(_load_folder, DEFAULT_FOLDER, device)
        indexer = partial(_load_folder, model_folder(INDEXER_MODEL), device)
        routes: dict[str, Callable[[], Predictor]] = {
            MULTILINGUAL_MODEL: multilingual,
            INDEXER_MODEL: indexer,
        }
        return Pipeline(name, english, routes, nested=nested)
    return Pipeline(name, _loader(model, device, passages), nested=nested)


def keyphrases(
    text: Document | str, *, model: str | Path = DEFAULT_MODEL, device: str = "auto", **options: Any
) -> Prediction:
    """The keyphrases of one text, in one line; the model is opened by the first call and kept for the next.

    Args:
        model, device: as of `load_predictor`.
        options: fields of `PredictionOptions`, such as `top_k=5` or `language="fr"`.

    Raises:
        InputError: the text cannot be read, there is no such option, or its value is out of range.
        ModelLoadError: as `load_predictor`.
    """
    [prediction] = _kept_open(model, device).predict([text], **options)
    return prediction


@lru_cache(maxsize=4)
def _kept_open(model: str | Path, device: str) -> Pipeline:
    return load_predictor(model, device=device)


def _loader(model: str | Path, device: str, passages: Path | None) -> Callable[[], Predictor]:
    """What opens a model that reads every document itself."""
    name = str(model)
    is_folder = name in shipped_models() or (name not in available_models() and Path(model).is_dir())
    if passages is not None and not takes_index(model):
        raise ModelLoadError(
            f"The model {name!r} does not use passages: leave the index out, or choose another model."
        )
    if is_folder:
        return partial(_load_folder, model_folder(model), device, passages)
    if name == "embedding":
        return partial(_load_embedding, device)
    if name in available_models():
        return partial(_load_baseline, name)
    if _is_of_hub(name):
        return partial(_load_from_hub, name, device, passages)
    if is_factory_name(name):
        find_factory(name)  # a wrong name is told at once
        return partial(call_factory, name)
    names = ", ".join(available_models())
    raise ModelLoadError(
        f"There is no model {name!r}: choose one of {names}, or give a checkpoint folder, a Hub name or "
        "MODULE:FACTORY."
    )


def takes_index(model: str | Path) -> bool:
    """Whether a model reads the passages of an index, by its configuration alone.

    Raises:
        ModelLoadError: the model is one of the Hub, and its configuration cannot be fetched.
    """
    if MULTILINGUAL_MODEL in shipped_models() and model == DEFAULT_MODEL:
        return True
    folder = model_folder(model)
    if _is_of_hub(model) and not folder.is_dir():
        from kpdemo.simckp.hub.download import fetch_config

        folder = fetch_config(str(model))
    return kind_of(folder) in (RAMKG_KIND, RANKER_KIND)


def own_index(model: str | Path) -> Path | None:
    """The index whose passages a model reads where none is given; None where it reads none."""
    ships = MULTILINGUAL_MODEL in shipped_models() and PASSAGES_INDEX.is_dir()
    return PASSAGES_INDEX if ships and str(model) in (DEFAULT_MODEL, MULTILINGUAL_MODEL) else None


@lru_cache(maxsize=4)
def _multilingual(device: str, index: Path | None) -> Pipeline:
    """The same object each time: by its own name and as the default it is loaded once."""
    return Pipeline(MULTILINGUAL_MODEL, partial(_load_folder, MULTILINGUAL_FOLDER, device, index))


def _load_folder(folder: Path, device: str, index: Path | None = None) -> Predictor:
    described = stored_config(folder)
    if "model_type" in described:
        return _load_hugging_face(str(folder), folder, device)
    kind = described.get("kind")
    if kind == RAMKG_KIND:
        if index is not None:
            from kpdemo.ramkg.generator import load_ramkg_predictor

            return load_ramkg_predictor(folder, index, device=device)
        from kpdemo.ramkg.generator import load_ramkg_generator

        return load_ramkg_generator(folder, device=device)
    if kind == RANKER_KIND:
        from kpdemo.ramkg.predictor import load_ranking_predictor

        return load_ranking_predictor(folder, index=index, device=device)
    from kpdemo.simckp.predictor import load_system

    return load_system(folder, device=device)


def _load_from_hub(name: str, device: str, index: Path | None = None) -> Predictor:
    from kpdemo.simckp.hub.own import explain_damage, fetch_checked

    folder = fetch_checked(name)
    if not is_own(folder):
        return _load_hugging_face(name, folder, device)
    with explain_damage(name, folder):
        return _load_folder(folder, device, index)


def _load_hugging_face(name: str, folder: Path, device: str) -> Predictor:
    from kpdemo.simckp.hub.models import open_hub_model

    return open_hub_model(name, folder, device=device)


def model_identity(model: str) -> str:
    """A hash of a checkpoint's weights; empty for a model without any.

    It covers all files but the card, which is prose and may be edited.

    Raises:
        ModelLoadError: as `fetched_folder`.
    """
    if model in BASELINES and model != "embedding":
        return ""
    folder = DEFAULT_FOLDER if model == "embedding" else fetched_folder(model)
    if not (is_own(folder) and (folder / SUMS).is_file()):  # that of a foreign model may be anything
        return ""
    parts = sorted(folder.rglob(SUMS))  # those of bank and reranker too
    if model == DEFAULT_MODEL:
        parts += sorted(MULTILINGUAL_FOLDER.rglob(SUMS))  # which it leaves other languages to
    digest = hashlib.sha256()
    for part in parts:
        for name, sha256 in sorted(read_sums(part.parent).items()):
            if not name.endswith(".md"):
                digest.update(f"{sha256}  {name}\n".encode())
    return digest.hexdigest()


def index_identity(model: str, index_folder: Path | None) -> str:
    """A hash of the index whose passages a model retrieves; empty for one that retrieves none.

    Raises:
        PassageIndexError: there is no index in the folder, or it is damaged.
    """
    folder = index_folder or own_index(model)
    if folder is None or not takes_index(model):
        return ""
    from kpdemo.ramkg.passage_index import read_manifest

    manifest = read_manifest(folder)
    return hashlib.sha256(repr(sorted(manifest.sha256.items())).encode()).hexdigest()


def load_similarities(model: str) -> Callable[[Sequence[tuple[str, str]]], list[float]]:
    """How alike two texts are by an encoder, 0 to 1: of the Hub, or in a folder.

    What is given back opens the encoder when it is first asked, and raises `ModelLoadError` where it cannot.
    """
    from kpdemo.ramkg.retriever import TextSimilarities

    return TextSimilarities(model)


def _load_embedding(device: str) -> Predictor:
    from kpdemo.simckp.embedding import load_embedding_baseline

    return load_embedding_baseline(DEFAULT_FOLDER, device=device)


def _load_baseline(name: str) -> Predictor:
    from kpdemo.evaluation.baselines import BASELINES

    return BASELINES[name]()
