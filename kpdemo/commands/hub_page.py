"""The page of a checkpoint on the Hugging Face Hub: its card, with what the Hub lists and finds it by."""

from __future__ import annotations

from collections.abc import Collection

from kpdemo.predictors import RAMKG_KIND

_WRITING = frozenset({RAMKG_KIND, "one2seq"})
"""Kinds whose present keyphrases are written too; the others mark them."""


def hub_page(name: str, card: str, *, kind: str, licence: str, languages: Collection[str]) -> str:
    """Markdown that begins with YAML, as the Hub wants its README.md.

    Args:
        name: "owner/name".
        card: of the checkpoint.
        kind: what its configuration calls itself.
        licence: as the Hub writes it, such as "apache-2.0".
        languages: codes of those it was made for; empty where that is not known.
    """
    family = kind.partition("-")[0]
    tags = ["keyphrase-extraction", *([family] if family in ("simckp", "ramkg", "kea") else [])]
    told = [
        f"license: '{licence}'",
        *(["language:", *(f"- '{language}'" for language in sorted(languages))] if languages else []),
        "library_name: kpdemo",
        f"pipeline_tag: {'text-generation' if kind in _WRITING else 'token-classification'}",
        *("tags:", *(f"- {tag}" for tag in tags)),
    ]
    head = "\n".join(told)
    return f"""---
{head}
---

{card.strip()}

## Open it

With kpdemo installed, on the command line or from Python; it is downloaded when it is first used:

```bash
python -m kpdemo predict paper.txt --model {name}
```

```python
import kpdemo

predictor = kpdemo.load_predictor("{name}")
[prediction] = predictor.predict(["Graph kernels compare molecules by their common substructures."])
```
"""
