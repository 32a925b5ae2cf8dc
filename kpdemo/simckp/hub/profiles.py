"""What keyphrase models of the Hugging Face Hub differ in: how to ask each, and how to read its answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import ClassVar, Literal

Task = Literal["generation", "token classification"]

OWN_PROFILE = "kpdemo.toml"
"""A file next to a model: its section [profile] has the fields of `Profile`."""

_INSPEC = "on abstracts with indexers' terms (Inspec)"
_KBIR = "RoBERTa-large pretrained on keyphrases (KBIR)"


@dataclass(frozen=True, slots=True)
class Profile:
    """Attributes:
    task: "generation" of a list of keyphrases, or "token classification" into B, I and O.
    about, licence: for display; empty where nothing is known.
    prefix: what the text begins with: a prompt or control codes.
    joiner: put between title and body.
    separators: what may come between two keyphrases of the answer. Where none is named, the tokens that
        were added to the tokenizer, and semicolons.
    forced_first: the token that every answer begins with (forced BOS); without one the model decides.
    languages: a document's language to its token, which is forced as the answer's first and set as the
        tokenizer's source language, as in mBART-50; empty for a model that needs none.
    reads: the languages it was made for; empty where nothing is known, or `languages` says it.
    window, overlap: tokens of one reading and how many it shares with the next; a model with fewer
        positions reads less.
    beams: of the beam search; each of them is read.
    longest: most tokens of an answer.
    no_repeat: no sequence of this many tokens comes twice in an answer; 0 for no such rule.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    task: Task
    about: str = ""
    licence: str = ""
    prefix: str = ""
    joiner: str = ". "
    separators: tuple[str, ...] = ()
    forced_first: str = ""
    languages: Mapping[str, str] = field(default_factory=dict)
    reads: tuple[str, ...] = ()
    window: int = 512
    overlap: int = 64
    beams: int = 4
    longest: int = 100
    no_repeat: int = 3


_english = partial(Profile, reads=("en",))

KNOWN: Mapping[str, Profile] = MappingProxyType(
    {
        "taln-ls2n/bart-base-kp20k": _english(
            "generation",
            "BART-base on KP20k, present keyphrases first",
            "Apache-2.0",
            joiner="<s>",
            forced_first="<s>",
            window=1024,
        ),
        "sabsab129/BART-base-KP": _english(
            "generation",
            "BART-base on KP20k, KPBiomed and KPTimes",
            "Apache-2.0",
            joiner="<s>",
            separators=("<KP>",),
            forced_first="<s>",
            window=1024,
        ),
        "bloomberg/KeyBART": _english(
            "generation",
            "BART-large pretrained to write keyphrases, not fine-tuned",
            "Apache-2.0, earlier CC-BY-4.0",
            separators=(";",),
            forced_first="<s>",
            window=1024,
        ),
        "ml6team/keyphrase-generation-keybart-inspec": _english(
            "generation",
            f"KeyBART fine-tuned {_INSPEC}",
            "MIT",
            separators=(";",),
            forced_first="<s>",
            window=1024,
        ),
        "ml6team/keyphrase-generation-t5-small-inspec": _english(
            "generation", f"T5-small {_INSPEC}", separators=(";",)
        ),
        "aglazkova/bart_multitask_finetuned_for_title_and_keyphrase_generation": _english(
            "generation",
            "BART-base on Krapivin and Inspec, for titles and keyphrases",
            prefix="<|KEYPHRASES|> ",
            separators=(",", "\n"),
            forced_first="<s>",
            window=1024,
        ),
        "memray/bart_wikikp": _english(
            "generation",
            "BART-large pretrained on phrases of Wikipedia",
            prefix="<present>10<header>5<category>5<seealso>2<infill>0<s>",
            window=1024,
        ),
        "Voicelab/vlt5-base-keywords": Profile(
            "generation",
            "T5-base on Polish and English abstracts, three to five keywords",
            "CC-BY-4.0",
            prefix="Keywords: ",
            separators=(",",),
            reads=("pl", "en"),
        ),
        "ml6team/keyphrase-extraction-kbir-inspec": _english(
            "token classification", f"{_KBIR}, {_INSPEC}", "MIT"
        ),
        "ml6team/keyphrase-extraction-kbir-openkp": _english(
            "token classification", f"{_KBIR}, on web pages (OpenKP)"
        ),
        "ml6team/keyphrase-extraction-kbir-semeval2017": _english(
            "token classification", f"{_KBIR}, on paragraphs of papers (SemEval-2017)"
        ),
        "ml6team/keyphrase-extraction-distilbert-inspec": _english(
            "token classification", f"DistilBERT {_INSPEC}", "MIT"
        ),
        "ml6team/keyphrase-extraction-distilbert-openkp": _english(
            "token classification", "DistilBERT on web pages (OpenKP)"
        ),
    }
)

ARCHITECTURES: Mapping[str, Profile] = MappingProxyType(
    {
        "ForConditionalGeneration": Profile("generation"),
        "ForTokenClassification": Profile("token classification"),
    }
)
"""How to ask a model when only the end of its class's name in Transformers is known."""


def profile_of(name: str, architecture: str) -> Profile | None:
    """The profile of a model by its exact name, else by its architecture; None when it is of another kind.

    Args:
        name: "owner/name", in any case, or a folder.
        architecture: the name of its class, such as "BartForConditionalGeneration".
    """
    exact = {known.lower(): profile for known, profile in KNOWN.items()}.get(name.lower())
    by_kind = next((p for ending, p in ARCHITECTURES.items() if architecture.endswith(ending)), None)
    if exact is not None and (by_kind is None or by_kind.task != exact.task):
        return None
    return exact or by_kind


def one_line(profile: Profile) -> str:
    """What a list of models says of it."""
    licence = f" ({profile.licence})" if profile.licence else ""
    return f"{profile.about}{licence}; downloaded when first used"
