"""PDF files of readers, read by a process that can be ended."""

from __future__ import annotations

import time
from threading import Timer

import pytest

from kpdemo.errors import InputError, StoppedError
from kpdemo.ui.apart import read_apart
from kpdemo.ui.stop import Stop
from kpdemo.whole_files import read_whole
from tests.pdfs import make_pdf, make_slow_pdf


def test_the_document_is_the_one_that_is_read_here(tmp_path):
    path = make_pdf(tmp_path / "पत्र 🦜.pdf", ["We train neural net-", "works."], title="Deep Nets")
    assert read_apart(path, Stop()) == read_whole(path)
    assert read_apart(path, Stop()).title == "Deep Nets"


@pytest.mark.parametrize("content", [b"no pdf", None], ids=["damaged", "locked"])
def test_what_cannot_be_read_is_said_in_the_same_sentence(tmp_path, content):
    path = make_pdf(tmp_path / "a.pdf", ["Words."], password="secret")
    if content:
        path.write_bytes(content)
    with pytest.raises(InputError) as here:
        read_whole(path)
    with pytest.raises(InputError) as apart:
        read_apart(path, Stop())
    assert str(apart.value) == str(here.value)


def test_a_stop_ends_the_reading_at_once(tmp_path):
    path, stop = make_slow_pdf(tmp_path / "slow.pdf"), Stop("Given up.")
    assert path.stat().st_size < 20_000
    began = time.monotonic()
    asking = Timer(0.5, stop.ask)
    asking.start()
    with pytest.raises(StoppedError, match=r"Given up\."):
        read_apart(path, stop)
    assert time.monotonic() - began < 10
    with pytest.raises(StoppedError):  # and nothing begins afterwards
        read_apart(path, stop)


def test_a_file_that_takes_too_long_is_given_up(tmp_path):
    path = make_slow_pdf(tmp_path / "slow.pdf")
    with pytest.raises(InputError, match=r"slow\.pdf: reading this PDF takes more than 1 seconds; save"):
        read_apart(path, Stop(), seconds=1)
