"""Processes that make documents ready for training."""

import subprocess
import sys

from kpdemo.training.data import in_groups

ENDLESS = """
from time import sleep
from kpdemo.training.data import process_pool

if __name__ == "__main__":
    with process_pool(2) as pool:
        print(sum(pool.map(abs, range(8))), flush=True)
        pool.submit(sleep, 600).result()
"""


def test_groups_come_in_order_whichever_process_makes_them():
    made = in_groups(tuple, range(10), size=4, description="documents")
    assert list(made) == [(0, 1, 2, 3), (4, 5, 6, 7), (8, 9)]


def test_they_end_with_a_process_that_is_killed_while_they_work():
    with subprocess.Popen([sys.executable, "-c", ENDLESS], stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"28\n"
        process.kill()
        process.communicate(timeout=30)  # the output ends when the last that could write to it has
