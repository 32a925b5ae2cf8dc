"""What is known of the models on the Hub."""

import re
from pathlib import Path

import pytest

from kpdemo.config import load_section
from kpdemo.errors import ConfigError
from kpdemo.predictors import available_models, hub_models
from kpdemo.simckp.hub.profiles import ARCHITECTURES, KNOWN, Profile, profile_of

DOCS = Path(__file__).parents[2] / "docs" / "models.md"
BART, ROBERTA = "BartForConditionalGeneration", "RobertaForTokenClassification"


def test_a_name_decides_before_the_architecture():
    assert profile_of("Voicelab/vlt5-base-keywords", "T5ForConditionalGeneration").prefix == "Keywords: "
    assert profile_of("voicelab/VLT5-base-keywords", "T5ForConditionalGeneration").prefix == "Keywords: "
    assert profile_of("somebody/else", "T5ForConditionalGeneration").prefix == ""


@pytest.mark.parametrize(
    ("architecture", "task"),
    [
        (BART, "generation"),
        ("MT5ForConditionalGeneration", "generation"),
        (ROBERTA, "token classification"),
        ("DistilBertForTokenClassification", "token classification"),
    ],
)
def test_an_unknown_name_goes_by_its_architecture(architecture, task):
    assert profile_of("/some/folder", architecture).task == task


@pytest.mark.parametrize("architecture", ["BertForMaskedLM", "GPT2LMHeadModel", "BartModel", ""])
def test_other_architectures_have_no_profile(architecture):
    assert profile_of("somebody/else", architecture) is None


def test_a_known_name_with_another_architecture_is_not_trusted():
    assert profile_of("bloomberg/KeyBART", BART) == KNOWN["bloomberg/KeyBART"]
    assert profile_of("bloomberg/KeyBART", ROBERTA) is None


def test_every_profile_says_what_it_is_and_can_be_asked():
    for name, profile in KNOWN.items():
        assert re.fullmatch(r"[\w-]+/[\w.-]+", name)
        assert profile.about
        assert 0 < profile.overlap < profile.window
    assert {profile.task for profile in KNOWN.values()} == {
        profile.task for profile in ARCHITECTURES.values()
    }


def test_the_lists_of_models_do_not_mix():
    # The page offers what is here; what would be downloaded must be asked for by name.
    assert not set(hub_models()) & set(available_models())
    assert all("downloaded" in line for line in hub_models().values())


def test_the_page_on_models_names_every_profile_with_its_licence():
    page = DOCS.read_text(encoding="utf-8")
    for name, profile in KNOWN.items():
        [row] = [line for line in page.splitlines() if line.startswith(f"| `{name}` |")]
        assert profile.licence in row


def test_a_profile_is_read_from_a_file(tmp_path):
    path = tmp_path / "kpdemo.toml"
    path.write_text('[profile]\ntask = "generation"\nseparators = ["<sep>"]\nbeams = 8\n', encoding="utf-8")
    assert load_section(path, "profile", Profile) == Profile("generation", separators=("<sep>",), beams=8)
    path.write_text('[profile]\ntask = "generation"\nseperators = [";"]\n', encoding="utf-8")
    with pytest.raises(ConfigError, match="seperators"):
        load_section(path, "profile", Profile)
