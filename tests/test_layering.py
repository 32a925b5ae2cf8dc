"""Who may import whom: the arrows between the layers, the few places for heavy libraries, nothing private."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("kpdemo", "annotation", "db")

SHARED_BY_PAGES = ("kpdemo.ui.widgets", "kpdemo.ui.charts", "kpdemo.ui.markdown")

# A layer, and what of this repository it may import. The longest name that fits a module is its layer.
ARROWS = {
    "app": ("kpdemo", "annotation", "db"),
    "annotation.ui": ("annotation", *SHARED_BY_PAGES),
    "annotation.web": ("annotation", "kpdemo.ui.widgets", "kpdemo.ui.markdown"),
    "annotation": ("annotation", "db"),
    # Hands the commands functions of the models: no other file of annotation, pages apart, knows kpdemo.
    "annotation.__main__": (
        *("annotation", "kpdemo.errors", "kpdemo.latex", "kpdemo.phrase_rules", "kpdemo.predictors"),
        "kpdemo.text",
    ),
    "kpdemo.ui": ("kpdemo",),
    "kpdemo": ("kpdemo",),
    "db": ("db",),
}
PAGES = ("kpdemo.ui", "annotation.ui", "annotation.web")

MODEL_PARTS = ("kpdemo.simckp", "kpdemo.ramkg", "kpdemo.training")
DATABASE_PARTS = ("db", "annotation.services")
HEAVY = {
    "torch": MODEL_PARTS,
    "transformers": MODEL_PARTS,
    "faiss": MODEL_PARTS,
    "gradio": ("kpdemo.ui", "annotation.ui", "app"),
    "sqlalchemy": DATABASE_PARTS,
    "alembic": DATABASE_PARTS,
    "nltk": (
        "annotation.wordnet",
        "kpdemo.languages",
        "kpdemo.text",
        "kpdemo.candidates",
        "kpdemo.training",
    ),
    "networkx": ("kpdemo.evaluation",),
    "sklearn": ("kpdemo.evaluation", *MODEL_PARTS),
    "yake": ("kpdemo.evaluation",),
    "py3langid": ("kpdemo.languages",),
    "rjieba": ("kpdemo.languages",),
    "kiwipiepy": ("kpdemo.languages",),
}
NEVER_WITH_THE_PACKAGE = ("torch", "transformers", "faiss", "gradio", "py3langid", "rjieba", "kiwipiepy")


def is_in(module: str, parents: tuple[str, ...]) -> bool:
    return any(module == parent or module.startswith(f"{parent}.") for parent in parents)


def imported_names(source: str, module: str) -> Iterator[str]:
    """Every module that `source` imports, wherever in it; `from a import b` gives a.b."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                yield from (name.name for name in names)
            case ast.ImportFrom(module=base, names=names, level=level):
                package = ".".join(module.split(".")[:-level]) if level else ""
                prefix = ".".join(part for part in (package, base) if part)
                yield from (f"{prefix}.{name.name}" for name in names)
            case ast.Call(
                func=ast.Name(id=name) | ast.Attribute(attr=name), args=[ast.Constant(value=str(target))]
            ):
                if name in ("import_module", "__import__"):
                    yield target


def violations(source: str, module: str) -> list[str]:
    """What `source`, were it the file of `module`, imports against the rules."""
    layer = max((name for name in ARROWS if is_in(module, (name,))), key=len)
    found = []
    for name in imported_names(source, module):
        library = name.split(".")[0]
        if library in HEAVY:
            allowed = is_in(module, HEAVY[library])
        elif library in (*PACKAGES, "app"):
            reaches_a_page = is_in(name, PAGES) and module != "app" and not is_in(module, PAGES)
            allowed = is_in(name, ARROWS[layer]) and not reaches_a_page
        else:
            allowed = True
        if not allowed:
            found.append(f"{module} imports {name}")
    return found


def sources() -> dict[str, Path]:
    """Module name to file, of the whole product; a package ends in __init__, as its relative imports need."""
    files = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
    names = {}
    for path in files:
        parts = path.relative_to(ROOT).with_suffix("").parts
        names[".".join(parts)] = path
    return {**names, "app": ROOT / "app.py"}


@pytest.mark.parametrize("module", sources())
def test_a_module_imports_only_what_its_layer_may(module):
    assert violations(sources()[module].read_text(encoding="utf-8"), module) == []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("kpdemo.text", "import torch"),
        ("kpdemo.batch.predicting", "def later():\n    from transformers import AutoModel"),
        ("kpdemo.evaluation.baselines", "import numpy, faiss.contrib"),
        ("kpdemo.simckp.model", "import gradio as gr"),
        ("kpdemo.cli", "import importlib\nimportlib.import_module('torch')"),
        ("kpdemo.cli", "import annotation.gold"),
        ("kpdemo.cli", "from kpdemo.ui import build_predict_tab"),
        ("kpdemo.simckp.model", "from ..ui.theme import THEME"),
        ("kpdemo.ui.predict", "from db import Database"),
        ("kpdemo.reading.documents", "import app"),
        ("kpdemo.evaluation.metrics", "from nltk.stem.porter import PorterStemmer"),
        ("annotation.gold", "from kpdemo.types import Document"),
        ("annotation.cli", "from kpdemo.predictors import load_predictor"),
        ("annotation.__main__", "from kpdemo.simckp.system import load_system"),
        ("annotation.__main__", "import torch"),
        ("annotation.gold", "import sqlalchemy"),
        ("annotation.gold", "from annotation.ui import rate"),
        ("annotation.ui.rate", "from kpdemo.predictors import load_predictor"),
        ("db.models", "from annotation.scale import CLSS"),
    ],
)
def test_the_check_sees_a_forbidden_import(module, source):
    assert len(violations(source, module)) == 1


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("kpdemo.simckp.model", "import torch\nfrom kpdemo.types import Document"),
        ("kpdemo.ui.predict", "import gradio as gr\nfrom .widgets import score_bar"),
        ("kpdemo.torchlight", "import torchlight"),
        ("annotation.ui.rate", "from kpdemo.ui.widgets import score_bar\nfrom annotation.scale import CLSS"),
        (
            "annotation.__main__",
            "import annotation.cli\nfrom kpdemo.predictors import load_predictor",
        ),
        ("annotation.services.rating.ratings", "import sqlalchemy\nfrom db import Database"),
        ("app", "import gradio as gr\nfrom kpdemo.ui.predict import build_predict_tab"),
    ],
)
def test_the_check_lets_an_allowed_import_pass(module, source):
    assert violations(source, module) == []


def modules_loaded_by(*names: str) -> list[str]:
    """The modules of NEVER_WITH_THE_PACKAGE that a fresh Python holds after importing `names`."""
    code = (
        "import importlib, sys\n"
        f"for name in {names!r}: importlib.import_module(name)\n"
        f"print(*[name for name in {NEVER_WITH_THE_PACKAGE!r} if name in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.split()


@pytest.mark.parametrize("package", PACKAGES)
def test_importing_a_package_loads_nothing_heavy(package):
    assert modules_loaded_by(package) == []


def test_importing_any_module_outside_the_model_and_the_pages_loads_nothing_heavy():
    light = [
        name
        for name in sources()
        if name != "app"
        and not is_in(name, (*MODEL_PARTS, *PAGES))
        and not name.endswith(("__main__", "migrations.env"))  # these run when they are imported
    ]
    assert modules_loaded_by(*light) == []


def test_the_check_of_loaded_modules_can_fail():
    assert modules_loaded_by("faiss") == ["faiss"]


PUBLIC = {"_exit", "_replace"}
"""Names that begin with an underscore and are documented: of os, and of named tuples."""
STREAMS = {"sys.stdin", "sys.stdout", "sys.stderr"}


def liberties(source: str) -> list[str]:
    """What `source` uses of others that is private, and what it replaces in modules that it imports."""
    nodes = list(ast.walk(ast.parse(source)))
    imports = [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]
    imported = {(name.asname or name.name).partition(".")[0] for node in imports for name in node.names}
    own = {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)} | PUBLIC
    attributes = [node for node in nodes if isinstance(node, ast.Attribute)]
    own |= {node.attr for node in attributes if isinstance(node.value, ast.Name) and node.value.id == "self"}
    found = []
    for node in attributes:
        name = ast.unparse(node)
        if node.attr.startswith("_") and not node.attr.startswith("__") and node.attr not in own:
            found.append(f"uses {name}")
        if isinstance(node.ctx, ast.Store) and name.partition(".")[0] in imported and name not in STREAMS:
            found.append(f"replaces {name}")
    return found


def test_nothing_private_of_a_library_is_used_and_none_of_its_parts_is_replaced():
    found = {name: liberties(path.read_text(encoding="utf-8")) for name, path in sources().items()}
    assert {name: taken for name, taken in found.items() if taken} == {}


@pytest.mark.parametrize(
    ("source", "taken"),
    [
        ("def show(event):\n    return event._data", ["uses event._data"]),
        ("import inspect\ninspect.getfile = len", ["replaces inspect.getfile"]),
        ("from gradio import routes\nroutes.StateHolder = dict", ["replaces routes.StateHolder"]),
        ("import gradio as gr\npages = gr.Blocks()\npages.max_threads = 100", []),
        ("class Own:\n    def __init__(self, other):\n        self._kept = other._kept", []),
    ],
)
def test_the_check_sees_liberties(source, taken):
    assert liberties(source) == taken


def test_app_only_composes():
    assert len((ROOT / "app.py").read_text(encoding="utf-8").splitlines()) <= 150
