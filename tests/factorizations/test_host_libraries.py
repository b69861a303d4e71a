"""Programs that call NumPy and SciPy: which they are, and that the call is nothing but another way to compute."""

import importlib
import itertools
import os
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest
from matrices import adjoint, near, positive, random, well

import stagec
import stagec.numpy as snp
from stagec import lax
from stagec.api.exported import from_trace
from stagec.backends import Target
from stagec.compiler import build, log
from stagec.core import libraries
from stagec.core.graph import host_callbacks
from stagec.factorizations import lapack
from stagec.lowering import host_choices

LA = snp.linalg


@pytest.fixture(autouse=True)
def host_libraries():
    """Instead of once for each way, these tests run once, and choose themselves."""
    with stagec.config.override(host_libraries="auto"):
        yield


def calls(function, *args, way="auto"):
    """What a program calls, by the names in its module."""
    with stagec.config.override(host_libraries=way):
        lowered = stagec.jit(lambda *args: function(*args)).lower(*args)
        callbacks = host_callbacks(lowered._runnable.code.graph)
        text = lowered.as_text()
    assert [f"@host.{c.symbol(i)}(" in text for i, c in enumerate(callbacks)] == [True] * len(callbacks)
    return [c.name for c in callbacks]


def struct(*shape, dtype="float32"):
    return stagec.ShapeDtypeStruct(shape, dtype)


def test_large_matrices_are_lapack_s_and_small_ones_kernels():
    for n, expected in ((20, []), (200, ["eigh"])):
        assert calls(LA.eigh, struct(n, n)) == expected
        assert calls(LA.eigh, struct(3, n, n)) == expected
        assert calls(lambda a: LA.eigvals(a), struct(n, n)) == ["eig"] * len(expected)
        assert calls(LA.svd, struct(n, n)) == ["svd"] * len(expected)
        assert calls(LA.cholesky, struct(n, n)) == ["cholesky"] * len(expected)
        assert calls(stagec.vmap(LA.eigh, in_axes=2), struct(n, n, 5)) == expected
    assert calls(snp.fft.fft, struct(1 << 16, dtype="complex64")) == ["fft"]
    assert calls(snp.fft.fft, struct(1 << 8, dtype="complex64")) == []


def test_what_only_scipy_has_is_an_algorithm_without_it(monkeypatch):
    functions = lax.linalg.lu, lax.linalg.schur, LA.qr
    monkeypatch.setattr(host_choices, "has_scipy", lambda: True)
    assert [calls(f, struct(256, 256)) for f in functions] == [["lu"], ["schur"], ["qr"]]
    monkeypatch.setattr(host_choices, "has_scipy", lambda: False)
    assert [calls(f, struct(256, 256)) for f in functions] == [[], [], []]


def test_few_right_hand_sides_are_no_work_for_a_library():
    def solved(columns):
        return calls(lax.linalg.triangular_solve, struct(300, 300), struct(columns, 300))

    assert solved(64) == ["triangular_solve"]
    assert solved(1) == []
    assert calls(lax.linalg.triangular_solve, struct(1000, 1000), struct(1000)) == ["triangular_solve"]


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_scipy_and_numpy_compute_the_same(monkeypatch, dtype):
    a = random(2, 140, 130, dtype=dtype)
    square, right = random(2, 130, 130, dtype=dtype), random(2, 130, 40, dtype=dtype)
    triangle = (square * 0.01 + 2 * np.eye(130)).astype(dtype)
    packed, scales = np.linalg.qr(a.astype(dtype), "raw")
    packed, scales = np.ascontiguousarray(packed.mT).astype(dtype), scales.astype(dtype)

    def found():
        solutions = [
            lax.linalg.triangular_solve(
                triangle,
                right if left else np.ascontiguousarray(right.mT),
                left_side=left,
                lower=lower,
                transpose_a=transposed,
                conjugate_a=transposed,
                unit_diagonal=unit,
            )
            for left, lower, transposed, unit in itertools.product((True, False), repeat=4)
        ]
        return [
            *solutions,
            *LA.qr(a, mode="raw"),
            *lax.linalg.hessenberg(square),
            *lax.linalg.tridiagonal(square + adjoint(square)),
            *lax.linalg.tridiagonal(square + adjoint(square), lower=False),
            lax.linalg.householder_product(packed, scales),
            lax.linalg.householder_product(packed[..., :99], scales[..., :70]),
            *(
                lax.linalg.ormqr(
                    packed,
                    scales[..., :100],
                    random(2, 140, 3, dtype=dtype) if left else random(2, 3, 140, dtype=dtype),
                    left=left,
                    transpose=transpose,
                )
                for left, transpose in itertools.product((True, False), repeat=2)
            ),
        ]

    with stagec.enable_x64(), stagec.config.override(host_libraries="always"):
        by_scipy = found()
        monkeypatch.setattr(lapack, "has_scipy", lambda: False)
        for expected, actual in zip(found(), by_scipy, strict=True):
            near(actual, expected, 200)


def test_outside_of_jit_libraries_compute_and_nothing_is_compiled(monkeypatch):
    def obtained(*args):
        raise AssertionError("a program was compiled")

    monkeypatch.setattr(build, "obtain", obtained)
    a = snp.asarray(positive(70, 70))
    for way in ("auto", "always", "never"):
        with stagec.config.override(host_libraries=way):
            for function in (LA.eigh, LA.svd, LA.eig, LA.cholesky, LA.qr, LA.pinv, LA.det, snp.fft.fft):
                function(a), function(a)


def test_a_function_that_is_called_twice_is_one_graph_with_one_call():
    inner = stagec.jit(lambda a: LA.eigvalsh(a) * 2)
    assert calls(lambda a: inner(a) + inner(a), struct(200, 200)) == ["eigvalsh"]


def test_scipy_may_be_kept_from_being_imported(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy", None)
    assert not libraries.has_scipy.__wrapped__()


def test_in_loops_matrices_have_to_be_larger():
    def loop(a):
        return lax.scan(lambda c, _: (LA.eigvalsh(c)[0] * c, None), a, None, length=3)[0]

    assert calls(LA.eigvalsh, struct(128, 128)) == ["eigvalsh"]
    assert calls(loop, struct(128, 128)) == []
    assert calls(loop, struct(256, 256)) == ["eigvalsh"]


def test_an_option_decides_and_is_part_of_the_signature():
    assert calls(LA.eigh, struct(4, 4), way="always") == ["eigh"]
    assert calls(LA.eigh, struct(512, 512), way="never") == []
    function = stagec.jit(LA.eigvalsh)
    a = positive(4, 4)
    for way in ("always", "never", "always"):
        with stagec.config.override(host_libraries=way):
            assert len(host_callbacks(function.lower(a)._runnable.code.graph)) == (way == "always")
            function(a)
    with pytest.raises(ValueError, match="'lapack' is not one of auto, always, never"):
        stagec.config.update("host_libraries", "lapack")


def test_what_is_shipped_or_runs_elsewhere_calls_nothing(tmp_path):
    a = positive(6, 6)
    with stagec.config.override(host_libraries="always"):
        function = stagec.jit(LA.eigvalsh)
        exported = stagec.export(function)(a)
        # Even for a target that only this machine has.
        own = from_trace(function._settings, function.trace(a)._trace, [Target.parse("cpu")], True)
        stagec.jit(LA.eigvalsh).lower(a).compile().save(tmp_path / "x.stagec")
        for target in ("cpu:x86-64-v3", "vulkan", "cuda"):
            assert "@host." not in stagec.jit(LA.eigvalsh, target=target).lower(a).as_text(), target
    assert "@host." not in exported.mlir_module() + own.mlir_module()
    for loaded in (exported.call, stagec.load(tmp_path / "x.stagec")):
        np.testing.assert_allclose(loaded(a), np.linalg.eigvalsh(a), rtol=1e-5)


def test_results_that_nobody_uses_are_not_computed():
    a = struct(200, 200)
    assert calls(lambda a: LA.eigh(a)[0], a) == ["eigvalsh"]
    for function in (lambda a: LA.svd(a)[1], lambda a: LA.eig(a)[0]):
        (call,) = host_callbacks(stagec.jit(function).lower(a)._runnable.code.graph)
        assert len(call.out_avals) == 1


def inside(a):
    """Factorizations in every kind of control flow."""
    least = lax.cond(a[0, 0] > 0, lambda a: LA.eigvalsh(a)[0], lambda a: a[0, 0], a)
    carried, steps = lax.scan(lambda c, _: (c + LA.svdvals(c)[0] * snp.eye(4), LA.det(c)), a, None, length=3)
    grown = lax.while_loop(lambda c: c[0, 0] < 100, lambda c: c + LA.eigvalsh(c)[0] * snp.eye(4), a)
    nested = stagec.jit(LA.cholesky)(a)
    kept = stagec.grad(stagec.checkpoint(lambda a: LA.cholesky(a).sum()))(a)
    return least, carried, steps, grown, nested, kept


def test_calls_inside_control_flow():
    a = positive(4, 4)
    with stagec.config.override(host_libraries="always"):
        found = stagec.jit(inside)(a)
    with stagec.config.override(host_libraries="never"):
        expected = stagec.jit(inside)(a)
    assert len(set(calls(inside, a, way="always"))) >= 3
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-5)


def everything(a, b, z):
    return LA.eigh(a), LA.eig(b), LA.svd(b), LA.qr(b), LA.cholesky(a), lax.linalg.lu(b), snp.fft.fft(z)


def test_a_call_gives_the_bits_that_numpy_gives_outside_of_jit_and_every_time():
    args = positive(5, 5), well(5, 5), random(12, dtype="complex64")
    expected = [np.asarray(x) for x in stagec.tree.leaves(everything(*args))]
    with stagec.config.override(host_libraries="always"):
        program = stagec.jit(lambda *args: everything(*args)).lower(*args).compile()
    for _ in range(2):
        found = stagec.tree.leaves(program(*args))
        assert [np.asarray(x).tobytes() for x in found] == [x.tobytes() for x in expected]


def test_a_batch_is_one_call_of_lapack(monkeypatch):
    row = importlib.import_module("stagec.factorizations.eigh").eigh_p
    shapes = []

    def counted(a, evaluate=row.eval):
        shapes.append(a.shape)
        return evaluate(a)

    monkeypatch.setattr(row, "eval", counted)
    a = positive(3, 4, 4)
    with stagec.config.override(host_libraries="always"):
        stagec.jit(stagec.vmap(lambda a: lax.linalg.eigh(a)))(a)
    assert shapes == [(3, 4, 4)]


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_large_factors_by_scipy_are_those_by_numpy(dtype, monkeypatch):
    module = importlib.import_module("stagec.factorizations.cholesky")
    a = positive(3, 5, 5, dtype=dtype)
    a[1] *= -1
    a[2, 0, 1] = np.nan  # the other triangle is not read
    expected = np.asarray(lax.linalg.cholesky(a, symmetrize_input=False))
    monkeypatch.setattr(module, "_BY_SCIPY", 1)
    found = np.asarray(lax.linalg.cholesky(a, symmetrize_input=False))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    assert np.isnan(found[1]).all() and not np.isnan(found[2]).any()


def test_one_matrix_without_a_result_spoils_no_other():
    stack = np.stack([np.eye(3), np.full((3, 3), np.nan), -np.eye(3), np.diag([1, np.inf, 2])]).astype("float32")
    with stagec.config.override(host_libraries="always"):
        factors, (values, vectors), singular, general = stagec.jit(
            lambda a: (LA.cholesky(a), LA.eigh(a), LA.svdvals(a), LA.eigvals(a))
        )(stack)
    bad = [np.isnan(np.asarray(x)).reshape(4, -1) for x in (factors, values, vectors, singular, general)]
    assert [b.all(1).tolist() for b in bad] == [[False, True, True, False]] + [[False, True, False, True]] * 4
    assert not any(b[0].any() for b in bad)


@pytest.mark.parametrize("name", ["eigh_lo", "eigvalsh_lo", "svd", "svd_f", "svd_s", "eig", "eigvals", "cholesky_lo"])
def test_without_the_function_of_numpy_s_own_the_public_one_computes(name, monkeypatch):
    """Another version of NumPy may not have it."""
    a = np.stack([positive(4, 4), -positive(4, 4, seed=1)])
    functions = LA.eigh, LA.eigvalsh, LA.svdvals, LA.svd, lambda a: LA.svd(a, full_matrices=False), LA.eig, LA.eigvals
    expected = [np.asarray(x) for f in (*functions, LA.cholesky) for x in stagec.tree.leaves(f(a))]
    missing = lapack._of_numpy.__wrapped__
    monkeypatch.setattr(lapack, "_of_numpy", lambda asked: None if asked == name else missing(asked))
    found = [np.asarray(x) for f in (*functions, LA.cholesky) for x in stagec.tree.leaves(f(a))]
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_allclose(abs(x), abs(y), rtol=1e-4, atol=1e-5)


def test_what_does_not_converge_is_nan(monkeypatch):
    def fails(*args):
        raise np.linalg.LinAlgError("did not converge")

    monkeypatch.setattr(lapack, "_of_numpy", lambda name: None)
    monkeypatch.setattr(np.linalg, "eigh", fails)
    with stagec.config.override(host_libraries="always"):
        assert np.isnan(stagec.jit(lax.linalg.eigh)(positive(3, 3))[0]).all()


def test_many_threads_call_one_program():
    a = [positive(5, 5, seed=i) for i in range(4)]
    with stagec.config.override(host_libraries="always"):
        program = stagec.jit(LA.eigvalsh).lower(a[0]).compile()
    expected = [np.asarray(program(x)).tobytes() for x in a]
    found = {}

    def work(i):
        found[i] = [np.asarray(program(a[i])).tobytes() for _ in range(50)]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert found == {i: [expected[i]] * 50 for i in range(4)}


def test_a_program_of_calls_and_kernels_goes_the_short_way():
    with stagec.config.override(host_libraries="always", enable_cache=False):
        log.clear()
        a = positive(5, 5)
        found = stagec.jit(lambda a: LA.eigh(a @ a.T)[0].sum())(a)
        stagec.jit(lambda a: lax.linalg.eigh(a, symmetrize_input=False)[1])(a)
    assert [r.fields["flags"] for r in log.records("compile") if r.message == "compiled"] == ["direct"] * 2
    np.testing.assert_allclose(found, np.trace(a @ a.T), rtol=1e-4)


def test_donated_arguments_are_read_by_a_call_before_a_kernel_writes_over_them():
    def function(x):
        y = x * 2 + 1
        return y + LA.eigvalsh(y), lax.linalg.eigh(x, symmetrize_input=False)[1]

    a = positive(5, 5)
    with stagec.config.override(host_libraries="always"):
        expected = stagec.jit(function)(a)
        found = stagec.jit(function, donate_argnums=0)(snp.array(a))
    assert [np.array_equal(x, y) for x, y in zip(found, expected)] == [True, True]


def test_programs_with_empty_arrays_are_evaluated():
    with stagec.config.override(host_libraries="always"):
        values, empty = stagec.jit(lambda a, e: (LA.eigvalsh(a), e + 1))(positive(3, 3), np.zeros((0, 2), "float32"))
        assert [x.shape for x in stagec.jit(LA.svd)(np.zeros((0, 3), "float32"))] == [(0, 0), (0,), (3, 3)]
    np.testing.assert_allclose(values, np.linalg.eigvalsh(positive(3, 3)), rtol=1e-5)
    assert empty.shape == (0, 2)


def test_large_programs_with_library_calls_use_worker_threads():
    def function(x, a):
        return snp.tanh(snp.sin(x) * x), LA.eigvalsh(a)

    x, a = np.ones(1 << 20, "float32"), positive(5, 5)
    with stagec.config.override(host_libraries="always"):
        lowered = stagec.jit(function).lower(x, a)
        found = lowered.compile()(x, a)
    assert lowered._runnable.executable().driver == "local-task"
    np.testing.assert_allclose(found[1], np.linalg.eigvalsh(a), rtol=1e-5)
    np.testing.assert_allclose(found[0][:3], np.tanh(np.sin(1.0)), rtol=1e-5)


def test_a_long_factorization_keeps_no_thread_of_python_waiting():
    """So that Ctrl-C gets through: it runs on a helper, and LAPACK releases the lock of the interpreter."""
    a = np.eye(400, dtype="float32") + np.ones((400, 400), "float32")
    lowered = stagec.jit(LA.svd).lower(a)
    lowered.compile()
    assert not lowered._runnable.executable().quick


def test_an_error_about_nan_names_the_operation_and_the_line():
    always = stagec.config.override(host_libraries="always", debug_nans=True)
    with always, pytest.raises(FloatingPointError, match="cholesky made") as error:
        stagec.jit(LA.cholesky)(-np.eye(3, dtype="float32"))
    assert os.path.basename(__file__) in str(error.value)


SCRIPT = """
import numpy as np, sys, stagec
values, vectors = stagec.jit(stagec.numpy.linalg.eigh)(np.diag(np.arange(4.0, dtype="float32")))
print(values.tolist(), "iree.compiler" in sys.modules)
"""


def test_a_program_from_the_disk_calls_numpy_in_the_next_process(tmp_path):
    environment = {**os.environ, "STAGEC_CACHE_DIR": str(tmp_path), "STAGEC_HOST_LIBRARIES": "always"}

    def run():
        code = textwrap.dedent(SCRIPT)
        return subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True
        ).stdout

    assert [run(), run()] == [f"[0.0, 1.0, 2.0, 3.0] {compiled}\n" for compiled in (True, False)]


def test_small_matrices_are_computed_in_one_thread():
    code = textwrap.dedent("""
        import threading
        import numpy as np
        import threadpoolctl
        import stagec.numpy as snp
        from stagec.factorizations import one_thread

        def counts():
            return [b["num_threads"] for b in threadpoolctl.threadpool_info() if b["user_api"] == "blas"]

        before, seen = counts(), []
        if not before or max(before) < 2:
            print("not divided")
        for n in (4, 1000, 1100):
            observed = one_thread.in_one_thread(lambda a: seen.append(counts()), 16)
            observed(np.zeros((1, n, n)))
        assert seen[0] == seen[2] == before and set(seen[1]) == {1}, seen

        # Calls overlap: the last one that ends restores the number.
        inside, go = threading.Barrier(3), threading.Event()
        waiting = one_thread.in_one_thread(lambda a, i: (inside.wait(), i and go.wait()), 16)
        threads = [threading.Thread(target=waiting, args=(np.zeros((100, 100)), i), daemon=True) for i in range(2)]
        [t.start() for t in threads]
        inside.wait(), threads[0].join()
        assert set(counts()) == {1}
        go.set(), threads[1].join()
        assert counts() == before

        # An error does, too.
        try:
            one_thread.in_one_thread(lambda a: 1 / 0, 16)(np.zeros((100, 100)))
        except ZeroDivisionError:
            assert counts() == before
        snp.linalg.eigh(np.eye(40))
        assert counts() == before
        print("done")
    """)
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "2"}
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    if run.stdout.startswith("not divided"):
        pytest.skip("NumPy's library has one thread here")


@pytest.mark.parametrize("name", ["fft2", "solve"])
def test_rounds_that_threads_share_call_libraries(name):
    rng = np.random.default_rng(0)
    if name == "fft2":
        x, f = rng.normal(size=(256, 256)).astype("complex64"), lambda x: snp.fft.fft2(x) / 256
    else:
        x = rng.normal(size=(4, 260, 260)).astype("float32") + 30 * np.eye(260, dtype="float32")
        f = lambda x: snp.linalg.solve(x, x + 1)  # noqa: E731
    expected = x
    for _ in range(20):  # enough work for two threads
        expected = f(expected)
    found = stagec.jit(lambda x: lax.fori_loop(0, 20, lambda _, x: f(x), x))(x)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
