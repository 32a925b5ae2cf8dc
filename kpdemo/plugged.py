"""Predictors that kpdemo does not know, by the name "module:factory"."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec

from kpdemo.errors import ModelLoadError
from kpdemo.text import named
from kpdemo.types import Predictor

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
            f"The model {name!r} is {named(found)}, which cannot be called: name a class or a function that "
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
            f"The model {name!r} returned {named(made)}, which is no predictor: return an object with name, "
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
