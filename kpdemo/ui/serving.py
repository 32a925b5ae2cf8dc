"""Serving a web application at the terminal: take a port, say where, stop without a fuss."""

from __future__ import annotations

import errno
import logging
import os
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import uvicorn
from fastapi import FastAPI, Response

from kpdemo.errors import KpdemoError

GOODBYE_SECONDS = 1
"""An open page keeps a connection for as long as it is open: do not wait for its reader."""


INSIDE = "10.0.0.0/8,100.64.0.0/10,127.0.0.0/8,172.16.0.0/12,192.168.0.0/16,::1,fc00::/7"
"""The addresses of a Space's proxies. Trusting everybody would let readers forge their own address."""


class ServeError(KpdemoError):
    """The pages cannot be served there."""


class PageServer(uvicorn.Server):
    """Stops without a word, also while pages are open: each would be a traceback."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        await super().shutdown(sockets)


def listen(host: str, port: int) -> socket.socket:
    """Take the port, before anything heavy is loaded.

    Raises:
        ServeError: it cannot be taken.
    """
    try:
        listener = socket.create_server(
            (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET
        )
        # asyncio sets it only for sockets that it makes: without it each answer would wait 40 ms for an ACK.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listener
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            message = f"Port {port} is in use: stop what uses it, or give another --port."
        else:
            cause = str(error.strerror).partition(" (while attempting")[0]
            message = f"Cannot serve on {host}, port {port} ({cause}): give another --host or --port."
        raise ServeError(message) from error


def address_of(listener: socket.socket) -> str:
    """Where a browser on this machine finds what is served there."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def serve(
    pages: FastAPI, listener: socket.socket, notes: Sequence[str] = (), *, behind_proxy: bool = False
) -> None:
    """Print the address and then the `notes`, and serve until Ctrl+C.

    Args:
        pages: the web application.
        listener: the port, taken.
        notes: what else there is to say at the start, a sentence each.
        behind_proxy: whether everybody comes through a proxy that says who asks, and how.
    """
    config = server_config(pages, behind_proxy=behind_proxy)
    print(f"Serving on {address_of(listener)} – Ctrl+C stops.", *notes, sep="\n", flush=True)
    with suppress(KeyboardInterrupt):
        PageServer(config).run(sockets=[listener])


def server_config(pages: FastAPI, *, behind_proxy: bool) -> uvicorn.Config:
    """How `pages` are served; who asks is the last address of X-Forwarded-For that no trusted proxy has.

    The variable FORWARDED_ALLOW_IPS names the proxies; else they are on this machine, or `INSIDE`.
    """
    proxies = os.environ.get("FORWARDED_ALLOW_IPS", INSIDE) if behind_proxy else None
    return uvicorn.Config(
        pages,
        log_level="warning",
        timeout_graceful_shutdown=GOODBYE_SECONDS,
        forwarded_allow_ips=proxies,
    )


def add_health(server: FastAPI, model: Callable[[], str], answers: Callable[[], bool]) -> None:
    """Add /healthz: 200 while the database answers, else 503.

    Args:
        server: the web application.
        model: the state of the default model, in a word.
        answers: whether the database does.
    """

    @server.get("/healthz")
    def health(response: Response) -> dict[str, str]:
        is_well = answers()
        response.status_code = 200 if is_well else 503
        return {
            "status": "ok" if is_well else "failing",
            "model": model(),
            "database": "ok" if is_well else "unavailable",
        }


@contextmanager
def private_uploads() -> Iterator[Path]:
    """A folder for what readers upload, of this process alone; it goes when the pages stop."""
    with TemporaryDirectory(prefix="kpdemo-", ignore_cleanup_errors=True) as folder:
        os.environ["GRADIO_TEMP_DIR"] = folder
        yield Path(folder)
