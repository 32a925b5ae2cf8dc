"""Configuration files: TOML sections read into frozen dataclasses, every key and type checked."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from kpdemo.errors import ConfigError
from kpdemo.text import shorten

Config = TypeVar("Config")

DEFAULT_CONFIG = Path(__file__).parent.parent / "configs" / "default.toml"

_LARGEST = 2**63 - 1
"""The largest whole number that the libraries take."""
_SHOULD = "Input should be "
_LONGEST = 100
"""Characters of a value in a message."""


def load_section(
    path: Path, section: str, kind: type[Config], overrides: Mapping[str, str] | None = None
) -> Config:
    """Read `[section]` of the TOML file `path` as a dataclass of type `kind`.

    Args:
        overrides: "key" or "table.key" within the section to a TOML value, such as {"seed": "7"};
            anything that is not valid TOML is taken as a string.

    Raises:
        ConfigError: the file, a key or a value is wrong; the sentence names it.
    """
    from pydantic import TypeAdapter, ValidationError  # here, because only training needs it

    values = section_values(path, section, overrides)
    try:
        return TypeAdapter(kind).validate_python(values)
    except ValidationError as error:
        first, *others = error.errors()
        if first["type"] == "missing":
            place = ".".join(map(str, first["loc"]))
            raise ConfigError(f"{path}, [{section}] has no setting {place!r}: add it.") from error
        place = _place(first["loc"], values)
        if first["type"] == "unexpected_keyword_argument":
            raise ConfigError(f"{path}, [{section}] has no setting {place!r}: check its spelling.") from error
        if first["type"] == "value_error":  # what a dataclass itself says of its settings
            where = f"{path}, [{section}] {place}".rstrip()
            raise ConfigError(f"{where}: {first['ctx']['error']}") from error
        said = _said([first["msg"], *(one["msg"] for one in others if _place(one["loc"], values) == place)])
        raise ConfigError(f"{path}, [{section}] {place}: {said}, not {_shown(first['input'])}.") from error


def section_values(path: Path, section: str, overrides: Mapping[str, str] | None = None) -> dict[str, Any]:
    """`[section]` as in the file, with `overrides` set; keys and types are not checked.

    Raises:
        ConfigError: as `load_section`, for the file and the section.
    """
    values = _read(path).get(section)
    if not isinstance(values, dict):
        raise ConfigError(f"{path} has no section [{section}]: add one, or give another --config.")
    for key, text in (overrides or {}).items():
        _set(values, key, text)
    for place, number in _numbers(values):
        if not -_LARGEST <= number <= _LARGEST:  # also true of nan
            raise ConfigError(
                f"{path}, [{section}] {place}: not a usable number ({_shown(number)}); give another."
            )
    return values


def _place(parts: Sequence[str | int], values: Any) -> str:
    """The setting's own name, without the kinds of value tried for it, as in ("dropout", "float")."""
    own = []
    for part in parts:
        try:
            values = values[part]
        except (LookupError, TypeError):
            break
        own.append(str(part))
    return ".".join(own)


def _said(messages: Sequence[str]) -> str:
    """What a value should be: one message, or one of each kind of value that the setting takes."""
    first, *others = messages
    also = [message.removeprefix(_SHOULD) for message in others if message.startswith(_SHOULD)]
    said = " or ".join([first.partition(", unable")[0], *also]) if also else first
    # TOML has no tuples
    return said.replace("valid tuple", "valid list").replace("Tuple", "List").partition(" after valid")[0]


def _numbers(values: Any, place: str = "") -> Iterator[tuple[str, float]]:
    """Each number within tables and lists, after its place."""
    if isinstance(values, int | float):
        yield place, values
    elif isinstance(values, dict | list):
        for key, value in values.items() if isinstance(values, dict) else enumerate(values):
            yield from _numbers(value, f"{place}.{key}".lstrip("."))


def _shown(value: Any) -> str:
    try:
        text = repr(value)
    except ValueError:  # of a number of thousands of digits
        text = "a number of thousands of digits"
    return shorten(text, _LONGEST)


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ConfigError(f"No configuration at {path}: check the --config path.") from error
    except IsADirectoryError as error:
        raise ConfigError(f"{path}: a folder, not a file; name a file in it.") from error
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"{path} is not a TOML file ({error}): correct that line.") from error


def _set(values: dict[str, Any], key: str, text: str) -> None:
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):  # no TOML, or more digits or brackets than can be read
        value = text
    *tables, last = key.split(".")
    for table in tables:
        values = values.setdefault(table, {})
        if not isinstance(values, dict):
            raise ConfigError(
                f"{key!r} cannot be set: {table!r} is a value, not a table; leave out what follows it."
            )
    values[last] = value
