"""The page of `stagec view` in a browser: links between rows, the keyboard, narrow screens, dark and light."""

import pytest
from click.testing import CliRunner
from contrast import LEAST, lowest_contrast

from stagec.commands.view import view
from tests.watching import watched

SOURCE = '''
import stagec
import stagec.numpy as snp


@stagec.jit
def layer(x, params):
    """A </script><b>bold</b> & "quoted" text."""
    h = snp.tanh(x @ params["w"])
    z = snp.sort(h, axis=1)
    return snp.sum(z, axis=1), z
'''
WIDE, NARROW = {"width": 1500, "height": 900}, {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    folder = tmp_path_factory.mktemp("view")
    model = folder / "model.py"
    model.write_text(SOURCE)
    output = folder / "page.html"
    arguments = [f"{model}:layer", "f32[128,64]", "{'w': f32[64,32]}", "--run", "-o", str(output)]
    done = CliRunner().invoke(view, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return output


@pytest.fixture
def opened(browser, path):
    """Opens the page; at the end, it must have reported nothing and asked for nothing."""
    with watched(browser) as (open_page, said, asked):
        yield lambda size=WIDE, scheme="light": open_page(path.as_uri(), viewport=size, color_scheme=scheme)
    assert said == []
    assert set(asked) == {path.as_uri()}


def row(page, pane, text):
    return page.locator(f"#pane-{pane} .row", has_text=text).first


def marked(page, pane):
    return page.locator(f"#pane-{pane} .row.on .is").all_text_contents()


PANES = ["source", "graph", "stablehlo", "optimized", "dispatches", "llvm", "assembly"]


def test_a_click_on_a_line_marks_its_rows_in_all_columns(opened):
    page = opened()
    row(page, "source", "z = snp.sort(h, axis=1)").click()
    assert marked(page, "source") == ["    z = snp.sort(h, axis=1)"]
    assert all("sort" in text for text in marked(page, "graph"))
    assert any("stablehlo.sort" in text for text in marked(page, "stablehlo"))
    assert not any("dot_general" in text for text in marked(page, "stablehlo"))
    assert all(marked(page, pane) for pane in PANES)


def test_a_click_on_a_row_of_a_later_stage_marks_the_line(opened):
    page = opened()
    row(page, "stablehlo", "stablehlo.dot_general").click()
    assert marked(page, "source") == ['    h = snp.tanh(x @ params["w"])']
    # The rows of the assembly lie outside of the part that is visible.
    page.evaluate("choose(panes.at(-1).linked.at(-1), true)")
    assert len(marked(page, "source")) >= 1


def test_the_other_columns_scroll_to_the_counterparts(opened):
    page = opened()
    row(page, "source", "h = snp.tanh").click()
    page.wait_for_function(
        """() => panes.every(pane => {
            const top = pane.first.getBoundingClientRect().top, box = pane.list.getBoundingClientRect();
            return top >= box.top - 1 && top < box.bottom;
        })"""
    )


def test_the_page_is_used_by_keyboard_alone(opened):
    page = opened()
    row(page, "source", "h = snp.tanh").focus()
    page.keyboard.press("Enter")
    assert marked(page, "source") == ['    h = snp.tanh(x @ params["w"])']
    page.keyboard.press("ArrowDown")
    assert marked(page, "source") == ["    z = snp.sort(h, axis=1)"]
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.closest('.pane').id") == "pane-graph"
    assert "sort" in page.evaluate("document.activeElement.textContent")
    page.keyboard.press("ArrowLeft")
    assert page.evaluate("document.activeElement.closest('.pane').id") == "pane-source"
    page.keyboard.press("Escape")
    assert marked(page, "source") == []


def test_tab_reaches_each_column_once(opened):
    page = opened()
    stops = page.evaluate("panes.map(pane => pane.rows.filter(row => row.tabIndex === 0).length)")
    assert stops == [1] * len(PANES)


def test_a_button_hides_a_column(opened):
    page = opened()
    page.locator("#tab-llvm").click()
    assert (
        not page.locator("#pane-llvm").is_visible()
        and page.locator("#tab-llvm").get_attribute("aria-pressed") == "false"
    )
    page.locator("#tab-llvm").click()
    assert page.locator("#pane-llvm").is_visible()


def test_on_a_phone_one_stage_shows_and_tabs_count_the_counterparts(opened):
    page = opened(NARROW)
    assert [page.locator(f"#pane-{pane}").is_visible() for pane in PANES] == [True] + [False] * (len(PANES) - 1)
    assert page.evaluate("document.documentElement.scrollWidth") == NARROW["width"]
    row(page, "source", "z = snp.sort").click()
    counts = [int(text) for text in page.locator("#tabs .count").all_text_contents()]
    assert counts[0] == 1 and min(counts) > 0
    page.locator("#tab-stablehlo").click()
    assert page.locator("#pane-stablehlo").is_visible() and not page.locator("#pane-source").is_visible()
    assert page.locator("#pane-stablehlo .row.on").first.is_visible()
    page.locator("#tab-stablehlo").press("ArrowRight")
    assert page.locator("#pane-optimized").is_visible()


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_stand_out_from_their_background(opened, size, scheme):
    """All that is visible, marked rows included."""
    page = opened(size, scheme)
    row(page, "source", "z = snp.sort").click()
    page.mouse.move(0, 0)
    lowest = lowest_contrast(
        page,
        """(() => {
            const marked = pane => pane.rows.filter(row => row.classList.contains("on"));
            const some = pane => [...pane.rows.slice(0, 40), ...marked(pane).slice(0, 40)];
            const rows = panes.filter(pane => !pane.box.hidden).flatMap(some);
            const texts = rows.flatMap(row => [...row.querySelectorAll("*")]);
            return [...document.querySelectorAll("body *:not(.rows *)"), ...texts];
        })()""",
    )
    assert lowest[0] >= LEAST, lowest


def test_dark_and_light_differ(opened):
    colors = [
        opened(WIDE, scheme).evaluate("getComputedStyle(document.body).backgroundColor") for scheme in ("light", "dark")
    ]
    assert colors[0] != colors[1]


def test_the_tables_show_kernels_passes_times_and_buffers(opened):
    page = opened()
    titles = page.locator("section h2").all_text_contents()
    assert titles == ["Kernels", "Fusion", "Passes", "Compile", "Buffers"]
    shares = page.locator("section").nth(0).locator("tbody tr td:nth-child(4)").all_text_contents()
    assert sum(int(share.split()[0]) for share in shares) == pytest.approx(100, abs=len(shares))
    page.locator("section").nth(0).locator("button", has_text="model.py:").first.click()
    assert marked(page, "source")
    assert page.locator("#pane-source .share i").count() > 0


def test_the_users_text_is_text(opened):
    page = opened()
    assert page.locator("b").count() == 0
    assert row(page, "source", 'A </script><b>bold</b> & "quoted" text.').count() == 1
