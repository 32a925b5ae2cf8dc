"""What the files of this folder share."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from tests.characterisation.comparing import EXPECTED


@pytest.fixture
def check_each(subtests) -> Callable[[str, Iterable[str], Callable[[str, str], None]], None]:
    """Compares by names, each in a subtest of its own; no file may be left of what there is no longer."""

    def check(folder: str, names: Iterable[str], compare: Callable[[str, str], None]) -> None:
        files = [f"{folder}/{name}" for name in sorted(names)]
        for file in files:
            with subtests.test(file):
                compare(file, file.partition("/")[2])
        kept = {str(path.relative_to(EXPECTED)) for path in (EXPECTED / folder).rglob("*") if path.is_file()}
        assert {file.rpartition(".")[0] for file in kept} == set(files)

    return check
