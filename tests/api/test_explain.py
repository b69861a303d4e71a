"""`explain`: hits in memory and on disk, and what a miss differs in."""

import dataclasses
import functools
import platform
import types

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec.api import explain
from stagec.compiler import cache, log


@pytest.fixture(autouse=True)
def cache_dir(tmp_path):
    stagec.clear_caches()
    directory = tmp_path / "cache"
    with stagec.config.override(cache_dir=str(directory)):
        yield directory


def ones(*shape, dtype=np.float32):
    return np.ones(shape, dtype)


def affine(x, w=2.0):
    return x * w + 1


def test_a_call_goes_from_miss_to_memory_to_disk():
    f = stagec.jit(affine)
    assert stagec.explain(f, ones(3)).status == "miss"
    f(ones(3))
    assert stagec.explain(f, ones(3)).status == "memory"
    stagec.clear_caches()
    found = stagec.explain(f, ones(3))
    assert found.status == "disk" and any(n.startswith("compiled with the flag set ") for n in found.notes)


def test_it_says_which_way_a_program_was_compiled():
    f = stagec.jit(lambda a: a @ a)
    f(ones(20, 20))
    stagec.clear_caches()
    assert "compiled with the flag set 'direct'" in str(stagec.explain(f, ones(20, 20)))


def test_the_key_is_that_of_the_entry_on_disk(cache_dir):
    f = stagec.jit(affine)
    key = stagec.explain(f, ones(3)).key
    f(ones(3))
    assert [p.stem for p in cache_dir.glob("*.stagec")] == [key]


def test_nothing_is_compiled_kept_or_counted(cache_dir):
    f = stagec.jit(affine)
    log.clear()
    first = stagec.explain(f, ones(3))
    assert stagec.explain(f, ones(3)) == first
    assert log.records("compile") == []
    assert f._cache_size() == 0
    assert not cache_dir.exists()
    f(ones(3))
    stagec.clear_caches()
    store = cache.default_cache()
    before = store.info()
    stagec.explain(f, ones(3))
    assert store.info() == before


def test_it_says_that_it_traced():
    f = stagec.jit(affine)
    assert "traced to find out: 2 equations, not kept" in str(stagec.explain(f, ones(3)))
    f(ones(3))
    assert "traced" not in str(stagec.explain(f, ones(3)))


def test_side_effects_happen_where_it_traces_and_the_docs_say_so(capsys):
    def noisy(x):
        print("traced")
        return x + 1

    f = stagec.jit(noisy)
    stagec.explain(f, ones(3))
    assert capsys.readouterr().out == "traced\n"
    f(ones(3))
    assert capsys.readouterr().out == "traced\n"
    stagec.explain(f, ones(3))
    assert capsys.readouterr().out == ""
    assert "side effects" in stagec.explain.__doc__


def test_shapes_alone_are_enough():
    f = stagec.jit(affine)
    f(ones(3))
    assert stagec.explain(f, stagec.ShapeDtypeStruct((3,), "float32")).status == "memory"


def test_a_plain_function_is_explained_as_its_jitted_form():
    stagec.jit(affine)(ones(3))
    assert stagec.explain(affine, ones(3)).status == "memory"


def test_a_jitted_method_is_explained():
    class Model:
        @stagec.jit
        def scale(self, x):
            return x * 4

    stagec.tree_util.register_static(Model)
    model = Model()
    model.scale(ones(3))
    assert stagec.explain(model.scale, ones(3)).status == "memory"
    assert stagec.explain(model.scale, ones(4)).differing == [("shape of x", "(4,)", "(3,)")]


@pytest.mark.parametrize(
    ("argument", "differing"),
    [
        (ones(4), [("shape of x", "(4,)", "(3,)")]),
        (ones(3, dtype=np.int32), [("dtype of x", "int32", "float32")]),
        (ones(4, dtype=np.int32), [("shape of x", "(4,)", "(3,)"), ("dtype of x", "int32", "float32")]),
    ],
)
def test_a_miss_names_the_argument_that_differs(argument, differing):
    f = stagec.jit(affine)
    f(ones(3))
    found = stagec.explain(f, argument)
    assert found.status == "miss"
    assert found.nearest == "compiled in this process for float32[3]"
    assert found.differing == differing


def test_a_weak_type_that_changes_the_program_is_named():
    f = stagec.jit(lambda x, y: snp.exp(x) * y)
    f(ones(3), snp.float32(2))
    found = stagec.explain(f, ones(3, dtype=np.int32), 2.0)
    assert ("weak type of y", "True", "False") in found.differing


def test_a_leaf_is_named_by_its_path():
    f = stagec.jit(lambda params, x: x @ params["layers"][1]["w"])
    params = {"layers": [None, {"w": ones(3, 2)}]}
    f(params, ones(4, 3))
    params["layers"][1]["w"] = ones(3, 5)
    assert stagec.explain(f, params, ones(4, 3)).differing == [
        ("shape of params['layers'][1]['w']", "(3, 5)", "(3, 2)")
    ]


def test_a_leaf_that_came_or_went_is_named():
    f = stagec.jit(lambda params: sum(params.values(), 0))
    f({"a": ones(3)})
    assert stagec.explain(f, {"a": ones(3), "b": ones(3)}).differing == [("params['b']", "float32[3]", "absent")]


def test_a_static_argument_is_named_with_its_values():
    f = stagec.jit(lambda x, n: x * n, static_argnames="n")
    f(ones(3), 2)
    assert stagec.explain(f, ones(3), 5).differing == [("static argument n", "5", "2")]
    f(ones(3), n=7)
    assert stagec.explain(f, ones(3), n=8).differing == [("static argument n", "8", "7")]


def test_of_several_signatures_the_nearest_is_taken():
    f = stagec.jit(lambda x, y: x + snp.sum(y))
    f(ones(3), ones(3))
    f(ones(4), ones(4))
    f(ones(5), ones(5))
    found = stagec.explain(f, ones(4), ones(9))
    assert found.nearest == "compiled in this process for float32[4], float32[4]"
    assert found.differing == [("shape of y", "(9,)", "(4,)")]


def test_an_option_that_differs_is_named():
    f = stagec.jit(affine)
    f(ones(3))
    for options, row in [
        ({"fast_math": True}, ("fast_math", "True", "False")),
        ({"target": "cpu:x86-64-v2"}, ("target", "cpu:x86-64-v2", "cpu")),
    ]:
        assert stagec.explain(stagec.jit(affine, **options), ones(3)).differing == [row]
        with stagec.config.override(**options):
            assert stagec.explain(f, ones(3)).differing == [row]


def test_a_pass_of_the_users_is_named():
    @stagec.pattern("stablehlo.negate")
    def never(op):
        """No law."""

    stagec.jit(affine)(ones(3))
    (row,) = stagec.explain(stagec.jit(affine, passes=[never]), ones(3)).differing
    assert (row.what, row.theirs) == ("passes", "default")


def test_donation_is_named():
    stagec.jit(affine)(ones(3))
    (row,) = stagec.explain(stagec.jit(affine, donate_argnums=0), ones(3)).differing
    assert row == ("donated", "((0, 0),)", "()")


# After a restart: only the disk knows.


def test_after_a_restart_arguments_are_named_from_the_entry():
    f = stagec.jit(lambda x, y: x + snp.sum(y))
    f(ones(3), ones(8))
    stagec.clear_caches()
    found = stagec.explain(f, ones(3), ones(9))
    assert found.nearest.startswith("<lambda> on disk, ")
    assert found.differing == [("y", "f32[9]", "f32[8]")]


def test_after_a_restart_a_changed_function_shows_as_its_program():
    def step(x):
        return x * 2

    stagec.jit(step)(ones(3))
    stagec.clear_caches()

    def step(x):
        return x * 3

    found = stagec.explain(step, ones(3))
    assert [row.what for row in found.differing] == ["program"]
    assert "program is the traced steps: the function's code, or a constant in it" in str(found)


def test_after_an_upgrade_the_versions_are_named(monkeypatch):
    from stagec.compiler import key

    f = stagec.jit(affine)
    f(ones(3))
    stagec.clear_caches()
    newer = {**key.environment_contributors(), "numpy": "99.0"}
    monkeypatch.setattr(key, "environment_contributors", lambda: newer)
    assert stagec.explain(f, ones(3)).differing == [("numpy", "99.0", np.__version__)]


def test_a_program_of_the_same_name_is_nearer_than_another():
    def other(x):
        return snp.exp(x)

    stagec.jit(affine)(ones(3))
    stagec.jit(other)(ones(4))
    stagec.clear_caches()
    assert stagec.explain(affine, ones(4)).nearest.startswith("affine on disk")


def test_a_program_of_another_function_is_not_named():
    def other(x):
        return snp.exp(x)

    stagec.jit(other)(ones(3))
    stagec.jit(lambda x: x * 3)(ones(3))
    stagec.clear_caches()
    found = stagec.explain(lambda x: x * 2, ones(3))
    assert (found.nearest, found.differing) == ("", [])
    assert "no program of this function is known, here or on disk" in str(found)


def test_the_same_function_is_nearer_than_one_of_its_name_in_the_same_file():
    def step(x):
        return x * 2 + 1

    here = stagec.jit(step)
    here(ones(7, dtype=np.int32))

    def step(x):
        return x * 3

    stagec.jit(step)(ones(3))
    stagec.clear_caches()
    assert [row.what for row in stagec.explain(here, ones(3)).differing] == ["x"]


def test_a_function_of_the_same_program_is_named():
    stagec.jit(lambda x: x * 2)(ones(3))
    stagec.clear_caches()
    found = stagec.explain(stagec.jit(lambda x: x * 2, fast_math=True), ones(3))
    assert [row.what for row in found.differing] == ["fast_math"]


@pytest.mark.parametrize(
    ("there", "here", "same"),
    [
        ("step at train.py:3", "step at train.py:9", True),
        ("step at Cell In[3]:1", "step at Cell In[12]:2", True),
        ("step at model.py:3", "step at train.py:3", False),
        ("step at Cell In[3]:1", "step at train.py:1", False),
        ("<lambda> at train.py:3", "<lambda> at train.py:4", False),
        ("", "step at train.py:3", False),
    ],
)
def test_functions_are_told_apart_by_file_and_name(there, here, same):
    header = types.SimpleNamespace(meta={"name": "step", "definition": there})
    trace = types.SimpleNamespace(name="step", definition=here)
    assert (explain._distance(trace, header) is not None) == same


def test_a_target_that_cannot_run_here_is_told():
    elsewhere = "aarch64" if platform.machine() in ("x86_64", "AMD64") else "x86-64"
    assert "a call would fail: affine cannot run here" in str(
        stagec.explain(stagec.jit(affine, target=f"cpu:{elsewhere}"), ones(3))
    )


def test_a_device_that_is_not_here_is_told(monkeypatch):
    monkeypatch.setitem(stagec.config._values, "platforms", "cpu")
    explained = stagec.explain(stagec.jit(affine, target="cuda"), ones(3))
    assert "a call would fail: platform 'cuda' is not among those allowed" in str(explained)


def test_an_unknown_program_has_nothing_near():
    found = stagec.explain(affine, ones(3))
    assert (found.nearest, found.differing) == ("", [])
    assert "no program of this function is known" in str(found)


def test_a_damaged_entry_is_a_miss_and_stays(cache_dir):
    f = stagec.jit(affine)
    f(ones(3))
    stagec.clear_caches()
    (path,) = cache_dir.glob("*.stagec")
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    found = stagec.explain(f, ones(3))
    assert found.status == "miss"
    assert "its payload does not match its checksum" in str(found)
    assert path.exists()


def test_a_cache_that_is_off_is_named():
    with stagec.config.override(enable_cache=False):
        assert "the disk cache is off" in str(stagec.explain(affine, ones(3)))


def test_what_needs_no_program_is_a_hit():
    found = stagec.explain(lambda x: x, ones(3))
    assert (found.status, found.key) == ("memory", "")
    assert "nothing to compile" in str(found)


def test_inside_a_traced_function_it_is_refused():
    @stagec.jit
    def outer(x):
        stagec.explain(affine, x)
        return x

    with pytest.raises(stagec.errors.UnsupportedError, match="call it from outside"):
        outer(ones(3))


def test_the_text_aligns_what_differs():
    f = stagec.jit(lambda x, rate: x * rate)
    f(ones(3), ones(3))
    lines = str(stagec.explain(f, ones(10), ones(10))).splitlines()
    assert lines[0] == "<lambda>: miss; a call compiles the program"
    assert lines[-3:-1] == ["    shape of x     now (10,)  there (3,)", "    shape of rate  now (10,)  there (3,)"]


def test_an_explanation_is_plain_data():
    found = dataclasses.asdict(stagec.explain(affine, ones(3)))
    assert found["status"] == "miss"
    assert found["name"] == "affine"


def test_a_trace_that_is_not_the_first_says_what_differs_from_the_nearest():
    @functools.partial(stagec.jit, static_argnames="n")
    def scaled(params, n=2):
        return params["w"] * n

    def again(*args, **kwargs):
        log.clear()
        scaled(*args, **kwargs)
        return [record.fields.get("again") for record in log.records("trace")]

    w = ones(2)
    assert again({"w": w}) == [None]
    assert again({"w": w}) == []
    assert again({"w": ones(3)}) == ["shape of params['w'] was (2,), is (3,)"]
    assert again({"w": w}, n=5) == ["static argument n was 2, is 5"]
    assert again({"w": ones(3)}, n=5) in (
        ["static argument n was 2, is 5"],
        ["shape of params['w'] was (2,), is (3,)"],
    )
    assert again({"w": w, "b": 1.0}) == ["params['b'] was absent, is float32[]"]
    with stagec.config.override(fast_math=True):
        assert again({"w": w}) == ["fast_math was False, is True"]
