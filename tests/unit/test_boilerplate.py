"""What of a text is no content, and that it is left out of what models read."""

from __future__ import annotations

import pytest

import kpdemo
from kpdemo.boilerplate import find_boilerplate
from kpdemo.markup import reading_warnings, spans_as_given, without_markup
from kpdemo.types import Document

SENTENCES = "Graph kernels compare molecules. They are fast.\n"
CITED = "Smith J. Deep quantum chemistry. 2019.\n"


@pytest.mark.parametrize(
    "heading",
    [
        "References", "REFERENCES", "R E F E R E N C E S", "7. References", "# References", "**References**",
        "References:", "VI. REFERENCES", "Works cited", "Literatur", "Literaturverzeichnis", "Bibliographie",
        "Références bibliographiques", "Bibliografía", "Referências", "Riferimenti bibliografici", "参考文献",
        "參考文獻", "참고문헌", "Список литературы", "المراجع", "Kaynakça", "Källor",
    ],
)  # fmt: skip
def test_references_are_no_content_whatever_their_heading(heading):
    read = without_markup(Document(f"{SENTENCES}{heading}\n{CITED}"))
    assert read.text == SENTENCES.strip()
    assert reading_warnings(read) == (f"The references (from character {len(SENTENCES)}) were left out.",)


@pytest.mark.parametrize(
    "text",
    [
        "We follow the\nReferences\nof earlier work and extend them. " + CITED,
        "References\n\nHow do scholars cite? We study it. " + CITED,
        "Of papers.\n\nReferences are an important part of articles. " + CITED,
        "Wells in towns.\n\nQuellen\n\nWir messen das Wasser jeder Quelle.",
        "A manual.\n\nReferences\n\n" + "Each object counts what points to it. " * 20,
        "References in running prose: " + CITED,
    ],
)
def test_the_word_alone_cuts_nothing(text):
    assert find_boilerplate(text) == []


def test_what_follows_the_references_is_read_and_spans_count_in_the_text_given():
    text = f"# Kernels\n\n{SENTENCES}\n## References\n\n1. {CITED}\n## Appendix\n\nMore on apes."
    read = without_markup(Document(text, title="A <b>title</b>"))
    assert "chemistry" not in read.text
    start = read.text.index("apes")
    [(first, end)] = spans_as_given(read, [(start, start + 4)])
    assert Document(text, title="A <b>title</b>").text[first:end] == "apes"


@pytest.mark.parametrize(
    ("text", "start"),
    [
        (f"Kernels rule.\n\\begin{{thebibliography}}{{9}}\\bibitem{{a}} {CITED}\\end{{thebibliography}}", 14),
        (f"<p>Kernels rule.</p><h2>References</h2><ol><li>{CITED}</li></ol>", 24),
        (f"Kernels rule.\\section*{{References}}\n{CITED}", 23),
    ],
)
def test_references_in_markup_are_told_by_their_place(text, start):
    read = without_markup(Document(text))
    assert read.text.strip() == "Kernels rule."
    assert reading_warnings(read) == (f"The references (from character {start}) were left out.",)


@pytest.mark.parametrize(
    "thanks",
    [
        "Acknowledgements\nWe thank the Banana Fund.\n",
        "Acknowledgments. We thank the Banana Fund,\nand others.\n",
        "## Danksagung\n\nWir danken der Banana Fund.\n",
        "谢 辞\n感谢 Banana Fund。\n".replace("谢 辞", "致谢"),
    ],
)
def test_acknowledgements_end_with_their_paragraph(thanks):
    read = without_markup(Document(f"{SENTENCES}\n{thanks}\nKernels again."))
    assert "Banana" not in read.text
    assert read.text.split() == [*SENTENCES.split(), "Kernels", "again."]
    assert reading_warnings(read) == (
        f"The acknowledgements (from character {len(SENTENCES) + 1}) were left out.",
    )


@pytest.mark.parametrize(
    ("text", "rest", "count"),
    [
        ("Support vector\n12\nmachines win.", "Support vector machines win.", 1),
        ("Kernels win.\n\nPage 3 of 10\n\nTrees lose.", "Kernels win. Trees lose.", 1),
        ("1 We study\n2 graph\n3 kernels\n4 and their\n5 use", "We study graph kernels and their use", 5),
        ("Kernels win.\njane@foo.edu\nE-mail: {a,b}@x.org\nhttps://x.org/y", "Kernels win.", 3),
        ("See https://x.org for more.\nMail jane@foo.edu about it.", None, 0),
        (
            "A head here 3\nOne.\nA head here 4\nTwo.\nA head here 5\nThree.",
            "A head here 3 One. Two. Three.",
            2,
        ),
        ("Roses are red\nthe end\nRoses fade\nthe end", None, 0),
    ],
)
def test_running_heads_numbers_and_addresses_are_no_content(text, rest, count):
    read = without_markup(Document(text))
    assert read.text.split() == (rest or text).split()
    assert len(find_boilerplate(text)) == count
    assert len(reading_warnings(read)) == bool(count)


def test_a_prediction_says_what_was_left_out_of_its_document():
    text = f"{SENTENCES}\nReferences\n\n{CITED}"
    predictor = kpdemo.load_predictor("first")
    [found] = predictor.predict([text])
    assert "Deep quantum chemistry" not in [keyphrase.text for keyphrase in found.present]
    assert found.warnings == (f"The references (from character {len(SENTENCES) + 1}) were left out.",)
    [plain] = predictor.predict([SENTENCES])
    assert plain.warnings == ()
    assert [keyphrase.text for keyphrase in plain.present] == [keyphrase.text for keyphrase in found.present]
