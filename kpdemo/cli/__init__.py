"""The command line: `python -m kpdemo predict`, `evaluate`, `candidates`, `train`, `models`, `readme`,
`index`, `experiments`, each in a file of `kpdemo.cli`.

Exit status 0: done. 1: the work failed. 2: the call was wrong, also where it names a file, a folder or a
model that is not there. 130: stopped with Ctrl+C. What went wrong is one sentence on standard error; results
go to standard output and nothing else does.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper

import typer

from kpdemo.cli import candidates, evaluate, experiments, index, models, predict, readme, train
from kpdemo.cli.options import INTERRUPTED, PROGRAM, CallError, refuse_empty_paths
from kpdemo.errors import ConfigError, KpdemoError, MissingIndexError

app = typer.Typer(
    help="Find the keyphrases of documents, both those that occur in the text and those that do not.",
    epilog=f"`{PROGRAM} COMMAND --help` shows what a command takes, with examples.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for part in (index, experiments, predict, evaluate, candidates, train, models, readme):
    part.register(app)

# A message may quote a model or file of a stranger, which shall not move the cursor or recolour the terminal.
_HARMLESS = dict.fromkeys((*range(0x20), *range(0x7F, 0xA0)), "\ufffd")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line, by default this process's own, and return its exit status."""
    _open_closed_streams()
    _speak_utf8()
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        refuse_empty_paths(given)
        status = app(args=given, prog_name=PROGRAM, standalone_mode=False)
        sys.stdout.flush()
    except typer.TyperException as error:
        command = getattr(getattr(error, "ctx", None), "command_path", PROGRAM)
        return _fail(f"{_call_problem(error)}; see `{command} --help`.", error.exit_code)
    except (typer.Abort, KeyboardInterrupt):
        return _fail("Stopped.", INTERRUPTED)
    except (CallError, ConfigError, MissingIndexError) as error:
        return _fail(str(error), 2)
    except KpdemoError as error:
        return _fail(str(error), 1)
    except OSError as error:
        if error.filename is not None:
            reason = error.strerror or type(error).__name__
            return _fail(f"{error.filename}: cannot be used ({reason}); fix that and try again.", 1)
        # Without a name it is an open stream, and the readers name theirs: what remains is the output.
        # What is still in its buffer would fail a second time at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):  # as in `predict … | head`: the reader had enough
            return 1
        return _fail(f"The output cannot be written ({error.strerror or error}); fix that and try again.", 1)
    return status if isinstance(status, int) else 0


def _open_closed_streams() -> None:
    """With `>&-` or `<&-` a stream is missing, and the next file opened would get its descriptor."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115  # until the end


def _speak_utf8() -> None:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def _call_problem(error: typer.TyperException) -> str:
    """What is wrong with the call, without the words of the library that found it."""
    problem = error.format_message().rstrip(".")
    return problem.replace(": Value error, ", ": ").replace(": Input should be ", ": it should be ")


def _fail(message: str, status: int) -> int:
    print(" ".join(message.split()).translate(_HARMLESS), file=sys.stderr)
    return status
