"""tools/install.sh, with a Python that only writes down what it is asked for."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "tools" / "install.sh"
ASKED = """#!/bin/sh
# what `python` is asked for goes to asked.txt; making a .venv and installing take a moment
case "$*" in
    *"-m venv"*)
        echo venv >>asked.txt; sleep 0.5; rm -rf .venv; mkdir -p .venv/bin; cp "$0" .venv/bin/python ;;
    *"-m pip install"*) echo pip >>asked.txt; sleep 1 ;;
esac
"""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="sh is not there")


@pytest.fixture
def install(tmp_path):
    """Starts the script for a goal, in a folder of its own."""
    python = tmp_path / "fake-python"
    python.write_text(ASKED, encoding="utf-8")
    python.chmod(0o755)

    def start(goal: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            ["sh", str(SCRIPT), goal],
            cwd=tmp_path,
            env={**os.environ, "PYTHON": str(python), "VENV": ".venv"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    return start


def asked(folder: Path) -> list[str]:
    return (folder / "asked.txt").read_text(encoding="utf-8").split()


def test_two_at_once_install_once(install, tmp_path):
    calls = [install("run"), install("run")]
    told = "".join(call.communicate(timeout=60)[0] for call in calls)
    assert [call.returncode for call in calls] == [0, 0]
    assert asked(tmp_path) == ["venv", "pip"]
    assert told.count("waiting for it") == 1
    assert (tmp_path / ".venv" / ".run").is_file()
    assert not list(tmp_path.glob(".venv.*"))


def test_one_that_waited_installs_what_the_other_did_not(install, tmp_path):
    first = install("run")
    first_line = first.stdout.readline()  # it holds the lock from here on
    assert first_line.startswith("Making .venv")
    second = install("dev")
    for call in (first, second):
        call.communicate(timeout=60)
        assert call.returncode == 0
    assert asked(tmp_path) == ["venv", "pip", "pip", "pip"]  # dev has a newer pip installed first
    assert (tmp_path / ".venv" / ".dev").is_file()


def test_the_lock_of_one_that_was_killed_holds_nobody_up_and_is_taken_once(install, tmp_path):
    killed = subprocess.Popen(["true"])
    killed.wait()
    (tmp_path / ".venv.installing").symlink_to(str(killed.pid))
    calls = [install("run") for _ in range(6)]
    told = "".join(call.communicate(timeout=60)[0] for call in calls)
    assert [call.returncode for call in calls] == [0] * 6
    assert asked(tmp_path) == ["venv", "pip"]
    assert told.count("Making .venv") == 1
    assert not list(tmp_path.glob(".venv.*"))
