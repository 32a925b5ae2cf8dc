"""The Semantic space page: what is drawn, and with what."""

from __future__ import annotations

import json
import re
from functools import partial
from pkgutil import resolve_name
from types import SimpleNamespace

import gradio as gr
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kpdemo.translation import use_language
from kpdemo.types import Keyphrase, PointKind, Prediction, VectorPoint, VectorSpace
from kpdemo.ui.models import ModelShelf
from kpdemo.ui.space import (
    HEIGHT,
    READINGS,
    SPACES,
    STOPPED,
    TOO_FEW,
    WIDTH,
    Place,
    SpaceHandlers,
    as_answered,
    document_cosines,
    group_points,
    group_traces,
    groups_html,
    map_chart,
    map_table_html,
    most_telling,
    place_labels,
    text_width,
)
from kpdemo.vectors import Method, Plane, project
from kpdemo.worker import tell
from tests.fakes import FakePredictor, FakeRetriever, MappedPredictor, absent_keyphrases

TEXT = "Neural networks learn from many examples of language and of other signals."
EVIL = "<img src=x onerror=alert(1)>${1+1}"
PARTS = ("place", "about", "chart", "buttons", "table")
DOCUMENT, CANDIDATE, PRESENT, ABSENT = PointKind


def space_of(*points: tuple[str, PointKind, float | None], vectors=None) -> VectorSpace:
    rows = np.eye(len(points), 8) if vectors is None else vectors
    return VectorSpace(
        "extractor", tuple(VectorPoint(*point) for point in points), np.asarray(rows, dtype=np.float32)
    )


def drawn(predictor, method=Method.PCA, text=TEXT, **options):
    """The line above the maps, and the parts of each map by name."""
    shelf = ModelShelf({"default": "a model"}, lambda name: predictor)
    count = options.get("top_k", 5)
    facts, *parts = SpaceHandlers(shelf).draw(text, "default", str(count), "", "", method.value)
    width = len(PARTS)
    places = [dict(zip(PARTS, parts[at : at + width], strict=True)) for at in range(0, len(parts), width)]
    return facts, dict(zip(SPACES, places, strict=True))


def traces(chart) -> dict[str, dict]:
    plot = chart if isinstance(chart, dict) else json.loads(chart.value["plot"])
    return {trace["name"]: trace for trace in plot["data"] if trace["mode"] == "markers"}


def names(chart, size) -> dict[str, list[str]]:
    """What is written in the chart, by kind."""
    shown = [trace for trace in chart["data"] if trace.get("uid", "").endswith(f"-text-{size}")]
    return {str(trace["legendgroup"]): trace["text"] for trace in shown}


def test_each_space_of_the_model_is_drawn_in_its_place():
    facts, places = drawn(MappedPredictor(found=absent_keyphrases(3)))
    assert "Neural networks learn" in facts
    assert "model default" in facts
    extractor, reranker = places["extractor"], places["reranker"]
    assert extractor["place"].visible
    assert set(traces(extractor["chart"])) == {"Document", "Keyphrases in the text", "Other phrases"}
    assert set(traces(reranker["chart"])) == {
        "Document",
        "Keyphrases in the text",
        "Keyphrases not in the text",
    }
    assert len(traces(reranker["chart"])["Keyphrases not in the text"]["x"]) == 3
    assert "electric currents" in reranker["table"]
    assert 'data-chart="space-reranker-chart"' in reranker["buttons"]


def test_how_a_map_is_read_is_told_once():
    _, places = drawn(MappedPredictor(found=absent_keyphrases(3)))
    told = [READINGS[Method.PCA] in places[name]["about"] for name in ("extractor", "reranker")]
    assert told == [True, False]


def test_a_space_that_the_model_has_not_is_out_of_sight():
    _, places = drawn(MappedPredictor())
    reranker = places["reranker"]
    assert (reranker["place"].visible, reranker["chart"].visible) == (False, False)
    assert reranker["about"] == reranker["buttons"] == reranker["table"] == ""


def test_a_model_that_compares_no_vectors_is_a_toast():
    with pytest.raises(gr.Error, match="The model “default” does not compare vectors"):
        drawn(FakePredictor())


def test_an_empty_text_is_a_toast():
    with pytest.raises(gr.Error, match="The text is empty"):
        drawn(MappedPredictor(), text=" ")


@pytest.mark.parametrize(("text", "few"), [("two words", True), (TEXT, False)])
def test_the_page_says_when_there_are_too_few_points_for_tsne(text, few):
    _, places = drawn(MappedPredictor(), Method.TSNE, text)
    assert (TOO_FEW in places["extractor"]["about"]) is few


def test_colours_and_shapes_tell_the_kinds_apart():
    _, places = drawn(MappedPredictor(found=absent_keyphrases(2)))
    markers = {
        name: (trace["marker"]["color"], trace["marker"]["symbol"])
        for place in places.values()
        if place["place"].visible
        for name, trace in traces(place["chart"]).items()
    }
    assert len(markers) == 4
    assert (
        len({colour for colour, _ in markers.values()}) == len({shape for _, shape in markers.values()}) == 4
    )


def test_what_is_under_the_pointer_is_the_phrase_with_its_score_and_cosine():
    space = space_of(
        ("My title", DOCUMENT, None), ("graphs", PRESENT, 0.5), (EVIL, ABSENT, None),
        vectors=[[1, 0], [3, 4], [0, 2]],
    )  # fmt: skip
    cosines = document_cosines(space)
    assert cosines == pytest.approx([1, 0.6, 0])
    shown = traces(map_chart(space, project(space.vectors, Method.PCA), cosines))
    assert shown["Document"]["customdata"] == ["My title<br>the whole text"]
    [hover] = shown["Keyphrases in the text"]["customdata"]
    assert hover == "graphs<br>in the text: score 0.50, closeness to the text 0.60"
    [hover] = shown["Keyphrases not in the text"]["customdata"]
    assert hover.startswith("&lt;img src=x onerror=alert(1)&gt;$")
    assert "score" not in hover


def test_the_table_has_the_nearest_first_and_shows_markup_as_text():
    space = space_of(
        ("title", DOCUMENT, None), ("far", PRESENT, 0.9), (EVIL, CANDIDATE, 0.1),
        vectors=[[1, 0], [-1, 0], [1, 0.1]],
    )  # fmt: skip
    table = map_table_html(space, document_cosines(space))
    assert table.index("onerror") < table.index("far")
    assert "<img" not in table
    assert "$" not in table
    assert re.findall(r'class="number">(-?[\d.]+)<', table) == ["1.00", "-1.00"]


def test_of_a_long_document_the_best_are_drawn_and_the_table_says_what_it_leaves_out():
    candidates = [(f"c{number}", CANDIDATE, number / 1000) for number in range(700)]
    space = space_of(
        ("title", DOCUMENT, None), *candidates, ("chosen", PRESENT, 0.0), ("absent", ABSENT, 0.0),
        vectors=np.ones((703, 4)),
    )  # fmt: skip
    kept = most_telling(space)
    assert len(kept.points) == len(kept.vectors) == 500
    assert [point.text for point in (kept.points[0], *kept.points[-2:])] == ["title", "chosen", "absent"]
    assert [point.text for point in kept.points[1:3]] == ["c203", "c204"]
    table = map_table_html(space, document_cosines(space))
    assert table.count("<tr>") == 1 + 22
    assert "680 phrases with lower scores are left out." in table


def test_one_candidate_too_many_is_counted_and_a_cosine_of_nearly_0_has_no_sign():
    candidates = [(f"c{number}", CANDIDATE, number / 1000) for number in range(21)]
    space = space_of(("title", DOCUMENT, None), *candidates, vectors=[[1, 0], *[[-0.004, 1]] * 21])
    cosines = document_cosines(space)
    table = map_table_html(space, cosines)
    assert "1 phrase with a lower score is left out." in table
    hover = traces(map_chart(space, project(space.vectors, Method.PCA), cosines))
    for told in (table, str(hover)):
        assert "0.00" in told
        assert "-0.00" not in told


def test_the_best_keyphrases_have_names_though_they_lie_close_together():
    present = [(f"present {number}", PRESENT, 0.9 - number / 10) for number in range(9)]
    absent = [(f"absent {number}", ABSENT, 0.5 - number / 10) for number in range(3)]
    rest = [("other", CANDIDATE, 0.95)] * 40
    space = space_of(("title", DOCUMENT, None), *present[::-1], *absent[::-1], *rest)
    around = np.random.default_rng(1).normal(size=(len(space.points), 2)).astype(np.float32)
    around[1:13] = np.array([1.5, 1]) + around[1:13] / 50
    chart = map_chart(space, Plane(around, Method.TSNE), [0.0] * len(space.points))
    assert names(chart, "wide") == {
        "document": ["document"],
        "present": [text for text, *_ in present],
        "absent": [text for text, *_ in absent],
    }
    assert names(chart, "narrow") == {
        "document": ["document"],
        "present": ["present 0", "present 1", "present 2"],
        "absent": ["absent 0", "absent 1", "absent 2"],
    }


def test_no_name_of_a_narrow_map_lies_over_the_mark_of_a_keyphrase():
    kinds = [PRESENT] * 30 + [CANDIDATE] * 20
    space = space_of(
        ("title", DOCUMENT, None), *((f"phrase {n}", kind, 1 - n / 100) for n, kind in enumerate(kinds))
    )
    places = np.random.default_rng(3).normal(size=(len(space.points), 2)).astype(np.float32)
    places[:31] *= 0.4
    chart = map_chart(space, Plane(places, Method.PCA), [0.0] * len(space.points))
    left, right = chart["layout"]["xaxis"]["range"]
    scale = 260 / (right - left)
    [written] = [one for one in chart["data"] if one.get("uid") == "present-text-narrow"]
    for x, y, side, text in zip(*(written[key] for key in ("x", "y", "textposition", "text")), strict=True):
        ahead = (places[1:31, 0] - x) * scale * (-1 if "left" in side else 1)
        beside = abs(places[1:31, 1] - y) * scale
        assert not ((ahead > 0) & (ahead < text_width(text)) & (beside < 8)).any()


@pytest.mark.parametrize(
    ("size", "shown"),  # the frames of charts with such names, in pixels
    [
        ("wide", (677, 439)), ("wide", (920, 439)),
        ("middle", (420, 436)), ("middle", (547, 436)),
        ("narrow", (260, 390)), ("narrow", (325, 396)), ("narrow", (420, 390)),
    ],
)  # fmt: skip
def test_no_name_leaves_the_frame(size, shown):
    points = [(f"a phrase of some length {number}", PRESENT, 0.9 - number / 100) for number in range(24)]
    space = space_of(("title", DOCUMENT, None), *points)
    corners = np.array([[-9, -6], [9, 6], [-9, 6], [9, -6]], dtype=np.float32)
    around = np.random.default_rng(1).normal(size=(25, 2)).astype(np.float32) / 9 + corners[np.arange(25) % 4]
    chart = map_chart(space, Plane(around, Method.PCA), [0.0] * 25)
    (left, right), (low, high) = (chart["layout"][axis]["range"] for axis in ("xaxis", "yaxis"))
    scale = min(shown[0] / (right - left), shown[1] / (high - low))  # a unit is as long on both axes
    middle, found = ((left + right) / 2, (low + high) / 2), 0
    for trace in chart["data"]:
        for x, y in zip(trace["x"], trace["y"], strict=True) if size in trace.get("uid", "") else ():
            if x is not None:
                found += 1
                assert abs(x - middle[0]) * scale <= shown[0] / 2
                assert abs(y - middle[1]) * scale <= shown[1] / 2 - ("text" in trace["mode"]) * 8 * min(
                    scale, 1
                )
    assert found > 4


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_map_of_few_points_has_room_for_all(count):
    points = [("title", DOCUMENT, None), ("a", PRESENT, 0.5), ("b", ABSENT, 0.4)][:count]
    space = space_of(*points)
    plane = project(space.vectors, Method.TSNE)
    chart = map_chart(space, plane, document_cosines(space))
    for axis, column in (("xaxis", 0), ("yaxis", 1)):
        low, high = chart["layout"][axis]["range"]
        assert low < plane.places[:, column].min() <= plane.places[:, column].max() < high
    json.dumps(chart, allow_nan=False)


def test_one_unit_is_as_long_on_both_axes():
    space = space_of(("title", DOCUMENT, None), ("a", PRESENT, 0.5))
    plane = Plane(np.array([[0, 0], [10, 0.1]], dtype=np.float32), Method.TSNE)
    layout = map_chart(space, plane, [1.0, 0.0])["layout"]
    (left, right), (low, high) = layout["xaxis"]["range"], layout["yaxis"]["range"]
    assert (right - left) / WIDTH == pytest.approx((high - low) / HEIGHT)
    assert layout["yaxis"]["scaleanchor"] == "x"


class TestLabels:
    AREA = (0.0, 0.0, 640.0, 440.0)

    def test_a_name_stands_beside_its_point_where_it_can(self):
        places = np.array([[100, 100], [600, 200]], dtype=np.float32)
        chosen = place_labels({0: "first phrase", 1: "at the edge"}, places, self.AREA)
        assert chosen == {
            0: Place(110, 100, is_left=False, is_away=False),
            1: Place(590, 200, is_left=True, is_away=False),
        }

    def test_names_of_points_that_lie_together_are_led_to_by_lines(self):
        places = np.repeat(np.array([[300, 200]], dtype=np.float32), 6, axis=0)
        chosen = place_labels(dict.fromkeys(range(6), "the same place"), places, self.AREA)
        assert set(chosen) == set(range(6))
        assert any(place.is_away for place in chosen.values())

    def test_where_there_is_no_room_for_all_those_that_matter_most_have_names(self):
        places = np.repeat(np.array([[50, 25]], dtype=np.float32), 6, axis=0)
        labels = dict.fromkeys((4, 2, 5, 1), "no more room")
        assert set(place_labels(labels, places, (0, 0, 160, 50))) < {4, 2, 5}

    def test_a_name_goes_where_it_covers_no_other_point(self):
        right = [(330 + step, 200) for step in range(0, 60, 10)]
        places = np.array([(300, 200), *right], dtype=np.float32)
        assert place_labels({0: "phrase"}, places, self.AREA)[0].is_left

    def test_a_name_is_left_out_where_it_could_only_cover_a_keyphrase_without_one(self):
        dense = [(x, y) for x in range(20, 241, 20) for y in range(10, 161, 10)]
        places = np.array([(0, 0), (130, 85), *dense], dtype=np.float32)
        labels, area = {0: "document", 1: "keyphrase"}, (0, -20, 260, 170)
        assert set(place_labels(labels, places, area)) == {0, 1}
        assert set(place_labels(labels, places, area, range(2, len(places)))) == {0}

    def test_a_chinese_character_takes_twice_the_width(self):
        assert text_width("边界") == text_width("edge")

    def test_what_matters_most_has_a_name_though_points_are_everywhere(self):
        everywhere = [(x, y) for x in range(0, 121, 10) for y in range(0, 61, 10)]
        labels = dict.fromkeys((40, *range(len(everywhere))), "phrase")
        chosen = place_labels(labels, np.array(everywhere, dtype=np.float32), (0, 0, 120, 60))
        assert set(chosen) == {40}

    @given(st.lists(st.tuples(st.integers(0, 640), st.integers(0, 440)), max_size=12))
    @settings(deadline=None, max_examples=40)
    def test_no_two_names_overlap_nor_does_a_name_lie_on_a_named_point(self, points):
        places = np.array(points, dtype=np.float32).reshape(-1, 2)
        chosen = place_labels(dict.fromkeys(range(len(points)), "phrase"), places, self.AREA)
        boxes = {row: _box(place, text_width("phrase")) for row, place in chosen.items()}
        for row, one in boxes.items():
            assert 0 <= one[0] < one[2] <= 640
            if row == 0:
                continue
            markers = [(x - 9, y - 9, x + 9, y + 9) for x, y in points]
            for other in [*(box for number, box in boxes.items() if number != row), *markers]:
                apart = one[0] >= other[2] or other[0] >= one[2] or one[1] >= other[3] or other[1] >= one[3]
                assert apart


def _box(place, width):
    """By hand: a name of one line, 16 pixels high, that begins or ends at its place."""
    left = place.x - width if place.is_left else place.x
    return left, place.y - 8, left + width, place.y + 8


ROUTED = {"default": "any language", "multilingual": "other languages", "english": "English only"}


def refused(model, text):
    shelf = ModelShelf(
        ROUTED, lambda name: FakeRetriever() if name == "multilingual" else MappedPredictor(name)
    )
    with pytest.raises(gr.Error) as error:
        SpaceHandlers(shelf).draw(text, model)
    return str(error.value.message)


@pytest.mark.parametrize("model", ["default", "multilingual"])
def test_a_text_that_is_read_without_vectors_has_no_map(model):
    assert "does not compare vectors" in refused(model, "深度学习模型在自然语言处理中的应用")


@pytest.mark.parametrize(
    ("model", "language", "text"),
    [
        ("english", "Chinese", "深度学习模型在自然语言处理中的应用"),
        ("english", "Hebrew", "ברוכים הבאים לאתר שלנו"),
    ],
)
def test_a_text_that_models_with_vectors_refuse_sends_nobody_to_one_without(model, language, text):
    said = f"The text is {language}, which this model does not read: choose the model multilingual."
    assert refused(model, text) == said


def test_a_text_that_no_model_reads_has_no_map():
    assert refused("english", "การสกัดคำสำคัญจากบทความวิชาการ") == (
        "The text is Thai, which this model does not read, nor does any other that is included: its words "
        "cannot be told apart."
    )


def test_a_model_that_compares_no_vectors_names_itself_whatever_the_language():
    assert refused("multilingual", TEXT).startswith("The model “multilingual” does not compare vectors")


@pytest.mark.parametrize("step", ["kpdemo.ui.models.ModelShelf.spaces", "kpdemo.ui.space.most_telling"])
def test_a_map_can_be_stopped_while_the_text_is_read_and_while_it_is_laid_out(step, monkeypatch):
    page = SimpleNamespace(session_hash="page")
    handlers = SpaceHandlers(
        ModelShelf({"default": "a model"}, partial(MappedPredictor, found=absent_keyphrases(3)))
    )
    fields = (TEXT, "default", "", "", "", Method.PCA.value, page)
    whole = resolve_name(step)

    def stop_and_go_on(*arguments):
        handlers.stops.ask(page.session_hash)
        return whole(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(step, stop_and_go_on)
        with pytest.raises(gr.Error, match=STOPPED):
            handlers.draw(*fields)
    assert handlers.draw(*fields)


def test_how_far_a_text_is_read_is_shown():
    class Telling(MappedPredictor):
        def vectors(self, document, **options):
            tell(0.25)
            tell(1.0)  # by one part of a model, before the others begin
            return super().vectors(document, **options)

    shown = []
    handlers = SpaceHandlers(ModelShelf({"default": "a model"}, Telling))
    fields = (TEXT, "default", "", "", "", Method.PCA.value)
    with use_language("fr"):
        handlers.draw(*fields, progress=lambda share, desc: shown.append((share, desc)))
    assert shown == [(0.0, "Chargement du modèle default"), (0.0, "Lecture"), (0.25, "Lecture")]


def test_groups_lie_together_and_are_named_by_the_words_that_their_phrases_share():
    texts = ("graph kernels", "fast graph kernel", "random walk kernels", "subtree kernel", "kernel matrix")
    texts = (*texts, "path kernels")
    others = ("protein function", "functions of proteins", "gene function", "protein", "enzyme", EVIL)
    space = space_of(
        ("The text", DOCUMENT, None),
        *((text, CANDIDATE, 0.1) for text in texts),
        *((text, ABSENT, 0.2) for text in others),
        vectors=np.ones((13, 8)),
    )
    places = np.array(
        [[0, 0], *([-5 + n / 10, n % 2] for n in range(6)), *([5 + n / 10, n % 2] for n in range(6))],
        dtype=np.float32,
    )
    groups = group_points(space, places, "en")
    assert {group.name: group.rows for group in groups} == {
        "kernels, graph": (1, 2, 3, 4, 5, 6),
        "protein, function": (7, 8, 9, 10, 11, 12),
    }
    outlines = list(group_traces(groups, places))
    assert [trace["text"] for trace in outlines] == [
        "protein, function: 6 phrases",
        "kernels, graph: 6 phrases",
    ]
    assert [trace["showlegend"] for trace in outlines] == [True, False]
    assert "<img" not in groups_html(space, groups)
    assert group_points(space_of(("The text", DOCUMENT, None)), places[:1]) == []


def test_the_map_has_the_keyphrases_of_the_answer_and_no_absent_one_that_it_leaves_out():
    space = space_of(
        ("The text", DOCUMENT, None), ("kernels", CANDIDATE, 0.1), ("Graphs", PRESENT, 0.5),
        ("doubtful phrase", ABSENT, 0.1), ("sure phrase", ABSENT, 0.4),
    )  # fmt: skip
    answer = Prediction(
        (Keyphrase("kernel", 0.5, ((0, 6),), family=(Keyphrase("graphs", 0.4, ((0, 6),)),)),),
        (Keyphrase("sure phrase", 0.4),),
        "en",
        doubtful=(Keyphrase("doubtful phrase", 0.1),),
    )
    shown = as_answered(space, answer)
    assert [(point.text, point.kind) for point in shown.points[1:]] == [
        ("kernels", PRESENT), ("Graphs", PRESENT), ("sure phrase", ABSENT),
    ]  # fmt: skip
    assert shown.vectors.tolist() == space.vectors[[0, 1, 2, 4]].tolist()
    assert [point.kind for point in as_answered(space, Prediction(())).points] == [
        DOCUMENT,
        CANDIDATE,
        CANDIDATE,
    ]
