"""Free-threaded builds of Python, where modules pass between the compiler and MLIR's bindings as bytes."""

import sysconfig

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from passes.match import operations_in
from stagec.backends import Target
from stagec.compiler import driver, session
from stagec.compiler.direct import machine_code
from stagec.compiler.flags import CompileOptions, ladder
from stagec.core import forking
from tests.compiler.test_driver import execute, unary

CPU = Target.parse("cpu")
X = np.linspace(-3, 3, 64, dtype=np.float32).reshape(8, 8)


@pytest.fixture(autouse=True)
def free_threaded(monkeypatch):
    """Lets this Python pass for a free-threaded build."""
    plain = sysconfig.get_config_var
    monkeypatch.setattr(sysconfig, "get_config_var", lambda name: 1 if name == "Py_GIL_DISABLED" else plain(name))


@pytest.mark.parametrize("flag_set", [f.name for f in ladder(CPU)])
def test_each_flag_set_compiles(flag_set):
    options = CompileOptions(flag_set=flag_set)
    # The compiler's phases are left for changes of their own, such as branches for the rare large angles.
    text = stagec.jit(lambda x: snp.tan(1e5 * x) @ x).lower(X).as_text("optimized")
    made = driver.compile_module(text, CPU, options=options)
    assert made.flags == flag_set
    expected = np.tan(np.float64(np.float32(1e5) * X)) @ X
    np.testing.assert_allclose(execute(made.vmfb, X), expected, rtol=1e-4, atol=1e-2)


def test_so_do_kernels_without_llvm(monkeypatch):
    monkeypatch.setattr(machine_code, "_binding", lambda: None)
    made = driver.compile_module(unary("stablehlo.sqrt"), CPU)
    assert made.flags == "direct"
    x = np.linspace(0, 1, 8, dtype=np.float32)
    np.testing.assert_allclose(execute(made.vmfb, x), np.sqrt(x), rtol=1e-6)


@pytest.mark.parametrize("phase", [*driver.WORKAROUNDS, *driver.OPTIMIZATIONS])
def test_a_module_that_is_malformed_between_two_phases_is_refused(phase, monkeypatch, capfd):
    def spoil(module):
        for end in operations_in(module, "util.return", "func.return", "vm.return"):
            end.erase()

    source = session.serialize(driver.prepared(unary("stablehlo.sqrt").encode(), CPU, "main"))
    monkeypatch.setitem(driver.WORKAROUNDS if phase in driver.WORKAROUNDS else driver.OPTIMIZATIONS, phase, spoil)
    output, attempt = driver.run(source, ladder(CPU)[0])
    assert not output and not attempt.ok
    assert "terminator" in attempt.diagnostics[0].message
    assert capfd.readouterr() == ("", "")


def test_a_forked_child_compiles_in_a_new_process(monkeypatch):
    # The library's threads cannot be replaced there: that needs the bindings.
    for name in ("_disturbed", "_forked", "_threads", "_entry", "_retired"):
        monkeypatch.setattr(session, name, getattr(session, name))
    session.api()
    session._after_fork_in_child(forking.HeldLocks())
    assert session.is_disturbed()
