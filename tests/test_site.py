"""The documentation builds as a site, without warnings, and has every public name."""

import html
import importlib
import json
import os
import re
import subprocess
import sys
import types
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("mkdocstrings", reason="needs the extra docs")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder],
        cwd=ROOT,
        env={**os.environ, "STAGEC_SITE_PLOTS": "0", "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 and "WARNING" not in done.stderr, done.stderr
    return folder


def test_every_page_is_there(site):
    for path in ROOT.glob("docs/**/*.md"):
        name = path.relative_to(ROOT / "docs").with_suffix("")
        page = site / (name.parent if name.name == "index" else name) / "index.html"
        assert page.exists(), page
    for name in ("readme", "contributing", "changelog", "examples", "examples/train_mlp"):
        assert (site / name / "index.html").exists()


@pytest.mark.parametrize("module", ["stagec", "stagec.numpy", "stagec.lax", "stagec.nn", "stagec.random", "passes"])
def test_the_reference_has_every_function(site, module):
    text = (site / f"reference/api/{module}/index.html").read_text()
    # Functions of a module's name are shown by the place where they are written.
    there = {name.rpartition(".")[2] for name in re.findall(r'<h2 id="([\w.]+)"', text)}
    found = importlib.import_module(module)
    names = getattr(found, "__all__", [name for name in dir(found) if not name.startswith("_")])
    functions = [name for name in names if isinstance(getattr(found, name), types.FunctionType)]
    own = [name for name in functions if module != "stagec" or getattr(found, name).__module__.startswith("stagec")]
    assert len(own) >= 5
    assert [name for name in own if name not in there] == []


def test_examples_in_docstrings_are_code(site):
    text = html.unescape(re.sub(r"<[^>]+>", "", (site / "reference/api/stagec.numpy/index.html").read_text()))
    assert ">>> snp.cumsum(" in text.replace("\n", " ")


def test_the_site_can_be_searched_and_needs_no_network(site):
    index = json.loads((site / "search/search_index.json").read_text())
    assert any("stagec.check" in entry["text"] for entry in index["docs"])
    page = (site / "index.html").read_text()
    assert re.findall(r'(?:src|rel="stylesheet" href)="https?://[^"]+"', page) == []
