"""The lists of packages agree with each other, so that an installation is the one that was tested."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent
PIN = re.compile(r"([\w.-]+)==([\w.]+)")


def pins(lines: list[str]) -> dict[str, str]:
    """Package to version; a line that is neither a pin nor a comment is an error."""
    found = {}
    for line in lines:
        if line.strip() and not line.startswith("#"):
            pin = PIN.fullmatch(line.strip())
            assert pin, f"not an exact pin: {line}"
            found[pin[1].lower().replace("_", "-")] = pin[2]
    return found


def lines_of(name: str) -> list[str]:
    return (ROOT / name).read_text(encoding="utf-8").splitlines()


def groups() -> dict[str, list[str]]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"]


@pytest.mark.parametrize("lines", [lines_of("requirements.txt"), *groups().values()], ids=["run", *groups()])
def test_direct_packages_have_the_version_of_the_tested_set(lines):
    tested = pins(lines_of("constraints.txt"))
    assert {name: tested.get(name) for name in pins(lines)} == pins(lines)


def test_the_citation_is_of_this_version_and_of_the_papers_to_cite():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert (cited["version"], cited["license"]) == (project["version"], project["license"])
    bibtex = (ROOT / "docs" / "citing.md").read_text(encoding="utf-8")
    assert [paper["url"] for paper in cited["references"]] == re.findall(r'url = "(.*)"', bibtex)


def test_torch_is_pinned_without_a_build():
    assert pins(lines_of("requirements.txt"))["torch"] == "2.13.0", (
        "2.13.0+cpu would refuse the build for CUDA"
    )


@pytest.mark.parametrize("name", ["pydantic", "fastapi", "starlette", "uvicorn"])
def test_what_gradio_chooses_on_a_space_is_left_to_it(name):
    assert name not in pins(lines_of("requirements.txt"))
