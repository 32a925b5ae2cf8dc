"""The commands, their arguments and the names of their options."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.characterisation.commands import ROOT, done, environment, run
from tests.characterisation.comparing import check_text

PROGRAMS = ("kpdemo", "annotation", "db")


def help_of(folder: Path, path: str) -> Iterator[tuple[str, str]]:
    """Each command below `path`, and what its --help prints."""
    text = done(folder, f"{path} --help").text
    _, _, commands = text.partition("\nCommands:\n")
    names = re.findall(r"^  ([a-z][\w-]*)", commands.partition("\n\n")[0], re.MULTILINE)
    if not names:
        yield path, text
    for name in names:
        yield from help_of(folder, f"{path} {name}")


def summary(text: str) -> str:
    """The usage, and the options one a line."""
    usage, _, rest = text.partition("\n\n")
    lines = [" ".join(usage.removeprefix("Usage: ").removeprefix("usage: ").split())]
    options = rest.partition("Options:\n")[2].partition("\n\n")[0]
    for line in options.splitlines():
        if entry := re.match(r"  (-.+?)(  |$)", line):
            lines.append("  " + " ".join(re.findall(r"(?<![\w-])--?[a-z][\w-]*", entry[1])))
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_has_its_commands_and_their_options(tmp_path, program):
    found = [summary(text) for _, text in help_of(tmp_path, program)]
    check_text(f"options/{program}.txt", "\n".join(found))


def test_the_server_has_its_options(tmp_path):
    asked = [sys.executable, ROOT / "app.py", "--help"]
    text = subprocess.run(asked, cwd=tmp_path, env=environment({}), capture_output=True, check=True).stdout
    _, _, options = text.decode().partition("options:\n")
    check_text("options/app.txt", summary(f"python app.py\n\nOptions:\n{options}"))


def test_every_command_refuses_an_option_that_it_does_not_have(tmp_path):
    for program in PROGRAMS:
        for path, _ in help_of(tmp_path, program):
            outcome = run(tmp_path, f"{path} --xyzzy")
            said = f"No such option: --xyzzy; see `python -m {path} --help`.\n"
            assert (outcome.status, outcome.out, outcome.err) == (2, b"", said)
