"""What is said of a text in letters that a predictor does not read: its language, and models that read it."""

import pytest

from kpdemo.errors import LanguageError
from kpdemo.predictors import load_predictor
from kpdemo.routing import latin_documents
from kpdemo.types import Document

JAPANESE = "機械学習は、データから規則を学習する技術である。"
READ_IT = "which this model does not read: choose the model multilingual, positionrank or multipartite."


def refusal_of(text):
    with pytest.raises(LanguageError) as refused:
        latin_documents(["Graph kernels compare molecules.", text])
    return str(refused.value)


@pytest.mark.parametrize(
    "text", [JAPANESE, JAPANESE * 40, "キーフレーズの抽出", "私たちはこの論文で新しい手法を提案する。"]
)
def test_japanese_has_one_message_however_many_kanji_it_has(text):
    assert refusal_of(text) == f"The text is Japanese, {READ_IT}"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("关键词抽取是自然语言处理的任务。", "Chinese"),
        ("키프레이즈 추출은 자연어 처리의 과제이다.", "Korean"),
        ("Извлечение ключевых фраз из научных статей.", "mostly in Cyrillic script"),
        ("חילוץ ביטויי מפתח ממאמרים", "Hebrew"),
        ("कुंजी वाक्यांश निष्कर्षण", "mostly in Devanagari script"),
    ],
)
def test_letters_of_several_languages_are_named_themselves(text, name):
    assert refusal_of(text) == f"The text is {name}, {READ_IT}"


def test_some_foreign_words_are_read():
    document = Document("The term 关键词 (keyword) is used for the words that describe a document.")
    assert latin_documents([document])[0].language == "en"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("การสกัดคำสำคัญจากบทความวิชาการด้วยการเรียนรู้เชิงลึก", "Thai"),
        ("ການສະກັດຄຳສຳຄັນຈາກບົດຄວາມ", "mostly in Lao script"),
        ("ការទាញយកពាក្យគន្លឹះពីអត្ថបទ", "mostly in Khmer script"),
        ("သော့ချက်စကားလုံးများကို ထုတ်ယူခြင်း", "mostly in Burmese script"),
    ],
)
def test_where_words_cannot_be_told_apart_no_model_gives_pieces_of_syllables(text, name):
    reason = f"The text is {name}, which this model does not read, nor does any other that is included"
    assert refusal_of(text) == f"{reason}: its words cannot be told apart."
    for model in ("multipartite", "multilingual", "first", "yake"):
        with pytest.raises(LanguageError) as refused:
            load_predictor(model).predict([text])
        assert str(refused.value) == refusal_of(text)
