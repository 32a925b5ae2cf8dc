"""Who may import whom: the arrows between the layers, the rooms of heavy libraries, nothing private."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("kpdemo", "annotation", "db")
PAGES = ("kpdemo.ui", "kpdemo.api", "annotation.ui", "annotation.web")

LIGHT = (
    "kpdemo.__version__",
    *("kpdemo.io", "kpdemo.text", "kpdemo.types", "kpdemo.errors", "kpdemo.terminal", "kpdemo.command"),
    *("kpdemo.statistics", "kpdemo.translation", "kpdemo.locale"),
)
"""What of kpdemo annotation may use: none of it loads a model, a page or a database."""

# A layer, and what of this repository it may import. The longest name that fits a module is its layer.
ARROWS = {
    "app": PACKAGES,
    "annotation.ui": ("annotation", "kpdemo.ui", *LIGHT),
    "annotation.web": ("annotation", "kpdemo.ui", *LIGHT),
    "annotation": ("annotation", "db", *LIGHT),
    # Hands the commands functions of the models.
    "annotation.__main__": ("annotation", "kpdemo.predictors", *LIGHT),
    "kpdemo": ("kpdemo",),
    "db": ("db",),
    "db.cli": ("db", "kpdemo.command"),
}

MODELS = ("kpdemo.simckp", "kpdemo.ramkg", "kpdemo.training")
DATABASE = ("db", "annotation.services")
ROOMS = {
    "torch": MODELS,
    "transformers": MODELS,
    "faiss": MODELS,
    "gradio": ("kpdemo.ui", "annotation.ui", "app"),
    "sqlalchemy": DATABASE,
    "alembic": DATABASE,
    "sklearn": ("kpdemo.evaluation", "kpdemo.sklearn", "kpdemo.vectors", *MODELS),
    "spacy": ("kpdemo.spacy",),
    "ray": ("kpdemo.cluster",),
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
        if library in ROOMS:
            allowed = is_in(module, ROOMS[library])
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
    names = {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in files}
    return {**names, "app": ROOT / "app.py"}


def test_a_module_imports_only_what_its_layer_may():
    files = sources().items()
    assert [line for name, file in files for line in violations(file.read_text("utf-8"), name)] == []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("kpdemo.text", "import torch"),
        ("kpdemo.batch", "def later():\n    from transformers import AutoModel"),
        ("kpdemo.cli", "import importlib\nimportlib.import_module('torch')"),
        ("kpdemo.simckp.extractor", "from ..ui.page import THEME"),
        ("kpdemo.ui.predict", "from db import Database"),
        ("annotation.gold", "from kpdemo.predictors import load_predictor"),
        ("annotation.gold", "import sqlalchemy"),
        ("annotation.gold", "from annotation.ui import rate"),
        ("db.models", "from annotation.scale import CLSS"),
    ],
)
def test_the_check_sees_a_forbidden_import(module, source):
    assert len(violations(source, module)) == 1


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


def test_importing_any_module_outside_the_model_and_the_pages_loads_nothing_heavy():
    light = [
        name
        for name in sources()
        if name != "app"
        and not is_in(name, (*MODELS, *PAGES, "kpdemo.spacy"))
        and not name.endswith(("__main__", "migrations.env"))  # these run when they are imported
    ]
    assert modules_loaded_by(*light) == []
    assert modules_loaded_by("faiss") == ["faiss"]  # the check can fail


PUBLIC = {"_exit", "_replace", "_"}
"""Names that begin with an underscore and are documented: of os, of named tuples, and of spaCy."""
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
