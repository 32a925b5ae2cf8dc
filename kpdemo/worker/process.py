"""The process of the models from outside: start it, talk to it, end it."""

from __future__ import annotations

import pickle
import signal
import subprocess
import sys
from contextlib import suppress
from threading import Thread

from kpdemo.worker.messages import Answer, Request, Setup, Told

# It finds modules where this program does, and not in the folder that it happens to be in.
_PROGRAM = "import sys; sys.path[:] = sys.argv[1:]; from kpdemo.worker.server import serve; serve()"


class ModelProcess:
    """One run of the process. It ends when asked to, or when this program does, in whatever way.

    `send` and `receive` belong to one thread at a time; `end` may be called from another meanwhile.
    """

    def __init__(self, setup: Setup) -> None:
        self._popen = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, *sys.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            process_group=0,  # Ctrl+C at the terminal is for this program, which then ends the process
        )
        Thread(target=self._popen.wait, name="models-end", daemon=True).start()  # leaves no zombie
        self.send(setup)

    def send(self, message: Setup | Request) -> bool:
        """Whether the process was there to take the message."""
        pipe = self._popen.stdin
        assert pipe is not None
        pickled = pickle.dumps(message)
        try:
            pipe.write(pickled)
            pipe.flush()
        except OSError:
            return False
        return True

    def receive(self) -> Answer | Told | None:
        """The answer to the request that was sent, or what comes before it; None when the process ended."""
        pipe = self._popen.stdout
        assert pipe is not None
        try:
            answer: Answer | Told = pickle.load(pipe)
        except (EOFError, pickle.UnpicklingError):  # of an answer without an end
            return None
        return answer

    def end(self) -> str:
        """Make sure that the process has ended; returns what of, in a few words."""
        self._popen.kill()
        status = self._popen.wait()
        if status == -signal.SIGKILL:
            return "killed, perhaps because memory ran out"
        return f"{signal.strsignal(-status)}" if status < 0 else f"exit status {status}"

    def close_pipes(self) -> None:
        """To be called after `end`, when nobody sends or receives any more."""
        for pipe in (self._popen.stdin, self._popen.stdout):
            assert pipe is not None
            with suppress(OSError):  # what could not be sent is given up
                pipe.close()
