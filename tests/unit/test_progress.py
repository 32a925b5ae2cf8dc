"""How far a long work is: who hears it, of which part, and that a model tells it."""

from __future__ import annotations

from kpdemo.worker import READING, listen_with, part, tell
from tests.tiny import tiny_extractor


def heard(work):
    told = []
    with listen_with(lambda share, what: told.append((round(share, 3), what))):
        work()
    return told


def test_nobody_need_listen():
    tell(0.5)
    with part(0, 2):
        tell(1.0)


def test_a_part_tells_its_share_of_the_whole():
    def work():
        tell(0.0, "Loading")
        with part(0, 2):
            tell(0.5)
        with part(1, 2), part(1, 2):
            tell(1.0)

    assert heard(work) == [(0.0, "Loading"), (0.25, READING), (1.0, READING)]


def test_what_is_told_behind_a_closed_door_is_not_heard():
    def work():
        with listen_with(None), part(0, 2):
            tell(0.5)

    assert heard(work) == []


def test_a_model_tells_how_much_of_a_long_text_it_has_read(tmp_path):
    model = tiny_extractor(tmp_path)
    text = "Neural networks learn word embeddings from large corpora of scientific articles. " * 120
    shares = [share for share, _ in heard(lambda: model.predict([text]))]
    assert len(shares) > 2
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert shares[0] < 0.5
