"""The pictures of the explanations. Texts of stages, extents of tiles and bytes of scratch are the code's own."""

from __future__ import annotations

import re
from typing import Any

import stagec
import stagec.numpy as snp
from passes.kernels.processor import Processor
from passes.kernels.products.shapes import Matrix, Product
from passes.kernels.products.tiles import tiling
from stagec import lax
from tests.pictures.svg import Picture

TARGET = "cpu:x86-64-v3"
AVX2 = Processor.of("x86_64", frozenset({"avx2", "fma"}))


def line(x: Any) -> Any:
    """The function whose stages are shown; multiplying by one is what a law removes."""
    return 1.0 * snp.sqrt(x) + x


def stages() -> Picture:
    """What one line becomes, from stage to stage."""
    lowered = stagec.jit(line, target=TARGET).lower(stagec.ShapeDtypeStruct((1000,), "float32"))

    def kept(stage: str, pattern: str) -> list[str]:
        found = [text.strip() for text in lowered.as_text(stage).splitlines() if re.search(pattern, text)]
        return [re.sub(r"\s+", " ", re.sub(r" : (memref|tensor).*| attributes.*|#.*", "", text)) for text in found]

    shown = [
        ("your function", "Python", ["def line(x):", "    return 1.0 * snp.sqrt(x) + x"]),
        ("graph", "tracing: operations on shapes and dtypes", kept("graph", " = ")),
        ("stablehlo", "lowering: the same for every target", kept("stablehlo", "stablehlo")),
        ("optimized", "passes: 1.0 * x is x", kept("optimized", "stablehlo")),
        (
            "kernels",
            "one loop over vectors of 8",
            kept("kernels", r"scf\.for|= vector|math\.|arith\.add|vector\.st"),
        ),
        ("asm", "machine code, by LLVM: the loop", _loop(lowered.as_text("asm"))),
    ]
    picture, y = Picture("What one line of Python becomes, from stage to stage"), 8.0
    for i, (name, what, lines) in enumerate(shown):
        height = 16 * len(lines) + 18
        if i:
            picture.arrow((100, y - 18), (100, y))
        picture.text(8, y + 20, name, "strong")
        for k, part in enumerate(what.split(": ") if ": " in what else [what]):
            picture.text(8, y + 36 + 16 * k, part, "dim")
        picture.box(225, y, 485, height)
        picture.lines(237, y + 20, lines)
        y += max(height, 60) + 22
    return picture


def _loop(assembly: str) -> list[str]:
    """The instructions of the only loop."""
    body = re.search(r"^(\.\w+):\n((?:\t[a-z].*\n)+?\tj\w+\t\1\n)", assembly, re.MULTILINE)
    assert body is not None, assembly
    return [re.sub(r"\s+", " ", text.strip()) for text in body[2].splitlines()]


def loop() -> Picture:
    """Two loops over an array that is updated in place: with a hazard, and without one."""

    def behind(x: Any) -> Any:
        return lax.fori_loop(0, 3, lambda i, x: x.at[1:].set(x[:-1] * 0.5), x)

    def ahead(x: Any) -> Any:
        return lax.fori_loop(0, 3, lambda i, x: x.at[:-1].set(x[1:] * 0.5), x)

    picture, cell, left = Picture("How a loop updates an array in place, with and without scratch memory"), 43, 260
    for title, function, source, offset, y in (
        ("x.at[1:].set(x[:-1] * 0.5)", behind, 0, 1, 8),
        ("x.at[:-1].set(x[1:] * 0.5)", ahead, 1, 0, 230),
    ):
        text = stagec.jit(function, target=TARGET).lower(snp.ones(9)).as_text("kernels")
        scratch = int(re.search(r"(\d+) bytes of scratch", text)[1])  # type: ignore[index]
        picture.text(8, y + 16, title, "code")
        picture.text(8, y + 36, f"{scratch} bytes of scratch", "strong")
        whys = ["x[1] is written before it is read,", "so what is read goes to scratch first."]
        others = ["Each element is read before it is", "written: no memory in between."]
        for k, why in enumerate(whys if scratch else others):
            picture.text(8, y + 54 + 15 * k, why, "dim")
        rows = [("x", 9, 0), ("scratch", scratch // 4, source), ("x", 9, 0)] if scratch else [("x", 9, 0), ("x", 9, 0)]
        for row, (name, count, first) in enumerate(rows):
            top = y + 66 * row
            picture.text(left + 9 * cell + 8, top + 20, name, "code")
            for i in range(first, first + count):
                read = row == 0 and source <= i < source + 8
                written = row == len(rows) - 1 and offset <= i < offset + 8
                picture.box(left + i * cell, top, cell, 30, "one" if read else "two" if written or row > 0 else "box")
                picture.text(left + (i + 0.5) * cell, top + 20, str(i), "code", "middle")
        for step in range(len(rows) - 1):
            ends = (source, source) if scratch and step == 0 else (source, offset)
            for i in range(8):
                start, end = (left + (end + i + 0.5) * cell for end in ends)
                picture.arrow((start, y + 66 * step + 30), (end, y + 66 * step + 66))
    y = 350
    for title, why, kind, parts in (
        ("kernels of the body", "the host calls them in each round", "box", [f"round {i}" for i in range(3)]),
        ("one kernel of the loop", "the host calls it once", "one", ["3 rounds"]),
    ):
        picture.text(8, y + 14, title, "strong")
        picture.text(8, y + 30, why, "dim")
        for k, part in enumerate(parts):
            width = 9 * cell / len(parts)
            picture.box(left + k * width, y, width - 6 * (len(parts) > 1), 30, kind)
            picture.text(left + (k + 0.5) * width - 3, y + 20, part, "", "middle")
        y += 52
    return picture


def tiles() -> Picture:
    """A product of 40 x 30 by 30 x 50, with the register tiles that AVX2 gets, to scale."""
    m, k, n, unit = 40, 30, 50, 5
    how = tiling(Product(m, n, k, (), Matrix("f32", m * k, k, 1), Matrix("f32", k * n, n, 1), "f32", "f32"), AVX2)
    assert how is not None and how.form == "tiled", how
    rows, vectors, width = how.rows, how.vectors, how.width
    picture = Picture("A product of matrices, cut into register tiles")
    left, top = 8 + k * unit + 30, 28 + k * unit + 30
    picture.text(left, 20, f"right operand, {k} x {n}")
    picture.box(left, 28, n * unit, k * unit)
    picture.text(8, top - 8, f"left operand, {m} x {k}")
    picture.box(8, top, k * unit, m * unit)
    for i in range(0, m, rows):
        for j in range(0, n, width):
            size = min(width, n - j) * unit, min(rows, m - i) * unit
            picture.box(left + j * unit, top + i * unit, *size, "one" if (i, j) == (0, 0) else "box")
    picture.box(8, top, k * unit, rows * unit, "two")
    picture.box(left, 28, width * unit, k * unit, "two")
    picture.text(left, top + m * unit + 18, f"result, {m} x {n}, in tiles of {rows} x {width}")
    sums, over = rows * vectors, []
    if m % rows:
        over.append(f"{m % rows} rows: a tile of their own")
    if n % width:
        over.append(f"{n % width} columns: masked")
    tile = [f"{rows} rows by {vectors} vectors of {how.lanes} numbers:", f"{sums} sums, in {AVX2.registers} registers"]
    term = [f"{vectors} vectors of a row on the right,", f"{rows} numbers of a column on the left,"]
    picture.text(x := left + n * unit + 24, 40, "a tile of the result", "strong")
    picture.lines(x, 58, tile, "")
    picture.text(x, 112, "each term of the sum", "strong")
    picture.lines(x, 130, [*term, f"{sums} multiply-adds of vectors"], "")
    picture.text(x, 200, "what is left over", "strong")
    picture.lines(x, 218, over or ["nothing"], "")
    return picture


def call() -> Picture:
    """The way of a call: what is remembered, and what is done where nothing is."""
    picture = Picture("How a call of a jitted function runs")
    steps = [
        ("f(x)", "arrays, numbers, pytrees", ""),
        ("fast path", "is this signature remembered?", "yes"),
        ("trace", "does the function have this trace?", ""),
        ("in memory", "has this process the program?", "yes"),
        ("on disk", "has the cache the program?", "yes: loaded"),
        ("compile", "StableHLO, passes, kernels, LLVM", "stored on disk"),
    ]
    for i, (name, what, answer) in enumerate(steps):
        y = 8 + 74 * i
        picture.box(8, y, 270, 46, "one" if i in (0, 5) else "box")
        picture.text(20, y + 19, name, "strong")
        picture.text(20, y + 36, what, "dim")
        if i:
            picture.arrow((143, y - 28), (143, y))
        if i > 1:
            picture.text(151, y - 10, "if not, run the function on tracers" if i == 3 else "no", "dim")
        if answer:
            picture.arrow((278, y + 23), (430, y + 23))
            picture.text(286, y + 17, answer, "dim")
    picture.line((430, 105), (430, 401))
    picture.arrow((430, 253), (470, 253))
    picture.box(470, 190, 242, 118, "two")
    picture.text(482, 212, "run", "strong")
    words = ["the program gets the arguments'", "buffers, on this thread if it is quick,", "else on a helper thread"]
    picture.lines(482, 230, [*words, "results are arrays of its memory"], "")
    picture.arrow((590, 190), (590, 31), (278, 31))
    picture.text(400, 24, "the signature is remembered", "dim")
    return picture


DRAWN = {"stages": stages, "loop": loop, "tiles": tiles, "call": call}
