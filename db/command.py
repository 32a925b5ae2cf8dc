"""What `python -m db` and `python -m annotation` share: exit statuses and one sentence on standard error.

0: done. 1: the work failed, also where there is no database yet. 2: the call was wrong, also where it names a
file that is not there. 130: stopped with Ctrl+C.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from itertools import pairwise

import typer
from sqlalchemy.exc import DBAPIError

from db.errors import UrlError, reason_of

INTERRUPTED = 130

# A message may quote a stranger's file, which must not move the cursor or recolour the terminal.
_HARMLESS = dict.fromkeys((*range(0x20), *range(0x7F, 0xA0)), "\ufffd")


class CallError(Exception):
    """The command line makes no sense."""


def run_command(
    app: typer.Typer,
    program: str,
    arguments: Sequence[str] | None,
    failures: tuple[type[Exception], ...],
    *,
    paths: frozenset[str] = frozenset(),
    obj: object = None,
) -> int:
    """Run a command line, by default this process's own, and return its exit status.

    Args:
        app: the commands; they print results to standard output and nothing else there.
        program: how the user calls it, such as `python -m db`.
        arguments: the command line without the program.
        failures: the exceptions whose message is a sentence for the user.
        paths: the options that name a file or a folder.
        obj: what commands find as `typer.Context.obj`.
    """
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        _refuse_empty_paths(given, paths)
        status = app(
            args=given,
            prog_name=program,
            standalone_mode=False,
            obj=obj,
        )
        sys.stdout.flush()
    except typer.TyperException as error:
        command = getattr(getattr(error, "ctx", None), "command_path", program)
        return _fail(f"{_call_problem(error)}; see `{command} --help`.", error.exit_code)
    except (typer.Abort, KeyboardInterrupt):
        return _fail("Stopped.", INTERRUPTED)
    except (CallError, UrlError) as error:
        return _fail(str(error), 2)
    except failures as error:
        return _fail(str(error), 1)
    except DBAPIError as error:  # a full disk, a table that the server keeps from its user
        reason = reason_of(error)
        return _fail(
            f"The database failed ({reason}): fix that, check the data with `python -m db check`, and try "
            "again.",
            1,
        )
    except BrokenPipeError:  # as in `list | head`: the reader had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except UnicodeEncodeError:  # from a database, which takes no such text
        foreign = next(filter(_is_foreign, given), None)
        if foreign is None:
            raise
        return _fail(
            f"{foreign!r} is not UTF-8, so it can be neither stored nor found: check how it is encoded.", 2
        )
    except OSError as error:
        where = error.filename or "The output"
        reason = error.strerror or type(error).__name__
        return _fail(f"{where}: cannot be used ({reason}); fix that and try again.", 1)
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
    """Replace streams that `>&-` or `<&-` closed: the database's file would get their descriptor."""
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115  # for as long as the process runs
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def _is_foreign(argument: str) -> bool:
    """Whether an argument is not UTF-8, as the name of a file may be."""
    return any("\ud800" <= character <= "\udfff" for character in argument)


def _call_problem(error: typer.TyperException) -> str:
    """What is wrong with the call, without the words of the library that found it."""
    problem = error.format_message().rstrip(".")
    return problem.replace(": Value error, ", ": ").replace(": Input should be ", ": it should be ")


def _fail(message: str, status: int) -> int:
    print(" ".join(message.split()).translate(_HARMLESS), file=sys.stderr)
    return status
