"""`import jax` on stagec: what it finds, what it leaves alone, what it says of the rest."""

import subprocess
import sys
from importlib.util import find_spec

import pytest

import stagec
import stagec.numpy as snp
from stagec import compat
from stagec.errors import MissingNameError, UnsupportedError


@pytest.fixture
def clean():
    """`sys.modules` and the import hooks are as before, whatever the test does."""
    modules, hooks = dict(sys.modules), list(sys.meta_path)
    yield
    sys.meta_path[:] = hooks
    for name in set(sys.modules) - set(modules):
        if name.partition(".")[0] in ("jax", "written_for_jax"):
            del sys.modules[name]
    sys.modules.update(modules)


LIBRARY = """
import jax
import jax.numpy as jnp
from jax import lax, random
from jax.scipy.special import logsumexp
from jax.sharding import NamedSharding
from jax.tree_util import tree_map


def step(params: jnp.ndarray, place: "NamedSharding | None" = None):
    assert not isinstance(params["w"], jax.core.Tracer)
    noise = random.normal(random.key(0), (3,), out_sharding=None)
    gradient = jax.jit(jax.grad(lambda p: logsumexp(p["w"]) + lax.square(p["w"]).sum()))(params)
    return tree_map(lambda p, g: p - 0.1 * g + 0 * noise, params, gradient)
"""


def test_a_library_written_for_jax_runs_unchanged(clean, tmp_path, monkeypatch):
    (tmp_path / "written_for_jax.py").write_text(LIBRARY)
    monkeypatch.syspath_prepend(tmp_path)
    with compat.jax():
        import written_for_jax
    found = written_for_jax.step({"w": snp.zeros(3)})
    assert type(found["w"]) is type(snp.zeros(3))
    assert found["w"].tolist() == pytest.approx([-0.1 / 3] * 3)


def test_names_are_those_of_stagec(clean):
    with compat.jax():
        import jax
        import jax.nn.initializers
        import jax.numpy as jnp
        from jax.scipy import stats
    assert jax.jit is stagec.jit and jnp.sin is snp.sin and jax.Array is stagec.Array
    assert jax.numpy is jnp and jnp.linalg.norm is snp.linalg.norm
    assert stats.norm.logpdf is stagec.scipy.stats.norm.logpdf
    assert jax.nn.initializers.zeros is stagec.nn.initializers.zeros
    assert jax.__version__ == compat.VERSION and jax.__version_info__[:2] == (0, 10)
    assert set(dir(jax)) >= {"jit", "grad"}
    assert stagec.numpy.__name__ == "stagec.numpy" and stagec.numpy.__spec__.name == "stagec.numpy"


def test_a_tracer_is_one_of_jaxs(clean):
    with compat.jax():
        import jax
    seen = []
    stagec.jit(lambda x: (seen.append(isinstance(x, jax.core.Tracer)), x)[1])(1.0)
    assert seen == [True] and not isinstance(snp.ones(2), jax.core.Tracer)


def test_what_was_imported_as_jax_before_comes_back(clean):
    real = type(sys)("jax")
    sys.modules["jax"] = real
    with compat.jax():
        import jax

        assert jax is not real and jax.jit is stagec.jit
    import jax as again

    assert again is real
    assert not compat.installed()


def test_jax_comes_back_after_an_error(clean):
    hooks, before = list(sys.meta_path), sys.modules.get("jax")
    with pytest.raises(ZeroDivisionError), compat.jax():
        import jax  # noqa: F401

        1 / 0  # noqa: B018
    assert sys.meta_path == hooks and sys.modules.get("jax") is before


def test_install_lasts_until_uninstall(clean):
    for name in [n for n in sys.modules if n.partition(".")[0] in ("jax", "jaxlib")]:
        del sys.modules[name]
    compat.install()
    compat.install()
    with compat.jax():
        pass
    assert compat.installed()
    import jax

    assert jax.vmap is stagec.vmap
    compat.uninstall()
    compat.uninstall()
    assert not compat.installed() and "jax" not in sys.modules


def test_install_refuses_to_mix(clean):
    sys.modules["jax"] = type(sys)("jax")
    with pytest.raises(ImportError, match=r"JAX itself is imported already\n(.*\n)*  Fix: call install before"):
        compat.install()
    assert not compat.installed()


def test_what_is_missing_is_named(clean):
    with compat.jax():
        import jax

        with pytest.raises(MissingNameError, match=r"test_compat\.py:"):
            jax.memory  # noqa: B018
        with pytest.raises(ModuleNotFoundError, match=r"stagec has no module jax\.experimental\.jax2tf"):
            import jax.experimental.jax2tf
        with pytest.raises(ModuleNotFoundError, match=r"no module jax\._src\.xla"):
            import jax._src.xla
        with pytest.raises(ImportError, match="memory"):
            from jax import memory  # noqa: F401


def test_shardings_are_those_of_stagec(clean):
    with compat.jax():
        import jax
        from jax.experimental import mesh_utils, multihost_utils, pjit, shard_map
        from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

    assert isinstance(snp.ones(2).sharding, jax.sharding.Sharding) and jax.P is PartitionSpec
    mesh = Mesh(mesh_utils.create_device_mesh((1,), jax.devices("cpu")[:1]), ("x",), AxisType.Explicit)
    drawn = jax.random.normal(jax.random.key(0), (2,), out_sharding=NamedSharding(mesh, PartitionSpec("x")))
    assert drawn.sharding.spec == PartitionSpec("x")
    found = shard_map.shard_map(lambda x: x, mesh, (PartitionSpec("x"),), PartitionSpec("x"), check_rep=False)(drawn)
    assert multihost_utils.process_allgather(pjit.pjit(lambda x: x)(found)).tolist() == [drawn.tolist()]
    with pytest.raises(TypeError, match=r"jax\.random\.normal: 3 is no sharding"):
        jax.random.normal(jax.random.key(0), out_sharding=3)


def test_what_libraries_look_up_can_be_imported_and_refuses_to_run(clean):
    with compat.jax():
        import jax
        from jax import export
        from jax._src import compiler
        from jax.experimental import checkify
        from jax.extend.ifrt_programs import ifrt_programs
        from jax.interpreters import pxla
        from jax.sharding import NamedSharding
    assert jax.NamedSharding is NamedSharding and jax.export is export and not isinstance(1, export.Exported)
    assert checkify.checkify is stagec.experimental.checkify.checkify
    for function in (
        compiler.backend_compile_and_load,
        ifrt_programs.make_plugin_program,
        pxla.global_avals_to_results_handler,
    ):
        with pytest.raises(UnsupportedError, match=rf"^jax\.[\w.]*{function.__name__}: stagec .*\n  test_compat.py:"):
            function(lambda x: x)


def test_names_of_pallas_refuse_to_run(clean):
    with compat.jax():
        from jax.experimental import pallas
        from jax.experimental.pallas.ops.tpu.splash_attention import splash_attention_kernel
    for function, name in (pallas.pallas_call, "pallas_call"), (splash_attention_kernel, "splash_attention_kernel"):
        with pytest.raises(UnsupportedError, match=rf"jax\.experimental\.pallas: {name}: .*\n  test_compat.py:"):
            function(abs)
    assert not hasattr(pallas, "__wrapped__")


def test_keys_count_as_arrays_as_in_jax(clean):
    with compat.jax():
        import jax
    key = stagec.random.key(0)
    assert isinstance(key, jax.Array) and isinstance(key, stagec.Array)
    assert not isinstance(key.dtype, jax.Array)
    seen = []
    stagec.jit(lambda k: (seen.append(isinstance(k, jax.Array)), stagec.random.bits(k))[1])(key)
    assert seen == [True]


@pytest.mark.skipif(find_spec("optax") is None, reason="optax requires JAX, which tests do not install")
def test_optax_takes_typed_keys(clean):
    with compat.jax():
        import optax
    optimizer = optax.noisy_sgd(0.1, key=stagec.random.key(0))
    state = optimizer.init({"w": snp.ones(3)})
    updates, _ = stagec.jit(optimizer.update)({"w": snp.ones(3)}, state, {"w": snp.ones(3)})
    assert len(set(updates["w"].tolist())) == 3


CHEX = """
import chex, jax, jax.numpy as jnp

@chex.dataclass
class State:
    a: chex.Array
    b: float

def check(state):
    chex.assert_shape(state.a, (3,))
    chex.assert_trees_all_close(state.a, jnp.ones(3))
    return jax.jit(lambda s: s.a.sum() * s.b)(state)
"""


@pytest.mark.skipif(find_spec("chex") is None, reason="chex requires JAX, which tests do not install")
def test_chex_runs_unchanged(clean, tmp_path, monkeypatch):
    (tmp_path / "written_for_jax.py").write_text(CHEX)
    monkeypatch.syspath_prepend(tmp_path)
    with compat.jax():
        import written_for_jax
    assert float(written_for_jax.check(written_for_jax.State(a=snp.ones(3), b=2.0))) == 6.0


def test_importing_stagec_loads_no_part_of_it():
    code = "import sys, stagec, stagec.numpy; print([m for m in sys.modules if 'compat' in m and 'stagec' in m])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.skipif(find_spec("optax") is None, reason="optax requires JAX, which tests do not install")
def test_optax_trains(clean):
    for name in [n for n in sys.modules if n.partition(".")[0] in ("optax", "chex")]:
        del sys.modules[name]
    with compat.jax():
        import optax
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(0.1))
    params = {"w": snp.ones(3)}
    state = optimizer.init(params)

    @stagec.jit
    def step(params, state):
        loss, gradient = stagec.value_and_grad(lambda p: snp.sum(p["w"] ** 2))(params)
        updates, state = optimizer.update(gradient, state, params)
        return optax.apply_updates(params, updates), state, loss

    losses = []
    for _ in range(30):
        params, state, loss = step(params, state)
        losses.append(float(loss))
    assert losses[-1] < 0.1 * losses[0]


def test_options_are_read_by_jaxs_names_too(clean):
    with compat.jax():
        import jax
    assert jax.config.jax_enable_x64 is False
    with stagec.enable_x64():
        assert jax.config.jax_enable_x64 is True
    with pytest.raises(AttributeError, match="unknown option 'no_such_option'"):
        _ = jax.config.jax_no_such_option


def test_a_shape_has_a_sharding_that_is_none(clean):
    assert stagec.ShapeDtypeStruct((2,), "float32").sharding is None


def test_arrays_name_their_namespace_as_jax_does_once_installed():
    assert snp.ones(2).__array_namespace__() is snp
    code = (
        "import stagec, sys; stagec.compat.install(); import jax, jax.numpy as jnp;"
        "assert jnp.ones(2).__array_namespace__() is jnp and jnp.__name__ == 'jax.numpy';"
        "assert jax.jit(lambda x: x.__array_namespace__().sin(x))(0.0) == 0;"
        "stagec.compat.uninstall(); assert stagec.numpy.ones(2).__array_namespace__() is stagec.numpy"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_modules_that_jax_loads_are_known_and_loaded_when_used():
    code = (
        "import stagec, sys; stagec.compat.install(); import jax;"
        "assert 'jax.tree_util' in sys.modules and 'jax.interpreters.ad' in sys.modules;"
        "assert 'stagec.compat.interpreters.ad' not in sys.modules;"
        "assert sys.modules['jax.numpy'] is jax.numpy and jax.numpy.sin is stagec.numpy.sin;"
        "import jax.numpy.linalg, jax.interpreters.ad; assert jax.interpreters.ad.Zero;"
        "from jax._src import tree_util, core; assert core is not jax.core and core.Tracer is jax.core.Tracer;"
        "assert tree_util.tree_map is jax.tree_util.tree_map and 'Args' in jax.jit.__doc__ and jax.numpy.__doc__"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
