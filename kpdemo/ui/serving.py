"""Serving a web application at the terminal: take a port, say where, stop without a fuss."""

from __future__ import annotations

import argparse
import errno
import logging
import socket
from contextlib import suppress

import uvicorn
from fastapi import FastAPI

from kpdemo.errors import KpdemoError

LAST_PORT = 65_535
GOODBYE_SECONDS = 1
"""An open page keeps a connection for as long as it is open: do not wait for its reader."""


class ServeError(KpdemoError):
    """The pages cannot be served there."""


class PageServer(uvicorn.Server):
    """Stops without a word, also while pages are open: each would be a traceback."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        await super().shutdown(sockets)


def port_number(text: str) -> int:
    """A port as the command line takes it; 0 is any that is free."""
    port = int(text)
    if not 0 <= port <= LAST_PORT:
        raise argparse.ArgumentTypeError(f"{port} is no port: give a number from 0 to {LAST_PORT}")
    return port


def listen(host: str, port: int) -> socket.socket:
    """Take the port, before anything heavy is loaded.

    Raises:
        ServeError: it cannot be had.
    """
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            message = f"Port {port} is in use: stop what uses it, or give another --port."
        else:
            cause = str(error.strerror).partition(" (while attempting")[0]
            message = f"Cannot serve on {host}, port {port} ({cause}): give another --host or --port."
        raise ServeError(message) from error


def serve(pages: FastAPI, listener: socket.socket) -> None:
    """Print the address, and serve until Ctrl+C."""
    host, port = listener.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    config = uvicorn.Config(pages, log_level="warning", timeout_graceful_shutdown=GOODBYE_SECONDS)
    print(f"Serving on http://{shown}:{port} – Ctrl+C stops.", flush=True)
    with suppress(KeyboardInterrupt):
        PageServer(config).run(sockets=[listener])
