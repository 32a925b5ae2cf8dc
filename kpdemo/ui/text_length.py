"""How long a text is, counted in the browser as it is typed, and how long reading it may take."""

from __future__ import annotations

import json

from kpdemo.types import TITLE_BREAK
from kpdemo.ui.figures import NARROW_SPACE
from kpdemo.ui.models import LONG_TEXT
from kpdemo.ui.questions import LONGEST_TEXT
from kpdemo.ui.widgets import grouped, note_html

TOO_LONG = (
    f"The text has LENGTH and this page reads at most {grouped(LONGEST_TEXT)}: remove MORE of them, or use "
    "the command line (python -m kpdemo predict), which has no limit."
)

MINUTE = 100_000
"""Characters that two cores with other work read in a minute."""

# Characters of the text that is read, as Python counts them, in the browser, so that typing sends nothing.
_COUNT = f"""
  const heading = [...(title ?? "").trim()].length;
  const count = (heading && heading + {len(TITLE_BREAK)}) + [...(text ?? "")].length;
  const minutes = Math.round(count / {MINUTE});
  const time = minutes > 1 ? `${{minutes}} minutes` : "a minute";
  const grouped = (number) => String(number).replace(/\\B(?=(\\d{{3}})+$)/g, "{NARROW_SPACE}");"""

COUNT_CHARACTERS = f"""(title, text) => {{{_COUNT}
  const told = `${{grouped(count)}} ${{count === 1 ? "character" : "characters"}}`;
  if (count > {LONGEST_TEXT}) return {json.dumps(note_html(TOO_LONG, role="status"))}
    .replace("LENGTH", told).replace("MORE", grouped(count - {LONGEST_TEXT}));
  const patience = count < {LONG_TEXT} ? "" : `This may take ${{time}}. `;
  return `<p class="count">${{patience}}${{told}}${{heading ? ", the title included" : ""}}</p>`;
}}"""

READING = "Reading LENGTH characters: this may take TIME, or longer if the server is busy."

# Shown while the result is pending; see style.css.
TELL_LENGTH = f"""(title, text) => {{{_COUNT}
  if (count < {LONG_TEXT} || count > {LONGEST_TEXT}) return "";
  return {json.dumps(note_html(READING, role="status"))}
    .replace("LENGTH", grouped(count)).replace("TIME", time);
}}"""
