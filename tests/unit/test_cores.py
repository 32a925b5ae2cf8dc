"""How many processes are started: as many as the cores that may be used."""

import os
import subprocess
import sys

import pytest

from kpdemo.worker import usable_cores


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="This system holds no process to a core.")
def test_a_process_that_is_held_to_one_core_has_one():
    one = min(os.sched_getaffinity(0))
    code = f"import os; os.sched_setaffinity(0, {{{one}}}); " + (
        "from kpdemo.worker import usable_cores; print(usable_cores())"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "1\n"
    assert usable_cores() == len(os.sched_getaffinity(0))
