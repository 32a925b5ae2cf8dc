"""Sample size: how many more pairs, rated like those so far, make α's interval as narrow as you want.

The width of a bootstrap interval shrinks as c / √n. c comes from the present interval, and resamples smaller
and larger than the data tell whether the square root holds. Other pairs of the same kind would have given
another c: so the pairs themselves are bootstrapped, each time c is computed from α's linear approximation
(the delta method for a ratio of sums), and the spread of c bounds the answer.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from math import ceil
from typing import Any

import numpy as np

from annotation.agreement import (
    DEFAULT_RESAMPLES,
    DEFAULT_SEED,
    ENOUGH_PAIRS,
    NO_RESAMPLES,
    Floats,
    Grades,
    Integers,
    alphas_of_parts,
    are_normal,
    classes_of_pairs,
    draw,
    draw_normal,
    interval_parts,
    middle,
    percentile_interval,
    resampled_alphas,
    sums_of_pairs,
    why_undefined,
)
from annotation.errors import SettingsError
from annotation.translation import Sentence, _, mark, ngettext, tell

DEFAULT_WIDTH = 0.05
NARROWEST, WIDEST = 0.001, 2.0
SIZES = (0.5, 1.0, 2.0, 4.0)
"""Of the resamples, as multiples of the pairs so far."""
REPEATS = 400
"""Bootstrap samples for the spread of c."""
_NEVER_DIFFERED = Sentence(
    mark(
        "No two raters have differed yet, so the interval has no width, and its later width cannot be "
        "estimated."
    )
)
_ONE_GRADE = Sentence(
    mark(
        "Nearly all ratings are the same grade, so many resamples have only one grade: rate pairs of other "
        "grades first."
    )
)


@dataclass(frozen=True, slots=True)
class PlannedWidth:
    """How wide the interval is with that many pairs."""

    pairs: int
    width: float


@dataclass(frozen=True, slots=True)
class Plan:
    """How many more pairs an interval of the target width takes, or why that cannot be told."""

    target: float
    """The width that is wanted."""
    pairs: int
    """With two ratings or more, now."""
    ratings_per_pair: float | None = None
    """Of these, on average."""
    width: float | None = None
    """Now, as `annotation.agreement.measure` has it."""
    more_pairs: int | None = None
    low: int | None = None
    """95 % bounds of `more_pairs`."""
    high: int | None = None
    steps: tuple[PlannedWidth, ...] = ()
    """Widths of resamples of several sizes."""
    exponent: float | None = None
    """Of the width as a power of the number of pairs: -0.5 is the square root."""
    reason: str = ""
    """Why nothing can be told, a sentence."""
    seed: int = DEFAULT_SEED
    spread: tuple[float, float] | None = field(kw_only=True)
    """95 % bounds of c, as multiples of the present one; None where nothing can be told."""

    def for_width(self, target: float) -> Plan:
        """The plan for another width, which takes no ratings and no resamples.

        Raises:
            SettingsError: no interval can be so wide.
        """
        check_width(target)
        width, spread = self.width, self.spread
        if width is None or spread is None:
            return replace(self, target=target)

        def more(factor: float) -> int:
            return max(0, ceil(self.pairs * (factor * width / target) ** 2) - self.pairs)

        least, most = spread
        return replace(self, target=target, more_pairs=more(1.0), low=more(least), high=more(most))


def plan_pairs(
    grades: Grades,
    target: float = DEFAULT_WIDTH,
    *,
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = DEFAULT_SEED,
) -> Plan:
    """How many pairs are still wanted, if new ones are like those so far.

    Args:
        grades: the ratings so far.
        target: how wide α's 95 % interval may be, `NARROWEST` to `WIDEST`.
        resamples: of each size; with 0 nothing is planned.
        seed: of the random numbers; the order of pairs and raters does not matter.

    Raises:
        SettingsError: no interval can be so wide.
    """
    check_width(target)
    comparable = grades.comparable()
    pairs = comparable.pair_count

    def without_plan(reason: str) -> Plan:
        return Plan(target, pairs, reason=reason, seed=seed, spread=None)

    if reason := why_undefined(comparable) or _too_few(pairs):
        return without_plan(reason)
    summed = sums_of_pairs(comparable)
    sums, sizes = classes_of_pairs(summed)
    parts = interval_parts(sums)
    if not parts[:, 3].any():
        return without_plan(_NEVER_DIFFERED)
    if not resamples:
        return without_plan(NO_RESAMPLES)
    rng = np.random.default_rng(seed)
    steps = [_step(parts, sizes, round(pairs * size), resamples, rng) for size in SIZES]
    found = tuple(step for step in steps if step is not None)
    if len(found) < len(SIZES):
        return without_plan(_ONE_GRADE)
    exponent = _slope(found)
    interval = percentile_interval(resampled_alphas(summed, resamples=resamples, seed=seed))
    if interval is None:
        return without_plan(_ONE_GRADE)
    spread = _constants(parts, draw(sizes, REPEATS, rng)) / _constants(parts, sizes[None].astype(float))[0]
    return Plan(
        target,
        pairs,
        ratings_per_pair=len(comparable) / pairs,
        width=interval[1] - interval[0],
        steps=found,
        exponent=exponent,
        seed=seed,
        spread=middle(spread[np.isfinite(spread)]),
    ).for_width(target)


def plan_sentences(plan: Plan, waiting: int) -> list[str]:
    """What the plan says, for people.

    Args:
        waiting: pairs of the project that have fewer than two ratings.
    """
    if plan.reason or plan.width is None or plan.more_pairs is None or plan.ratings_per_pair is None:
        return [tell(plan.reason)]
    if not plan.more_pairs:
        return [
            _(
                "The interval is {width} wide: narrow enough (at most {most}).",
                width=f"{plan.width:.3f}",
                most=f"{plan.target:g}",
            )
        ]
    usual = _("In 19 of 20 cases it takes {low} to {high} more.", low=f"{plan.low:,}", high=f"{plan.high:,}")
    return [
        ngettext(
            "About {count} more pair, graded as those so far ({grades} grades a pair on average), would "
            "bring the interval from {width} to {wished}.",
            "About {count} more pairs, graded as those so far ({grades} grades a pair on average), would "
            "bring the interval from {width} to {wished}.",
            plan.more_pairs,
            count=f"{plan.more_pairs:,}",
            grades=f"{plan.ratings_per_pair:.1f}",
            width=f"{plan.width:.3f}",
            wished=f"{plan.target:g}",
        ),
        f"{usual} {_lacking_text(waiting, is_enough=plan.more_pairs <= waiting)}",
        _(
            "This estimate assumes that new pairs are like the old ones, and that the width shrinks with the "
            "square root of their number, which resamples of {fewest} to {most} pairs confirm (power "
            "{power}; that of the root is -0.50).",
            fewest=f"{plan.steps[0].pairs:,}",
            most=f"{plan.steps[-1].pairs:,}",
            power=f"{plan.exponent:.2f}",
        ),
    ]


def _lacking_text(waiting: int, *, is_enough: bool) -> str:
    if not waiting:
        return _("No pair of the project lacks two grades, so that more would have to be imported.")
    if is_enough:
        return ngettext(
            "{count} pair of the project lacks two grades.",
            "{count} pairs of the project lack two grades.",
            waiting,
            count=f"{waiting:,}",
        )
    return ngettext(
        "{count} pair of the project lacks two grades, so that more would have to be imported.",
        "{count} pairs of the project lack two grades, so that more would have to be imported.",
        waiting,
        count=f"{waiting:,}",
    )


def check_width(target: float) -> None:
    """
    Raises:
        SettingsError: no interval can be so wide.
    """
    if not NARROWEST <= target <= WIDEST:
        raise SettingsError(
            _(
                "The width of an interval is {least} to {most}, not {width}: choose one such as 0.05.",
                least=f"{NARROWEST:g}",
                most=f"{WIDEST:g}",
                width=f"{target:g}",
            )
        )


def plan_to_json(plan: Plan) -> dict[str, Any]:
    """The plan as JSON holds it; what cannot be told is null, with the reason."""
    fields = asdict(plan)
    del fields["spread"]
    return {
        **fields,
        "reason": plan.reason or None,
        "method": "percentile bootstrap over pairs, 95 %, of several sizes; width = c / sqrt(pairs)",
    }


def _too_few(pairs: int) -> str:
    if pairs >= ENOUGH_PAIRS:
        return ""
    return Sentence(
        mark(
            "{count} pairs have two ratings, and with fewer than {enough} the width is too uncertain to plan "
            "with: rate some more first."
        ),
        count=pairs,
        enough=ENOUGH_PAIRS,
    )


def _step(
    parts: Floats, sizes: Integers, size: int, resamples: int, rng: np.random.Generator
) -> PlannedWidth | None:
    """The interval's width with `size` pairs like those so far; None where α is too often undefined."""
    if are_normal(parts, sizes):
        drawn = draw_normal(parts, sizes, size, resamples, rng)
    else:
        drawn = rng.multinomial(size, sizes / sizes.sum(), size=resamples).astype(np.float64) @ parts
    interval = percentile_interval(alphas_of_parts(drawn))
    if interval is None:
        return None
    width = interval[1] - interval[0]
    return PlannedWidth(size, width) if width > 0 else None


def _slope(steps: tuple[PlannedWidth, ...]) -> float:
    """The width as a power of the number of pairs: a straight line through the logarithms."""
    x = np.log([step.pairs for step in steps])
    y = np.log([step.width for step in steps])
    return float(np.polyfit(x, y, 1)[0])


def _constants(parts: Floats, counts: Floats) -> Floats:
    """What is proportional to c for each row of class counts, (R,).

    α = 1 - I(N - 1) / 2(NQ - S²) is a function of sums over pairs: to first order a pair moves it by the
    gradient times the pair's own terms, and c is the standard deviation of that over pairs.

    Args:
        parts: (C, 4) of `interval_parts`.
        counts: (R, C) how often each class of pairs is drawn.
    """
    pairs = counts.sum(axis=1)
    n, total, squares, inside = (counts @ parts).T
    spread = 2 * (n * squares - total**2)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = inside * (n - 1) / spread
        gradient = np.stack(
            [
                inside / spread - ratio * 2 * squares / spread,
                ratio * 4 * total / spread,
                -ratio * 2 * n / spread,
                (n - 1) / spread,
            ],
            axis=1,
        )
        moves = gradient @ parts.T * pairs[:, None]
        mean = (counts * moves).sum(axis=1) / pairs
        variance = (counts * (moves - mean[:, None]) ** 2).sum(axis=1) / pairs
        return np.asarray(np.sqrt(variance))
