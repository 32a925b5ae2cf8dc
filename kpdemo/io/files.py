"""Files: their kinds by name, opened plain or compressed, locked, written whole or not at all; their JSON."""

from __future__ import annotations

import codecs
import errno
import gzip
import io
import json
import lzma
import os
import re
import shutil
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import Any, BinaryIO, cast

from kpdemo.errors import InputError

PARTIAL = ".partial"


def beside(path: Path) -> Path:
    """The file that `replacing` writes first; one that is there already is lost."""
    place = Path(os.path.realpath(path))
    return place.with_name(place.name + PARTIAL)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a file next to `path` to write, renamed at the end, so that a crash leaves the old file whole.

    A link stays, and what it leads to is replaced; a pipe or a device is yielded itself.
    """
    if path.exists() and not path.is_file():  # a file in the place of /dev/null would harm all programs
        yield path
        return
    partial = beside(path)
    place = partial.with_name(partial.name.removesuffix(PARTIAL))
    place.parent.mkdir(parents=True, exist_ok=True)
    try:
        yield partial
        with partial.open("r+b") as stream:
            os.fsync(stream.fileno())  # or a power cut may leave the new name with nothing in it
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    partial.replace(place)


def replace_file(path: Path, content: bytes) -> None:
    """Write all of a file, as by `replacing`."""
    with replacing(path) as partial:
        partial.write_bytes(content)


def check_place(path: Path) -> None:
    """Make the folder of a file that is written at the end of long work, and see that it can be.

    Raises:
        OSError: `replace_file` would fail.
    """
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if path.exists() and not path.is_file():
        return
    folder = Path(os.path.realpath(path)).parent
    folder.mkdir(parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))


_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)
"""What a file system without locks, such as some shares of a network, says."""


@contextmanager
def lock_file(stream: BinaryIO, otherwise: Exception) -> Iterator[None]:
    """Keep other processes that ask for it too from the open file; the lock of one that dies is gone with it.

    Where there are no locks, as on Windows, it is up to the user.

    Args:
        otherwise: is raised where another one has it.
    """
    try:
        import fcntl
    except ImportError:
        yield
        return
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise otherwise from None
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        yield
        return
    try:
        yield
    finally:
        fcntl.flock(stream, fcntl.LOCK_UN)  # closing would leave it with processes that were forked meanwhile


@contextmanager
def lock_folder(folder: Path, otherwise: Exception) -> Iterator[None]:
    """The same for all files of a folder, by its file `.lock`."""
    with (folder / ".lock").open("wb") as stream, lock_file(stream, otherwise):
        yield


def parse_json(
    text: str | bytes,
    *,
    object_hook: Callable[[dict[str, Any]], Any] | None = None,
    object_pairs_hook: Callable[[list[tuple[str, Any]]], Any] | None = None,
    parse_constant: Callable[[str], Any] | None = None,
) -> Any:
    """As `json.loads`, with those of its hooks.

    Raises:
        ValueError: it is no JSON, or nested too deeply to be read.
    """
    try:
        return json.loads(
            text,
            object_hook=object_hook,
            object_pairs_hook=object_pairs_hook,
            parse_constant=parse_constant,
        )
    except RecursionError:
        raise ValueError("brackets nested too deeply") from None


def json_gz(content: Any, *, sort_keys: bool = False) -> bytes:
    """`content` as JSON without spaces, compressed without a time stamp."""
    text = json.dumps(content, ensure_ascii=False, sort_keys=sort_keys, separators=(",", ":"))
    return gzip.compress(text.encode(), compresslevel=9, mtime=0)


def read_json_gz(path: Path) -> Any:
    """The content of such a file.

    Raises:
        OSError: it cannot be read.
        ValueError: it is damaged.
    """
    packed = path.read_bytes()
    try:
        return parse_json(gzip.decompress(packed))
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(str(error)) from error


COMPRESSIONS = (".gz", ".xz")
LINE_SUFFIXES = (".jsonl", ".json")
TABLE_SUFFIXES = (".csv", ".tsv", ".xlsx")
RECORD_SUFFIXES = (".bib", ".ris", ".xml")
WEB_SUFFIXES = (".html", ".htm", ".xhtml")
WHOLE_SUFFIXES = (".txt", ".md", ".pdf", ".docx", ".odt", ".rtf", *WEB_SUFFIXES, ".epub", ".tex")
ARCHIVE_SUFFIX = ".zip"
DOCUMENT_SUFFIXES = (*LINE_SUFFIXES, *TABLE_SUFFIXES, *RECORD_SUFFIXES, *WHOLE_SUFFIXES, ARCHIVE_SUFFIX)

OTHER_SUFFIXES = (
    *(".doc", ".dot", ".ott", ".pages", ".ppt", ".pptx", ".odp", ".mobi", ".azw3", ".ps", ".djvu"),
    *(".xls", ".ods", ".parquet", ".7z", ".bz2", ".rar", ".tar", ".tgz", ".zst"),
)
"""Kinds of files that are not read; any other name says nothing of what is in it."""

LARGEST_FILE = 100 * 2**20
"""Bytes, unpacked, of what is held in memory as a whole."""

KINDS_ADVICE = f"use one of {', '.join(DOCUMENT_SUFFIXES)}."


def document_suffix(path: Path) -> str:
    """The suffix that says what is in the file, without that of its compression.

    A name that says nothing, such as /dev/stdin or that of a pipe, means JSON Lines.

    Raises:
        InputError: it is one of another kind of file.
    """
    suffix = file_suffix(path)
    if suffix in OTHER_SUFFIXES:
        raise InputError(f"{path}: files that end in {suffix} cannot be read; {KINDS_ADVICE}")
    return suffix if suffix in DOCUMENT_SUFFIXES else LINE_SUFFIXES[0]


def file_suffix(path: Path) -> str:
    """The last one in small letters, without that of a compression; empty where there is none."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in COMPRESSIONS:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def names_other_kind(path: Path, suffixes: Sequence[str]) -> bool:
    """Whether the name promises a kind of file that is not among `suffixes`; most names promise nothing."""
    suffix = file_suffix(path)
    return suffix in (*DOCUMENT_SUFFIXES, *OTHER_SUFFIXES) and suffix not in suffixes


def is_whole(name: str) -> bool:
    """Whether a file of this name is one document as a whole, plain or compressed."""
    return file_suffix(Path(name)) in WHOLE_SUFFIXES


def plain_name(path: Path) -> str:
    """The name of a file without what says how it is written: a/inspec.test.jsonl.gz is inspec.test."""
    name = path.name
    for endings in (COMPRESSIONS, DOCUMENT_SUFFIXES):
        ending = next((ending for ending in endings if name.lower().endswith(ending)), "")
        name = name[: len(name) - len(ending)]
    return name


NOT_UTF8 = "not UTF-8 but UTF-16 text, or not text at all; save it as UTF-8."
UTF8_MARK = b"\xef\xbb\xbf"


def count_lines(path: Path) -> int:
    """How many lines of a file are not blank.

    Raises:
        InputError: the file cannot be read.
    """
    with file_errors(path), open_bytes(path) as stream:
        return sum(1 for line in stream if line.strip())


def read_head(path: Path, size: int) -> bytes:
    """The first `size` bytes of a file as stored, compressed or not.

    Raises:
        InputError: the file cannot be read.
    """
    with file_errors(path), path.open("rb") as stream:
        return stream.read(size)


def read_text(stream: BinaryIO, *, name: str) -> tuple[str, str]:
    """All of an open stream as by `decode_text`."""
    with file_errors(name):
        content = stream.read()
    return decode_text(content, name=name)


_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",  # which begins as the mark of UTF-16 does
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_WESTERN = "cp1252"
_ENCODING_NAMES = {_WESTERN: "Windows-1252 (Latin-1)", "utf-16": "UTF-16", "utf-32": "UTF-32"}
_CONTROLS = re.compile(rb"[\x00-\x08\x0e-\x1f\x7f]")
_FOREIGN_WORD = re.compile("[a-z][±³¶¸¹¼½¾¿¡£¥¦¨¬®¯][a-z]|[À-ÿ]{4}")
"""As letters of other alphabets look in Windows-1252."""


def encoding_of(content: bytes) -> str:
    """The encoding of a text: that of its mark, UTF-8, or the one of Western Europe if it looks like that."""
    found = next((name for mark, name in _MARKS.items() if content.startswith(mark)), "")
    if found:
        return found
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.reason == "unexpected end of data" and error.end == len(content):
            return "utf-8"  # cut within a character
        beyond_ascii = any(letter > "\x7f" for letter in content.decode("utf-8", "ignore"))
        if beyond_ascii or _CONTROLS.search(content):
            return "utf-8"  # damaged, or no text
        try:
            text = content.decode(_WESTERN)
        except UnicodeDecodeError:
            return "utf-8"
        return "utf-8" if _FOREIGN_WORD.search(text) else _WESTERN
    return "utf-8"


def decode_text(content: bytes, *, name: str, encoding: str = "") -> tuple[str, str]:
    """Bytes as text without the byte order mark, and a sentence on the encoding where it is not UTF-8.

    Args:
        encoding: that the file itself names.

    Raises:
        InputError: the bytes are not text; the message has the offset of the first bad one.
    """
    found = encoding_of(content)
    if encoding and found in ("utf-8", _WESTERN):
        for own in ("utf-8-sig", encoding):
            with suppress(LookupError, UnicodeDecodeError):
                return content.decode(own), ""
    if found != "utf-8":
        try:
            text = content.decode(found)
        except UnicodeDecodeError as error:
            raise InputError(
                f"{name}: not the {_ENCODING_NAMES[found]} that its mark says ({error.reason} at offset "
                f"{error.start}); save it as UTF-8."
            ) from None
        return text, encoding_note(name, found)
    start = len(UTF8_MARK) if content.startswith(UTF8_MARK) else 0
    zero = content.find(b"\x00")
    if zero >= 0:
        raise InputError(
            f"{name}: not a text file (a zero byte at offset {zero}); save it as UTF-8 text first."
        )
    try:
        return content[start:].decode("utf-8"), ""
    except UnicodeDecodeError as error:
        at = start + error.start
        value = f"byte 0x{content[at]:02x} at offset {at}"
        raise InputError(f"{name}: not UTF-8 text ({value}); save it as UTF-8 first.") from None


def encoding_note(name: str, encoding: str) -> str:
    """The sentence on a file that is not UTF-8."""
    return f"{name}: read as {_ENCODING_NAMES[encoding]}; if letters are wrong, save it as UTF-8."


LOOKED_AT = 16 * 2**20
"""Bytes from which the encoding of a long file is told."""


def as_utf8(stream: BinaryIO, name: str, encoding: str) -> io.BufferedReader:
    """The text of an open file in UTF-8, without its mark, all of it in memory.

    Raises:
        InputError: it is too large, or not of the encoding.
    """
    content = stream.read(LARGEST_FILE + 1)
    if len(content) > LARGEST_FILE:
        raise InputError(f"{name}: more than {LARGEST_FILE:,} bytes that are not UTF-8; save it as UTF-8.")
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        raise InputError(
            f"{name}: {encoding} is damaged at offset {error.start}; save it as UTF-8."
        ) from None
    return io.BufferedReader(cast(Any, io.BytesIO(text.encode())))


def open_bytes(path: Path) -> BinaryIO:
    """The bytes of a file, unpacked where its name says that it is compressed.

    Raises:
        InputError: it cannot be opened.
    """
    with file_errors(path):
        if path.suffix.lower() == ".gz":
            return cast(BinaryIO, gzip.open(path, "rb"))
        if path.suffix.lower() == ".xz":
            return cast(BinaryIO, lzma.open(path, "rb"))
        return path.open("rb")


@contextmanager
def file_errors(name: str | Path) -> Iterator[None]:
    """Raise InputError, with the file's name, for whatever goes wrong while it is read."""
    try:
        yield
    except FileNotFoundError:
        raise InputError(f"{name}: no such file; check the name.") from None
    except IsADirectoryError:
        raise InputError(f"{name}: a folder, not a file; name a file in it.") from None
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise InputError(f"{name}: the compressed file is damaged ({error}); make it again.") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{name}: not UTF-8 text ({error.reason}); save it as UTF-8 first.") from None
    except OSError as error:
        reason = error.strerror or error
        raise InputError(
            f"{name}: cannot be read ({reason}); check its permissions or give another file."
        ) from None


@contextmanager
def temporary_folder(prefix: str, place: Path | None = None, *, unless: str = "") -> Iterator[Path]:
    """A folder of this process alone, which is removed at the end.

    Those of processes that were killed go first: a lock tells which are in use.

    Args:
        prefix: what its name begins with.
        place: the folder that it is made in; the system's for temporary files without it.
        unless: a left folder that has a file of this name stays.

    Raises:
        OSError: it cannot be made.
    """
    beside = place or Path(gettempdir())
    for lock in beside.glob(f"{prefix}*/.lock"):
        if not unless or not (lock.parent / unless).exists():
            with suppress(OSError), lock_folder(lock.parent, BlockingIOError()):
                shutil.rmtree(lock.parent)
    with TemporaryDirectory(prefix=prefix, dir=beside, ignore_cleanup_errors=True) as made:
        folder = Path(made)
        with lock_folder(folder, BlockingIOError()):
            yield folder


LEAST_ROOM = 32 * 1024 * 1024
"""Bytes without which a disk counts as full."""


def has_room(folder: Path) -> bool:
    """Whether the disk of a folder can take more."""
    return shutil.disk_usage(folder).free >= LEAST_ROOM
