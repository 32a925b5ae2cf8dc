"""The question before an item is given to another writer, as HTML."""

from __future__ import annotations

from annotation.notes import LONGEST_NOTE


def blank_html(prefix: str) -> str:
    """The dialog, with a note to the editors; `prefix` begins its element ids."""
    return f"""
<dialog id="{prefix}-blank" class="rate-dialog" aria-labelledby="{prefix}-blank-title"><form method="dialog">
<h2 id="{prefix}-blank-title">Give this item to another writer</h2>
<p>You will not see it again. What you have written for it is not used.</p>
<label for="{prefix}-blank-note">What is hard to understand (optional)</label>
<textarea id="{prefix}-blank-note" rows="3" maxlength="{LONGEST_NOTE}" dir="auto"></textarea>
<p class="rate-row"><button type="submit" value="blank" id="{prefix}-blank-confirm"
 class="rate-primary">Leave it blank</button>
<button type="submit" value="" class="keep">Go on writing</button></p>
</form></dialog>
"""
