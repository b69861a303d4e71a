"""Pages that run a function, in a browser: each kind of input and result, faults, and no request."""

import re
import struct
import zlib

import numpy as np
import pytest
from click.testing import CliRunner

import stagec
import stagec.numpy as snp
from stagec.cli import cli
from tests.watching import watched


@pytest.fixture
def opened(browser, tmp_path):
    """Opens the page of an exported function; at the end, it must have reported nothing and asked for nothing."""
    path = tmp_path / "page.html"
    with watched(browser) as (open_page, said, asked):

        def open_exported(exported, **options):
            exported.to_html(path, **options)
            page = open_page(path.as_uri())
            page.wait_for_function(
                "() => document.getElementById('time').textContent || document.getElementById('fault').textContent"
            )
            return page

        yield open_exported
    # This is said of what the tests read.
    assert [text for text in said if not text.startswith("Canvas2D: Multiple readback")] == []
    assert set(asked) == {path.as_uri()}


def becomes(page, selector, expected):
    """Wait until an element has a text, and fail with the one that it has."""
    try:
        page.wait_for_function(
            "([at, text]) => document.querySelector(at)?.textContent === text", arg=[selector, expected], timeout=5000
        )
    except Exception:
        assert page.locator(selector).text_content() == expected


def pixels(page, selector="canvas"):
    """The red, green and blue of a canvas."""
    script = "c => [c.height, c.width, ...c.getContext('2d').getImageData(0, 0, c.width, c.height).data]"
    height, width, *data = page.eval_on_selector(selector, script)
    return np.array(data, np.float64).reshape(height, width, 4)[..., :3]


def png(image):
    """A file with an image (height, width, 3)."""
    height, width, _ = image.shape
    rows = b"".join([b"\0" + row.tobytes() for row in image])

    def part(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = part(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + part(b"IDAT", zlib.compress(rows)) + part(b"IEND", b"")


def test_numbers_are_typed_and_results_shown(opened):
    page = opened(stagec.export(lambda x, n: (x * n + 0.5, n * n))("f32[]", "i32[]"))
    page.fill("#in-x", "2.25")
    page.fill("#in-n", "3")
    becomes(page, "#out-out_0", "7.25")
    becomes(page, "#out-out_1", "9")


def test_arrays_are_lists_of_numbers(opened):
    page = opened(stagec.export(lambda x: (x.sum(axis=0), x > 2))("f32[2,3]"))
    page.fill("#in-x", "1, 2, 3\n4 5e-1 -6")
    becomes(page, "#out-out_1", "0 0 1 1 0 0")
    bars = page.locator("#out-out_0 .row")
    assert [row.split() for row in bars.all_inner_texts()] == [["0", "5"], ["1", "2.5"], ["2", "-3"]]
    assert page.locator("#out-out_0 .most").inner_text().split() == ["0", "5"]


def test_what_is_no_array_is_said(opened):
    page = opened(stagec.export(lambda x, n: (x.sum(), n))("f32[3]", "u8[]"))
    for name, text, fault in [
        ("x", "1 2", "x has 2 numbers, not the 3 of shape [3]"),
        ("x", "1 2 three", "x: three is not a number"),
        ("n", "300", "n: 300 is not a number of uint8"),
        ("n", "1.5", "n: 1.5 is not a number of uint8"),
    ]:
        page.fill(f"#in-{name}", text)
        becomes(page, "#fault", fault)
        page.fill(f"#in-{name}", "1 2 3" if name == "x" else "7")
        becomes(page, "#fault", "")


def test_drawings_are_the_means_of_their_pixels(opened):
    page = opened(stagec.export(lambda x: (x.sum(axis=1), x))("f32[16,24]"))
    box = page.locator("#in-x").bounding_box()
    page.mouse.move(box["x"] + 0.1 * box["width"], box["y"] + 0.5 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.9 * box["width"], box["y"] + 0.6 * box["height"], steps=3)
    page.mouse.up()
    drawn = pixels(page, "#in-x").mean(axis=2) / 255
    scale = drawn.shape[0] // 16
    means = drawn.reshape(16, scale, 24, scale).mean(axis=(1, 3))
    page.wait_for_function("() => document.querySelector('#out-out_0 .most > :last-child').textContent > 5")
    rows = [float(row.split()[1]) for row in page.locator("#out-out_0 .row").all_inner_texts()]
    np.testing.assert_allclose(rows, means.sum(axis=1), rtol=1e-4, atol=1e-5)
    shown = pixels(page, "#out-out_1 canvas")[..., 0]
    assert abs(shown - means * 255).max() <= 1
    page.click("text=Clear")
    # The rows that a drawing leaves empty are zero before the page has run again; its longest bar is not.
    becomes(page, "#out-out_0 .most > :last-child", "0")
    assert not pixels(page, "#out-out_1 canvas").any()


def test_pictures_are_read_with_their_colors(opened):
    image = np.random.default_rng(0).integers(0, 255, (10, 12, 3), np.uint8)
    page = opened(stagec.export(lambda x: x[::-1])("u8[10,12,3]"))
    page.set_input_files("input[type=file]", {"name": "x.png", "mimeType": "image/png", "buffer": png(image)})
    # The picture is enlarged with smoothing, so only large parts keep their colors exactly.
    page.wait_for_function(
        "() => (c => c.getContext('2d').getImageData(0, 0, 12, 10).data.some((v, i) => v && i % 4 < 3))"
        "(document.querySelector('#out-out canvas'))"
    )
    found = pixels(page, "#out-out canvas")[::-1]
    assert np.corrcoef(found.ravel(), image.ravel())[0, 1] > 0.9
    page.set_input_files("input[type=file]", {"name": "y.png", "mimeType": "image/png", "buffer": b"no picture"})
    becomes(page, "#fault", "x: y.png is no picture that the browser reads")


@pytest.mark.parametrize("shape, count", [("1,28,28,1", 1), ("1,28,28", 1), ("9,8,4", 1), ("1,28", 0), ("7,8", 0)])
def test_shapes_decide_what_is_an_image(shape, count, opened):
    page = opened(stagec.export(lambda x: x.sum())(f"f32[{shape}]"))
    assert page.locator("canvas").count() == count


def test_large_integers_and_functions_with_odd_names(opened):
    def odd(n):
        return n + 1

    odd.__name__ = "</script><b>odd</b>"
    with stagec.enable_x64():
        page = opened(stagec.export(odd)("i64[]"))
    page.fill("#in-n", "9007199254740993")
    becomes(page, "#out-out", "9007199254740994")
    assert page.locator("h1").text_content() == "</script><b>odd</b>"
    assert page.locator("b").count() == 0


def test_a_function_without_arguments_is_called(opened):
    page = opened(stagec.export(lambda: snp.arange(3, dtype="int32"))())
    becomes(page, "#out-out", "0 1 2")


def test_the_command_writes_a_page_that_refuses_other_scripts(tmp_path, browser):
    (tmp_path / "model.py").write_text("def double(x):\n    return x * 2\n")
    path = tmp_path / "double.html"
    done = CliRunner().invoke(
        cli, ["compile", f"{tmp_path}/model.py:double", "f32[]", "--emit", "html", "-o", str(path)]
    )
    assert done.exit_code == 0 and done.output.startswith(f"wrote {path}: double for WebAssembly ("), done.output
    text = path.read_text()
    path.write_text(text.replace("</body>", "<script>document.title = 'changed'</script></body>"))
    page = browser.new_page()
    page.goto(path.as_uri())
    page.fill("#in-x", "21")
    becomes(page, "#out-out", "42")
    assert page.title() == "double"
    page.close()
    assert not re.search(r"https?://", text)
