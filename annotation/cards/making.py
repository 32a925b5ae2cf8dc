"""How a gold set came about: the part of its card on raters, guidelines and what was changed on the way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any

from annotation.cards.markdown import bullets, fenced, plain, table
from annotation.figures import number_of
from annotation.gold import RaterColumns
from annotation.predictions.queue_order import QueueOrder
from annotation.setting_changes import LONG_TEXTS

_HASH_LENGTH = 12
_HASH_OF_NOTHING = sha256(b"").hexdigest()
_ORDERS = {
    "random": "All raters met the pairs in one random order (seed {seed})",
    "import": "All raters met the pairs in the order of import",
}
_PLACES_OF_DOCUMENTS = {"random": "a random place of the document's own", "import": "the place of its first"}
_ORDERS_OF_PREDICTIONS = {
    QueueOrder.DOCUMENT: "all pairs of predicted keyphrases of a document came one after the other, "
    "at {place}",
    QueueOrder.UNCERTAIN: "pairs of predicted keyphrases changed places among themselves: "
    "those first that the models' scores decided least",
    QueueOrder.MIXED: "pairs of predicted keyphrases changed places among themselves: "
    "in turns what the models' scores decided least and the next of the project's order",
}
_RATERS = {
    RaterColumns.NONE: "Single ratings are not in the files.",
    RaterColumns.ANONYMOUS: "Single ratings are in the files; raters have numbers there, not names.",
    RaterColumns.NAMED: "Single ratings are in the files, with the raters' account names.",
}


def making(manifest: Mapping[str, Any]) -> str:
    protocol = manifest["protocol"]
    parts = ["## How it was made", bullets(_steps(manifest)), _guidelines(protocol)]
    if consent := manifest.get("consent"):
        parts.append(_consent(consent))
    if aside := manifest.get("set_aside"):
        parts.append(
            "### Grades that were set aside\n\nThey count nowhere:\n\n" + bullets(map(_aside, aside))
        )
    if changes := manifest.get("protocol_changes"):
        parts.append(_changes(changes))
    return "\n\n".join(parts)


def _steps(manifest: Mapping[str, Any]) -> Iterator[str]:
    protocol, counts = manifest["protocol"], manifest["counts"]
    each = protocol["raters_per_pair"]
    grades, raters = number_of(counts["ratings"], "grade"), number_of(counts["raters"], "rater")
    given = f"{grades} of {raters}" if counts["ratings"] else "no grades yet"
    yield (
        f"The project has {number_of(counts['pairs'], 'pair')}, with or without a gold grade, and {given}; "
        f"it asks for {'one grade' if each == 1 else f'grades of {each} raters'} a pair."
    )
    imported = counts.get("imported_ratings", 0)
    if imported:
        what = "All grades" if imported == counts["ratings"] else f"{imported:,} of these grades"
        yield f"{what} came from files: how they were given is not known here."
    if imported < counts["ratings"]:
        yield from _at_work(protocol)
    yield _gold_rule(protocol["adjudication_threshold"], counts)
    yield _RATERS[RaterColumns(manifest["options"]["raters"])]


def _gold_rule(threshold: float | None, counts: Mapping[str, Any]) -> str:
    mean = "the mean of the ratings, rounded half to even to 4 decimals"
    decided = counts["adjudicated"]
    have_one = f"{number_of(decided, 'pair')} {'has' if decided == 1 else 'have'} one"
    by_whom = _by_whom(counts.get("adjudicators", 0))
    if threshold is None:
        from_before = f", except where an adjudicator decided before: {have_one}{by_whom}" if decided else ""
        return f"The project does without adjudication: the gold grade is {mean}{from_before}."
    return (
        f"Pairs with grades that differ by {_points(threshold)} or more are flagged and go to an "
        f"adjudicator, whose decision is the gold grade: {have_one}{by_whom}. Otherwise it is {mean}."
    )


def _by_whom(adjudicators: int) -> str:
    return f", of {number_of(adjudicators, 'adjudicator')}" if adjudicators else ""


def _at_work(protocol: Mapping[str, Any]) -> Iterator[str]:
    """What holds of grades that were given on the page."""
    yield _order(protocol)
    if limit := protocol.get("most_per_rater"):
        yield f"A rater was given {number_of(limit, 'pair')} at most."
    if training := protocol.get("training"):
        yield (
            "Training, as it was set at the export: raters first grade "
            f"{number_of(training['pairs'], 'training pair')}, unless excused, and pass with "
            f"{training['pass_percent']} % of these grades within {_points(training['distance'])} of the "
            "known ones. These pairs are not in the gold set."
        )
    if checks := protocol.get("checks"):
        yield (
            f"Hidden checks, as they were set at the export: one pair in {checks['every']} that a rater "
            f"meets has a known grade ({number_of(checks['pairs'], 'check pair')}; accepted within "
            f"{_points(checks['distance'])}). These pairs are not in the gold set."
        )


def _order(protocol: Mapping[str, Any]) -> str:
    of_all = protocol["order"]
    told = [_ORDERS[of_all].format(seed=protocol["seed"])]
    if of_predictions := protocol.get("order_of_predictions"):
        told.append(_ORDERS_OF_PREDICTIONS[of_predictions].format(place=_PLACES_OF_DOCUMENTS[of_all]))
    return "; ".join(told) + "."


def _points(distance: float) -> str:
    return f"{distance:g} {'point' if distance <= 1 else 'points'}"


def _guidelines(protocol: Mapping[str, Any]) -> str:
    if not protocol["guidelines"].strip():
        return "### Guidelines\n\nThe project has none beyond the scale."
    text = fenced(protocol["guidelines"], "markdown")
    return f"### Guidelines\n\nAs they stood when this was exported:\n\n{text}"


def _consent(consent: Mapping[str, Any]) -> str:
    raters, text = consent["raters"], consent["text"]
    before, not_here = raters["agreed_to_earlier_text"], raters["not_agreed"]
    told = [
        f"{number_of(raters['agreed'], 'rater')} agreed to this text" if text else "",
        f"{number_of(before, 'rater')} agreed to an earlier text" if before else "",
        f"{number_of(not_here, 'rater')} agreed to none here: they graded while there was no text, or their "
        "grades came from files"
        if not_here
        else "",
    ]
    # Without such raters it stood as it is from the beginning, for all that is told here.
    begin = "before they go on" if before or not_here else "before their first pair"
    changed = "The text was changed on the way. " if before else ""
    asked = (
        f"{changed}Raters must agree to it as it reads now {begin}:\n\n{fenced(text, 'markdown')}"
        if text
        else ("Raters are no longer asked to agree to a text.")
    )
    return f"### Consent\n\n{asked}\n\n{bullets(filter(None, told))}"


def _aside(aside: Mapping[str, Any]) -> str:
    whose = f" of {plain(aside['rater'])}" if aside.get("rater") else " of one rater"
    return f"{number_of(aside['grades'], 'grade')}{whose}, on {aside['at'][:10]}: {plain(aside['reason'])}"


def _changes(changes: list[dict[str, Any]]) -> str:
    rows = (
        [
            change["at"][:10],
            f"`{change['setting']}`",
            *(_value(change, side) for side in ("before", "after")),
            f"{change['ratings_before']:,}",
        ]
        for change in changes
    )
    told = table(("date", "setting", "before", "after", "grades given before"), rows, numbers=(4,))
    return (
        "### What was changed while it ran\n\n"
        f"{told}\n\nGuidelines, consent texts and own words of the scale stand here by the beginning of "
        "their SHA-256; `manifest.json` has the earlier ones under `earlier_guidelines`, `earlier_consent` "
        "and `earlier_scale_words`. Grades given before are those still in force."
    )


def _value(change: Mapping[str, Any], side: str) -> str:
    value = change[side]
    if value is None:  # of the limit of pairs per rater it is a value
        return "not kept" if change["before"] == change["after"] else "none"
    if change["setting"] in LONG_TEXTS:
        return "none" if value == _HASH_OF_NOTHING else f"`{value[:_HASH_LENGTH]}`"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return plain(", ".join(value) if isinstance(value, list) else str(value))
