"""An installation is the one that was tested, and a wheel holds keyphrases and nothing else."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

import annotation
import kpdemo

ROOT = Path(__file__).parent.parent
PIN = re.compile(r"([\w.-]+)(?:\[\w+\])?==([\w.]+)")
LEFT_OPEN = ["pydantic>=2"]
"""What Gradio chooses on a Space."""


def pins(lines: list[str]) -> dict[str, str]:
    """Package to version; a line that is no pin, extra of ours or comment is an error."""
    found = {}
    for line in lines:
        if line.strip() and not line.startswith(("#", "kpdemo[")) and line not in LEFT_OPEN:
            pin = PIN.fullmatch(line.strip())
            assert pin, f"not an exact pin: {line}"
            found[pin[1].lower().replace("_", "-")] = pin[2]
    return found


def lines_of(name: str) -> list[str]:
    return (ROOT / name).read_text(encoding="utf-8").splitlines()


def groups() -> dict[str, list[str]]:
    described = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project = described["project"]
    package = {"package": project["dependencies"]}
    return package | project["optional-dependencies"] | described["dependency-groups"]


@pytest.mark.parametrize("lines", [lines_of("requirements.txt"), *groups().values()], ids=["run", *groups()])
def test_direct_packages_have_the_version_of_the_tested_set(lines):
    tested = pins(lines_of("constraints.txt"))
    assert {name: tested.get(name) for name in pins(lines)} == pins(lines)


def test_the_application_has_what_the_package_has_and_its_page():
    application = pins(lines_of("requirements.txt")).keys()
    needed = {name: pins(groups()[name]).keys() for name in ("package", "files", "page", "sklearn")}
    assert [package for packages in needed.values() for package in packages - application] == []


def test_all_is_every_extra():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    [everything] = extras.pop("all")
    assert everything == f"kpdemo[{','.join(sorted(extras))}]"


WITHOUT_EXTRAS = """
import sys
missing = {missing!r}
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in missing:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Blocked())
"""
MISSING = (
    *("bibtexparser", "gradio", "lxml", "markdown_it", "openpyxl", "pylatexenc", "pypdf", "rispy"),
    *("sklearn", "spacy", "striprtf", "alembic", "argon2", "krippendorff", "psycopg", "sqlalchemy"),
)


def without_extras(code: str) -> subprocess.CompletedProcess[str]:
    program = WITHOUT_EXTRAS.format(missing=MISSING) + code
    return subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )


@pytest.mark.slow
def test_the_package_predicts_without_its_extras():
    code = """
import kpdemo
found = kpdemo.keyphrases("Graph kernels compare molecules by their common substructures.")
assert found.present[0].text == "Graph kernels", found
assert kpdemo.keyphrases("Graph kernels compare molecules.", model="yake").present
"""
    done = without_extras(code)
    assert done.returncode == 0, done.stderr


def test_what_an_extra_lacks_is_said_with_the_command(tmp_path):
    """One process for all: each takes some seconds to start."""
    for suffix in ("pdf", "docx", "rtf", "html", "tex", "bib", "ris", "xml"):
        (tmp_path / f"a.{suffix}").write_bytes(b"%PDF-1.4" if suffix == "pdf" else b"{some text}")
    with zipfile.ZipFile(tmp_path / "a.xlsx", "w") as book:
        book.writestr("xl/workbook.xml", "")
    code = f"""
from pathlib import Path
from kpdemo.extras import MissingPackageError
from kpdemo.io.documents import read_file
told = dict()
for file in sorted(Path({str(tmp_path)!r}).iterdir()):
    try:
        read_file(file)
    except MissingPackageError as error:
        told[file.suffix] = str(error)
for module in ("sklearn", "spacy"):
    try:
        __import__(f"kpdemo.{{module}}")
    except MissingPackageError as error:
        told[module] = str(error)
import json
print(json.dumps(told))
"""
    done = without_extras(code)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    files = [f".{kind}" for kind in ("bib", "docx", "html", "pdf", "ris", "rtf", "tex", "xlsx", "xml")]
    assert sorted(told) == [*files, "sklearn", "spacy"]
    for name, sentence in told.items():
        extra = "files" if name.startswith(".") else name
        assert sentence.endswith(f'which is not installed: run pip install "kpdemo[{extra}]".')


def test_the_citation_is_of_this_version_and_of_the_papers_to_cite():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert (cited["version"], cited["license"]) == (kpdemo.__version__, project["license"])
    assert annotation.__version__ == kpdemo.__version__
    bibtex = (ROOT / "docs" / "citing.md").read_text(encoding="utf-8")
    assert [paper["url"] for paper in cited["references"]] == re.findall(r'url = "(.*)"', bibtex)


def test_torch_is_pinned_without_a_build():
    assert pins(lines_of("requirements.txt"))["torch"] == "2.13.0", (
        "2.13.0+cpu would refuse the build for CUDA"
    )


@pytest.mark.parametrize("name", ["pydantic", "fastapi", "starlette", "uvicorn"])
def test_what_gradio_chooses_on_a_space_is_left_to_it(name):
    assert name not in pins(lines_of("requirements.txt"))


SMALL = 100_000
"""Bytes; what is larger are weights and vectors, whose content a wheel need not have here."""


def copy_small(source: str, target: str) -> None:
    """Copy a file, or make an empty one of a large file: packing the weights takes seconds."""
    if Path(source).stat().st_size < SMALL:
        shutil.copyfile(source, target)
    else:
        Path(target).touch()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `pip wheel --no-build-isolation .` would make, made without a network."""
    checkout = tmp_path_factory.mktemp("checkout")
    for package in ("kpdemo", "annotation", "db"):
        without_caches = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / package, checkout / package, ignore=without_caches, copy_function=copy_small)
    for file in ("pyproject.toml", "README.md", "LICENSE", "app.py"):
        shutil.copyfile(ROOT / file, checkout / file)
    code = "from setuptools.build_meta import build_wheel; build_wheel('.')"
    subprocess.run([sys.executable, "-c", code], cwd=checkout, capture_output=True, check=True)
    [made] = checkout.glob("*.whl")
    return made


def test_a_wheel_holds_all_of_kpdemo_and_no_other_package(wheel):
    names = {name for name in zipfile.ZipFile(wheel).namelist() if not name.endswith("/")}
    files = [file.relative_to(ROOT).as_posix() for file in (ROOT / "kpdemo").rglob("*") if file.is_file()]
    expected = {name for name in files if "__pycache__" not in name}
    assert {name.partition("/")[0] for name in names} == {
        "kpdemo",
        f"{wheel.name.rsplit('-', 3)[0]}.dist-info",
    }
    assert {name for name in names if name.startswith("kpdemo/")} == expected
    assert "kpdemo/py.typed" in names


def test_an_image_gets_no_database_and_nothing_else_that_git_leaves_out():
    left_out = {line for line in lines_of(".dockerignore") if line and not line.startswith("#")}
    ours = [line for line in lines_of(".gitignore") if line and not line.startswith("#") and line != "/site/"]
    wanted = {line.strip("/") if line.startswith("/") else f"**/{line.rstrip('/')}" for line in ours}
    assert {"data", "**/*.db", ".git"} < wanted | {".git"} == left_out


@pytest.mark.parametrize("package", ["kpdemo", "annotation", "db"])
def test_types_of_every_package_are_offered_to_type_checkers(package):
    assert (ROOT / package / "py.typed").is_file()


@pytest.mark.skipif(sys.platform == "win32", reason="sh is not there")
@pytest.mark.parametrize(("failing", "run"), [("", ["check", "test"]), ("check", ["check"])])
def test_ci_checks_before_it_tests(failing, run, tmp_path):
    make = tmp_path / "make"
    make.write_text(f'#!/bin/sh\necho "$1" >>"{tmp_path}/asked"\n[ "$1" != "{failing}" ]\n', encoding="utf-8")
    make.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    result = subprocess.run([ROOT / ".ci" / "run"], env={**os.environ, "PATH": path}, check=False)
    assert (tmp_path / "asked").read_text(encoding="utf-8").split() == run
    assert (result.returncode != 0) == bool(failing)
