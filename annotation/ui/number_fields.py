"""Numbers that a person types on a page.

A field of decimals is a text box, since Gradio's number box shows and sends 0 where there is nothing yet,
and a browser drops the comma of "3,5" from it.
"""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation

import gradio as gr

from annotation.characters import shown
from annotation.errors import SettingsError

NARROW = 140
"""Pixels: two fields stand beside each other on a phone."""
_MOST_DIGITS = 20
"""Before the decimal point and after it: to write out what `1e1000000` stands for takes a minute."""
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+")


def decimal_field(
    value: Decimal | float | None,
    *,
    label: str,
    elem_id: str,
    info: str | None = None,
    min_width: int = NARROW,
    scale: int | None = None,
) -> gr.Textbox:
    """A field for a number that `decimal_of` reads; empty without a value."""
    return gr.Textbox(
        decimal_text(value),
        label=label,
        info=info,
        max_lines=1,
        min_width=min_width,
        elem_id=elem_id,
        scale=scale,
        html_attributes=gr.InputHTMLAttributes(autocomplete="off"),
    )


def whole_field(value: int, *, label: str, elem_id: str, info: str | None = None) -> gr.Number:
    """A field for a number that `whole_of` reads, and whose limits the settings tell.

    With a precision of its own Gradio would round the number in silence, with limits say its own sentence.
    """
    return gr.Number(value, label=label, info=info, min_width=NARROW, elem_id=elem_id)


def decimal_text(value: Decimal | float | None) -> str:
    """What such a field shows of a number.

    >>> [decimal_text(value) for value in (Decimal("2.50"), Decimal(4), 0.05, None)]
    ['2.5', '4', '0.05', '']
    """
    return "" if value is None else f"{Decimal(str(value)).normalize():f}"


def whole_of(value: object, what: str) -> int:
    """The whole number in a field.

    Raises:
        SettingsError: there is none.
    """
    number = _number(value, what, str(value).strip())
    if number != number.to_integral_value():
        raise SettingsError(f"The {what} is a whole number, not {value}.")
    return int(number)


def whole_or_none(value: object, what: str) -> int | None:
    """The whole number in a field that may be empty.

    Raises:
        SettingsError: it holds something else.
    """
    return None if value is None or not str(value).strip() else whole_of(value, what)


def decimal_of(value: object, what: str) -> Decimal:
    """The number in a field, with a decimal point or a decimal comma.

    Raises:
        SettingsError: there is none.
    """
    text = str(value).strip()
    return _number(value, what, text.replace(",", ".") if _DECIMAL_COMMA.fullmatch(text) else text)


def decimal_or_none(value: object, what: str) -> Decimal | None:
    """The same of a field that may be empty.

    Raises:
        SettingsError: it holds something else.
    """
    return None if value is None or not str(value).strip() else decimal_of(value, what)


def _number(value: object, what: str, text: str) -> Decimal:
    if value is None or not text:
        raise SettingsError(f"The {what} is missing: give a number.")
    try:
        number = Decimal(text)
    except InvalidOperation:
        raise SettingsError(f"The {what} is a number, not {shown(text)}.") from None
    if not number.is_finite():
        raise SettingsError(f"The {what} is a number, not {shown(text)}.")
    if abs(number.adjusted()) >= _MOST_DIGITS:
        raise SettingsError(f"The {what} is a number of at most {_MOST_DIGITS} digits, not {shown(text)}.")
    return number
