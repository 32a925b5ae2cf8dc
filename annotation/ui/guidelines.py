"""What raters read beside the guidelines, as HTML: the scale and the examples."""

from __future__ import annotations

from collections.abc import Sequence

from annotation.comparison import ComparisonType
from annotation.scale import CLSS_POINTS
from kpdemo.ui.widgets import escape


def scale_html() -> str:
    """The five points with the whole of their descriptions."""
    rows = "".join(
        f'<tr><th scope="row">{point.value}</th><td>{escape(point.name)}</td>'
        f"<td>{escape(point.description)}</td></tr>"
        for point in CLSS_POINTS
    )
    return _table("The scale", ("Grade", "Name", "Meaning"), rows)


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
    return f"<table><caption>{caption}</caption><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
