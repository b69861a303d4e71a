import pytest

import stagec.tree as tree
import stagec.tree_util as tree_util
from stagec.core.errors import PytreeError


def test_every_public_name_of_jax_is_there():
    jax = pytest.importorskip("jax")
    assert {name for name in dir(jax.tree) if not name.startswith("_")} - set(tree.__all__) == set()
    # How JAX's own registries are walked is no part of ours.
    internal = {"default_registry", "flatten_one_level", "flatten_one_level_with_keys", "is_tree_node"}
    theirs = {name for name in dir(jax.tree_util) if not name.startswith("_")}
    assert theirs - internal - set(tree_util.__all__) == set()
    for module in (tree, tree_util):
        assert [name for name in module.__all__ if not hasattr(module, name)] == []


def test_map_with_path_gives_each_leaf_its_path_and_the_other_trees_parts():
    out = tree.map_with_path(lambda path, x, y: (tree_util.keystr(path), x, y), {"a": [1, 2]}, {"a": [3, (4,)]})
    assert out == {"a": [("['a'][0]", 1, 3), ("['a'][1]", 2, (4,))]}


def test_reduce_goes_from_left_to_right():
    assert tree.reduce(lambda a, b: f"({a}{b})", ["a", {"x": "b"}, "c"]) == "((ab)c)"
    assert tree.reduce(lambda a, b: a + b, [], 5) == 5
    assert tree.reduce(lambda a, b: b, [1], None) == 1
    with pytest.raises(PytreeError, match=r"no leaves\n.*\n  Fix: pass an initializer"):
        tree.reduce(lambda a, b: a + b, [])


def test_an_associative_reduction_is_balanced():
    assert tree.reduce_associative(lambda a, b: f"({a}{b})", list("abcde")) == "(((ab)(cd))e)"
    assert tree.reduce_associative(lambda a, b: a + b, [], identity=0) == 0
    with pytest.raises(PytreeError, match="pass an identity"):
        tree.reduce_associative(lambda a, b: a + b, ())


def test_all_looks_at_leaves_only():
    assert tree.all({"a": [True, None], "b": ()})
    assert not tree.all([1, (0,)])


def test_broadcast_repeats_a_prefix():
    assert tree.broadcast({"a": 1, "b": 2}, {"a": (0, 0), "b": [0]}) == {"a": (1, 1), "b": [2]}
    with pytest.raises(PytreeError, match="no key 'b'"):
        tree.broadcast({"a": 1, "b": 2}, {"a": 0})


def test_the_short_names_are_the_long_ones():
    for name in tree.__all__:
        if name != "static":
            assert getattr(tree, name) is getattr(tree_util, f"tree_{name}")


def test_structures_have_children_and_leaves():
    pair = tree_util.treedef_tuple([tree.structure(1), tree.structure([1])])
    assert pair == tree.structure((1, [1]))
    assert [tree_util.treedef_is_leaf(child) for child in tree_util.treedef_children(pair)] == [True, False]
    assert tree_util.all_leaves([1, "a"])
    assert not tree_util.all_leaves([1, None])


def test_errors_about_structures_name_the_line():
    with pytest.raises(PytreeError, match=r"test_tree\.py:\d+ in test_errors_about_structures"):
        tree.map(lambda a, b: a + b, {"b": 1}, {"a": 1})


def test_a_tree_is_taken_apart_by_one_level():
    given = {"b": [1, 2], "a": {"c": 3}}
    children, keys = tree_util.flatten_one_level(given)
    assert (children, tuple(keys)) == ([{"c": 3}, [1, 2]], ("a", "b"))
    pairs, _ = tree_util.flatten_one_level_with_keys([5])
    assert pairs == [(tree_util.SequenceKey(0), 5)]
    assert tree_util.is_tree_node(dict)
    assert not tree_util.is_tree_node(float)
    with pytest.raises(PytreeError, match="is a leaf"):
        tree_util.flatten_one_level(3.0)


def test_the_registry_knows_containers_and_leaves():
    registry = tree_util.default_registry
    assert registry.flatten_one_level(3.0) is None
    assert registry.flatten_one_level((1, 2))[0] == [1, 2]
    assert registry.flatten_one_level_with_keys(3.0) is None
    assert registry.is_node(tuple)
    assert registry.flatten((1, [2]))[0] == [1, 2]
