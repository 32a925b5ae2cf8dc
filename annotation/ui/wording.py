"""What several pages write in the same words: figures, roles, moments, meanings of senses, the scale."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from annotation.assignment import Progress
from annotation.comparison import ComparisonType, comparison_type
from annotation.errors import SettingsError
from annotation.scale import (
    ALL_TYPES,
    ItemWords,
    Point,
    Scale,
    read_item_words,
    read_scale_words,
    scale_points,
)
from annotation.senses import ItemView, SenseGroup, SenseText
from annotation.translation import _, ngettext
from annotation.types import ProjectSettings, Role
from annotation.wording import LONGEST_NOTE, figure_text
from kpdemo.translation import write_number
from kpdemo.ui.html import escape, group_digits

ROLE_ORDER = (Role.ADMINISTRATOR, Role.ADJUDICATOR, Role.EDITOR, Role.WRITER, Role.RATER)

_QUOTED_OR_NUMBER = re.compile(
    r"'[^']*'|“[^”]*”|(?<![\d,.])(?:(?P<grouped>\d{1,3}(?:,\d{3})+)|(?<![A-Za-z_])\d+\.\d+(?!\.?[A-Za-z_]))(?!\d|[,.]\d)"
)


def figure(number: float, decimals: int = 3, *, sign: str = "") -> str:
    """0.899, or −0.120 with a minus as long as a plus, never −0.000; "+" as `sign` writes that one too."""
    return write_number(figure_text(number, decimals, sign=sign)).replace("-", "\N{MINUS SIGN}")


def regroup_numbers(sentence: str) -> str:
    """A sentence of the command line too, its numbers written as those of pages; what it quotes stays.

    >>> regroup_numbers("1,183 of 2,000 pairs have no gold grade yet, the first is pair 'p-1,000'")
    "1\u202f183 of 2\u202f000 pairs have no gold grade yet, the first is pair 'p-1,000'"
    """
    return _QUOTED_OR_NUMBER.sub(_rewrite_match, sentence)


def _rewrite_match(found: re.Match[str]) -> str:
    if found["grouped"]:
        return group_digits(int(found["grouped"].replace(",", "")))
    return found[0] if found[0][0] in "'“" else write_number(found[0])


def all_withdrawn_text(withdrawn: int) -> str:
    """Of a project that has no other pairs."""
    return ngettext(
        "Its only pair is withdrawn: restore what should count under All pairs on the project's page.",
        "All {count} pairs are withdrawn: restore what should count under All pairs on the project's page.",
        withdrawn,
        count=group_digits(withdrawn),
    )


def roles_text(roles: Iterable[Role]) -> str:
    """The highest first: administrator, rater."""
    held = set(roles)
    return ", ".join(_(role.value) for role in ROLE_ORDER if role in held)


def role_choices() -> list[tuple[str, str]]:
    """What a list of roles offers, the lowest first."""
    return [(_(role.value), role.value) for role in reversed(ROLE_ORDER)]


def parse_role(text: str) -> Role:
    """The role that a form sent.

    Raises:
        SettingsError: there is none of that name.
    """
    try:
        return Role(text)
    except ValueError:
        raise SettingsError(
            _("There is no role {role}: choose one of {roles}.", role=repr(text), roles=roles_text(Role))
        ) from None


def time_html(moment: datetime) -> str:
    """A moment; the page's script writes it as the reader's clock shows it."""
    return f'<time datetime="{moment.isoformat()}">{moment:%Y-%m-%d %H:%M} UTC</time>'


def time_in(moment: datetime, zone: str | None) -> str:
    """A moment where no HTML can stand, by the clocks of a time zone such as Europe/Paris; else in UTC.

    >>> noon = datetime.fromisoformat("2026-03-01T12:00:00+00:00")
    >>> [time_in(noon, zone) for zone in ("Asia/Seoul", "", "../nowhere")]
    ['2026-03-01 21:00', '2026-03-01 12:00 UTC', '2026-03-01 12:00 UTC']
    """
    try:
        return f"{moment.astimezone(ZoneInfo(zone or '')):%Y-%m-%d %H:%M}"
    except (KeyError, ValueError, OSError):
        return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def graded_text(progress: Progress) -> str:
    """What a rater has done, and how much they can still have: fewer as the others grade."""
    rated = group_digits(progress.rated)
    done = ngettext("You graded {count} pair", "You graded {count} pairs", progress.rated, count=rated)
    left = progress.total - progress.rated
    return _("{done}, up to {left} left", done=done, left=group_digits(left)) if left > 0 else done


def held_back_text(pairs: int) -> str:
    """That some pairs are hidden from adjudicators and administrators who also grade."""
    return ngettext(
        "{count} pair is held back because you may still grade it: it is shown once you can no longer be "
        "given it.",
        "{count} pairs are held back because you may still grade them: they are shown once you can no longer "
        "be given them.",
        pairs,
        count=group_digits(pairs),
    )


def pairs_text(number: int) -> str:
    """1 pair, 2 pairs."""
    return ngettext("{count} pair", "{count} pairs", number, count=group_digits(number))


def grades_text(number: int) -> str:
    """1 grade, 2 grades."""
    return ngettext("{count} grade", "{count} grades", number, count=group_digits(number))


def progress_html(done: int, total: int, text: str) -> str:
    """A bar with what it says beside it."""
    share = 100 * done / total if total else 0.0
    return (
        f'<span class="progress"><span class="progress-bar" aria-hidden="true">'
        f'<span style="width:{share:.1f}%"></span></span>{escape(text)}</span>'
    )


def meaning_html(item: ItemView) -> str:
    """Note, definition, and the senses around; nothing where the text is all there is."""
    if item.is_plain:
        return ""
    note = f'<p class="sense-note">{escape(item.note)}</p>' if item.note else ""
    definition = (
        f'<p class="sense-definition" dir="auto">{escape(item.definition)}</p>' if item.definition else ""
    )
    return f'<div class="sense-more">{note}{definition}{"".join(map(group_html, item.groups))}</div>'


def cell_html(item: ItemView) -> str:
    """A cell of a table: the text and, of a word or sense, its definition."""
    definition = f"<small>{escape(item.definition)}</small>" if item.definition else ""
    return f'<td dir="auto">{escape(item.text)}{definition}</td>'


def group_html(group: SenseGroup) -> str:
    """Senses around one, each with its definition."""
    more = f"<li>{_('and {more} more', more=group_digits(group.more))}</li>" if group.more else ""
    return (
        f"<details open><summary>{escape(group.title)}</summary>"
        f"<ul>{''.join(map(_text_html, group.texts))}{more}</ul></details>"
    )


def _text_html(text: SenseText) -> str:
    return f'<li dir="auto"><b>{escape(text.words)}</b> {escape(text.definition)}</li>'


def translate_points(settings: ProjectSettings, type: str) -> tuple[Point, ...]:
    """The points of a type in the language of the page; a project's own words stay as they are."""
    return tuple(map(translate_point, scale_points(settings.scale_words, type, settings.scale)))


def translate_point(point: Point) -> Point:
    name, summary, description = map(_say, (point.name, point.summary, point.description))
    return replace(point, name=name, summary=summary, description=description)


def _say(text: str) -> str:
    """Nothing stays nothing: gettext keeps the head of its catalogue there."""
    return _(text) if text else ""


def scale_html(settings: ProjectSettings) -> str:
    """The points with the whole of their descriptions; where types have other words, each for its type.

    The page's script shows that of the type of the pair.
    """
    types = settings.types
    by_type = {type: translate_points(settings, type) for type in types}
    if len(set(by_type.values())) == 1:
        return _points_html(ALL_TYPES, by_type[types[0]])
    return "".join(
        f'<div data-type="{escape(type)}">{_points_html(type, points)}</div>'
        for type, points in by_type.items()
    )


def own_scale_html(scale_words: str, scale: Scale) -> str:
    """The points, question and items that a project has its own words for; nothing without any.

    Raises:
        SettingsError: the words cannot be used.
    """
    asked = "".join(_items_html(type, words) for type, words in read_item_words(scale_words, scale).items())
    points = read_scale_words(scale_words, scale)
    return asked + "".join(_points_html(type, words) for type, words in points.items())


def _items_html(type: str, words: ItemWords) -> str:
    whose = f" {_(comparison_type(type).label)}" if type else ""
    named = (
        (_("Question"), words.question),
        (_("Larger item"), words.larger),
        (_("Smaller item"), words.smaller),
    )
    return "".join(
        f'<p>{what}{escape(whose)}: <q dir="auto">{escape(word)}</q></p>' for what, word in named if word
    )


def _points_html(type: str, points: Sequence[Point]) -> str:
    caption = _("The scale: {type}", type=_(comparison_type(type).label)) if type else _("The scale")
    rows = "".join(
        f'<tr><th scope="row">{point.value}</th><td dir="auto">{escape(point.name)}</td>'
        f'<td dir="auto">{escape(point.description)}</td></tr>'
        for point in points
        if point.name
    )
    return _table(caption, (_("Grade"), _("Name"), _("Meaning")), rows)


def examples_html(comparison: ComparisonType) -> str:
    """An example of each grade; nothing for a type without any."""
    if not comparison.examples:
        return ""
    rows = "".join(
        f'<tr><th scope="row">{example.grade}</th><td dir="auto">{escape(example.right)}</td></tr>'
        for example in comparison.examples
    )
    caption = "One example of each grade"
    return (
        f'<div data-type="{escape(comparison.name)}" hidden>'
        f"<h3>{escape(f'Examples: {comparison.label}')}</h3>"
        f"<p>{escape(comparison.larger)}: <q>{escape(comparison.examples[0].left)}</q></p>"
        f"{_table(caption, ('Grade', comparison.smaller), rows)}</div>"
    )


def _table(caption: str, headings: Sequence[str], rows: str) -> str:
    head = "".join(f'<th scope="col">{escape(heading)}</th>' for heading in headings)
    return (
        f"<table><caption>{escape(caption)}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    )


def consent_html(page: str) -> str:
    """A section that is unseen until there is something to agree to; `page` is rate or write."""
    return f"""
<section id="{page}-consent" class="consent" aria-labelledby="{page}-consent-title" tabindex="-1" hidden>
<h2 id="{page}-consent-title"></h2>
<p class="small"></p>
<div class="rate-guidelines"></div>
<p class="consent-answer">
<button type="button" class="rate-primary" data-{page}="agree">{_("I agree")}</button>
<a href="/annotate/">{_("Back to my projects")}</a> <span class="note" role="alert"></span></p>
</section>
"""


def blank_html(prefix: str) -> str:
    """The dialog, with a note to the editors; `prefix` begins its element ids."""
    return f"""
<dialog id="{prefix}-blank" class="rate-dialog" aria-labelledby="{prefix}-blank-title"><form method="dialog">
<h2 id="{prefix}-blank-title">{_("Give this item to another writer")}</h2>
<p>{_("You will not see it again. What you have written for it is not used.")}</p>
<label for="{prefix}-blank-note">{_("What is hard to understand (optional)")}</label>
<textarea id="{prefix}-blank-note" rows="3" maxlength="{LONGEST_NOTE}" dir="auto"></textarea>
<p class="rate-row"><button type="submit" value="blank" id="{prefix}-blank-confirm"
 class="rate-primary">{_("Leave it blank")}</button>
<button type="submit" value="" class="keep">{_("Go on writing")}</button></p>
</form></dialog>
"""
