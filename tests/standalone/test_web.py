"""WebAssembly modules in Node have the bits of functions that are jitted for x86-64-v2, whose vectors are as wide."""

import json
import shutil
import subprocess

import numpy as np
import pytest
from c_libraries import avals
from test_c_libraries import DOUBLES, OF_THE_HOST, PROGRAMS, assert_same_bits, doubles, of_the_host
from test_c_rows import PROGRAMS as ROWS, given

import stagec
from passes.kernels import cost
from passes.kernels.elements import RefusedError
from stagec.standalone import web

TARGET = "cpu:x86-64-v2"
pytestmark = pytest.mark.skipif(not shutil.which("node"), reason="there is no node here")

# Reads the arguments from a file, calls the function twice, and writes the results to another one.
_MAIN = """
import { readFileSync, writeFileSync } from "node:fs";
import { inputs, load, outputs } from "./f.js";

const call = await load(undefined, undefined, ...THREADS);
const data = readFileSync("given");
let at = data.byteOffset;
const given = inputs.map(({ array, length }) => {
  const bytes = (length.call ? length(SIZES) : length) * array.BYTES_PER_ELEMENT;
  at += bytes;
  return new array(data.buffer.slice(at - bytes, at));
});
if (IS_NAMED) given.unshift(SIZES);
call(...given);
const made = call(...given);
const all = outputs.length === 1 ? [made] : outputs.map(({ name }) => made[name]);
writeFileSync("made", Buffer.concat(all.map((one) => Buffer.from(one.buffer))));
"""


def ran(folder, exported, arguments, is_named=False, threads=0, **sizes):
    """The results of a module in Node, for open sizes by their names, which a call may have to be given."""
    exported.to_wasm(folder, name="f", threads=threads > 0)
    fields = {"SIZES": sizes, "IS_NAMED": is_named, "THREADS": [threads] if threads else []}
    text = _MAIN
    for name, value in fields.items():
        text = text.replace(name, json.dumps(value))
    (folder / "main.mjs").write_text(text)
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "given").write_bytes(b"".join([np.asarray(leaf).tobytes() for leaf in stagec.tree.leaves(arguments)]))
    subprocess.run(["node", "main.mjs"], cwd=folder, check=True, timeout=60)
    data, found = (folder / "made").read_bytes(), []
    for aval in avals(exported, sizes.values())[1]:
        found.append(np.frombuffer(data[: aval.nbytes], aval.dtype).reshape(aval.shape))
        data = data[aval.nbytes :]
    assert data == b""
    return found


@pytest.mark.parametrize("name", sorted(PROGRAMS.keys() - {"remainders"}))
def test_results_have_the_bits_of_the_jitted_function(name, tmp_path):
    function, *arguments = PROGRAMS[name]
    found = ran(tmp_path, stagec.export(function, TARGET)(*arguments), arguments)
    assert_same_bits(found, stagec.jit(function, target=TARGET)(*arguments))


def test_64_bits_are_kept(tmp_path):
    with stagec.enable_x64():
        exported = stagec.export(doubles, TARGET)(*DOUBLES)
        expected = stagec.jit(doubles, target=TARGET)(*DOUBLES)
    for a, b in zip(ran(tmp_path, exported, DOUBLES), expected, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, np.asarray(b), rtol=1e-13)


def test_so_have_loops_of_the_host(tmp_path, monkeypatch):
    def refuse(*_):
        raise RefusedError("several cores share each round")

    monkeypatch.setattr(cost, "check_round", refuse)
    with stagec.config.override(enable_cache=False):
        found = ran(tmp_path, stagec.export(of_the_host, TARGET)(*OF_THE_HOST), OF_THE_HOST)
        assert_same_bits(found, stagec.jit(of_the_host, target=TARGET)(*OF_THE_HOST))


def test_the_stack_has_room_for_what_kernels_spill(tmp_path):
    def draws(x):
        return stagec.random.gamma(stagec.random.key(0), x)

    x = np.linspace(0.5, 3, 64, dtype=np.float32).reshape(8, 8)
    found = ran(tmp_path, stagec.export(draws, TARGET)(x), [x])
    assert_same_bits(found, stagec.jit(draws, target=TARGET)(x))


def test_a_file_is_loaded_without_what_fetches(tmp_path):
    stagec.export(lambda x: x * 2)("f32[4]").to_wasm(tmp_path, name="f")
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "main.mjs").write_text(
        'import { load } from "./f.js";\nconst call = await load();\n'
        "console.log(call(new Float32Array(4)).length, process.moduleLoadList.filter((name) => /undici/.test(name)));\n"
    )
    done = subprocess.run(["node", "main.mjs"], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert done.stdout == "4 []\n"


def test_arguments_that_do_not_fit_are_refused(tmp_path):
    stagec.export(lambda x, y: x + y)("f32[2,3]", "f32[]").to_wasm(tmp_path, name="f")
    calls = ["new Float32Array(6)", "[1, 2], new Float32Array(1)", "new Float32Array(5), new Float32Array(1)"]
    assert tried(tmp_path, calls) == [
        "TypeError: f takes 2 arrays, not 1",
        "TypeError: x is a Float32Array, not Array",
        "RangeError: x has 5 elements, not the 6 of shape [2,3]",
    ]


def tried(folder, calls):
    """The errors of calls with these arguments."""
    (folder / "package.json").write_text('{"type": "module"}')
    tries = "\n".join(f"try {{ call({given}); }} catch (error) {{ said.push(`${{error}}`); }}" for given in calls)
    (folder / "main.mjs").write_text(
        f'import {{ load }} from "./f.js";\nconst call = await load(), said = [];\n{tries}\n'
        "console.log(JSON.stringify(said));\n"
    )
    done = subprocess.run(["node", "main.mjs"], cwd=folder, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", ["network", "several", "narrow", "lookups"])
def test_any_number_of_rows_is_computed(name, tmp_path):
    function, *descriptions = ROWS[name]
    exported = stagec.export(function, TARGET)(*descriptions)
    jitted = stagec.jit(function, target=TARGET)
    for rows in (1, 75, 700):
        arguments = given(descriptions, rows)
        found = ran(tmp_path, exported, arguments, b=rows)
        for a, b in zip(found, stagec.tree.leaves(jitted(*arguments)), strict=True):
            np.testing.assert_allclose(a, np.asarray(b), rtol=2e-5, atol=1e-6)


def test_arrays_of_other_numbers_of_rows_are_refused(tmp_path):
    x = stagec.ShapeDtypeStruct(("b <= 9", 3), "float32")
    stagec.export(lambda x, y: x.sum(1) + y)(x, stagec.ShapeDtypeStruct(("b",), "float32")).to_wasm(tmp_path, name="f")
    sizes = [(5, 1), (6, 1), (0, 0), (30, 10)]
    assert tried(tmp_path, [f"new Float32Array({a}), new Float32Array({b})" for a, b in sizes]) == [
        "RangeError: x has 5 elements, not the 3 of shape [b,3] for 1 rows",
        "RangeError: y has 1 elements, not the 2 of shape [b] for 2 rows",
        "RangeError: f takes 1 to 9 rows, not 0",
        "RangeError: f takes 1 to 9 rows, not 10",
    ]
    types = (tmp_path / "f.d.ts").read_text()
    assert (
        "x: float32[b, 3]" in types and "export type Call = (x: Float32Array, y: Float32Array) => Float32Array" in types
    )


def test_the_types_name_the_arrays(tmp_path):
    stagec.export(lambda x, new: (x + 1, new), "cpu")("f32[2]", "i32[]").to_wasm(tmp_path, name="f")
    types = (tmp_path / "f.d.ts").read_text()
    assert (
        "export type Call = (x: Float32Array, new_: Int32Array) => { out_0: Float32Array; out_1: Int32Array };" in types
    )


def test_without_a_linker_it_is_asked_for(tmp_path, monkeypatch):
    exported = stagec.export(lambda x: x * 2)("f32[8]")
    monkeypatch.setattr(web, "linker_path", lambda: "")
    with pytest.raises(stagec.errors.UnsupportedError, match="Fix: install iree-base-compiler again"):
        exported.to_wasm(tmp_path)
