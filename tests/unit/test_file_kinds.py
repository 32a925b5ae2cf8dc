"""Documents of office, web, LaTeX, bibliography and zip files, and what strangers may put there."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from pypdf import PdfWriter

from kpdemo.errors import InputError
from kpdemo.io.documents import read_documents, read_gold, read_located, read_whole
from kpdemo.io.files import LARGEST_FILE, WHOLE_SUFFIXES
from kpdemo.io.tables import LineError
from kpdemo.types import Document
from tests.pdfs import make_pdf

WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
OPEN = (
    'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
    'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" '
    'xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0" '
    'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"'
)


def packed(path: Path, files: dict[str, str | bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def written(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_a_word_document_is_read_as_it_prints(tmp_path):
    paragraphs = (
        '<w:p><w:pPr><w:pStyle w:val="Titel"/></w:pPr><w:r><w:t>Graph kernels</w:t></w:r></w:p>'
        "<w:p><w:r><w:t>We compare molec</w:t></w:r><w:r><w:t>ules</w:t><w:tab/><w:t>here.</w:t></w:r>"
        "<w:del><w:r><w:delText>deleted</w:delText></w:r></w:del>"
        "<w:moveFrom><w:r><w:t>moved</w:t></w:r></w:moveFrom>"
        "<w:r><w:instrText>PAGE</w:instrText></w:r></w:p>"
        "<w:tbl><w:tr><w:tc><w:p><w:r><w:t>one cell</w:t></w:r></w:p></w:tc>"
        "<w:tc><w:p><w:r><w:t>and another</w:t></w:r></w:p></w:tc></w:tr></w:tbl>"
    )
    notes = (
        '<w:footnote w:type="separator"><w:p/></w:footnote>'
        "<w:footnote><w:p><w:r><w:t>A note.</w:t></w:r></w:p></w:footnote>"
    )
    files = {
        "word/document.xml": f"<w:document {WORD}><w:body>{paragraphs}</w:body></w:document>",
        "word/styles.xml": f'<w:styles {WORD}><w:style w:styleId="Titel"><w:name w:val="Title"/></w:style>'
        "</w:styles>",
        "word/footnotes.xml": f"<w:footnotes {WORD}>{notes}</w:footnotes>",
    }
    body = "We compare molecules\there.\n\none cell\n\nand another\n\nA note."
    assert read_whole(packed(tmp_path / "a.docx", files)) == Document(body, "Graph kernels", "a")


def test_an_opendocument_text_is_read_as_it_prints(tmp_path):
    content = (
        f"<office:document-content {OPEN}><office:automatic-styles>"
        '<style:style style:name="P1" style:parent-style-name="Title"/></office:automatic-styles>'
        "<office:body><office:text><text:tracked-changes><text:p>deleted</text:p></text:tracked-changes>"
        '<text:p text:style-name="P1">Sea <text:span>ice</text:span></text:p><text:h>Melting</text:h>'
        "<text:p>Ice<text:s/>melts<text:note><text:note-citation>1</text:note-citation><text:note-body>"
        "<text:p>A note.</text:p></text:note-body></text:note> fast.</text:p>"
        "</office:text></office:body></office:document-content>"
    )
    found = read_whole(packed(tmp_path / "a.odt", {"content.xml": content}))
    assert found == Document("Melting\n\nIce melts fast.\n\nA note.", "Sea ice", "a")


def test_rich_text_is_read_with_its_letters(tmp_path):
    text = (
        rb"{\rtf1\ansi\ansicpg1252{\fonttbl{\f0 Arial;}}\f0 Caf\'e9 culture\par We study \b tea\b0  houses.}"
    )
    assert read_whole(written(tmp_path / "a.rtf", text)).text == "Café culture\nWe study tea houses."


def test_a_web_page_is_read_as_a_browser_prints_it(tmp_path):
    page = (
        '<!doctype html><html><head><meta charset="iso-8859-2"><title>Site</title><style>p {}</style></head>'
        "<body><nav>Home</nav><h1>Wrocław <b>bridges</b></h1><script>var x</script><p>Bridges in "
        "H<sub>2</sub>O&nbsp;&amp; ice.<br>More<p hidden>no</p><p style='display: none'>no</p>"
        "<table><tr><td>left<td>right</table></body></html>"
    )
    found = read_whole(written(tmp_path / "a.html", page.encode("iso-8859-2")))
    assert found == Document("Bridges in H2O & ice.\n\nMore\n\nleft\tright", "Wrocław bridges", "a")


def test_a_book_is_read_chapter_by_chapter(tmp_path):
    files = {
        "META-INF/container.xml": '<container><rootfile full-path="OEBPS/book.opf"/></container>',
        "OEBPS/book.opf": '<package><metadata xmlns:dc="d"><dc:title>A book</dc:title></metadata><manifest>'
        '<item id="n" href="nav.xhtml" properties="nav"/><item id="b" href="ch%202.xhtml"/>'
        '<item id="a" href="../OEBPS/ch1.xhtml"/></manifest><spine><itemref idref="n"/>'
        '<itemref idref="a"/><itemref idref="b"/></spine></package>',
        "OEBPS/nav.xhtml": "<html><body>Contents</body></html>",
        "OEBPS/ch1.xhtml": '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title/>'
        "</head><body><h1>One</h1><p>Caf&eacute;s open.</p></body></html>",
        "OEBPS/ch 2.xhtml": "<html><body><h1>Two</h1><p>They <br> close.</body></html>",
    }
    found = read_whole(packed(tmp_path / "a.epub", files))
    assert found == Document("One\n\nCafés open.\n\nTwo\n\nThey\n\nclose.", "A book", "a")


def test_latex_is_read_without_commands_and_what_it_includes_is_named(tmp_path):
    source = (
        r"\documentclass{article}\title{Nets for K\"unstler\thanks{Us}} % a comment"
        "\n"
        r"\begin{document}\maketitle\section{Aims}We train \emph{nets}~\cite[see][p.~3]{a,b} in 50\% of"
        r" cases, as Section~\ref{x} says.\input{one}"
        "\n\\bibliography{x}\\end{document}"
    )
    path = written(tmp_path / "a.tex", source)
    found = read_whole(path)
    assert found == Document(
        "Aims\n\nWe train nets in 50% of cases, as Section says.", "Nets for Künstler", "a"
    )
    assert found.warnings == (f"{path}: one was not read: give it as a file of its own.",)


BIBTEX = r"""@string{journal = "J"}
@article{smith, title = {{B}ERT for {K}{\"u}nstler}, abstract = "We train 50\% of {\"o}ld nets.",
  keywords = {graph kernels, {K}ernel methods}, journal = journal}
@article{bare, title = {Only a title}}
"""
RIS = (
    "TY  - JOUR\r\nTI  - Sea ice\r\nAB  - Ice melts\r\n fast.\r\nKW  - albedo\r\nKW  - a; b\r\nER  - \r\n\r\n"
    "TY  - JOUR\r\nT1  - Sleep\r\nN2  - Mice sleep.\r\nDO  - 10.1/x\r\nER  - \r\n"
)
PUBMED = """<!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD PubMedArticle//EN" "https://nowhere.example/pubmed.dtd">
<PubmedArticleSet><PubmedArticle><MedlineCitation><PMID>7</PMID><Article>
<ArticleTitle>Sleep in <i>mice</i>.</ArticleTitle><Abstract>
<AbstractText Label="AIM">Sleep &amp; p&lt;0.05.</AbstractText>
<AbstractText>CO<sub>2</sub> rose.</AbstractText></Abstract></Article>
<KeywordList><Keyword>sleep  loss</Keyword></KeywordList></MedlineCitation></PubmedArticle>
</PubmedArticleSet>"""
JATS = """<!DOCTYPE article PUBLIC "-//NLM//DTD JATS//EN" "JATS.dtd"><article><front><article-meta>
<article-id pub-id-type="doi">10.1/j</article-id><title-group><article-title>Ice <italic>sheets</italic>
</article-title></title-group><abstract abstract-type="graphical"><p>Picture</p></abstract>
<abstract><p>Ice&nbsp;melts.</p></abstract><kwd-group><title>Keywords</title><kwd>sea ice</kwd></kwd-group>
</article-meta></front><body><sec><label>1</label><title>Aims</title>
<p>As shown <xref ref-type="bibr">[1]</xref>, it melts.</p></sec></body>
<back><ref-list><ref>Reference</ref></ref-list></back></article>"""


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        (
            "a.bib",
            BIBTEX,
            [
                Document(
                    "We train 50% of öld nets.",
                    "BERT for Künstler",
                    "smith",
                    ("graph kernels", "Kernel methods"),
                )
            ],
        ),
        (
            "a.ris",
            RIS,
            [
                Document("Ice melts fast.", "Sea ice", "1", ("albedo", "a", "b")),
                Document("Mice sleep.", "Sleep", "10.1/x"),
            ],
        ),
        (
            "a.xml",
            PUBMED,
            [Document("AIM: Sleep & p<0.05.\n\nCO2 rose.", "Sleep in mice.", "7", ("sleep loss",))],
        ),
        (
            "a.xml",
            JATS,
            [Document("Ice melts.\n\nAims\n\nAs shown, it melts.", "Ice sheets", "10.1/j", ("sea ice",))],
        ),
    ],
    ids=["bibtex", "ris", "pubmed", "jats"],
)
def test_records_of_a_bibliography_are_documents_with_keyphrases(tmp_path, name, content, expected):
    path = written(tmp_path / name, content)
    problems: list[LineError] = []
    assert list(read_documents(path, on_error=problems.append)) == expected
    assert read_gold(path, on_error=problems.append) == expected
    told = [f'{path}, line 4 ("bare"): no abstract, so there is nothing to read; add one or leave it out.']
    assert [problem.message for problem in problems] == (told * 2 if name == "a.bib" else [])


def test_a_zip_file_holds_documents_of_any_kind(tmp_path):
    files = {
        "a.txt": "Some words of text.",
        "sub/a.md": "# Title\n\nMore words.",
        "sub/rows.csv": "text\nA row.\n",
        "inner.zip": b"PK\x03\x04",
        "b.txt.gz": b"",
        "picture.png": b"",
        "__MACOSX/._a.txt": b"",
    }
    path = packed(tmp_path / "a.zip", files)
    problems: list[LineError] = []
    found = list(read_located(path, on_error=problems.append))
    assert [(one.where, one.document.id) for one in found] == [
        (f"{path}/a.txt", "a.txt"),
        (f"{path}/sub/a.md", "sub/a.md"),
        (f"{path}/sub/rows.csv, line 2", "rows.csv:2"),
    ]
    packed_files = [problem.message.removeprefix(f"{path}/") for problem in problems]
    told = "a packed file within a zip file, which is not read; unpack it."
    assert packed_files == [f"b.txt.gz: {told}", f"inner.zip: {told}"]


ENTITIES = "".join(f'<!ENTITY a{n + 1} "{f"&a{n};" * 10}">' for n in range(9))
BOMB = f'<!DOCTYPE article [<!ENTITY a0 "ha">{ENTITIES}]><article><abstract><p>&a9;</p></abstract></article>'
OUTSIDE = '<!DOCTYPE article [<!ENTITY x SYSTEM "file:///etc/passwd">]><article><p>&x;</p></article>'


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("a.zip", {"a.txt": b"0" * (LARGEST_FILE + 1)}, "more than 104,857,600 bytes when it is unpacked"),
        ("a.docx", {"word/document.xml": b"0" * (LARGEST_FILE + 1)}, "more than 104,857,600 bytes"),
        ("a.zip", {"../a.txt": "words"}, 'the file "../a.txt" in it leads to another folder'),
        ("a.zip", {f"{number}.txt": "" for number in range(10_001)}, "10,001 files in it, more than 10,000"),
        ("a.zip", {"a.png": ""}, "no documents in it"),
        ("a.zip", "words", "not a zip file that can be read"),
        ("a.docx", "words", "not a Word document that can be read"),
        ("a.docx", {"a.txt": "words"}, 'not a Word document, since "word/document.xml" is not in it'),
        ("a.epub", {"META-INF/rights.xml": "<r/>"}, "the book is protected"),
        ("a.xml", BOMB, "not XML that can be read (Maximum entity amplification"),
        ("a.xml", OUTSIDE, "it declares XML entities, which are not read"),
        ("a.xml", "<a>" * 5_000, "not XML that can be read"),
        ("a.xml", "<book/>", "XML of another kind, which begins with <book>"),
        ("a.html", "<script>only</script>", "no text in this file"),
        ("a.html", "<div>" * 50_000 + "words", "nested too deeply"),
        ("a.tex", "{" * 50_000, "not LaTeX that can be read"),
        ("a.rtf", "words", "not an RTF document"),
        ("a.ris", "words", "no RIS records"),
        ("a.bib", "words", "contains no documents"),
        ("a.txt", b"%PDF-1.7", "this is a PDF, not what its name says"),
    ],
)
def test_what_cannot_be_read_is_refused_in_a_sentence(tmp_path, name, content, told):
    path = tmp_path / name
    packed(path, content) if isinstance(content, dict) else written(path, content)
    with pytest.raises(InputError) as refusal:
        list(read_located(path, on_error=pytest.fail))
    assert str(refusal.value).startswith(f"{path}: {told}")
    assert str(refusal.value).count("\n") == 0


@pytest.mark.parametrize("algorithm", ["AES-128", "AES-256", "RC4-128"])
def test_a_pdf_that_opens_without_a_password_is_read_though_it_is_encrypted(tmp_path, algorithm):
    plain = make_pdf(tmp_path / "plain.pdf", ["Some words."])
    for password in ("", "secret"):
        writer = PdfWriter(clone_from=str(plain))
        writer.encrypt(password, "owner", algorithm=algorithm)
        writer.write(tmp_path / f"{password or 'open'}.pdf")
    assert read_whole(tmp_path / "open.pdf").body == "Some words."
    with pytest.raises(InputError, match="the PDF is locked with a password"):
        read_whole(tmp_path / "secret.pdf")


FRENCH = "Le café était fermé à l’été – dit Zoë."


@pytest.mark.parametrize(
    ("encoding", "name"),
    [
        ("utf-16", "UTF-16"),
        ("utf-16-be", "UTF-16"),
        ("utf-32", "UTF-32"),
        ("cp1252", "Windows-1252 (Latin-1)"),
    ],
)
@pytest.mark.parametrize("kind", ["a.txt", "a.csv", "a.jsonl"])
def test_another_encoding_is_recognised_and_named(tmp_path, kind, encoding, name):
    content = {"a.txt": FRENCH, "a.csv": f"text;id\n{FRENCH};1\n", "a.jsonl": f'{{"text": "{FRENCH}"}}\n'}[
        kind
    ]
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    path = written(tmp_path / kind, f"{mark}{content}".encode(encoding))
    [document] = read_documents(path)
    assert document.body == FRENCH
    assert document.warnings == (f"{path}: read as {name}; if letters are wrong, save it as UTF-8.",)


@pytest.mark.parametrize(
    "content",
    [
        "Нейронные сети".encode("cp1251"),
        "Zażółć gęślą jaźń, miałem książkę".encode("iso-8859-2"),
        "ニューラル".encode("shift_jis"),
        "été".encode() + b" caf\xe9",
    ],
    ids=["cyrillic", "polish", "japanese", "damaged"],
)
def test_an_encoding_that_is_only_guessed_is_refused(tmp_path, content):
    with pytest.raises(InputError, match="not UTF-8 text"):
        read_whole(written(tmp_path / "a.txt", content))


def test_whole_files_are_of_kinds_that_are_named_in_the_documentation():
    page = (Path(__file__).parents[2] / "docs" / "predict.md").read_text(encoding="utf-8")
    assert [suffix for suffix in WHOLE_SUFFIXES if f"`{suffix}`" not in page] == []
