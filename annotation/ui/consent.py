"""The place for the text to agree to, on the pages of raters and writers. Their scripts fill it in."""

from __future__ import annotations


def consent_html(page: str) -> str:
    """A section that is unseen until there is something to agree to; `page` is rate or write."""
    return f"""
<section id="{page}-consent" class="consent" aria-labelledby="{page}-consent-title" tabindex="-1" hidden>
<h2 id="{page}-consent-title"></h2>
<p class="small"></p>
<div class="rate-guidelines"></div>
<p class="consent-answer"><button type="button" class="rate-primary" data-{page}="agree">I agree</button>
<a href="/annotate/">Back to my projects</a> <span class="note" role="alert"></span></p>
</section>
"""
