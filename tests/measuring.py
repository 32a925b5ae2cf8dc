"""What the benchmarks print."""

from __future__ import annotations

from pathlib import Path

import pytest

PROCESS = Path("/proc/self")


def report(
    capsys: pytest.CaptureFixture[str], title: str, shown: dict[str, str], seconds: dict[str, float]
) -> None:
    """A line for each of `shown`, with its seconds as a multiple of the first one's."""
    first = next(iter(seconds))
    with capsys.disabled():
        print(f"\n{title}")
        for name, text in shown.items():
            print(f"  {name:10} {text:>18}   {seconds[name] / seconds[first]:6.2f} × {first}")


def report_milliseconds(capsys: pytest.CaptureFixture[str], title: str, seconds: dict[str, float]) -> None:
    report(capsys, title, {name: f"{value * 1000:.2f} ms" for name, value in seconds.items()}, seconds)


def report_speeds(capsys: pytest.CaptureFixture[str], title: str, seconds: dict[str, float]) -> None:
    """Of seconds a document."""
    report(capsys, title, {name: f"{1 / value:.1f} documents/s" for name, value in seconds.items()}, seconds)


def memory(process: Path = PROCESS) -> tuple[float, float]:
    """What a process has in memory now, and at most since `forget_peak`, in MB (Linux only)."""
    lines = dict(line.split(":", 1) for line in (process / "status").read_text().splitlines())
    now, most = (float(lines[name].split()[0]) / 1024 for name in ("VmRSS", "VmHWM"))
    return now, most


def forget_peak(process: Path = PROCESS) -> None:
    """Count the most memory anew."""
    (process / "clear_refs").write_text("5")
