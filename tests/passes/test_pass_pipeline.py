# ruff: noqa: E501 (MLIR text)
"""Patterns, passes, pipelines, builders and the command line."""

import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest
from pass_helpers import op_names, parse, same_bits

import passes
from passes import (
    InvalidModuleError,
    Pass,
    PassError,
    PatternError,
    PipelineError,
    bindings,
    build,
    match,
    operations as table,
    pipeline,
    printed,
)
from passes.__main__ import main
from passes.numeric.interpreter import interpret

TEXT = """func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<-0.0> : tensor<4xf32>
  %0 = stablehlo.add %a, %c : tensor<4xf32> loc("user.py":12:5)
  %1 = stablehlo.log %0 : tensor<4xf32> loc("user.py":13:7)
  return %1 : tensor<4xf32>
}"""


@passes.pattern("stablehlo.log")
def log_as_two_ops(op):
    """log(x) -> -(-log1p(x - 1)), to have something that builds ops."""
    one = build.full(1, op.operand)
    return build.op("stablehlo.log_plus_one", [build.op("stablehlo.subtract", [op.operand, one])])


def test_importing_passes_does_not_load_the_compiler():
    code = (
        "import sys, passes, passes.patterns, passes.pipeline, passes.match, passes.build, passes.bindings\n"
        "import passes.numeric.interpreter, passes.simplify, passes.fusion, passes.analysis.aliases\n"
        "assert 'iree.compiler' not in sys.modules, 'loaded'"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_new_ops_take_the_location_of_the_op_they_replace():
    module = parse(TEXT)
    hits = passes.apply(module, [log_as_two_ops])
    assert hits == {"log_as_two_ops": 1}
    block = module.body.operations[0].operation.regions[0].blocks[0]
    places = {op.operation.name: str(op.operation.location) for op in block.operations}
    assert '"user.py":13:7' in places["stablehlo.subtract"]
    assert '"user.py":13:7' in places["stablehlo.log_plus_one"]


def test_pattern_that_raises_is_named_with_the_users_line():
    @passes.pattern("stablehlo.log")
    def broken(op):
        return 1 / 0

    with pytest.raises(
        PatternError, match=r"pattern broken raised ZeroDivisionError: division by zero\n  user.py:13:7"
    ):
        passes.apply(parse(TEXT), [broken])


def test_replacement_of_another_type_is_refused():
    @passes.pattern("stablehlo.log")
    def reshaped(op):
        return build.reshape(op.operand, (2, 2))

    with pytest.raises(PatternError) as caught:
        passes.apply(parse(TEXT), [reshaped])
    assert "expected  tensor<4xf32>" in str(caught.value)
    assert "returned  tensor<2x2xf32>" in str(caught.value)


def test_replacing_an_op_by_itself_is_refused():
    @passes.pattern("stablehlo.log")
    def itself(op):
        return op

    with pytest.raises(PatternError, match="its own result"):
        passes.apply(parse(TEXT), [itself])


def test_pattern_without_a_full_op_name_is_refused():
    with pytest.raises(PatternError, match=r"there is no op log\n  .*py:\d+\n  Fix: did you mean 'stablehlo.log'"):
        passes.pattern("log")


def make_pattern(number):
    @passes.pattern("stablehlo.log")
    def with_number(op):
        return build.full(number, op.operand)

    return with_number


def test_fingerprint_follows_closure_values_and_source():
    assert make_pattern(1).fingerprint() == make_pattern(1).fingerprint()
    assert make_pattern(1).fingerprint() != make_pattern(2).fingerprint()
    assert log_as_two_ops.fingerprint() != make_pattern(1).fingerprint()
    assert passes.fingerprint([]) == ""
    assert passes.fingerprint([log_as_two_ops]) != passes.fingerprint([make_pattern(1)])


def test_fingerprint_is_the_same_in_another_process(tmp_path):
    file = tmp_path / "laws.py"
    file.write_text(
        "import passes\nfrom passes import build\nK = {'a': 1}\n"
        "def helper(x): return x + K['a']\n"
        "@passes.pattern('stablehlo.log')\n"
        "def law(op):\n    return build.full(helper(1), op.operand)\n"
        "print(law.fingerprint())\n"
    )
    runs = {
        subprocess.run([sys.executable, str(file)], check=True, capture_output=True, text=True,
                       env={"PYTHONPATH": ".", "PYTHONHASHSEED": seed}).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(runs) == 1
    file.write_text(file.read_text().replace("x + K", "x - K"))
    changed = subprocess.run([sys.executable, str(file)], check=True, capture_output=True, text=True,
                             env={"PYTHONPATH": "."}).stdout  # fmt: skip
    assert changed not in runs


def test_report_names_laws_times_and_op_counts():
    module = parse(TEXT)
    report = passes.run(module, "simplify")
    assert report.hits == {"add_identity": 1}
    assert (report.records[0].ops_before, report.records[0].ops_after) == (5, 3)
    assert "add_identity" in str(report) and report.seconds > 0


def test_extra_passes_run_first_and_in_order():
    seen = []
    module = parse(TEXT)

    def look(module):
        seen.append(("function", op_names(module)))

    extra = [look, log_as_two_ops, Pass("named", lambda m, o: seen.append(("pass", o.laws)))]
    passes.run(module, "simplify", extra=extra, on_pass=lambda name, m: seen.append(name))
    assert seen == [
        ("function", ["constant", "add", "log"]),
        "look",
        "log_as_two_ops",
        ("pass", "cpu"),
        "named",
        "simplify",
    ]


def test_pass_that_breaks_the_module_is_named():
    def breaks(module):
        block = module.body.operations[0].operation.regions[0].blocks[0]
        list(block.operations)[-1].operation.erase()

    with pytest.raises(InvalidModuleError, match="pass breaks left a module that does not verify"):
        passes.run(parse(TEXT), "none", extra=[breaks])


def test_pass_that_raises_is_named():
    def fails(module):
        raise KeyError("x")

    with pytest.raises(PassError, match="pass fails raised KeyError"):
        passes.run(parse(TEXT), "none", extra=[fails])


def test_unknown_pass_suggests_the_nearest_name():
    with pytest.raises(PipelineError, match="did you mean 'simplify'"):
        passes.run(parse(TEXT), "simplfy")


def test_something_that_is_no_pass_is_refused():
    with pytest.raises(PipelineError, match="3 is not a pass"):
        passes.run(parse(TEXT), "none", extra=[3])


DTYPES = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32",
          "float64", "bfloat16", "int4", "uint4", "float8_e4m3fn", "float8_e5m2", "complex64", "complex128"]  # fmt: skip


@pytest.mark.parametrize("name", DTYPES)
def test_constants_of_every_dtype_come_back_bit_for_bit(name):
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    ir = bindings.ir
    with bindings.new_context(), ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            for values in ([1, 1, 1], [1], [], [[1, 1], [1, 1]]):
                array = np.array(values).astype(dtype)
                found = match.constant_of(build.constant(array))
                assert (found.dtype, found.shape, found.tobytes()) == (dtype, array.shape, array.tobytes())
            many = (np.arange(300) % 2).astype(dtype)
            if dtype != np.complex128:
                assert match.constant_of(build.constant(many)).tobytes() == many.tobytes()
            else:
                assert match.producer(build.constant(many), "stablehlo.complex") is not None
            filled = build.full(1, build.tensor_type((2, 3), dtype))
            assert match.is_splat(filled, 1) and not match.is_splat(filled, 0)
            assert match.dtype_of(filled) == dtype
        assert module.operation.verify()


@pytest.mark.parametrize("name", ["float16", "float32", "float64", "bfloat16", "complex64"])
def test_special_values_survive_in_constants(name):
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    array = np.array([np.nan, np.inf, -np.inf, -0.0, 1e-7, 1 / 3]).astype(dtype)
    ir = bindings.ir
    with bindings.new_context(), ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            assert match.constant_of(build.constant(array)).tobytes() == array.tobytes()
            zero = build.full(-0.0, build.tensor_type((3,), dtype))
            assert match.is_splat(zero, -0.0) and not match.is_splat(zero, 0.0)


def test_an_op_without_a_location_is_refused():
    with bindings.new_context(), pytest.raises((ValueError, RuntimeError), match=r"[Ll]oc"):
        build.constant(np.zeros(3, np.float32))


def test_command_line_rewrites_a_file(tmp_path, capsys):
    file, out = tmp_path / "in.mlir", tmp_path / "out.mlir"
    file.write_text(TEXT)
    assert main([str(file), "--pipeline=simplify", "--report", "-o", str(out)]) == 0
    assert "add_identity" in capsys.readouterr().err
    x = np.array([1, 2, 3, 4], np.float32)
    assert interpret(TEXT, x)[0].tolist() == interpret(out.read_text(), x)[0].tolist()
    assert "stablehlo.add" not in out.read_text()


@pytest.mark.parametrize(
    ("arguments", "code", "expected"),
    [
        (["missing.mlir"], 2, "missing.mlir: No such file"),
        ([], 2, "no input file"),
        (["{bad}", "--pipeline=simplify"], 1, "does not parse"),
        (["{bad}", "--pipeline=nope"], 2, "there is no pass named 'nope'"),
        (["{binary}"], 1, "neither MLIR text nor bytecode"),
    ],
)
def test_command_line_error_is_one_message(arguments, code, expected, tmp_path, capsys):
    (tmp_path / "bad.mlir").write_text("func.func @main() { %0 = stablehlo.foo }")
    (tmp_path / "binary.mlir").write_bytes(b"\xff\xfe\x00")
    arguments = [a.format(bad=tmp_path / "bad.mlir", binary=tmp_path / "binary.mlir") for a in arguments]
    assert main(arguments) == code
    error = capsys.readouterr().err
    assert error.startswith("error: ") and expected in error and "Traceback" not in error


@pytest.mark.parametrize(("name", "close"), [("stablehlo.ad", "stablehlo.add"), ("chlo.nextafter", "chlo.next_after")])
def test_a_pattern_for_an_op_that_does_not_exist_is_refused(name, close):
    with pytest.raises(PatternError) as caught:
        passes.pattern(name)
    text = str(caught.value)
    assert f"there is no op {name}" in text and close in text and "test_pass_pipeline.py" in text


def test_every_op_that_the_compiler_registers_can_be_named_in_a_pattern():
    context = bindings.new_context()
    for dialect, count in (("stablehlo", 110), ("chlo", 40)):
        named = table.names(dialect)
        assert len([name for name in named if context.is_registered_operation(name)]) >= count


def test_ops_of_other_dialects_are_not_checked():
    assert passes.pattern("func.call")(lambda op: None).ops == ("func.call",)


def test_unknown_laws_are_refused_with_the_list(capsys):
    with pytest.raises(PipelineError, match=r"no laws named 'nope'\n  Fix: choose from cpu, spirv, gpu"):
        passes.PassOptions(laws="nope")
    assert main(["--laws", "nope", "whatever.mlir"]) == 2
    assert "choose from cpu, spirv, gpu" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "fix"),
    [
        ("stablehlo.cosin", "did you mean 'stablehlo.cosine'"),
        ("cosine", "did you mean 'stablehlo.cosine'?"),
        ("nowhere.cosine", "did you mean 'stablehlo.cosine'?"),
        ("stablehlo.zzzzzzzz", "passes.operations.TABLE lists them"),
    ],
)
def test_building_an_op_that_does_not_exist_is_an_error_with_names_near_it(name, fix):
    @passes.pattern("stablehlo.log")
    def log_is_wrong(op):
        return build.op(name, [op.operand], op.result.type)

    with pytest.raises(passes.UnknownOpError) as caught:
        passes.apply(parse(TEXT), [log_is_wrong])
    headline, place, hint = str(caught.value).splitlines()
    assert headline == f"build.op: there is no op {name}"
    assert place.startswith("  test_pass_pipeline.py:")
    assert hint.startswith(f"  Fix: {fix}")


def test_ops_of_every_registered_dialect_can_be_built():
    with bindings.new_context(), bindings.ir.Location.unknown():
        module = bindings.ir.Module.create()
        with bindings.ir.InsertionPoint(module.body):
            made = build.op("arith.constant", [], bindings.ir.F32Type.get(), attributes={"value": "1.0 : f32"})
        assert str(made.type) == "f32"


def test_a_pattern_that_never_ends_is_named():
    @passes.pattern("stablehlo.log")
    def log_again(op):
        return build.op("stablehlo.log", [op.operand], op.result.type)

    @passes.pattern("stablehlo.log")
    def never_fires(op):
        return None

    with pytest.raises(PatternError) as caught:
        passes.apply(parse(TEXT), [never_fires, log_again])
    text = str(caught.value)
    assert text.startswith("pattern log_again does not terminate")
    assert f"test_pass_pipeline.py:{log_again.fn.__code__.co_firstlineno}" in text
    assert "never_fires" not in text and "traceback" not in text
    assert "Fix: return None for an op that already has the wanted form" in text

    # As the message advises: the pattern leaves what it built itself.
    @passes.pattern("stablehlo.log")
    def log_once(op):
        return (
            None
            if "done" in op.operation.attributes
            else build.op("stablehlo.log", [op.operand], op.result.type, attributes={"done": "unit"})
        )

    assert passes.apply(parse(TEXT), [log_once]) == {"log_once": 1}


@passes.pattern("stablehlo.log", exact=False)
def log_is_negate(op):
    """log(x) -> -x. Differs."""
    return build.op("stablehlo.negate", [op.operand])


def test_a_pass_applies_a_law_that_is_not_exact_under_fast_math_only():
    step = pipeline.pattern_pass("wrong", (log_is_negate,))
    for fast_math in (False, True):
        module = parse(TEXT)
        step.run(module, passes.PassOptions(fast_math=fast_math))
        assert ("negate" in op_names(module)) is fast_math


def test_a_law_that_a_user_passes_runs_in_either_case():
    module = parse(TEXT)
    passes.run(module, "none", extra=[log_is_negate])
    assert "negate" in op_names(module)


def test_only_laws_of_fast_math_are_not_exact():
    for name in pipeline.pass_names():
        pipeline.parse(name)  # imports the modules of its laws
    modules = [m for name, m in sys.modules.items() if name.startswith("passes.")]
    values = [v for m in modules for v in vars(m).values()]
    laws = [
        law for v in values for law in (v if isinstance(v, (list, tuple)) else [v]) if isinstance(law, passes.Pattern)
    ]
    assert len({law.name for law in laws}) > 100
    assert {law.fn.__module__ for law in laws if not law.exact and law is not log_is_negate} == {
        "passes.simplify.fast_math",
        # Laws that are exact for some operands.
        "passes.simplify.bilinear",
        "passes.simplify.reductions",
        "passes.simplify.sparse_products",
        "passes.simplify.independent",
        "passes.simplify.recurrences",
        "passes.simplify.monotone",
        "passes.simplify.arms",
        "passes.simplify.windows",
    }


CALLS = """
func.func @main(%x: tensor<3xf32>, %n: tensor<i32>) -> tensor<3xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %a = %x) : tensor<i32>, tensor<3xf32>
    cond {
      %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %j = stablehlo.add %i, %one : tensor<i32>
      %b = func.call @twice(%a) : (tensor<3xf32>) -> tensor<3xf32>
      stablehlo.return %j, %b : tensor<i32>, tensor<3xf32>
    }
  %s = func.call @public(%r#1) : (tensor<3xf32>) -> tensor<3xf32>
  return %s : tensor<3xf32>
}
func.func private @twice(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = func.call @once(%x) : (tensor<3xf32>) -> tensor<3xf32>
  %1 = func.call @once(%0) : (tensor<3xf32>) -> tensor<3xf32>
  return %1 : tensor<3xf32>
}
func.func private @once(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.sine %x : tensor<3xf32>
  return %0 : tensor<3xf32>
}
func.func public @public(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.negate %x : tensor<3xf32>
  return %0 : tensor<3xf32>
}
"""


@pytest.mark.parametrize("pipeline", ["inline", "simplify"])
def test_functions_take_the_place_of_their_calls_and_public_ones_stay(pipeline):
    module = parse(CALLS)
    arguments = np.array([0.5, -1.0, np.nan], np.float32), np.int32(3)
    (before,) = interpret(module, *arguments)
    report = passes.run(module, pipeline)
    assert report.hits["inline"] == 4
    text = str(module)
    assert "call" not in text and text.count("stablehlo.sine") == 2
    assert "@public" in text and "private" not in text
    assert same_bits(before, interpret(module, *arguments)[0])


def test_laws_of_passes_that_never_stop_leave_a_program_and_a_warning(monkeypatch):
    from passes import simplify

    @passes.pattern("stablehlo.log")
    def log_again(op):
        """log(x) -> log(x)."""
        return build.op("stablehlo.log", [op.operand])

    module = parse(TEXT)
    x = np.array([1.0, 2.0, 3.0, 4.0], np.float32)
    (before,) = interpret(module, x)
    monkeypatch.setattr(simplify, "LAWS", (*simplify.LAWS, log_again))
    with pytest.warns(passes.errors.PassWarning, match="log_again does not terminate"):
        passes.run(module, "simplify")
    assert same_bits(before, interpret(module, x)[0])


@pytest.mark.parametrize("wrong", [lambda op: 1 // 0, lambda op: build.constant(np.float32(0))], ids=["raises", "type"])
def test_a_law_of_passes_that_fails_is_left_out_with_a_warning(monkeypatch, wrong):
    from passes import simplify

    law = passes.patterns.Pattern("wrong_log", ("stablehlo.log",), wrong)
    module = parse(TEXT)
    x = np.array([1.0, 2.0, 3.0, 4.0], np.float32)
    (before,) = interpret(module, x)
    monkeypatch.setattr(simplify, "LAWS", (law, *simplify.LAWS))
    with pytest.warns(passes.errors.PassWarning, match="left out.*wrong_log"):
        passes.run(module, "simplify")
    module.operation.verify()
    assert same_bits(before, interpret(module, x)[0])


def test_ops_that_a_law_makes_are_rewritten_at_once():
    visits = []

    @passes.pattern("stablehlo.log")
    def logs(op):
        """log(x) -> log(-(-x))."""
        visits.append("log")
        inner = op.operand.owner
        if visits.count("log") > 1 or getattr(inner, "name", "") == "stablehlo.negate":
            return None
        return build.op("stablehlo.log", [build.op("stablehlo.negate", [build.op("stablehlo.negate", [op.operand])])])

    @passes.pattern("stablehlo.negate", of="stablehlo.negate")
    def twice(op):
        """-(-x) -> x."""
        visits.append("negate")
        return op.operand.owner.operand

    module = parse(TEXT)
    hits = passes.apply(module, (logs, twice))
    assert hits == {"logs": 1, "twice": 1}
    # The last two are a second round over the module, which finds nothing.
    assert visits == ["log", "negate", "log", "log"]


def test_each_rewrite_is_told_with_the_operation_and_what_was_made_for_it():
    module = parse(
        """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %c = stablehlo.constant dense<4.0> : tensor<4xf32>
      %0 = stablehlo.divide %x, %c : tensor<4xf32> loc("user.py":3:1)
      %1 = stablehlo.negate %0 : tensor<4xf32>
      %2 = stablehlo.negate %1 : tensor<4xf32>
      return %2 : tensor<4xf32>
    }"""
    )
    told = []

    def rewrote(law, operation, made):
        told.append(
            (law.name, operation.name, [op.name for op in made], [at.line for at in printed.lines(operation.location)])
        )

    report = passes.run(module, "simplify", on_rewrite=rewrote)
    assert ("divide_by_power_of_two", "stablehlo.divide", ["stablehlo.constant", "stablehlo.multiply"], [3]) in told
    # Two negations are what the first one reads, for which nothing is made.
    assert [made for _, name, made, _ in told if name == "stablehlo.negate"] == [[]]
    assert len(told) == sum(report.hits.values())
    told.clear()
    passes.run(module, "simplify")
    assert told == []
