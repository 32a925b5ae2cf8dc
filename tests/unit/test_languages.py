"""Which language a text is in, and where phrases of any language stand in it."""

import subprocess
import sys
import unicodedata
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kpdemo.languages import NAMES, detect, fold_word, identify, language_code, segments
from kpdemo.routing import SERVED, foreign_notes, language_note
from kpdemo.text import (
    PhraseFinder,
    PhraseKinds,
    StemmedText,
    check_readable,
    phrase_key,
    readable_documents,
    stem,
    word_spans,
    words,
)
from kpdemo.types import Document, Kind

FRENCH = "Nous présentons une méthode d’extraction de termes-clés pour les réseaux électriques."
GERMAN = "Wir untersuchen, wie Häuser in großen Städten gebaut werden."
CHINESE = "本文提出一种基于图神经网络的关键词抽取方法。"
KOREAN = "본 논문은 기계 학습을 이용한 영상 복원 기법을 제안한다."
ARABIC = "تقترح هذه الورقة طريقة جديدة لاستخراج العبارات من النصوص"
ENGLISH = "We present a method for the extraction of keyphrases from the text of an abstract."


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (ENGLISH, "en"),
        ("Graph kernels", "en"),  # too short to tell, and of letters that English uses
        (FRENCH, "fr"),
        (GERMAN, "de"),
        (CHINESE, "zh"),
        ("关键词", "zh"),
        (KOREAN, "ko"),
        (ARABIC, "ar"),
        ("本論文ではキーワードを抽出する手法を提案する。", "ja"),
        ("Предлагается метод извлечения ключевых фраз из научных текстов.", "ru"),
        (unicodedata.normalize("NFD", KOREAN), "ko"),
        ("基于ＢＥＲＴ与Transformer的中文文本分类", "zh"),  # more Latin letters than others
    ],
)
def test_the_language_of_a_text_is_found(text, code):
    assert detect(text).code == code


@pytest.mark.parametrize("text", ["", " \n", "123 + 456 = 579!", "😀 🎉", "\u200b\ufeff"])
def test_a_text_without_letters_has_no_language(text):
    assert detect(text) is None


def test_a_mixed_text_has_the_language_of_most_of_it():
    assert detect(f"{FRENCH * 8}\n{ENGLISH * 4}").code == "fr"
    assert detect(f"{FRENCH * 4}\n{ENGLISH * 8}").code == "en"
    assert detect(f"{CHINESE * 10}\nKeywords: graph neural networks, keyphrase extraction").code == "zh"


def test_english_and_scripts_need_no_classifier():
    code = (
        "import sys; from kpdemo.languages import detect\n"
        f"found = [detect(text).code for text in {[ENGLISH * 3, CHINESE, KOREAN]!r}]\n"
        "heavy = {'py3langid', 'rjieba', 'kiwipiepy', 'numpy', 'nltk'} & set(sys.modules)\n"
        "print(found, heavy)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['en', 'zh', 'ko'] set()"


def test_a_document_keeps_the_language_it_was_given():
    assert identify(Document(FRENCH)).language == "fr"
    assert identify(Document(FRENCH, language="German")).language == "de"
    assert identify(Document(FRENCH, language="x-own")).language == "x-own"
    assert [document.language for document in readable_documents([FRENCH, ENGLISH])] == ["fr", "en"]


@pytest.mark.parametrize(
    ("written", "code"),
    [("fr", "fr"), ("fr-CA", "fr"), ("FRA", "fr"), ("French", "fr"), ("zh_Hant", "zh"), ("nb", "no")],
)
def test_a_language_is_read_as_people_write_it(written, code):
    assert language_code(written) == code


def places(text, phrase, language):
    """What stands at the places of a phrase."""
    document = Document(text, language=language)
    assert StemmedText(document).contains(phrase) == bool(PhraseFinder(document).of(phrase))
    return [document.text[start:end] for start, end in PhraseFinder(document).of(phrase)]


@pytest.mark.parametrize(
    ("text", "language", "phrase", "found"),
    [
        (FRENCH, "fr", "réseau électrique", ["réseaux électriques"]),
        (FRENCH, "fr", unicodedata.normalize("NFD", "réseau électrique"), ["réseaux électriques"]),
        (unicodedata.normalize("NFD", FRENCH), "fr", "extraction de terme-clé",
         [unicodedata.normalize("NFD", "extraction de termes-clés")]),
        (FRENCH, "fr", "d'extraction", ["d’extraction"]),
        (FRENCH, "fr", "trac", []),
        (GERMAN, "de", "HAUS", ["Häuser"]),
        (GERMAN, "de", "grosse Stadt", ["großen Städten"]),
        (CHINESE, "zh", "图神经网络", ["图神经网络"]),
        (CHINESE, "zh", "关键词 抽取", ["关键词抽取"]),
        (CHINESE, "zh", "图网络", []),
        ("基于ＢＥＲＴ模型和BERT。", "zh", "bert", ["ＢＥＲＴ", "BERT"]),
        ("基于ROBERTA。", "zh", "bert", []),
        (KOREAN, "ko", "기계학습", ["기계 학습"]),
        (KOREAN, "ko", "영상복원 기법", ["영상 복원 기법"]),
        (unicodedata.normalize("NFD", "기계 학습을"), "ko", "학습", [unicodedata.normalize("NFD", "학습")]),
        (ARABIC, "ar", "عبارة", ["العبارات"]),
        ("كِتَاب جديد", "ar", "كتاب", ["كِتَاب"]),
        ("ｶﾞｽを使う", "ja", "ガス", ["ｶﾞｽ"]),
        ("हिन्दी में कीवर्ड", "hi", "कीवर्ड", ["कीवर्ड"]),
        ("soft\u00adware ﬁrst", "pl", "software first", ["soft\u00adware ﬁrst"]),
        ("Bu, istanbul boğazı hakkındadır.", "tr", "İstanbul Boğazı", ["istanbul boğazı"]),
        ("ISI ADASI ve DİZİ", "tr", "ısı adası", ["ISI ADASI"]),
        ("TIP FAKÜLTESİ", "tr", "tip fakültesi", []),
        ("BAKI İQTİSADİYYATI", "az", "Bakı iqtisadiyyatı", ["BAKI İQTİSADİYYATI"]),
        ("Die Stadt İstanbul", "de", "istanbul", ["İstanbul"]),
    ],
)  # fmt: skip
def test_a_phrase_is_found_where_it_stands(text, language, phrase, found):
    assert places(text, phrase, language) == found


def test_english_words_are_letters_or_single_marks_and_stems_porters():
    text = "State-of-the-art naïve [sic] models’ C++ ＢＥＲＴ 图神经 网络"
    assert words(text) == words(text, "en") == [
        "State", "-", "of", "-", "the", "-", "art", "naïve", "[", "sic", "]", "models", "’", "C", "+", "+",
        "ＢＥＲＴ",
        "图神经", "网络",
    ]  # fmt: skip
    assert phrase_key("Relational databases", "en") == phrase_key("Relational databases") == "relat databas"
    assert (stem("running", "pl"), stem("networks", "fr")) == ("running", "network")


def test_an_arabic_word_has_the_same_stem_whatever_was_read_before_it():
    stem("كتابهما", "ar")  # NLTK's stemmer remembers that it found a suffix
    assert stem("قالوا", "ar") == "قال"


def test_kinds_of_absent_phrases_go_by_the_words_of_a_segmenter():
    kind = PhraseKinds(Document(CHINESE, language="zh"))
    assert kind("关键词抽取") is Kind.PRESENT
    assert kind("抽取关键词") is Kind.REORDERED
    assert kind("关键词生成") is Kind.MIXED
    assert kind("语音识别") is Kind.UNSEEN


@given(
    st.lists(
        st.sampled_from(["Schrödinger", "e\u0301tude", "14nm", "A股", "研究", "3D", "연구", ".", "–", " "])
    ).map("".join),
    st.sampled_from(["zh", "ko"]),
)
def test_no_segment_ends_within_a_word(text, language):
    ends = {end for _, end, *_ in segments(text, language)}
    assert not any(start < end < behind for start, behind in word_spans(text, language) for end in ends)


def test_accents_are_the_same_composed_or_not():
    assert phrase_key("Caf\u00e9 na\u00efve") == phrase_key("Cafe\u0301 nai\u0308ve")


@pytest.mark.parametrize(
    ("text", "language", "words"),
    [
        ("기계 학습을 이용한다.", "ko", ["기계", "학습", "이용"]),
        ("研究Schrödinger方程。", "zh", ["研究", "Schrödinger", "方程"]),
        ("U.S. 시장의 3D와 P2P, deep learning. IoT.", "ko",
         ["U.S.", "시장", "3D", "P2P", "deep", "learning", "IoT"]),
    ],
)  # fmt: skip
def test_particles_and_marks_are_no_content_and_words_in_other_letters_are(text, language, words):
    assert [text[start:end] for start, end, content, _ in segments(text, language) if content] == words


def test_a_text_of_one_chinese_sentence_can_be_read_and_a_word_cannot():
    check_readable(Document(CHINESE.rstrip("。")))
    with pytest.raises(ValueError, match="only one word"):
        check_readable(Document("网络"))


def test_a_model_for_another_language_is_named():
    assert language_note("fr", "indexer", {"en"}) == (
        "This text is French; the model 'indexer' was made for English, so treat its answer with care (the "
        "model 'multilingual' reads it)."
    )
    assert language_note("ko", "default", SERVED, lacks_absent=True) == (
        "This text is Korean; the model 'default' was trained on no such text, so it gives no absent "
        "keyphrases; treat the present ones with care."
    )
    assert "was made for English and Polish," in language_note("ko", "m", {"pl", "en"})
    assert "was not made for it," in language_note("th", "yake", {"ar", "da", "de", "fr", "it"})
    assert language_note("he", "positionrank", {"ar", "da", "de", "fr", "it"}) == (
        "This text is Hebrew; the model 'positionrank' reads every language, but was trained on none, so "
        "treat its answer with care."
    )
    assert language_note("fr", "m", {"fr"}) == language_note("fr", "m", ()) == ""


def test_each_language_of_many_documents_has_a_sentence():
    foreign = {("fr", True): 1, ("ko", True): 1_200, ("ko", False): 1}
    assert foreign_notes(foreign, "m", {"en"}) == [
        "1,201 documents are Korean; the model 'm' was made for English, so treat its answers with care (the "
        "model 'multilingual' reads it).",
        "1 document is French; the model 'm' was made for English, so it gives no absent keyphrases; treat "
        "the present ones with care (the model 'multilingual' reads it).",
    ]


def test_the_documentation_quotes_the_note_on_a_korean_text():
    page = (Path(__file__).parents[2] / "docs" / "languages.md").read_text(encoding="utf-8")
    assert language_note("ko", "default", SERVED, lacks_absent=True) in " ".join(page.split())


LANGUAGES = st.sampled_from(["", "en", "fr", "de", "zh", "ko", "ja", "ar", "pl", "x"])
TEXTS = st.lists(
    st.one_of(
        st.text(max_size=6),
        st.sampled_from(
            [FRENCH, GERMAN, CHINESE, KOREAN, ARABIC, "e\u0301", "ｶﾞ", "\u1112\u1161\u11ab", "ﬁ", "ﷺ"]
        ),
    ),
    min_size=1,
    max_size=5,
).map("".join)


@given(TEXTS, TEXTS, LANGUAGES, st.data())
def test_words_lie_in_the_text_and_any_run_of_them_is_found_there(title, body, language, data):
    document = Document(body, title=title, language=language)
    spans = word_spans(body, language)
    assert all(0 <= start < end <= len(body) for start, end in spans)
    assert all(before[1] <= after[0] for before, after in pairwise(spans))
    if not spans:
        return
    first = data.draw(st.integers(0, len(spans) - 1))
    last = data.draw(st.integers(first, min(first + 3, len(spans) - 1)))
    start, end = (offset + document.body_start for offset in (spans[first][0], spans[last][1]))
    phrase = document.text[start:end]
    found = PhraseFinder(document).of(phrase)
    assert (start, end) in found
    assert StemmedText(document).contains(phrase)
    for place in found:
        assert phrase_key(document.text[slice(*place)], language) == phrase_key(phrase, language)


@given(st.text(max_size=8))
def test_a_folded_word_stays_as_it_is_and_holds_no_space(word):
    assert fold_word(fold_word(word)) == fold_word(word)
    assert not fold_word(word).split()[1:]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("😀 graph 🎉 kernels", "en"),
        ("Graph kernels – a survey", "en"),
        ("réseaux électriques", "fr"),
        ("Análisis de imágenes", "es"),
        (unicodedata.normalize("NFD", "Análisis de imágenes"), "es"),
    ],
)
def test_marks_and_emoji_speak_for_no_language_and_letters_do(text, code):
    assert detect(text).code == code


@given(TEXTS)
def test_detection_takes_any_text(text):
    language = detect(text)
    assert language is None or language.code in NAMES
