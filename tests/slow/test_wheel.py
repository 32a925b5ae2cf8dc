"""The wheel with its weights, installed where nothing else of this repository is."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_example_of_the_readme_runs_with_the_wheel_alone(tmp_path):
    checkout = tmp_path / "checkout"
    caches = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "kpdemo", checkout / "kpdemo", ignore=caches, copy_function=os.link)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copyfile(ROOT / name, checkout / name)
    code = "from setuptools.build_meta import build_wheel; build_wheel('.')"
    subprocess.run([sys.executable, "-c", code], cwd=checkout, check=True, capture_output=True)
    [wheel] = checkout.glob("*.whl")
    assert 100e6 < wheel.stat().st_size < 150e6
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    [packages] = (tmp_path / "venv").glob("lib/python*/site-packages")
    (packages / "libraries.pth").write_text(sysconfig.get_path("purelib"))
    zipfile.ZipFile(wheel).extractall(packages)
    example = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    python = tmp_path / "venv" / "bin" / "python"
    shown = subprocess.run(
        [python, "-c", f"{example[1]}\nprint(kpdemo.__file__)"],
        cwd=tmp_path,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "Graph kernels ((0, 13),)" in shown
    assert str(packages) in shown
