"""The main of a command line: exit statuses, and one sentence on standard error for whatever went wrong.

0: done. 1: the work failed. 2: the call was wrong, also where it names a file, a folder or a model that is
not there. 130: stopped with Ctrl+C. Results go to standard output and nothing else does, except that with
--json the sentence stands there too, as {"error": "…"}.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from io import TextIOWrapper
from itertools import pairwise
from pathlib import Path
from typing import Annotated

import typer

from kpdemo.errors import KpdemoError

INTERRUPTED = 130
"""The exit status after Ctrl+C."""

# A message may quote a model or file of a stranger, which shall not move the cursor or recolour the terminal.
_HARMLESS = dict.fromkeys((*range(0x20), *range(0x7F, 0xA0)), "\ufffd")


class CallError(KpdemoError):
    """The command was called in a way that makes no sense."""


def add_start(app: typer.Typer) -> None:
    """Give a command line its option --version, and its help where no command is named."""

    @app.callback(invoke_without_command=True)
    def start(
        context: typer.Context,
        version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
    ) -> None:
        from kpdemo import __version__

        if version:
            print(f"kpdemo {__version__}")
            raise typer.Exit
        if context.invoked_subcommand is None:
            print(context.get_help())


def run_command(
    app: typer.Typer,
    program: str,
    arguments: Sequence[str] | None,
    *,
    wrong: tuple[type[Exception], ...] = (),
    failures: tuple[type[Exception], ...] = (KpdemoError,),
    explain: Mapping[type[Exception], Callable[[Exception], str]] | None = None,
    paths: frozenset[str] = frozenset(),
    obj: object = None,
) -> int:
    """Run a command line, by default this process's own, and return its exit status.

    Args:
        app: the commands; they print results to standard output and nothing else there.
        program: how the user calls it, such as `python -m kpdemo`.
        arguments: the command line without the program.
        wrong: the exceptions, besides `CallError`, that say that the call was wrong.
        failures: the exceptions whose message is a sentence for the user.
        explain: of exceptions of a library, what makes such a sentence.
        paths: the options that name a file or a folder.
        obj: what commands find as `typer.Context.obj`.
    """
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    given = list(sys.argv[1:] if arguments is None else arguments)
    calls: tuple[type[Exception], ...] = (CallError, *wrong)
    sentences = dict(explain or {})
    explained: tuple[type[Exception], ...] = tuple(sentences)

    def refuse(message: str, status: int) -> int:
        if "--json" in given:
            print(json.dumps({"error": message}, ensure_ascii=False))
        return fail(message, status)

    try:
        _refuse_empty_paths(given, paths)
        status = app(args=given, prog_name=program, standalone_mode=False, obj=obj)
        sys.stdout.flush()
    except typer.TyperException as error:
        command = getattr(getattr(error, "ctx", None), "command_path", program)
        return refuse(f"{call_problem(error)}; see `{command} --help`.", error.exit_code)
    except (typer.Abort, KeyboardInterrupt):
        return refuse("Stopped.", INTERRUPTED)
    except calls as error:
        return refuse(str(error), 2)
    except failures as error:
        return refuse(str(error), 1)
    except explained as error:
        return refuse(next(say(error) for kind, say in sentences.items() if isinstance(error, kind)), 1)
    except UnicodeEncodeError:  # from a database, which takes no such text
        foreign = next((argument for argument in given if _is_foreign(argument)), None)
        if foreign is None:
            raise
        return refuse(
            f"{foreign!r} is not UTF-8, so it can be neither stored nor found: check how it is encoded.", 2
        )
    except OSError as error:
        if error.filename is not None:
            reason = error.strerror or type(error).__name__
            return refuse(f"{error.filename}: cannot be used ({reason}); fix that and try again.", 1)
        # Without a name it is an open stream, and the readers name theirs: what remains is the output.
        # What is still in its buffer would fail a second time at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):  # as in `list | head`: the reader had enough
            return 1
        return fail(f"The output cannot be written ({error.strerror or error}); fix that and try again.", 1)
    return status if isinstance(status, int) else 0


def _refuse_empty_paths(arguments: Sequence[str], options: frozenset[str]) -> None:
    """Refuse an empty path, as from an unset variable of the shell: it would mean the current folder.

    Raises:
        CallError: one of the options is given an empty text.
    """
    for before, argument in pairwise(("", *arguments)):
        option = before if argument == "" else argument.removesuffix("=")
        if option in options and option != argument:
            raise CallError(f"{option} is empty: give a name.")


def _open_closed_streams() -> None:
    """With `>&-` or `<&-` a stream is missing, and the next file opened would get its descriptor."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115  # until the end


def _is_foreign(argument: str) -> bool:
    """Whether an argument is not UTF-8, as the name of a file may be."""
    return any("\ud800" <= character <= "\udfff" for character in argument)


def check_file(name: str | Path) -> Path:
    """The path of a file, or a pipe, that is there.

    Raises:
        CallError: there is none, or it is a folder.
    """
    path = Path(name)
    if path.is_dir():
        raise CallError(f"{name}: a folder, not a file; name a file in it.")
    if not path.exists():
        raise CallError(f"{name}: no such file; check the name.")
    return path


def call_problem(error: typer.TyperException) -> str:
    """What is wrong with the call, without the words of the library that found it."""
    problem = error.format_message().rstrip(".")
    return problem.replace(": Value error, ", ": ").replace(": Input should be ", ": it should be ")


def fail(message: str, status: int) -> int:
    """Print a message as one line that steers no terminal; the status."""
    print(" ".join(message.split()).translate(_HARMLESS), file=sys.stderr)
    return status
