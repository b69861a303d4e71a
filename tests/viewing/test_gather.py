"""What the page of `stagec view` is made of: rows and the user's lines that they come from."""

import linecache
import os
import re
import time

import pytest

import stagec
import stagec.numpy as snp
from stagec.viewing import code
from stagec.viewing.gather import gather
from stagec.viewing.page import page
from tests.platforms import first_device

SPEC = stagec.ShapeDtypeStruct
X = SPEC((64, 32), "float32")


def activation(h):
    return snp.tanh(h) * 1.0  # which a law removes


@stagec.jit
def layer(x, w):
    h = activation(x @ w)
    return snp.sort(h, axis=1)


def line_of(text):
    """This file and the number of the first line with a text."""
    lines = linecache.getlines(__file__)
    return f"{__file__}:{next(n for n, line in enumerate(lines, start=1) if text in line)}"


@pytest.fixture(scope="module")
def found():
    return gather(layer, [X, SPEC((32, 16), "float32")], {}, None)


def rows(found, pane):
    (only,) = [p["rows"] for p in found["panes"] if p["id"] == pane]
    return only


def test_there_is_a_pane_for_each_stage(found):
    ids = [pane["id"] for pane in found["panes"]]
    assert ids == ["source", "graph", "stablehlo", "optimized", "dispatches", "llvm", "assembly"]


@pytest.mark.parametrize("pane", ["graph", "stablehlo", "optimized", "dispatches", "llvm", "assembly"])
def test_each_stage_has_rows_of_the_line_of_the_sort_and_of_the_product(found, pane):
    keys = {key for _, keys in rows(found, pane) for key in keys}
    assert {line_of("return snp.sort(h, axis=1)"), line_of("h = activation(x @ w)")} <= keys


def test_rows_of_the_program_belong_to_the_operations_line(found):
    (product,) = [keys for text, keys in rows(found, "stablehlo") if "stablehlo.dot_general" in text]
    (tanh,) = [keys for text, keys in rows(found, "stablehlo") if "stablehlo.tanh" in text]
    (sort,) = [keys for text, keys in rows(found, "graph") if re.search(r"= sort\[", text)]
    assert product[0] == line_of("h = activation(x @ w)")
    assert tanh[0] == line_of("return snp.tanh(h)")
    assert sort == (line_of("return snp.sort(h, axis=1)"),)


def test_the_texts_have_no_locations_left(found):
    for pane in found["panes"]:
        assert not any("loc(" in row[0] or "#loc" in row[0] or "!dbg" in row[0] for row in pane["rows"]), pane["id"]


def test_the_source_has_the_definitions_that_hold_the_lines_with_their_numbers(found):
    shown = rows(found, "source")
    texts = [text for text, _, _ in shown]
    assert texts[0] == os.path.relpath(__file__)
    assert "def activation(h):" in texts and "@stagec.jit" in texts and "..." in texts
    assert "def line_of(text):" not in texts
    for text, keys, number in shown:
        if number != "":
            assert text == linecache.getline(__file__, number).rstrip("\n")
            assert keys == (f"{__file__}:{number}",)


def test_kernels_buffers_passes_and_times_are_there(found):
    sizes = {(b["kind"], b["name"], b["type"]): b["bytes"] for b in found["buffers"]}
    assert sizes["argument", "x", "f32[64,32]"] == 64 * 32 * 4
    assert sizes["result", "", "f32[64,16]"] == 64 * 16 * 4
    assert any(b["kind"] == "dispatch" and b["bytes"] == 64 * 16 * 4 for b in found["buffers"])
    assert sum(step["seconds"] for step in found["timeline"]) > 0
    assert {"trace", "lower", "pass simplify", "kernels", "machine code"} <= {
        step["name"] for step in found["timeline"]
    }
    assert {"simplify", "cse"} <= {p["name"] for p in found["passes"]}
    assert any(p["hits"] for p in found["passes"])


def test_kernels_have_times_if_the_program_ran():
    x, w = snp.ones((64, 32)), snp.ones((32, 16))
    with stagec.profile() as ran:
        layer(x, w)
    kernels = gather(layer, [x, w], {}, lambda: ran)["kernels"]
    assert kernels and all(k["seconds"] > 0 for k in kernels)
    assert line_of("return snp.sort(h, axis=1)") in {k["line"] for k in kernels}


def test_a_vulkan_program_has_its_kernels_in_spirv():
    first_device("vulkan")
    made = stagec.jit(lambda x: snp.tanh(x) + 1, target="vulkan")
    found = gather(made, [SPEC((8, 8), "float32")], {}, None)
    assert "assembly" in [p["id"] for p in found["panes"]]
    assert any("OpEntryPoint" in row[0] or "spirv.func" in row[0] for row in rows(found, "assembly"))


def test_llvms_rows_have_the_lines_of_their_debug_locations():
    text = "\n".join(
        [
            "define i32 @kernel(ptr %0) !dbg !3 {",
            "  %1 = load float, ptr %0, !dbg !5",
            "  ret i32 0",
            "}",
            "declare void @f()",
            '!1 = !DIFile(filename: "model.py", directory: "/src")',
            '!3 = distinct !DISubprogram(name: "kernel", scope: !1, file: !1, line: 1)',
            "!4 = !DILexicalBlockFile(scope: !3, file: !1, discriminator: 0)",
            "!5 = !DILocation(line: 7, column: 2, scope: !4)",
        ]
    )
    found = code.of_llvm(text, {"kernel": ["/src/model.py:9"]})
    assert found == [
        ("define i32 @kernel(ptr %0) {", ("/src/model.py:9",)),
        ("  %1 = load float, ptr %0", ("/src/model.py:7",)),
        ("  ret i32 0", ("/src/model.py:9",)),
        ("}", ("/src/model.py:9",)),
        ("declare void @f()", ()),
    ]


def test_assemblys_rows_have_the_lines_of_its_directives():
    text = "\n".join(
        [
            "main:",
            '\t.file\t1 "/src" "model.py"',
            "kernel:",
            "\tpush\trbp",
            "\t.loc\t1 7 0 prologue_end",
            "\tret",
            "\t.loc\t1 0 0 is_stmt 0",
            "\tnop",
            "\t.size\tkernel, 3",
            "other:",
            "\tret",
        ]
    )
    found = code.of_assembly(text, {"kernel": ["/src/model.py:9"]})
    assert [keys for _, keys in found] == [
        (),
        *[("/src/model.py:9",)] * 2,
        ("/src/model.py:7",),
        *[("/src/model.py:9",)] * 2,
        (),
        (),
    ]
    assert found[2][0] == "        push    rbp"


def test_the_first_step_is_the_time_of_the_trace():
    def slow(x):
        time.sleep(0.05)
        return x + 1

    steps = gather(stagec.jit(slow), [X], {}, None)["timeline"]
    assert steps[0]["name"] == "trace" and steps[0]["seconds"] >= 0.05


def test_the_page_holds_texts_as_data_only():
    row = ["</script><script>alert(1)</script><!--", ["a.py:1"]]
    text = page({"title": "<img src=x>", "panes": [{"id": "graph", "title": "Graph", "rows": [row]}]})
    assert "<img" not in text and text.count("<script") == 2 and text.count("</script>") == 2
    assert "http://" not in text and "https://" not in text
    assert "default-src 'none'" in text and "unsafe" not in text


@pytest.mark.parametrize("begin", [".visible .entry kernel(", '    spirv.func @kernel() "None" {'])
def test_kernels_for_gpus_belong_to_the_lines_of_their_dispatches(begin):
    found = code.of_assembly(f"// made by a compiler\n{begin}\n\tret;", {"kernel": ["/src/model.py:9"]})
    assert [keys for _, keys in found] == [(), ("/src/model.py:9",), ("/src/model.py:9",)]


def centered(x):
    total = x.sum()
    return snp.sort(x - total, axis=0).cumsum(axis=1)


def test_the_plan_has_products_too(found):
    (product,) = [row for row in found["plan"] if row["text"].startswith("product 64x16x32, tiled: a kernel of ")]
    assert product["line"] == line_of("h = activation(x @ w)")


def test_the_plan_says_why_kernels_are_not_one():
    found = gather(stagec.jit(centered), [SPEC((512, 256), "float32")], {}, None)["plan"]
    lines = {row["text"]: row["line"] for row in found}
    total = line_of("total = x.sum()")
    combined = [text for text in lines if "(it combines the partial results of all workgroups)" in text]
    assert [lines[text] for text in combined] == [total]
    apart = [text for text in lines if text.startswith("elements: not in the kernel (test_gather.py:")]
    assert apart and all(lines[text] == line_of("return snp.sort(x - total") for text in apart)
    assert any("elements: a kernel of" in text for text in lines)


def test_the_laws_that_rewrote_an_operation_are_known_by_its_line():
    found = gather(stagec.jit(centered), [SPEC((4, 8), "float32")], {}, None)["laws"]
    stagec.clear_caches()
    halved = gather(stagec.jit(lambda x: x / 4.0), [SPEC((4,), "float32")], {}, None)["laws"]
    (row,) = [row for row in halved if row["law"] == "divide_by_power_of_two"]
    assert row["keys"] == [line_of("lambda x: x / 4.0")] and row["pass"] == "simplify"
    assert row["known"] == "proven for all sizes (rank <= 4)"
    assert (row["before"], row["after"]) == ("divide 4xf32", "constant 4xf32, multiply 4xf32")
    assert all(row["law"] != "divide_by_power_of_two" for row in found)
