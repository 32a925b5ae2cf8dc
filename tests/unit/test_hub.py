"""Models in Hugging Face's own form: tiny ones of the Hub's architectures, taught one document."""

import json
import math
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from httpx2 import ConnectError
from huggingface_hub import HfApi
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoModelForSeq2SeqLM, BartModel
from transformers.utils import logging

from kpdemo.errors import ConfigError, InputError, LanguageError, ModelLoadError
from kpdemo.predictors import load_predictor
from kpdemo.routing import latin_documents
from kpdemo.selection import Proposal, build_answer
from kpdemo.simckp.hub.download import choose_files, fetch
from kpdemo.simckp.hub.models import _between, open_hub_model
from kpdemo.simckp.hub.tagger import HubTagger
from kpdemo.types import Document, Kind, Origin
from tests.tiny import tiny_bert
from tests.tiny_hub import (
    BODY,
    DOCUMENT,
    MARKED,
    TITLE,
    WRITTEN,
    bart_generator,
    distilbert_tagger,
    roberta_tagger,
    t5_generator,
)

LONG = Document(" ".join([BODY, "Neural networks learn representations of documents."] * 12), title=TITLE)


@pytest.fixture(scope="module")
def bart(tmp_path_factory) -> Path:
    return bart_generator(tmp_path_factory.mktemp("bart"), ";")


@pytest.fixture(scope="module")
def t5(tmp_path_factory) -> Path:
    folder = t5_generator(tmp_path_factory.mktemp("t5"), ", ", prefix="Keywords: ")
    profile = '[profile]\ntask = "generation"\nprefix = "Keywords: "\nseparators = [","]\nbeams = 3\n'
    (folder / "kpdemo.toml").write_text(profile, encoding="utf-8")
    return folder


@pytest.fixture(scope="module", params=["bart", "t5"])
def generator(request):
    return load_predictor(request.getfixturevalue(request.param), device="cpu")


@pytest.fixture(scope="module", params=[roberta_tagger, distilbert_tagger], ids=["roberta", "distilbert"])
def tagger(request, tmp_path_factory):
    return load_predictor(request.param(tmp_path_factory.mktemp("tagger")), device="cpu")


@pytest.fixture
def copy(bart, tmp_path) -> Path:
    return shutil.copytree(bart, tmp_path / "copy")


class OneAtATime:
    """A tokenizer that notes whether a thread uses it while another one does."""

    def __init__(self, tokenizer):
        self.tokenizer, self.users, self.most = tokenizer, 0, 0

    def __getattr__(self, name):
        return getattr(self.tokenizer, name)

    def __call__(self, *texts, **settings):
        self.users += 1
        self.most = max(self.most, self.users)
        time.sleep(0.01)  # in which another thread would set another length
        read = self.tokenizer(*texts, **settings)
        self.users -= 1
        return read


def test_threads_take_turns_with_the_tokenizer_of_a_generator(bart):
    generator = open_hub_model("tiny", bart, device="cpu")
    tokenizer = OneAtATime(generator.tokenizer)
    shared = replace(generator, tokenizer=tokenizer)
    with ThreadPoolExecutor() as threads:
        answers = list(threads.map(shared.predict, [[DOCUMENT], [DOCUMENT], [DOCUMENT]]))
    assert answers == [generator.predict([DOCUMENT])] * 3
    assert tokenizer.most == 1


def change(path: Path, **values: object) -> None:
    content = json.loads(path.read_text(encoding="utf-8")) | values
    path.write_text(json.dumps(content), encoding="utf-8")


def _without_memory_for(most, read, asked):
    """As `read`, on a device whose memory holds fewer windows than `most`; notes how many are asked for."""

    def reading(self, windows):
        asked.append(len(windows))
        if len(windows) >= most:
            raise torch.OutOfMemoryError
        return read(self, windows)

    return reading


class TestGeneration:
    def test_present_ones_have_their_places_and_absent_ones_their_source(self, generator):
        [prediction] = generator.predict([DOCUMENT])
        assert {keyphrase.text for keyphrase in prediction.present} == {"graph kernels", "boundary integral"}
        for keyphrase in prediction.present:
            for start, end in keyphrase.spans:
                assert DOCUMENT.text[start:end].lower().startswith(keyphrase.text[:12].lower())
        [kernels] = [k for k in prediction.present if k.text == "graph kernels"]
        assert [DOCUMENT.text[start:end] for start, end in kernels.spans] == ["Graph kernels", "graph kernel"]
        [absent] = prediction.absent
        assert (absent.text, absent.source, absent.kind) == ("drug discovery", Origin.GENERATED, Kind.UNSEEN)
        assert generator.finds_absent

    def test_a_number_or_a_threshold_chooses_among_all_beams(self, generator):
        [own] = generator.predict([DOCUMENT])
        [many] = generator.predict([DOCUMENT], top_k=50)
        scores = [keyphrase.score for keyphrase in many.absent]
        assert len(scores) > len(own.absent)
        assert scores == sorted(scores, reverse=True)
        assert all(0 < score <= 1 for score in scores)
        assert [keyphrase.text for keyphrase in many.absent] == list(own.absent_candidates)
        [above] = generator.predict([DOCUMENT], threshold=scores[1])
        assert [keyphrase.score for keyphrase in above.absent] == scores[:2]
        assert len(generator.predict([DOCUMENT], top_k=1)[0].present) == 1

    def test_a_score_is_the_mean_probability_of_its_tokens(self, bart):
        predictor = open_hub_model("tiny", bart, device="cpu")
        model, tokenizer = AutoModelForSeq2SeqLM.from_pretrained(bart).eval(), predictor.tokenizer
        source = tokenizer(f"{TITLE}. {BODY}", return_tensors="pt")["input_ids"]
        target = tokenizer(";".join(WRITTEN), return_tensors="pt")["input_ids"]
        probabilities = model(input_ids=source, labels=target).logits.softmax(-1)
        chosen = probabilities.gather(-1, target[..., None]).squeeze()
        tokens = target[0].tolist()
        first = tokens.index(tokenizer(";", add_special_tokens=False)["input_ids"][0])
        expected = math.exp(chosen[1:first].log().mean().item())  # after <s>, up to the first semicolon
        [prediction] = predictor.predict([DOCUMENT])
        [kernels] = [k for k in prediction.present if k.text == "graph kernels"]
        assert kernels.score == pytest.approx(expected, rel=1e-4)

    def test_what_a_checkpoint_says_of_generation_does_not_leak(self, bart, copy):
        change(
            copy / "generation_config.json",
            num_beams=7, min_length=60, forced_bos_token_id=9, length_penalty=-5.0, do_sample=True,
        )  # fmt: skip
        plain, told = (load_predictor(folder, device="cpu") for folder in (bart, copy))
        assert plain.predict([DOCUMENT], top_k=50) == told.predict([DOCUMENT], top_k=50)

    def test_company_does_not_change_an_answer(self, generator):
        [alone] = generator.predict([DOCUMENT])
        together = generator.predict([Document("Molecules compare."), DOCUMENT, LONG])[1]
        assert [k.text for k in together.present] == [k.text for k in alone.present]
        assert [k.score for k in together.present] == pytest.approx(
            [k.score for k in alone.present], rel=1e-3
        )

    def test_a_long_document_is_read_to_its_end(self, bart):
        predictor = open_hub_model("tiny", bart, device="cpu")
        pieces = [reading.text for reading in predictor._read(0, LONG)]
        text = f"{LONG.title}. {LONG.body}"
        assert len(pieces) > 3
        assert text.startswith(pieces[0])
        assert text.endswith(pieces[-1])
        ends = [text.index(piece, index * 60) + len(piece) for index, piece in enumerate(pieces)]
        starts = [text.index(piece, index * 60) for index, piece in enumerate(pieces)]
        assert all(start < end for start, end in zip(starts[1:], ends, strict=False))

    def test_prefix_and_joiner_stand_where_the_profile_says(self, copy):
        profile = '[profile]\ntask = "generation"\nprefix = "graph: "\njoiner = " <s> "\n'
        (copy / "kpdemo.toml").write_text(profile, encoding="utf-8")
        predictor = open_hub_model("tiny", copy, device="cpu")
        assert [r.text for r in predictor._read(0, DOCUMENT)] == [f"graph: {TITLE} <s> {BODY}"]
        assert [r.text for r in predictor._read(0, Document(BODY))] == [f"graph: {BODY}"]

    def test_added_tokens_separate_where_no_separator_is_named(self, tmp_path):
        folder = bart_generator(tmp_path / "model", "<KP>", joiner="<s>", added=["<KP>"])
        (folder / "kpdemo.toml").write_text(
            '[profile]\ntask = "generation"\njoiner = "<s>"\n', encoding="utf-8"
        )
        [prediction] = load_predictor(folder, device="cpu").predict([DOCUMENT])
        found = {k.text for k in prediction.present + prediction.absent}
        assert found == set(WRITTEN)

    def test_an_answer_begins_with_the_token_of_its_language(self, tmp_path):
        folder = bart_generator(tmp_path / "model", ";", added=["en_XX", "fr_XX"])
        profile = '[profile]\ntask = "generation"\nlanguages = { en = "en_XX", fr = "fr_XX" }\n'
        (folder / "kpdemo.toml").write_text(profile, encoding="utf-8")
        predictor = open_hub_model("tiny", folder, device="cpu")
        begun = []
        generate = predictor.model.generate
        predictor.model.generate = lambda **options: begun.append(generate(**options)) or begun[-1]
        predictor.predict([DOCUMENT, Document(BODY, language="fr")])
        firsts = [set(sequences[:, 1].tolist()) for sequences in begun]
        assert firsts == [{predictor._id("en_XX")}, {predictor._id("fr_XX")}]
        with pytest.raises(LanguageError, match="does not read 'pl'"):
            predictor.predict([Document(BODY, language="pl")])

    @given(st.lists(st.sampled_from(["a b", " ", "c", ";", "<KP>", "."]), max_size=8))
    def test_between_separators_is_what_splitting_gives(self, parts):
        text = "".join(parts)
        found = [text[start:end] for start, end in _between(text, (";", "<KP>"))]
        assert found == [piece.strip() for piece in text.replace("<KP>", ";").split(";") if piece.strip()]


class TestTokenClassification:
    def test_marked_words_are_keyphrases_wherever_their_stems_stand(self, tagger):
        [prediction] = tagger.predict([DOCUMENT])
        assert {keyphrase.text for keyphrase in prediction.present} == {"graph kernels", MARKED[1]}
        assert prediction.absent == ()
        for keyphrase in prediction.present:
            read = [DOCUMENT.text[start:end] for start, end in keyphrase.spans]
            assert read == (
                ["Graph kernels", "graph kernel"] if keyphrase.text == "graph kernels" else [MARKED[1]]
            )
            assert 0.9 < keyphrase.score <= 1

    def test_a_run_of_marked_words_without_end_is_no_keyphrase(self):
        document = Document(" ".join(["graph", "kernels"] * 10))
        proposals = [Proposal(document.text, 0.9), Proposal("graph kernels", 0.8)]
        answer = build_answer(document, proposals, top_k=None, threshold=None)
        assert [keyphrase.text for keyphrase in answer.present] == ["graph kernels"]

    def test_no_documents_have_no_predictions(self, tagger):
        assert tagger.predict([]) == []

    def test_options_are_honoured(self, tagger):
        [both] = tagger.predict([DOCUMENT])
        assert tagger.predict([DOCUMENT], top_k=1)[0].present == both.present[:1]
        assert tagger.predict([DOCUMENT], threshold=1.0)[0].present == ()
        with pytest.raises(InputError, match="at least 1"):
            tagger.predict([DOCUMENT], top_k=0)

    def test_every_word_of_a_long_document_is_read_once(self, tagger):
        hub = tagger._model()
        [words] = hub._words([LONG])  # its windows begin and end within words too
        covered = "".join(LONG.text[slice(*word.span)] for word in words)
        assert "".join(covered.split()) == "".join(LONG.text.split())
        assert len(hub.tokenizer(LONG.text)["input_ids"]) > 2 * hub.window

    def test_as_many_windows_are_read_at_once_as_by_the_models_that_ship(self, tagger, monkeypatch):
        hub, read = tagger._model(), []
        monkeypatch.setattr("kpdemo.simckp.hub.tagger.windows_at_once", lambda device: 2)
        whole = hub._words([LONG])
        monkeypatch.setattr(HubTagger, "_read", _without_memory_for(2, HubTagger._read, read))
        assert [word.span for word in hub._words([LONG])[0]] == [word.span for word in whole[0]]
        assert read[:3] == [2, 1, 1]  # what a device's memory does not hold is halved

    def test_a_word_is_read_where_it_stands_farthest_from_an_edge(self, tagger):
        hub = tagger._model()
        [whole] = hub._words([DOCUMENT])
        assert all(
            torch.allclose(torch.tensor(one.labels), torch.tensor(other.labels), atol=1e-5)
            for one, other in zip(whole, hub._words([LONG, DOCUMENT])[1], strict=True)
        )

    @pytest.mark.parametrize(
        "document",
        [
            Document("boundary integral", title="graph kernels"),
            Document("graph kernels\n\nboundary integral"),
        ],
    )
    def test_no_keyphrase_runs_over_a_title_or_a_paragraph(self, tagger, document):
        hub = tagger._model()
        [words] = hub._words([document])
        within = words[0].labels * 0
        within[hub.labels.within[-1]] = 1
        marked = [type(word)(word.span, within) for word in words]
        assert [p.text for p in hub._mark_phrases(document, marked)] == ["graph kernels", "boundary integral"]

    @settings(max_examples=30, deadline=None)
    @given(text=st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=120))
    def test_any_text_gets_an_answer_or_one_sentence(self, tagger, text):
        try:
            latin_documents([text])
        except InputError:
            with pytest.raises(InputError):
                tagger.predict([text])
        else:
            [prediction] = tagger.predict([text])
            assert all(text[start:end].strip() for k in prediction.present for start, end in k.spans)


class TestLoading:
    def test_nothing_is_printed(self, bart, capfd):
        before = logging.get_verbosity()
        load_predictor(bart, device="cpu").predict([DOCUMENT])
        assert capfd.readouterr() == ("", "")
        assert logging.get_verbosity() == before

    @pytest.mark.parametrize("architecture", ["BertModel", "BertForMaskedLM", "GPT2LMHeadModel"])
    def test_another_architecture_is_explained(self, tmp_path, architecture):
        change(tiny_bert(tmp_path) / "config.json", architectures=[architecture])
        with pytest.raises(ModelLoadError, match=f"is a {architecture}, which neither writes") as error:
            load_predictor(tmp_path).predict([DOCUMENT])
        assert "\n" not in str(error.value)

    def test_a_model_without_its_head_is_explained(self, copy):
        BartModel.from_pretrained(copy).encoder.save_pretrained(copy)
        change(copy / "config.json", architectures=["BartForConditionalGeneration"])
        with pytest.raises(ModelLoadError, match="lacks the weights"):
            load_predictor(copy).predict([DOCUMENT])

    @pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json", "config.json"])
    def test_a_damaged_file_is_explained(self, copy, name):
        content = (copy / name).read_bytes()
        (copy / name).write_bytes(content[: len(content) // 2])
        with pytest.raises(ModelLoadError) as error:
            load_predictor(copy).predict([DOCUMENT])
        assert "\n" not in str(error.value)

    @pytest.mark.parametrize("values", [{"d_model": "x"}, {"encoder_attention_heads": 0}])
    def test_a_wrong_setting_is_explained(self, copy, values):
        config = json.loads((copy / "config.json").read_text(encoding="utf-8")) | values
        (copy / "config.json").write_text(json.dumps(config), encoding="utf-8")
        with pytest.raises(ModelLoadError, match="cannot be loaded"):
            open_hub_model("copy", copy, device="cpu")

    def test_a_missing_file_is_explained(self, copy):
        (copy / "model.safetensors").unlink()
        with pytest.raises(ModelLoadError, match="cannot be loaded"):
            load_predictor(copy).predict([DOCUMENT])

    def test_labels_that_are_not_b_i_o_are_named(self, tmp_path):
        folder = roberta_tagger(tmp_path)
        change(folder / "config.json", id2label={"0": "LABEL_0", "1": "LABEL_1", "2": "LABEL_2"})
        with pytest.raises(ModelLoadError, match="labels LABEL_0, LABEL_1, LABEL_2, which do not begin"):
            load_predictor(folder).predict([DOCUMENT])

    @pytest.mark.parametrize(
        ("profile", "message"),
        [
            ('task = "token classification"', "correct the task"),
            ('task = "generation"\nbeam = 3', "beam"),
            ('task = "generation"\nforced_first = "<nope>"', "no token '<nope>'"),
            (f'task = "generation"\nprefix = "{"graph " * 100}"', "shorten its prefix"),
        ],
    )
    def test_a_wrong_profile_is_explained(self, copy, profile, message):
        (copy / "kpdemo.toml").write_text(f"[profile]\n{profile}\n", encoding="utf-8")
        with pytest.raises((ConfigError, ModelLoadError), match=message):
            load_predictor(copy).predict([DOCUMENT])


class TestFetching:
    def test_offline_a_name_is_explained_at_the_first_prediction(self):
        predictor = load_predictor("somebody/something")  # HF_HUB_OFFLINE is set for all tests
        assert predictor.name == "somebody/something"
        with pytest.raises(ModelLoadError, match=r"no folder 'somebody/something' nor .* HF_HUB_OFFLINE"):
            predictor.predict([DOCUMENT])

    def test_a_hub_that_cannot_be_reached_is_asked_once(self, monkeypatch):
        calls = []

        def unreachable(self, name, *, timeout):
            calls.append(timeout)
            raise ConnectError("no route to host")

        monkeypatch.setattr(HfApi, "model_info", unreachable)
        with pytest.raises(ModelLoadError, match=r"cannot be reached .*\(ConnectError\): connect"):
            fetch("somebody/something")
        assert len(calls) == 1
        assert calls[0] <= 5

    @pytest.mark.parametrize("name", ["a--b/c", "a/b..c"])
    def test_a_name_that_the_hub_forbids_is_no_model(self, name):
        with pytest.raises(ModelLoadError, match="check the name"):
            fetch(name)

    def test_safe_weights_are_preferred_and_other_formats_left_out(self):
        others = ["README.md", "tf_model.h5", "flax_model.msgpack", "training_args.bin", "onnx/model.onnx"]
        described = ["config.json", "tokenizer.json", "merges.txt", "spiece.model"]
        old = ["pytorch_model.bin"]
        assert set(choose_files(others + described + old)) == {*described, *old}
        safe = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]
        assert set(choose_files(others + described + old + safe)) == {*described, *safe}
