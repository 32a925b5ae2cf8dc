"""Zipped files and XML of strangers, opened within limits."""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from html import unescape
from html.entities import html5
from pathlib import PurePosixPath
from typing import Any

from lxml import etree

from kpdemo.errors import InputError
from kpdemo.io.files import LARGEST_FILE

MOST_MEMBERS = 10_000
"""Files in a zip file; a book has some hundred."""

_ZIP_ERRORS = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError, ValueError)
_ENTITY = re.compile(rb"&([A-Za-z][A-Za-z0-9]{1,31};)")
_OF_XML = (b"amp;", b"lt;", b"gt;", b"quot;", b"apos;")
_SPACES = re.compile(r"\s+")
_GAP = re.compile(r"[ \t]*\n\s*")
_CELL_END = re.compile(r" *\t[ \t]*")


class Package:
    """A zip file in memory, none of whose files is written anywhere.

    Raises:
        InputError: it is none, is damaged or locked, has a name that leads out of it, or too many files.
    """

    def __init__(self, content: bytes, name: str, kind: str = "a zip file") -> None:
        """Args:
        name: what messages call the file.
        kind: and what it should be, such as "a Word document".
        """
        self._name, self._kind = name, kind
        try:
            self._archive = zipfile.ZipFile(io.BytesIO(content))
        except _ZIP_ERRORS as error:
            raise self._refusal(error) from None
        members = [member for member in self._archive.infolist() if not member.is_dir()]
        if len(members) > MOST_MEMBERS:
            raise InputError(
                f"{name}: {len(members):,} files in it, more than {MOST_MEMBERS:,}; make several of it."
            )
        for member in members:
            path = PurePosixPath(member.filename.replace("\\", "/"))
            if path.is_absolute() or ".." in path.parts:
                raise InputError(
                    f'{name}: the file "{member.filename}" in it leads to another folder; pack it again.'
                )
            if member.flag_bits & 1:
                raise InputError(f"{name}: locked with a password; save it without one.")
        self.names = [member.filename for member in members]
        self._left = LARGEST_FILE

    def check_size(self, names: Iterable[str]) -> None:
        """Raises:
        InputError: these files together are too large.
        """
        if sum(self._archive.getinfo(name).file_size for name in names) > self._left:
            raise InputError(
                f"{self._name}: more than {LARGEST_FILE:,} bytes when it is unpacked; make several of it."
            )

    def read(self, name: str) -> bytes:
        """The content of a file in it.

        Raises:
            InputError: there is none, it is damaged, or with those that were read before it is too large.
        """
        if name not in self.names:
            raise InputError(f'{self._name}: not {self._kind}, since "{name}" is not in it; save it again.')
        self.check_size([name])
        self._left -= self._archive.getinfo(name).file_size
        try:
            return self._archive.read(name)
        except _ZIP_ERRORS as error:
            raise self._refusal(error) from None

    def _refusal(self, error: Exception) -> InputError:
        reason = " ".join(str(error).split()) or type(error).__name__
        return InputError(f"{self._name}: not {self._kind} that can be read ({reason}); save it again.")


def parse_xml(content: bytes, name: str, kind: str = "XML") -> Any:
    """The root element; nothing outside is opened, and entities of the file's own are refused.

    Raises:
        InputError: it is no XML, too large, or declares entities.
    """
    if len(content) > LARGEST_FILE:
        raise InputError(f"{name}: more than {LARGEST_FILE:,} bytes; make several files of it.")
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True, remove_pis=True
    )
    try:
        root = etree.fromstring(_ENTITY.sub(_as_number, content), parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"{name}: not {kind} that can be read ({reason}); save it again.") from None
    declared = root.getroottree().docinfo.internalDTD
    if declared is not None and any(True for _ in declared.iterentities()):
        raise InputError(f"{name}: it declares XML entities, which are not read; save it without them.")
    return root


def _as_number(entity: re.Match[bytes]) -> bytes:
    """An entity of HTML, which the DTD that is not opened would declare, by the number of its character."""
    if entity[1] in _OF_XML or entity[1].decode() not in html5:
        return entity[0]
    return "".join(f"&#{ord(character)};" for character in unescape(entity[0].decode())).encode()


def local_name(element: Any) -> str:
    """The tag without its namespace; empty for what is no element."""
    return etree.QName(element).localname if isinstance(element.tag, str) else ""


def children(element: Any, *names: str) -> list[Any]:
    """The elements of these local names within one, at any depth, in their order."""
    return [one for one in element.iterdescendants() if local_name(one) in names]


def visible_text(
    root: Any,
    *,
    breaks: Mapping[str, str],
    unseen: frozenset[str] = frozenset(),
    characters: Mapping[str, str] | None = None,
    only: frozenset[str] | None = None,
) -> str:
    """The text within an element, white space as a reader would see it.

    Args:
        breaks: what stands before and after an element of a local name: blank lines, a line's end or a tab.
        unseen: elements whose text is not read.
        characters: elements that stand for characters.
        only: the elements that hold text; by default all do.
    """
    pieces: list[str] = []
    characters = characters or {}
    walker = etree.iterwalk(root, events=("start", "end"))
    for event, element in walker:
        tag = local_name(element)
        if event == "start":
            if tag in unseen or _is_hidden(element):
                walker.skip_subtree()
                continue
            pieces.append(breaks.get(tag) or characters.get(tag, ""))
            if element.text and (only is None or tag in only):
                pieces.append(_SPACES.sub(" ", element.text))
        else:
            pieces.append(breaks.get(tag, ""))
            if element is not root and element.tail and only is None:
                pieces.append(_SPACES.sub(" ", element.tail))
    text = _CELL_END.sub("\t", "".join(pieces))
    text = _GAP.sub(lambda gap: "\n\n" if "\n\n" in gap[0].replace(" ", "").replace("\t", "") else "\n", text)
    return re.sub(r"(?m)^[ \t]+| +$", "", re.sub(" {2,}", " ", text)).strip()


def _is_hidden(element: Any) -> bool:
    style = (element.get("style") or "").replace(" ", "").lower()
    return element.get("hidden") is not None or "display:none" in style
