"""The button of the page of `stagec view` that runs the function: in a file, in a notebook, and what has none."""

import json
import re

import numpy as np
import pytest
from click.testing import CliRunner

import stagec
import stagec.numpy as snp
from stagec.commands.view import view
from stagec.viewing.form import form
from tests.watching import watched

SPEC = stagec.ShapeDtypeStruct
X, W = SPEC((2, 3), "float32"), SPEC((3, 4), "float32")
NUMBERS = np.array([[1, -2, 3], [5, 4, -1]], "float32"), np.arange(-5, 7, dtype="float32").reshape(3, 4)
LARGE = np.ones((600, 600), "float32")


def layer(x, w):
    return snp.sort(snp.maximum(x @ w, -8).sum(axis=0))[::-1]


@pytest.fixture
def opened(browser, tmp_path):
    """Opens a page; at the end, it must have reported nothing and asked for nothing."""
    path = tmp_path / "page.html"
    with watched(browser) as (open_page, said, asked):

        def open_text(text):
            path.write_text(text, "utf-8")
            return open_page(path.as_uri(), viewport={"width": 1500, "height": 900})

        yield open_text
    assert said == []
    assert set(asked) == {path.as_uri()}


def computes(frame, x, w):
    """Fill the form of `layer`, and compare what it shows with NumPy's results, which are integers."""
    frame.locator("#in-x").fill(" ".join(map(str, x.ravel())))
    frame.locator("#in-w").fill(" ".join(map(str, w.ravel())))
    expected = np.sort(np.maximum(x @ w, -8).sum(axis=0))[::-1]
    found = frame.locator("#out-out .row > :last-child")
    frame.locator("#out-out .row", has_text=re.compile(f"^0\\s*{expected[0]:.0f}$")).wait_for(timeout=5000)
    assert [float(text) for text in found.all_inner_texts()] == list(expected)


def test_the_button_runs_the_function(opened):
    page = opened(stagec.view(layer, X, W).html)
    assert len(page.frames[1:]) == 1 and page.frames[1].url == "about:blank"
    assert not page.locator("#frame").is_visible()
    page.get_by_role("button", name="Run", exact=True).click()
    computes(page.frame_locator("#frame"), *NUMBERS)


def test_the_form_keeps_its_numbers_while_it_is_closed(opened):
    page = opened(stagec.view(layer, X, W).html)
    button, frame = page.locator("#run"), page.frame_locator("#frame")
    button.press("Enter")
    assert button.get_attribute("aria-expanded") == "true"
    frame.locator("#in-x").fill("1 2 3 4 5 6")
    button.click()
    assert not page.locator("#frame").is_visible() and button.get_attribute("aria-expanded") == "false"
    button.click()
    assert frame.locator("#in-x").input_value() == "1 2 3 4 5 6"


def test_it_runs_in_the_cell_of_a_notebook_too(opened):
    page = opened(f"<!doctype html><title>Notebook</title>{stagec.view(layer, X, W)._repr_html_()}")
    cell = page.frame_locator("iframe")
    cell.locator("#run").click()
    computes(cell.frame_locator("#frame"), *NUMBERS)


def test_the_frame_cannot_reach_the_page(opened):
    page = opened(stagec.view(layer, X, W).html)
    page.locator("#run").click()
    frame = page.frame_locator("#frame").locator("#in-x").element_handle().owner_frame()
    assert frame.evaluate("() => { try { return parent.document.title } catch (error) { return error.name } }") == (
        "SecurityError"
    )


def test_no_script_that_is_added_to_the_page_or_to_the_form_runs(browser, tmp_path):
    text, path = stagec.view(layer, X, W).html, tmp_path / "page.html"
    added = "<script>document.title = 'changed'</script></body>"
    changed = text.replace("</body>", added).replace("\\u003c/body>", added.replace("<", "\\u003c"))
    assert changed.count("'changed'") == 2
    path.write_text(changed, "utf-8")
    page = browser.new_page()
    page.goto(path.as_uri())
    page.locator("#run").click()
    computes(page.frame_locator("#frame"), *NUMBERS)
    assert page.title() == "layer(x: float32[2,3], w: float32[3,4]) -> float32[4] for cpu"
    assert page.frame_locator("#frame").locator("title").text_content() == "layer"
    page.close()


def closes_over():
    return stagec.jit(lambda x: x @ LARGE), [SPEC((600,), "float32")]


def prints():
    return stagec.jit(lambda x: stagec.debug.print("{}", x)), [X]


def has_an_open_size():
    return stagec.jit(lambda x: x + 1), [SPEC(("b", 3), "float32")]


def has_no_dtype_of_c():
    return stagec.jit(lambda x: x + x), [SPEC((4,), "int4")]


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (closes_over, "closes over 1.4 MiB of arrays, which would be part of this page"),
        (prints, "it calls Python functions"),
        (has_an_open_size, "b is known only when it is called, and the form needs all sizes"),
        (has_no_dtype_of_c, "x has elements of int4"),
    ],
)
def test_a_function_without_a_form_has_the_reason(made, why):
    function, arguments = made()
    found = form(function, arguments, {})
    assert list(found) == ["why"] and why in found["why"] and "\n  Fix: " in found["why"]


def test_the_reason_is_the_buttons_title(opened):
    function, arguments = has_an_open_size()
    page = opened(stagec.view(function, *arguments).html)
    button = page.locator("#run")
    assert button.is_disabled() and "the form needs all sizes" in button.get_attribute("title")
    assert "wasm" not in page.locator("meta[http-equiv]").get_attribute("content")


@pytest.mark.parametrize("target", ["vulkan", "cuda:sm_80"])
def test_what_the_function_is_compiled_for_does_not_matter(target):
    assert list(form(stagec.jit(layer, target=target), [X, W], {})) == ["page"]


def test_the_command_writes_the_form_for_static_arguments_and_wide_dtypes(tmp_path, opened):
    (tmp_path / "model.py").write_text("def scaled(x, by):\n    return x * by\n")
    command = [f"{tmp_path}/model.py:scaled", "i64[]", "--static", "by=3", "--x64", "-o", str(tmp_path / "out.html")]
    done = CliRunner().invoke(view, command, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    text = (tmp_path / "out.html").read_text("utf-8")
    page = opened(text)
    page.locator("#run").click()
    frame = page.frame_locator("#frame")
    frame.locator("#in-x").fill("3002399751580331")
    frame.locator("#out-out", has_text="9007199254740993").wait_for()
    (data,) = re.findall(r'json" id="data">(.*?)</script>', text)
    assert len(json.loads(data)["form"]["page"]) < 20_000
