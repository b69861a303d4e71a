"""Direct compilation: the same results as through all phases; other modules go through all phases."""

import random
import re
import sys

import numpy as np
import pytest
import test_random_loops
import test_random_products
import test_random_straight
from guarded import guarded

import stagec
import stagec.numpy as snp
from passes import bindings, printed
from stagec import lax
from stagec.backends import Target
from stagec.compiler import build, driver, log, session
from stagec.compiler.direct import library, machine_code, memory, object_file, program, reading
from stagec.compiler.direct.instructions import Function
from stagec.compiler.flags import CompileOptions
from stagec.compiler.mlir import ir
from stagec.runtime.executable import Executable
from stagec.runtime.traits import Traits

CPU = Target.parse("cpu")
QUEUES = ["local-sync", "local-task"]
RNG = np.random.default_rng(0)
A, B = (RNG.normal(size=(24, 24)).astype(np.float32) for _ in range(2))
WIDE = RNG.normal(size=(200, 200)).astype(np.float32)


@pytest.fixture
def runs(monkeypatch):
    """Calls a function twice on guarded arrays, with one flag set; returns the results."""

    def run(f, args, queue, flag_set):
        asked = CompileOptions(straight=True, flag_set=flag_set)
        monkeypatch.setattr(build.ProgramOptions, "of_compiler", lambda self: asked)
        monkeypatch.setattr(build, "choose_driver", lambda graph, target: queue)
        given = stagec.tree.map(lambda a: guarded(a) if np.ndim(a) else np.asarray(a), args)
        with stagec.config.override(enable_cache=False):
            stagec.clear_caches()
            function = stagec.jit(lambda *args: f(*args))
            first, second = ([np.asarray(r) for r in stagec.tree.leaves(function(*given))] for _ in range(2))
        assert [r.tobytes() for r in first] == [r.tobytes() for r in second]
        return first

    yield run
    stagec.clear_caches()


def both_ways(runs, f, args, *queues):
    """Compare the short way on each queue with the long one on the first.

    With code by the compiler, the bits are the same. LLVM alone contracts other products with sums where two of them
    meet, or where a block ends between them.
    """
    wanted = runs(f, args, queues[0], "kernels")
    for queue in queues:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(machine_code, "_binding", lambda: None)
            of_compiler = runs(f, args, queue, "direct")
        for short, own, long in zip(of_compiler, runs(f, args, queue, "direct"), wanted, strict=True):
            assert (short.dtype, short.shape) == (own.dtype, own.shape) == (long.dtype, long.shape)
            assert short.tobytes() == long.tobytes()
            if long.dtype.kind in "fc":
                few = 64 * np.finfo(long.dtype).eps
                np.testing.assert_allclose(
                    own, long, rtol=few, atol=few * np.abs(long[np.isfinite(long)]).max(initial=0)
                )
            else:
                assert own.tobytes() == long.tobytes()


def called(a, b):
    """Kernels before, between and after calls of Python, which return one array, several, or none."""

    def split(x, table):
        x, table = np.asarray(x), np.asarray(table)
        return x[0] + table[:24], -x

    stagec.debug.callback(lambda x: None, b)
    shape = stagec.ShapeDtypeStruct
    row, turned = stagec.pure_callback(split, (shape((24,), "float32"), shape((24, 24), "float32")), a @ b, TABLE)
    plain = stagec.pure_callback(lambda x: np.asarray(x) * 2, shape((8, 72), "float32"), b.reshape(8, 72))
    return row.sum(), turned @ plain.reshape(24, 24) + a, turned, plain, row.reshape(4, 6)


TABLE = np.arange(48, dtype=np.float32) ** 2
FLAGS = np.arange(48) % 3 == 0
PROGRAMS = {
    "product": (lambda a, b: snp.maximum(a @ b, 0.5), (A, B)),
    "chain": (lambda a, b: ((a @ b) @ a) @ (b @ a) + a @ a, (A, B)),
    "large": (lambda a, b: ((a @ b) @ a, a @ b.T), (WIDE, WIDE)),
    "loop": (lambda a: lax.fori_loop(0, 5, lambda i, x: snp.sin(x) + i, a), (A,)),
    "table": (lambda t, n: lax.fori_loop(0, 5, lambda i, x: x + t[(n + i) % 48], 0.0), (TABLE, np.int32(3))),
    "flags": (
        lambda t, n: lax.fori_loop(0, 5, lambda i, x: snp.where(t[(n + i) % 48], x + i, x), 0.0), (FLAGS, np.int32(3)),
    ),
    "bits": (lambda u, p: (lax.fori_loop(0, 3, lambda i, x: x * 7 + u, u), lax.fori_loop(0, 3, lambda i, x: ~x, p)),
             (np.arange(5, dtype=np.uint32), np.arange(5) % 2 == 0)),
    "reshaped": (lambda a, b: ((a @ b).reshape(-1), a.reshape(4, 6, 24) * 2), (A, B)),
    "numbers": (lambda a: (a.max(), a.min(), a.argmax(), a > 0, a.sum(0)), (A,)),
    "callbacks": (lambda a, b: called(a, b), (A, B)),
    "turned": (lambda a: (a[::-1] * 2, snp.concatenate([a, a * 2])), (A,)),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_both_ways_make_the_same_bits(name, runs):
    both_ways(runs, *PROGRAMS[name], *QUEUES)


def straight(seed):
    program = test_random_straight.random_program(random.Random(seed), wide=seed % 2 == 0)
    return lambda x, y: program.values(snp, x, y), tuple(program.arguments(RNG))


def loops(seed):
    cases = [test_random_loops.random_loop(10 * seed + i) for i in range(3)]
    each = [f for f, _ in cases]
    operands = tuple(given for _, given in cases)
    return lambda *given: [f(test_random_loops.Compiled, *o) for f, o in zip(each, given)], operands


def products(seed):
    case = test_random_products.Products(seed)
    return lambda *arrays: case.run(snp, arrays), tuple(case.arrays)


@pytest.mark.parametrize("kind", [straight, loops, products])
def test_both_ways_make_the_same_bits_of_random_programs(kind, runs):
    done = 0
    with stagec.enable_x64(), np.errstate(all="ignore"):
        for seed in range(20):
            try:
                both_ways(runs, *kind(seed), QUEUES[done])
                done += 1
            except stagec.errors.CompileError as error:
                assert "outside of kernels" in str(error)
            if done == 2:
                return
    raise AssertionError("none is compiled directly")


def told_of(x):
    """A callback gets a part of what the program returns."""
    stagec.debug.callback(lambda number: None, x[0, 0])
    return x


def test_programs_of_kernels_alone_go_the_short_way_and_others_say_why_not():
    whole, parts = ("direct", []), ("kernels", ["stablehlo.abs outside of kernels"])
    for f, straight, expected in (
        (lambda a, b: a @ b, True, whole),
        (lambda a, b: snp.tanh(a @ b).sum(), True, whole),
        (lambda a, b: (a @ b, stagec.pure_callback(np.sin, a, a)), True, whole),
        (lambda a, b: (a @ b).at[snp.asarray([1, 1])].add(1.0), True, whole),
        (lambda a, b: lax.reduce(a @ b, 0.0, lax.sub, (1,)), True, whole),
        (lambda a, b: told_of(a @ b), True, whole),
        (lambda a, b: abs(a) @ b, False, parts),
    ):
        log.clear()
        with stagec.config.override(enable_cache=False, straight_kernels=straight):
            stagec.jit(f)(A, B)
        (done,) = [r for r in log.records("compile") if r.message == "compiled"]
        told = [r.fields["reason"] for r in log.records("compile") if r.message == "through all phases"]
        assert (done.fields["flags"], told) == expected


def test_arguments_are_results_and_results_are_apart():
    @stagec.jit
    def f(a, b):
        product = a @ b
        return a, product, product, product.reshape(-1), b.reshape(2, -1)

    found = f(A, B)
    for got, want in zip(found, (A, A @ B, A @ B, (A @ B).reshape(-1), B.reshape(2, -1))):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
    addresses = [r.address() for r in found]
    assert len(set(addresses)) == len(addresses)


def test_results_lie_where_donated_arguments_were_if_that_is_safe():
    def address(x):
        return x._host().__array_interface__["data"][0]

    for f, wanted, same in (
        (lambda a, b: (a @ b, b + 1), (A @ B, B + 1), False),
        (lambda a, b: (a * 2 + b, b @ b), (A * 2 + B, B @ B), True),
        (lambda a, b: (a[::-1] + b, b @ b), (A[::-1] + B, B @ B), False),
    ):
        with stagec.config.override(straight_kernels=True, enable_cache=False):
            step = stagec.jit(f, donate_argnums=0)
            a = stagec.jit(lambda x: x * 2)(A / 2)
            before = address(a)
            found = step(a, B)
        assert a.is_deleted() and (address(found[0]) == before) is same
        for got, want in zip(found, wanted):
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("queue", QUEUES)
def test_an_argument_of_another_size_is_refused_by_the_program(queue):
    options = CompileOptions(asynchronous=queue != "local-sync", flag_set="direct")
    vmfb = driver.compile_module(stagec.jit(lambda a: a @ a).lower(A).as_text("optimized"), CPU, options=options).vmfb
    small = snp.zeros((3, 3))
    executable = Executable(np.frombuffer(vmfb, np.uint8), [small.aval], [snp.asarray(A).aval], traits=Traits(queue))
    with pytest.raises(Exception, match="shape"):
        np.asarray(executable.run([small])[0])


def test_a_small_result_does_not_keep_a_large_one_alive():
    f = stagec.jit(lambda a: (a @ a, (a @ a).sum()))
    freed = stagec.memory_stats()["bytes_in_use"]
    large, small = f(WIDE)
    small.block_until_ready()
    del large
    assert stagec.memory_stats()["bytes_in_use"] - freed < WIDE.nbytes


def test_functions_of_other_libraries_are_the_long_ways():
    # The compiler's own functions are linked in there.
    text = """func.func @main(%x: tensor<f64>) -> tensor<f64> {
      %n = stablehlo.constant dense<0> : tensor<i32>
      %end = stablehlo.constant dense<5> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %r:2 = stablehlo.while(%i = %n, %y = %x) : tensor<i32>, tensor<f64>
      cond { %c = stablehlo.compare LT, %i, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>
             stablehlo.return %c : tensor<i1> }
      do { %j = stablehlo.add %i, %one : tensor<i32>
           %z = stablehlo.exponential %y : tensor<f64>
           stablehlo.return %j, %z : tensor<i32>, tensor<f64> }
      return %r#1 : tensor<f64> }"""
    log.clear()
    assert driver.compile_module(text, CPU).flags == "kernels"
    (record,) = [r for r in log.records("compile") if r.message == "through all phases"]
    assert record.fields["reason"] == "kernels need exp of another library"


def calls(*rows):
    return tuple(program.Call(f"k{i}", read, written, sizes) for i, (read, written, sizes) in enumerate(rows))


def test_memory_is_used_again_when_it_is_free_and_barriers_are_where_they_are_needed():
    number = program.Tensor((16,), "f32")
    rows = calls(
        ((0,), (1,), (64, 64)),
        ((0,), (2,), (64, 128)),  # needs nothing of the first
        ((1, 2), (3,), (64, 128, 64)),
        ((3,), (4,), (64, 64)),  # where 1 or 2 was
        ((4, 3), (5,), (64, 64, 64)),
    )
    layout = memory.assign_memory(program.Program((number,), (number,), {}, rows, (5,)))
    assert memory.barriers(rows, layout.ranges) == {2, 3, 4}
    assert layout.ranges[4].offset < layout.ranges[3].offset
    assert layout.allocated == {1: 64, 2: 256}
    assert layout.deallocated == (2,)


def test_a_register_holds_a_constant_that_is_used_once_only_there():
    f = Function()
    for value in (7, -9, 7):
        f.do(f"use {f.number(value)}")
    assert f.text() == [
        "%i64_7 = vm.const.i64 7",
        "use %i64_7",
        "%i64_m9 = vm.const.i64 -9",
        "use %i64_m9",
        "use %i64_7",
    ]


def overlap(p, q):
    return p.slot == q.slot and p.offset < q.offset + q.bytes and q.offset < p.offset + p.bytes


def test_places_of_living_values_never_meet():
    rng = random.Random(0)
    for _ in range(200):
        count = rng.randint(1, 20)
        sizes = {n: 4 * rng.randint(1, 60) for n in range(count + 1)}
        rows = []
        for n in range(1, count + 1):
            read = tuple(rng.sample(range(n), rng.randint(1, min(3, n))))
            rows.append((read, (n,), tuple(sizes[i] for i in (*read, n))))
        returned = tuple(rng.sample(range(1, count + 1), rng.randint(1, min(3, count))))
        given = program.Tensor((sizes[0] // 4,), "f32")
        described = program.Program((given,), (given,) * len(returned), {}, calls(*rows), returned)
        layout = memory.assign_memory(described)
        last = {n: i for i, (read, written, _) in enumerate(rows) for n in (*read, *written)}
        last.update(dict.fromkeys(returned, count))
        for i, (_, (made,), _) in enumerate(rows):
            living = [n for n in range(made) if n == 0 or last[n] >= i]
            assert not any(overlap(layout.ranges[made], layout.ranges[n]) for n in living)


def test_what_is_no_object_file_is_refused():
    with pytest.raises(program.NotDirectError):
        object_file.functions(b"\x7fELF" + bytes(100), ["f"])


def constants(x):
    """Of every size of an element, filled and copied, small and large; and what is only seen as another shape."""
    return [
        *(snp.full(shape, number, dtype) for shape in ((), (7,), (3, 90_000)) for number, dtype in FILLS),
        snp.arange(5),
        snp.array([1j, 2]),
        snp.array([True, False, True]),
        snp.tril(snp.ones((9, 9))),
        x.reshape(-1),
        x.reshape(4, -1),
    ]


FILLS = [
    (True, "bool"),
    (-3, "int8"),
    (2.5, "bfloat16"),
    (-0.0, "float16"),
    (1.5, "float32"),
    (2**63 + 1, "uint64"),
    (-1, "int64"),
    (0.1, "float64"),
    (0, "complex64"),
    (1 - 2j, "complex64"),
    (0.5j, "complex128"),
]


@pytest.mark.parametrize("queue", QUEUES)
def test_constants_are_results_with_memory_of_their_own(queue, runs):
    x = np.arange(12.0).reshape(3, 4)
    with stagec.enable_x64():
        expected = [np.asarray(v) for v in constants(snp.asarray(x))]
        found = runs(constants, (x,), queue, "direct")
    for got, want in zip(found, expected, strict=True):
        assert (got.dtype, got.shape, got.tobytes()) == (want.dtype, want.shape, want.tobytes())


@pytest.mark.parametrize("queue", QUEUES)
def test_kernels_read_large_arrays_of_one_number(queue, runs):
    def f(x, n):
        same = [lax.optimization_barrier(snp.full((300, 300), value)) for value in (0.5, 3)]
        return lax.fori_loop(0, n, lambda i, c: c @ same[0] + same[1], x)

    x = np.arange(90_000, dtype=np.float32).reshape(300, 300) / 9e6
    wanted = x.astype(np.float64)
    for _ in range(3):
        wanted = wanted @ np.full((300, 300), 0.5) + 3
    (found,) = runs(f, (x, np.int32(3)), queue, "direct")
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_a_constant_result_may_be_given_up_and_is_the_same_in_the_next_call():
    with stagec.config.override(enable_cache=False):
        made = stagec.jit(lambda: (snp.arange(20.0), snp.zeros(20), snp.arange(20.0)))
        add = stagec.jit(lambda a: a + 1, donate_argnums=0)
        for _ in range(2):
            first, second, third = made()
            found = [np.asarray(add(first)), np.asarray(add(second)), np.asarray(third)]
            for got, want in zip(found, (np.arange(20) + 1, np.ones(20), np.arange(20)), strict=True):
                np.testing.assert_array_equal(got, want)


def test_a_program_of_constants_alone_asks_for_no_machine_code(monkeypatch):
    monkeypatch.setattr(library, "assembled", None)
    with stagec.config.override(enable_cache=False):
        np.testing.assert_array_equal(stagec.jit(lambda: snp.full((3, 400, 500), 2.5))()[1, 2, :4], [2.5] * 4)


@pytest.mark.parametrize("queue", QUEUES)
def test_constants_are_memory_of_the_program(queue):
    tables = [RNG.integers(0, 200, (8, 64)).astype(d) for d in (np.float32, np.uint8)]
    text = f"""func.func @main(%x: tensor<9x8xf32>, %y: tensor<9x8xui8>) -> (tensor<9x64xf32>, tensor<9x64xui8>) {{
      %w = stablehlo.constant dense<{tables[0].tolist()}> : tensor<8x64xf32>
      %v = stablehlo.constant dense<{tables[1].tolist()}> : tensor<8x64xui8>
      %a = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
        : (tensor<9x8xf32>, tensor<8x64xf32>) -> tensor<9x64xf32>
      %b = stablehlo.dot_general %y, %v, contracting_dims = [1] x [0]
        : (tensor<9x8xui8>, tensor<8x64xui8>) -> tensor<9x64xui8>
      return %a, %b : tensor<9x64xf32>, tensor<9x64xui8> }}"""
    options = CompileOptions(asynchronous=queue != "local-sync", flag_set="direct")
    vmfb = driver.compile_module(text, CPU, options=options).vmfb
    given = [np.arange(72).reshape(9, 8).astype(d) for d in (np.float32, np.uint8)]
    wanted = [a @ table for a, table in zip(given, tables)]
    avals, out_avals = ([snp.asarray(a).aval for a in arrays] for arrays in (given, wanted))
    aligned = np.frombuffer(vmfb, np.uint8)
    # Where a module lies badly in memory, the runtime cannot use its constants in place.
    for payload in (aligned, np.concatenate([np.zeros(80, np.uint8), aligned])[80:]):
        executable = Executable(payload, avals, out_avals, traits=Traits(queue))
        for got, want in zip(executable.run(given), wanted, strict=True):
            np.testing.assert_array_equal(got, want)


def test_the_compilers_microkernels_are_not_linked():
    text = stagec.jit(lambda x: x + 1).lower(np.ones(4, np.float32)).as_text("kernels")
    module = ir().Module.parse(text, bindings.new_context())
    read = reading.read(module)
    called = [library.Kernel(call.kernel, (1, 1, 1)) for call in read.kernel_calls]
    made = library.assembled(module, read, called, {"cpu": '""'}, "kernels.o")
    assert "link_ukernel_bitcode = false" in str(made)


def test_a_compile_makes_no_context_but_those_of_its_sessions(monkeypatch):
    lowered = stagec.jit(lambda x: snp.exp(x) * 3).lower(np.ones(5, np.float32))
    monkeypatch.setattr(bindings, "new_context", lambda: pytest.fail("a context takes ten milliseconds"))
    with stagec.config.override(enable_cache=False):
        lowered.compile()


def test_programs_of_kernels_share_one_session_of_the_compiler(monkeypatch):
    stagec.clear_caches()
    monkeypatch.setattr(session, "_idle", [])
    sessions, made = session._session_class(), []
    with stagec.config.override(enable_cache=False):
        stagec.jit(lambda x: snp.exp(x) * 2)(np.ones(5, np.float32))  # the processor has been described
        session._idle.clear()
        monkeypatch.setattr(session, "_session_class", lambda: lambda: made.append(sessions()) or made[-1])
        for factor in (4, 5):
            stagec.jit(lambda x, factor=factor: snp.exp(x) * factor)(np.ones(5, np.float32))
        assert len(made) == 1
        monkeypatch.setattr(session, "_KEPT_BYTES", 0)  # what it has parsed stays in its memory
        for factor in (6, 7):
            stagec.jit(lambda x, factor=factor: snp.exp(x) * factor)(np.ones(5, np.float32))
        assert len(made) == 2


def test_a_target_printed_in_another_form_is_an_error_and_no_detour(monkeypatch):
    monkeypatch.setattr(printed, "_TARGET", re.compile("#hal.executable.other"))
    library._target.cache_clear()
    stagec.clear_caches()
    with (
        stagec.config.override(enable_cache=False),
        pytest.raises(printed.PrintedError, match="what kernels are compiled for"),
    ):
        stagec.jit(lambda x: snp.exp(x) * 3)(np.ones(5, np.float32))
    library._target.cache_clear()


def test_a_long_chain_of_operations_is_compiled_directly():
    def chain(x):
        y = x[0]
        for i in range(400):
            y = snp.sqrt(y * 0.5 + x[i % 4])
        return y

    x, limit = np.ones((4, 5), np.float32), sys.getrecursionlimit()
    log.clear()
    with stagec.config.override(enable_cache=False):
        found = stagec.jit(chain)(x)
    np.testing.assert_allclose(found, chain(x), rtol=1e-5)
    assert [r.fields["flags"] for r in log.records("compile") if "flags" in r.fields] == ["direct"]
    assert sys.getrecursionlimit() == limit
