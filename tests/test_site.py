"""The documentation builds as a site, without warnings, and reads well: on a desktop, a phone, and in the dark."""

import fcntl
import html
import html.parser
import importlib
import itertools
import json
import os
import re
import subprocess
import sys
import types
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from contrast import LEAST, lowest_contrast
from drawing import draw

from tests.watching import watched

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The folder of the site, which one process builds for all that test."""
    pytest.importorskip("mkdocstrings", reason="needs the extra docs")
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "site"
    with open(f"{folder}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            done = subprocess.run(
                [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", f"{folder}.new"],
                cwd=ROOT,
                env={**os.environ, "STAGEC_SITE_PLOTS": "0", "NO_MKDOCS_2_WARNING": "1"},
                capture_output=True,
                text=True,
            )
            assert done.returncode == 0 and "WARNING" not in done.stderr, done.stderr
            os.rename(f"{folder}.new", folder)
    return folder


def test_every_page_is_there(site):
    for path in ROOT.glob("docs/**/*.md"):
        assert (site / path.relative_to(ROOT / "docs").with_suffix(".html")).exists(), path
    for name in ("readme", "contributing", "changelog", "examples/index", "examples/train_mlp"):
        assert (site / f"{name}.html").exists()


@pytest.mark.parametrize("module", ["stagec", "stagec.numpy", "stagec.lax", "stagec.nn", "stagec.random", "passes"])
def test_the_reference_has_every_function(site, module):
    text = (site / f"reference/api/{module}.html").read_text()
    # Functions of a module's name are shown by the place where they are written.
    there = {name.rpartition(".")[2] for name in re.findall(r'<h2 id="([\w.]+)"', text)}
    found = importlib.import_module(module)
    names = getattr(found, "__all__", [name for name in dir(found) if not name.startswith("_")])
    functions = [name for name in names if isinstance(getattr(found, name), types.FunctionType)]
    own = [name for name in functions if module != "stagec" or getattr(found, name).__module__.startswith("stagec")]
    assert len(own) >= 5
    assert [name for name in own if name not in there] == []


def test_examples_in_docstrings_are_code(site):
    text = html.unescape(re.sub(r"<[^>]+>", "", (site / "reference/api/stagec.numpy.html").read_text()))
    assert ">>> snp.cumsum(" in text.replace("\n", " ")


def test_sessions_can_be_pasted_into_a_terminal(site):
    for path in site.rglob("*.html"):
        text = html.unescape(re.sub(r"<[^>]+>", "", path.read_text()))
        # The terminal takes what follows a statement of several lines for a part of it, unless a line is empty.
        assert not re.search(r"^ *\.\.\. +\S.*\n *>>> ", text, re.MULTILINE), path


def test_blocks_say_which_file_they_are_for(site):
    text = (site / "how-to/call-from-c.html").read_text()
    assert [*re.findall(r'class="filename">([^<]+)<', text)][:2] == ["main.c", "main.cpp"]


def test_the_reference_lists_what_completion_offers(site):
    text = (site / "reference/api/stagec.numpy.html").read_text()
    headings = re.findall(r'<h\d id="([\w.-]+)"', text)
    assert "stagec.numpy.ndarray.block_until_ready" in headings
    assert {"stagec.numpy.ndarray.queued_view", "stagec.numpy.float32.dtype", "parameters"} & {*headings} == set()


def test_the_site_can_be_searched_and_needs_no_network(site):
    index = json.loads((site / "search/search_index.json").read_text())
    assert any("stagec.check" in entry["text"] for entry in index["docs"])
    page = (site / "index.html").read_text()
    assert re.findall(r'(?:src|rel="stylesheet" href)="https?://[^"]+"', page) == []


class Page(html.parser.HTMLParser):
    """The ids of a page, and what it links and shows."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.targets = {""}, set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.ids |= {found.get("id", ""), found.get("name", "")}
        self.targets |= {found[key] for key in ("href", "src") if found.get(key)}


def test_no_link_inside_the_site_is_dead_or_opens_a_folder(site):
    pages = {path: Page(path.read_text()) for path in site.rglob("*.html") if path.name != "404.html"}
    assert len(pages) > 100
    dead = set()
    for path, page in pages.items():
        for target in page.targets:
            address = urlsplit(target)
            if address.scheme:
                continue
            to = (path.parent / unquote(address.path)).resolve() if address.path else path
            fragment = unquote(address.fragment)
            if not to.is_file() or (to in pages and not fragment.startswith("__") and fragment not in pages[to].ids):
                dead.add((path.name, target))
    assert sorted(dead) == []


def test_the_order_of_the_pages_is_that_of_tasks(site):
    tabs = re.findall(r'<li class="md-tabs__item[^>]*>\s*<a[^>]*>\s*(.*?)\s*</a>', (site / "index.html").read_text())
    assert tabs == ["stagec", "Start", "Learn", "Do", "Look up", "Understand", "Contribute"]


SIZES = {"desktop": {"width": 1280, "height": 900}, "phone": {"width": 390, "height": 844}}
# Those that are left as screenshots in pytest's folder.
SHOWN = """
    index readme pages benchmarks coming-from/numba tutorial/01-jit tutorial/06-jax-users how-to/errors
    explanation/architecture explanation/kernels reference/errors reference/missing examples/index
    reference/api/stagec.numpy
""".split()


@pytest.fixture
def opened(browser, site):
    """Opens a page of the site from its folder; at the end, none may have said or fetched anything."""
    with watched(browser) as (open_page, said, asked):

        def open_named(name, scheme="light"):
            address = (site / f"{name}.html").as_uri()
            return open_page(address, viewport=SIZES["desktop"], color_scheme=scheme)

        yield open_named
    assert [text for text in said if not text.startswith("Canvas2D: Multiple readback")] == []
    assert [url for url in asked if not url.startswith((site.as_uri(), "data:", "blob:"))] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_fits_and_can_be_read(opened, site, scheme, tmp_path):
    """Dark, outside of hunts, a third of the pages of each folder, which share their colors, and those that are shown.

    Loading a page takes longer than looking at it, so one page is looked at in all sizes.
    """
    page, wrong = opened("index", scheme), []
    # What a server shows in the place of a page has addresses of the server.
    pages = sorted({*site.rglob("*.html")} - {site / "404.html"})
    step = 1 if scheme == "light" or int(os.environ.get("STAGEC_FUZZ", "1")) > 1 else 3
    some = {path for _, folder in itertools.groupby(pages, lambda path: path.parent) for path in [*folder][::step]}
    for path in sorted(some | {site / f"{name}.html" for name in SHOWN}):
        name = str(path.relative_to(site).with_suffix(""))
        for size, viewport in SIZES.items():
            page.set_viewport_size(viewport)
            if size == "desktop":
                page.goto(path.as_uri())
            if name in SHOWN:
                shot = tmp_path / f"{size}-{name.replace('/', '-')}.png"
                page.screenshot(path=shot, full_page=name in ("index", "benchmarks"))
            if (width := page.evaluate("document.documentElement.scrollWidth")) > viewport["width"]:
                wrong.append((name, size, f"is {width} pixels wide"))
            if (lowest := lowest_contrast(page))[0] < LEAST:
                wrong.append((name, size, *lowest))
        broken = "[...document.images].filter(image => image.complete && !image.naturalWidth).map(image => image.src)"
        wrong += [(name, address) for address in page.evaluate(broken)]
    assert wrong == []


# What someone wants to do, the links that lead there from the first page, the words that they may search for, and the
# heading that answers.
TASKS = {
    "compile a function": (["Compile a function"], "compiling a function", "tutorial/01-jit.html#compiling"),
    "see the assembly": (["see the assembly"], "assembly", "how-to/inspect.html#see-the-assembly"),
    "ship a model to C": (["call it from C"], "C library", "how-to/call-from-c.html#write-the-library"),
    "find out why it compiled again": (
        ["find out why it compiled again"],
        "compiled again",
        "how-to/cache.html#find-out-why-a-call-compiles-again",
    ),
    "move a JAX script": (["move a JAX script"], "JAX script", "tutorial/06-jax-users.html#a-script-side-by-side"),
    "speed up a NumPy loop": (["speed up a NumPy loop"], "NumPy loop", "coming-from/numpy.html#speed-up-a-numpy-loop"),
}


@pytest.mark.parametrize("task", TASKS)
def test_a_task_is_found_from_the_first_page_by_links_and_by_the_search(opened, site, task):
    links, words, answer = TASKS[task]
    page = opened("index")
    for text in links:
        page.get_by_role("main").get_by_role("link", name=text, exact=True).click()
    path, _, heading = answer.partition("#")
    page.wait_for_url(lambda url: url.partition("#")[0] == (site / path).as_uri())
    page.locator(f"[id='{heading}']").wait_for()
    if "#" in page.url:
        assert page.url.endswith(f"#{heading}")
    assert answer in [link.removeprefix(f"{site.as_uri()}/").partition("?")[0] for link in searched(page, words)]


def searched(page, words):
    """The addresses that the search of a page finds."""
    page.wait_for_function("window.document$ !== undefined")  # what is typed before the page's script runs is lost
    # All at once: while someone types, the theme searches for each beginning of the words, which answers here too.
    page.fill(".md-search__input", words)
    page.keyboard.press("End")  # the theme looks at its input when a key is released
    page.wait_for_selector(".md-search-result__link", state="attached", timeout=60_000)
    return page.locator(".md-search-result__link").evaluate_all("links => links.map(link => link.href)")


def test_pictures_and_the_network_follow_the_palette_that_was_chosen(opened):
    page = opened("index")
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.click("label[title=Dark]:visible")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before
    assert page.evaluate("[...document.querySelectorAll('main img')].map(i => getComputedStyle(i).colorScheme)") == [
        "dark"
    ]


def test_the_first_page_recognizes_a_digit_that_is_drawn(opened, site):
    pytest.importorskip("sklearn", reason="scikit-learn has the digits: pip install '.[examples]'")
    page = opened("index")
    page.locator("iframe.digits").scroll_into_view_if_needed()
    frame = page.frame_locator("iframe.digits")
    points = [(0.25, 0.3), (0.35, 0.13), (0.6, 0.12), (0.7, 0.3), (0.6, 0.5), (0.3, 0.88), (0.75, 0.88)]
    draw(page, frame.locator("canvas"), points)
    frame.locator(".row.most > :first-child", has_text="2").wait_for(timeout=5000)
