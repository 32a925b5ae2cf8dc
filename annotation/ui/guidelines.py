"""What raters read beside the guidelines, as HTML: the scale and the examples."""

from __future__ import annotations

from collections.abc import Sequence

from annotation.comparison import ComparisonType, comparison_type
from annotation.scale import Point
from annotation.scale_words import ALL_TYPES, read_scale_words, scale_points
from kpdemo.ui.widgets import escape


def scale_html(scale_words: str, types: Sequence[str]) -> str:
    """The five points with the whole of their descriptions; where types have other words, each for its type.

    The page's script shows that of the type of the pair.
    """
    by_type = {type: scale_points(scale_words, type) for type in types}
    if len(set(by_type.values())) == 1:
        return _points_html(ALL_TYPES, by_type[types[0]])
    return "".join(
        f'<div data-type="{escape(type)}">{_points_html(type, points)}</div>'
        for type, points in by_type.items()
    )


def own_scale_html(scale_words: str) -> str:
    """The points that a project has its own words for; nothing without any.

    Raises:
        SettingsError: the words cannot be used.
    """
    return "".join(_points_html(type, points) for type, points in read_scale_words(scale_words).items())


def _points_html(type: str, points: Sequence[Point]) -> str:
    caption = f"The scale: {comparison_type(type).label}" if type else "The scale"
    rows = "".join(
        f'<tr><th scope="row">{point.value}</th><td dir="auto">{escape(point.name)}</td>'
        f'<td dir="auto">{escape(point.description)}</td></tr>'
        for point in points
    )
    return _table(caption, ("Grade", "Name", "Meaning"), rows)


def examples_html(comparison: ComparisonType) -> str:
    """An example of each grade; nothing for a type without any."""
    if not comparison.examples:
        return ""
    rows = "".join(
        f'<tr><th scope="row">{example.grade}</th><td dir="auto">{escape(example.right)}</td></tr>'
        for example in comparison.examples
    )
    return (
        f'<div data-type="{escape(comparison.name)}" hidden>'
        f"<h3>Examples: {escape(comparison.label)}</h3>"
        f"<p>{escape(comparison.larger)}: <q>{escape(comparison.examples[0].left)}</q></p>"
        f"{_table('One example of each grade', ('Grade', comparison.smaller), rows)}</div>"
    )


def _table(caption: str, headings: Sequence[str], rows: str) -> str:
    head = "".join(f'<th scope="col">{escape(heading)}</th>' for heading in headings)
    return (
        f"<table><caption>{escape(caption)}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    )
