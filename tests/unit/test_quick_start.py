"""Quick imports leave the libraries whole for what we use, and Python as it was."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def python(code: str) -> list[str]:
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.split()


def test_nltk_comes_without_scipy_which_can_be_imported_afterwards():
    code = (
        "import sys\n"
        "from kpdemo.quick_start import import_nltk\n"
        "import_nltk()\n"
        "print('scipy' in sys.modules, 'sklearn' in sys.modules)\n"
        "import scipy.stats\n"
        "from kpdemo.text import stem\n"
        "print(scipy.stats.rankdata([3, 1]).tolist() == [2, 1], stem('representations'))"
    )
    assert python(code) == ["False", "False", "True", "represent"]


def test_what_is_hidden_from_one_thread_others_can_import():
    code = (
        "import sys\n"
        "from concurrent.futures import ThreadPoolExecutor\n"
        "from importlib import import_module\n"
        "from kpdemo.quick_start import hidden\n"
        "finders = list(sys.meta_path)\n"
        "with hidden('sqlite3', 'sys'), ThreadPoolExecutor(1) as pool:\n"
        "    try:\n"
        "        import sqlite3.dump\n"
        "    except ModuleNotFoundError as error:\n"
        "        print(error.name)\n"
        "    other = pool.submit(import_module, 'sqlite3.dump').result()\n"
        "    print(other.__name__, import_module('sys').__name__)\n"
        "print(sys.meta_path == finders)"
    )
    assert python(code) == ["sqlite3", "sqlite3.dump", "sys", "True"]


def test_gradio_comes_whole_and_python_still_finds_sources():
    code = (
        "import inspect\n"
        "from kpdemo.quick_start import import_gradio\n"
        "import_gradio()\n"
        "import gradio as gr\n"
        "with gr.Blocks() as page:\n"
        "    gr.Button().click(lambda: 1, outputs=gr.Number())\n"
        "print(len(page.fns), inspect.getfile(gr.Blocks).endswith('blocks.py'))"
    )
    assert python(code) == ["1", "True"]


def test_garbage_is_collected_again_afterwards():
    code = (
        "import gc\n"
        "from kpdemo.quick_start import uncollected\n"
        "with uncollected():\n"
        "    print(gc.isenabled())\n"
        "print(gc.isenabled(), gc.get_freeze_count() > 0)"
    )
    assert python(code) == ["False", "True", "True"]


def test_pages_are_built_without_applications_and_mounted_with_one():
    code = (
        "import gradio as gr\n"
        "from fastapi import FastAPI\n"
        "from gradio.routes import App\n"
        "from kpdemo.quick_start import pages_only\n"
        "from gradio.blocks import Blocks\n"
        "before = App.create_app, Blocks.get_config_file\n"
        "with pages_only():\n"
        "    with gr.Blocks() as page:\n"
        "        gr.Markdown('hello')\n"
        "    page.queue()\n"
        "print(page.app, page.config, (App.create_app, Blocks.get_config_file) == before)\n"
        "server = gr.mount_gradio_app(FastAPI(), page, '/here')\n"
        "print(any(getattr(route, 'path', '') == '/here' for route in server.routes))"
    )
    assert python(code) == ["None", "{}", "True", "True"]
