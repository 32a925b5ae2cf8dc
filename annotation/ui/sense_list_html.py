"""A neighbourhood of senses as a list, for keyboard and screen reader, and as a graph that can be clicked."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING
from uuid import uuid4

from annotation.senses.graph import GAP, RADII, Node, drawn_nodes, named_nodes
from annotation.senses.network import Sense, SenseStep
from annotation.ui.wording import counted, grouped
from kpdemo.ui.widgets import escape

if TYPE_CHECKING:
    from annotation.wordnet import WordNet

MOST_LISTED = 100
"""At each distance; the filter finds the others."""
LONGEST_NAME = 18
DISTANCES = ("The meaning itself", "1 step away", "2 steps away", "3 steps away")
MARGIN = 90.0


def around_html(key: str, start: Sense, steps: Sequence[SenseStep], wanted: str, wordnet: WordNet) -> str:
    """The graph, the filter and the list.

    Args:
        key: of the sense in the middle, as it was asked for: the page shows no list of another one.
        start: this sense.
        steps: its neighbourhood.
        wanted: what the words or definitions of listed senses contain; empty lists all.
        wordnet: gives each synset its words.
    """
    nodes = drawn_nodes(steps)
    found = [(step, wordnet.synset(step.synset)) for step in steps]
    words = " ".join(wanted.split()).casefold()
    if words:
        found = [each for each in found if words in f"{each[1].label} {each[1].definition}".casefold()]
    lists = "".join(
        _distance_html(distance, list(group), wordnet)
        for distance, group in groupby(found, key=lambda each: each[0].distance)
    )
    if not found:
        lists = '<p class="empty">No sense nearby matches. Shorten the filter, or clear it.</p>'
    return (
        f'<div class="senses" data-drawn="{uuid4().hex}" data-meaning="{escape(key)}">'
        f"<h2>Within three steps of “{escape(start.words[0])}”</h2>"
        f'<p class="small">{counted(len(steps), "sense")}. Choose one that makes a pair of that grade.</p>'
        f"{_graph_html(nodes, len(steps), wordnet)}"
        '<form id="senses-filter-form" class="senses-row"><label>Only senses with'
        f' <input type="text" id="senses-filter" dir="auto" value="{escape(wanted)}" maxlength="100"></label>'
        '<button type="submit" class="keep">Filter</button></form>'
        f'<div class="senses-lists" tabindex="0" role="group" aria-label="Senses nearby">{lists}</div></div>'
    )


def _distance_html(distance: int, found: list[tuple[SenseStep, Sense]], wordnet: WordNet) -> str:
    options = "".join(_option_html(step, sense, wordnet) for step, sense in found[:MOST_LISTED])
    rest = len(found) - MOST_LISTED
    more = f'<p class="small">And {grouped(rest)} more: the filter finds them.</p>' if rest > 0 else ""
    name = f"{DISTANCES[distance]} ({grouped(len(found))})" if distance else DISTANCES[0]
    return f'<fieldset class="senses-ring"><legend>{name}</legend>{options}{more}</fieldset>'


def _option_html(step: SenseStep, sense: Sense, wordnet: WordNet) -> str:
    way = ""
    if step.via is not None and step.relation is not None:
        way = f"<i>{step.relation}: {escape(wordnet.synset(step.via).words[0])}</i> "
    return (
        '<label class="senses-option"><input type="radio" name="senses-near"'
        f' value="{escape(sense.keys[0])}">'
        f"<span><b>{escape(sense.label)}</b> {way}{escape(sense.definition)}</span></label>"
    )


def _graph_html(nodes: Sequence[Node], total: int, wordnet: WordNet) -> str:
    """Circles and lines; the names of the inner ones, the others when they are pointed at."""
    rings = "".join(f'<circle class="senses-orbit" r="{radius:.0f}"/>' for radius in RADII[1:])
    lines = "".join(
        f'<line x1="{node.before[0]:.1f}" y1="{node.before[1]:.1f}" x2="{node.x:.1f}" y2="{node.y:.1f}"/>'
        for node in nodes
        if node.before is not None
    )
    senses = {node: wordnet.synset(node.step.synset) for node in nodes}
    named = named_nodes({node: _short_name(sense) for node, sense in senses.items()})
    # The inner ones last: what still meets one of their names lies under it.
    dots = "".join(_dot_html(node, senses[node], node in named) for node in reversed(nodes))
    reach = RADII[-1] + MARGIN
    says = f"Graph of {len(nodes)} of {total} senses; the list has all of them"
    return (
        f'<details class="senses-graph" open><summary>Graph</summary><svg role="img" aria-label="{says}"'
        f' viewBox="{-reach:.0f} {-RADII[-1] - 20:.0f} {2 * reach:.0f} {2 * RADII[-1] + 40:.0f}">'
        f"{rings}{lines}{dots}</svg></details>"
    )


def _short_name(sense: Sense) -> str:
    name = sense.words[0]
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"


def _dot_html(node: Node, sense: Sense, is_named: bool) -> str:
    distance = node.step.distance
    if distance == 0:
        place = 'y="-16" text-anchor="middle"'
    else:
        place = f'x="{GAP if node.x >= 0 else -GAP}" y="4" text-anchor="{"start" if node.x >= 0 else "end"}"'
    text = f"<text {place}>{escape(_short_name(sense))}</text>" if is_named else ""
    return (
        f'<g class="senses-dot" data-distance="{distance}" data-key="{escape(sense.keys[0])}"'
        f' transform="translate({node.x:.1f} {node.y:.1f})">'
        f"<title>{escape(sense.label)}: {escape(sense.definition)}</title>"
        f'<circle r="{9 - 2 * distance}"/>{text}</g>'
    )
