"""What an operator sees of the server: a log of requests and errors, and metrics for Prometheus.

Neither holds anything of what people send: of an address its route, of a failure its type and where it was.
"""

from __future__ import annotations

import hmac
import json
import logging
import random
import re
import sys
import time
import traceback
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime
from ipaddress import IPv4Network, IPv6Network, ip_address
from itertools import accumulate
from threading import Lock

from fastapi import FastAPI, Request
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Mount
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kpdemo.ui.html import page_html

REQUEST_ID = "x-request-id"
WELL_FORMED = re.compile(r"[A-Za-z0-9._-]{8,64}")
METHODS = ("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE")
ENDLESS = "/gradio_api/heartbeat/"
"""The address that an open page keeps asking for: no work, and its time says nothing."""
NO_ROUTE = "none"
"""Of requests that were answered before a route was looked for, or that none is for."""
GONE = 499
"""Counted, as by nginx, for who hung up before an answer began; nobody is sent it."""
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
"""Upper bounds in seconds."""

Networks = Sequence[IPv4Network | IPv6Network]

requests_log = logging.getLogger("kpdemo.requests")
_request_id: ContextVar[str] = ContextVar("request_id", default="")
_RECORD = "kpdemo.request"


class LogFormatter(logging.Formatter):
    """A line for each record; of an exception the types and the lines of code, and never the message.

    Messages quote what could not be read or stored: a text, a grade, a row with a password's hash.
    """

    def __init__(self, *, as_json: bool) -> None:
        super().__init__()
        self._as_json = as_json

    def format(self, record: logging.LogRecord) -> str:
        fields: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        request_id = _request_id.get()
        if request_id:
            fields["request_id"] = request_id
        if record.exc_info and record.exc_info[1] is not None:
            fields["exception"] = list(_lines_of(record.exc_info[1]))
        if self._as_json:
            return json.dumps(fields, ensure_ascii=False, default=str)
        first = " ".join(str(fields.pop(name)) for name in ("time", "level", "logger", "message"))
        trace = fields.pop("exception", [])
        assert isinstance(trace, list)
        rest = "".join(f" {name}={value}" for name, value in fields.items())
        return "\n".join([first.replace("\n", " ") + rest, *trace])


def _lines_of(error: BaseException) -> Iterator[str]:
    """The types of an exception and of those that led to it, each with its place in the code."""
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield type(current).__qualname__
        for frame in traceback.extract_tb(current.__traceback__):
            yield f"  {frame.filename}:{frame.lineno} in {frame.name}"
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)


class _StderrHandler(logging.Handler):
    """Writes to what stderr is when something is said, also where it was turned elsewhere since."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            print(self.format(record), file=sys.stderr, flush=True)
        except (OSError, ValueError):  # nobody is there to read it
            self.handleError(record)


def set_up_logs(*, as_json: bool, level: str) -> None:
    """Write every log of this process to stderr.

    Args:
        as_json: one JSON object a line.
        level: "info" has a line for each request; "warning" and "error" have what went wrong.
    """
    handler = _StderrHandler()
    handler.setFormatter(LogFormatter(as_json=as_json))
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.captureWarnings(as_json)
    requests_log.setLevel(level.upper())


@dataclass
class _RouteTimes:
    count: int = 0
    seconds: float = 0.0
    buckets: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS) + 1))


class Metrics:
    """Counts of requests by route, method and status, and their times by route; used from many threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._times: dict[str, _RouteTimes] = {}
        self._running: Counter[bool] = Counter()

    @property
    def work(self) -> int:
        """How many requests are being answered, without the connections that open pages hold."""
        return self._running[True]

    def begin(self, *, is_work: bool) -> None:
        with self._lock:
            self._running[is_work] += 1

    def end(self, method: str, route: str, status: int, seconds: float, *, is_work: bool) -> None:
        with self._lock:
            self._running[is_work] -= 1
            self._requests[route, method, status] += 1
            if is_work:
                times = self._times.setdefault(route, _RouteTimes())
                times.count += 1
                times.seconds += seconds
                times.buckets[bisect_left(BUCKETS, seconds)] += 1

    def text(self, parts: Mapping[str, bool]) -> str:
        """Everything in Prometheus' text format, with whether each part of the server works."""
        with self._lock:
            requests = dict(self._requests)
            times = {route: (one.count, one.seconds, list(one.buckets)) for route, one in self._times.items()}
            running = dict(self._running)
        lines = [*_head("kpdemo_requests_total", "counter", "Requests that were answered.")]
        for (route, method, status), count in sorted(requests.items()):
            labels = _labels(route=route, method=method, status=str(status))
            lines.append(f"kpdemo_requests_total{labels} {count}")
        lines += _head("kpdemo_request_seconds", "histogram", "Time until the end of an answer.")
        for route, (count, seconds, buckets) in sorted(times.items()):
            bounds = [*map(str, BUCKETS), "+Inf"]
            for bound, until in zip(bounds, accumulate(buckets), strict=True):
                lines.append(f"kpdemo_request_seconds_bucket{_labels(route=route, le=bound)} {until}")
            lines.append(f"kpdemo_request_seconds_sum{_labels(route=route)} {seconds:.6f}")
            lines.append(f"kpdemo_request_seconds_count{_labels(route=route)} {count}")
        lines += _head("kpdemo_requests_running", "gauge", "Requests that are being answered.")
        lines.append(f"kpdemo_requests_running {running.get(True, 0)}")
        lines += _head("kpdemo_pages_open", "gauge", "Pages that are open in browsers.")
        lines.append(f"kpdemo_pages_open {running.get(False, 0)}")
        lines += _head("kpdemo_part_works", "gauge", "1 where a part of the server works, else 0.")
        lines += [f"kpdemo_part_works{_labels(part=part)} {int(works)}" for part, works in parts.items()]
        lines += _head("process_cpu_seconds_total", "counter", "Processor time of the pages' process.")
        lines.append(f"process_cpu_seconds_total {time.process_time():.2f}")
        return "\n".join([*lines, ""])


def _head(name: str, kind: str, what: str) -> list[str]:
    return [f"# HELP {name} {what}", f"# TYPE {name} {kind}"]


def _labels(**labels: str) -> str:
    escaped = (
        (name, value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n"))
        for name, value in labels.items()
    )
    return "{" + ",".join(f'{name}="{value}"' for name, value in escaped) + "}"


@dataclass(frozen=True, slots=True)
class MetricsAccess:
    """Who may read the metrics: from these networks, or with this token."""

    networks: Networks
    token: str = ""

    def allows(self, host: str, authorization: str) -> bool:
        given = authorization.removeprefix("Bearer ")
        if self.token and hmac.compare_digest(given.encode(), self.token.encode()):
            return True
        try:
            address = ip_address(host)
        except ValueError:
            return False
        return any(address in network for network in self.networks)


def add_monitoring(
    server: FastAPI, state: Callable[[], Mapping[str, str]], access: MetricsAccess | None = None
) -> Metrics:
    """Give every request an id, log it and count it, and serve /metrics where that is wanted.

    To be called after everything else that adds middlewares, and before pages are mounted at /.

    Args:
        server: the web application.
        state: that of each part, as of `add_health`.
        access: who may read /metrics; None where there are none.
    """
    metrics = Metrics()
    server.add_middleware(RequestMiddleware, metrics=metrics)  # around all others
    server.user_middleware.append(Middleware(RouteMiddleware))  # within all others
    if access is not None:

        @server.get("/metrics")
        def show(request: Request) -> Response:
            host = request.client.host if request.client else ""
            if not access.allows(host, request.headers.get("authorization", "")):
                refusal = f"The metrics are not for {host}: add it to --metrics, or send the token.\n"
                return PlainTextResponse(refusal, 403)
            parts = {part: value in ("ok", "ready") for part, value in state().items() if part != "status"}
            return PlainTextResponse(metrics.text(parts), media_type="text/plain; version=0.0.4")

    return metrics


@dataclass
class _Record:
    """What is learnt of a request while it is answered."""

    route: str = NO_ROUTE
    status: int = GONE
    size: int = 0


class RequestMiddleware:
    """Gives each request an id, or keeps that of a proxy, and logs and counts it once it is answered."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = Headers(scope=scope).get(REQUEST_ID, "")
        request_id = given if WELL_FORMED.fullmatch(given) else f"{random.getrandbits(128):032x}"
        record = _Record()
        is_work = ENDLESS not in scope["path"]
        method = scope["method"] if scope["method"] in METHODS else "OTHER"

        async def send_with_id(message: Message) -> None:
            if message["type"] == "http.response.start":
                record.status = message["status"]
                MutableHeaders(scope=message)[REQUEST_ID] = request_id
            elif message["type"] == "http.response.body":
                record.size += len(message.get("body", b""))
            await send(message)

        mark = _request_id.set(request_id)
        start = time.perf_counter()
        self._metrics.begin(is_work=is_work)
        try:
            await self._app({**scope, _RECORD: record}, receive, send_with_id)
        except Exception:  # noqa: BLE001 - of what stands before the routes
            requests_log.error("%s failed before a route was found", method, exc_info=True)
            if record.status == GONE:
                await _sorry(scope, request_id)(scope, receive, send_with_id)
        finally:
            seconds = time.perf_counter() - start
            self._metrics.end(method, record.route, record.status, seconds, is_work=is_work)
            fields = {
                "method": method,
                "route": record.route,
                "status": record.status,
                "milliseconds": round(1000 * seconds, 1),
                "bytes": record.size,
                "client": (scope.get("client") or ("", 0))[0],
            }
            requests_log.info("request", extra={"fields": fields})
            _request_id.reset(mark)


class RouteMiddleware:
    """Notes the route of a request, and answers what fails by one sentence with its id."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        record = scope.get(_RECORD)
        if record is None:
            await self._app(scope, receive, send)
            return
        request_id = _request_id.get()
        before = scope.get("root_path", "")
        has_begun = is_replaced = False

        async def send_or_replace(message: Message) -> None:
            """Gradio answers its own failures, with two words and no id."""
            nonlocal has_begun, is_replaced
            if message["type"] == "http.response.start":
                has_begun = True
                kind = Headers(raw=message["headers"]).get("content-type", "")
                is_replaced = message["status"] == 500 and kind.startswith("text/plain")
                if is_replaced:
                    await _sorry(scope, request_id)(scope, receive, send)
            if not is_replaced:
                await send(message)

        try:
            await self._app(scope, receive, send_or_replace)
        except ClientDisconnect:
            pass
        except Exception:  # noqa: BLE001 - a bug, which the log has
            note_route(record, scope, before)
            requests_log.error("%s %s failed", scope["method"], record.route, exc_info=True)
            if not has_begun:
                await _sorry(scope, request_id)(scope, receive, send)
        finally:
            note_route(record, scope, before)


def note_route(record: _Record, scope: Scope, before: str) -> None:
    """The pattern of the address: addresses themselves hold tokens, and there is no end of them."""
    route = scope.get("route") or _route_to(scope.get("endpoint"), scope)
    if route is not None:
        mounted = scope.get("root_path", "").removeprefix(before)
        within = "/{path}" if isinstance(route, Mount) else getattr(route, "path", "")
        record.route = f"{mounted}{within}"


def _route_to(endpoint: object, scope: Scope) -> BaseRoute | None:
    """FastAPI tells the routes that are its own; of Starlette's it tells what they lead to."""
    if endpoint is None:
        return None
    routes: list[BaseRoute] = scope["app"].routes
    led = (route for route in routes if endpoint == getattr(route, "endpoint", getattr(route, "app", None)))
    return next(led, None)


def _sorry(scope: Scope, request_id: str) -> Response:
    sentence = (
        "Something failed on the server: try again, and if it stays so, send whoever runs the server this "
        f"number: {request_id}"
    )
    if "text/html" in Headers(scope=scope).get("accept", "") and scope["method"] in ("GET", "HEAD"):
        return HTMLResponse(page_html("kpdemo", sentence), 500)
    key = "detail" if "/gradio_api/" in scope["path"] else "error"  # Gradio's page shows the first
    return JSONResponse({key: sentence}, 500)
