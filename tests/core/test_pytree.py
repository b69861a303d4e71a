import collections
import copy
import dataclasses
import functools
import pickle

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from stagec.core import pytree
from stagec.core.errors import PytreeError
from stagec.core.pytree import (
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    Partial,
    SequenceKey,
    broadcast_prefix,
    flatten,
    flatten_with_path,
    keystr,
    leaf_paths,
    leaves,
    map_leaves,
    structure,
    transpose,
    unflatten,
)

Pair = collections.namedtuple("Pair", "first second")
Empty = collections.namedtuple("Empty", "")


class Box:
    def __init__(self, value, label="m"):
        self.value, self.label = value, label


pytree.register_pytree_node(Box, lambda b: ((b.value,), (b.label,)), lambda data, xs: Box(*xs, *data))


@pytree.register_dataclass
@dataclasses.dataclass
class Layer:
    w: object
    size: int = dataclasses.field(default=0, metadata={"static": True})


@pytree.register_static
@dataclasses.dataclass(frozen=True)
class Mode:
    name: str


LEAF_VALUES = st.integers(0, 9) | st.floats(allow_nan=False) | st.booleans() | st.text(max_size=2)
TREES = st.recursive(
    LEAF_VALUES | st.none(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=2), inner, max_size=3)
        | st.dictionaries(st.integers(), inner, max_size=3).map(collections.OrderedDict)
        | st.dictionaries(st.text(max_size=2), inner, max_size=3).map(lambda d: collections.defaultdict(list, d))
        | st.builds(Pair, inner, inner)
    ),
    max_leaves=12,
)


@settings(max_examples=100, deadline=None)
@given(TREES)
def test_leaves_structure_and_paths_agree_with_jax(tree):
    jax = pytest.importorskip("jax").tree_util
    expected_leaves, expected = jax.tree_flatten(tree)
    ours, definition = flatten(tree)
    assert expected_leaves == ours
    assert str(expected) == str(definition)
    assert (expected.num_leaves, expected.num_nodes) == (definition.num_leaves, definition.num_nodes)
    assert expected.node_data() == definition.node_data()
    assert [str(child) for child in expected.children()] == [str(child) for child in definition.children()]
    expected_paths = [(jax.keystr(path), leaf) for path, leaf in jax.tree_flatten_with_path(tree)[0]]
    pairs, with_path = flatten_with_path(tree)
    assert expected_paths == [(keystr(path), leaf) for path, leaf in pairs]
    assert with_path == definition


@settings(max_examples=100, deadline=None)
@given(TREES)
def test_unflatten_undoes_flatten(tree):
    values, definition = flatten(tree)
    again = unflatten(definition, values)
    assert again == tree
    assert structure(again) == definition
    assert hash(structure(again)) == hash(definition)


@settings(max_examples=50, deadline=None)
@given(TREES, TREES)
def test_structures_are_equal_exactly_when_jax_says_so(a, b):
    jax = pytest.importorskip("jax").tree_util
    assert (jax.tree_structure(a) == jax.tree_structure(b)) == (structure(a) == structure(b))


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        (1, "PyTreeDef(*)"),
        (None, "PyTreeDef(None)"),
        ((), "PyTreeDef(())"),
        ((1,), "PyTreeDef((*,))"),
        ({"b": 1, "a": (1, [2])}, "PyTreeDef({'a': (*, [*]), 'b': *})"),
        (collections.OrderedDict(b=1, a=2), "PyTreeDef(CustomNode(OrderedDict[('b', 'a')], [*, *]))"),
        (Pair(1, (2, 3)), "PyTreeDef(CustomNode(namedtuple[Pair], [*, (*, *)]))"),
        (Box(1), "PyTreeDef(CustomNode(Box[('m',)], [*]))"),
        (Layer(1, 2), "PyTreeDef(CustomNode(Layer[(2,)], [*]))"),
        (Mode("eval"), "PyTreeDef(CustomNode(Mode[Mode(name='eval')], []))"),
    ],
)
def test_structures_print_like_jax(tree, expected):
    assert str(structure(tree)) == expected


def test_dicts_are_taken_by_sorted_keys_and_ordered_dicts_by_their_own():
    assert leaves({"b": 1, "a": 2}) == [2, 1]
    assert leaves(collections.OrderedDict(b=1, a=2)) == [1, 2]
    assert leaves(collections.defaultdict(int, b=1, a=2)) == [2, 1]


def test_a_default_dict_keeps_its_factory():
    again = map_leaves(lambda x: x + 1, collections.defaultdict(list, a=1))
    assert (again, again.default_factory) == ({"a": 2}, list)


def test_subclasses_of_containers_are_leaves_unless_named_tuples():
    class OwnList(list):
        pass

    class OwnTuple(tuple):
        pass

    assert leaves([OwnList([1]), OwnTuple((1, 2))]) == [OwnList([1]), OwnTuple((1, 2))]
    assert leaves(Pair(1, None)) == [1]
    assert leaves(Empty()) == []


def test_strings_arrays_and_sets_are_leaves():
    array = np.zeros(2)
    assert leaves(("ab", array, {1}))[0] == "ab"
    assert leaves([array])[0] is array


def test_is_leaf_is_asked_root_first_and_of_none_too():
    assert leaves([None, 1], is_leaf=lambda x: x is None) == [None, 1]
    asked = []
    tree = ({"a": 1}, [2])
    assert leaves(tree, is_leaf=lambda x: asked.append(x) or isinstance(x, list)) == [1, [2]]
    assert asked == [tree, {"a": 1}, 1, [2]]


def test_flat_structures_of_the_same_kind_are_shared():
    assert structure((1, 2)) is structure((3, 4))
    assert structure((1, 2)) != structure([1, 2])
    assert structure(((1,), 2)) == structure(((5,), 6))


def test_long_flat_tuples_work_past_the_shared_ones():
    many = tuple(range(200))
    assert unflatten(structure(many), many) == many


def test_unflatten_checks_the_number_of_leaves():
    with pytest.raises(
        PytreeError, match=r"unflatten: 1 leaves were given for a structure of 2\n(.|\n)*PyTreeDef\(\(\*, \*\)\)"
    ):
        structure((1, 2)).unflatten([1])
    with pytest.raises(PytreeError, match="3 leaves were given"):
        structure({"a": (1, 2)}).unflatten(iter([1, 2, 3]))


def test_keys_without_an_order_are_explained():
    with pytest.raises(PytreeError, match=r"cannot be put in order.*types? int, str\)(.|\n)*Fix: use keys of one type"):
        flatten([{"a": 1, 2: 3}])


def test_a_tree_that_contains_itself_is_explained():
    tree = {"x": [1, {}]}
    tree["x"][1]["back"] = tree["x"]
    for walk in (flatten, flatten_with_path, lambda t: flatten(t, is_leaf=lambda x: False)):
        with pytest.raises(PytreeError, match=r"a list contains itself(.|\n)*tree\['x'\]\[1\]\['back'\].*\['x'\]"):
            walk(tree)


def test_a_tree_that_is_too_deep_is_explained():
    tree = ()
    for _ in range(20_000):
        tree = (tree,)
    with pytest.raises(PytreeError, match="nested more than"):
        flatten(tree)
    while tree:  # Taken apart step by step: freeing it at once would recurse as well.
        (tree,) = tree


def test_an_endless_recursion_of_the_users_own_is_not_renamed():
    class Broken:
        pass

    def endless(x):
        return endless(x)

    pytree.register_pytree_node(Broken, endless, lambda data, xs: Broken())
    with pytest.raises(RecursionError):
        flatten(Broken())


@pytest.mark.parametrize(
    ("prefix", "tree", "text"),
    [
        ((1, 2), (1, 2, 3), "at the root: a tuple of length 3 instead of 2"),
        ({"a": [1, 2]}, {"a": [1]}, r"at \['a'\]: a list of length 1 instead of 2"),
        ({"a": 1, "c": 1}, {"b": 2, "c": 1}, "at the root: a dict with no key 'a' and an unexpected key 'b'"),
        ({"a": {"x": [1]}}, {"a": {"x": (1,)}}, r"at \['a'\]\['x'\]: a tuple instead of a list"),
        ((None, 1), ((1,), 1), r"at \[0\]: a tuple instead of None"),
        ((None, 1), (7, 1), r"at \[0\]: an int instead of None"),
        (([1], 1), (None, 1), r"at \[0\]: None instead of a list"),
        (Pair(1, [2]), Pair(1, 2), r"at \.second: an int instead of a list"),
        (Pair(1, 2), (1, 2), "a tuple instead of a Pair"),
        (Layer([1], 2), Layer([1], 3), r"the static data of Layer is \(3,\) instead of \(2,\)"),
        (Layer([1]), Layer((1,)), r"at \.w: a tuple instead of a list"),
        (Box([1]), Box((1,)), r"at \[<flat index 0>\]: a tuple instead of a list"),
        (collections.OrderedDict(a=1, b=2), collections.OrderedDict(b=2, a=1), "the static data of OrderedDict"),
        (collections.defaultdict(int, a=1), collections.defaultdict(int, b=1), "a defaultdict with no key 'a'"),
        (collections.defaultdict(int, a=1), collections.defaultdict(list, a=1), "the static data of defaultdict"),
    ],
)
def test_a_mismatch_names_the_path_both_structures_and_the_fix(prefix, tree, text):
    with pytest.raises(PytreeError, match=f"pytrees differ {'' if text.startswith('at') else '.*'}{text}") as caught:
        structure(prefix).flatten_up_to(tree)
    shown = str(caught.value)
    assert str(structure(prefix)) in shown
    assert str(structure(tree)) in shown
    assert "\n  Fix: " in shown


@pytest.mark.parametrize(
    ("prefix", "tree"),
    [
        ((1, 2), ([3], {"a": 4})),
        (1, ((), None)),
        ({"a": 1}, {"a": None}),
        (Pair(1, (2, 3)), Pair([1], (2, Pair(1, 2)))),
        (None, None),
    ],
)
def test_the_parts_below_a_prefix_agree_with_jax(prefix, tree):
    jax = pytest.importorskip("jax").tree_util
    assert jax.tree_structure(prefix).flatten_up_to(tree) == structure(prefix).flatten_up_to(tree)


def test_broadcast_prefix_repeats_each_value_below_its_place():
    assert broadcast_prefix(0, {"a": (1, 2), "b": [3]}) == [0, 0, 0]
    assert broadcast_prefix({"a": 5, "b": 6}, {"a": (1, 2), "b": [3]}) == [5, 5, 6]
    assert broadcast_prefix((None, 0), ((1, 2), 3), is_leaf=lambda x: x is None) == [None, None, 0]
    assert broadcast_prefix((1, 2), structure(((0, 0), 0))) == [1, 1, 2]
    with pytest.raises(PytreeError, match=r"at the root: a tuple of length 2 instead of 3"):
        broadcast_prefix((0, 0, 0), (1, 2))


def test_map_takes_further_trees_below_the_first():
    assert map_leaves(lambda x, part: (x, part), {"a": 1}, {"a": [2, 3]}) == {"a": (1, [2, 3])}
    with pytest.raises(PytreeError, match="no key 'a'"):
        map_leaves(lambda x, y: x, {"a": 1}, {"b": 1})


def test_transpose_turns_a_tree_inside_out():
    assert transpose(structure([0, 0]), structure((0, 0)), [(1, 2), (3, 4)]) == ([1, 3], [2, 4])
    assert transpose(structure({"a": 0}), None, {"a": Pair(1, 2)}) == Pair({"a": 1}, {"a": 2})
    assert transpose(structure([]), structure((0, 0)), []) == ([], [])
    with pytest.raises(PytreeError, match=r"a tuple of length 3 instead of 2"):
        transpose(structure([0, 0]), None, [(1, 2), (3, 4, 5)])


def test_compose_puts_one_structure_into_the_leaves_of_another():
    assert structure((1, 2)).compose(structure([1, {"a": 1}])) == structure(([1, {"a": 1}], [1, {"a": 1}]))


def test_structures_survive_pickle_and_copy():
    definition = structure({"a": (1, [2, None]), "b": Pair(1, Layer(2, 3))})
    for again in (pickle.loads(pickle.dumps(definition)), copy.deepcopy(definition)):
        assert again == definition
        assert hash(again) == hash(definition)
        assert again.unflatten(range(4)) == definition.unflatten(range(4))


def test_paths_name_each_kind_of_container():
    tree = {"a": [1, Pair(2, Box(3))], "l": Layer((4,))}
    assert [keystr(path) for path, _ in flatten_with_path(tree)[0]] == [
        "['a'][0]",
        "['a'][1].first",
        "['a'][1].second[<flat index 0>]",
        "['l'].w[0]",
    ]
    last = leaf_paths(structure(tree))[-1]
    assert last == (DictKey("l"), GetAttrKey("w"), SequenceKey(0))
    assert keystr(last, simple=True, separator="/") == "l/w/0"
    assert keystr((FlattenedIndexKey(2),), simple=True) == "2"


def test_is_leaf_can_take_the_path():
    pairs, _ = flatten_with_path({"a": [1, 2], "b": [3]}, lambda path, x: keystr(path) == "['a']", True)
    assert [leaf for _, leaf in pairs] == [[1, 2], 3]


def test_a_dataclass_splits_into_data_and_static_fields():
    layer = Layer({"k": 1}, 3)
    assert leaves(layer) == [1]
    assert map_leaves(lambda x: x + 1, layer) == Layer({"k": 2}, 3)
    assert structure(Layer(1, 3)) != structure(Layer(1, 4))


def test_a_dataclass_can_be_registered_by_field_names():
    @functools.partial(pytree.register_dataclass, data_fields=("x",), meta_fields=("n",), drop_fields=("cache",))
    @dataclasses.dataclass
    class Step:
        x: float
        n: int
        cache: int = 7

    assert map_leaves(lambda x: x + 1, Step(1.0, 2, 9)) == Step(2.0, 2, 7)

    @pytree.register_dataclass(meta_fields=["n"])
    @dataclasses.dataclass
    class Other:
        x: float
        n: int

    assert leaves(Other(1.0, 2)) == [1.0]


def test_a_dataclass_with_wrong_field_names_is_refused():
    @dataclasses.dataclass
    class Step:
        x: float
        n: int

    with pytest.raises(PytreeError, match="n is in none of data_fields, meta_fields and drop_fields of Step"):
        pytree.register_dataclass(Step, ["x"], [])
    with pytest.raises(PytreeError, match="typo is not a field of Step"):
        pytree.register_dataclass(Step, ["x", "n"], ["typo"])
    with pytest.raises(PytreeError, match="x is named twice of Step"):
        pytree.register_dataclass(Step, ["x", "n"], ["x"])
    with pytest.raises(PytreeError, match=r"object is not a dataclass\n(.|\n)*Fix: put @dataclasses.dataclass below"):
        pytree.register_dataclass(object)


def test_a_class_registers_itself_by_methods():
    @pytree.register_pytree_node_class
    class Plain:
        def __init__(self, x, n):
            self.x, self.n = x, n

        def tree_flatten(self):
            return (self.x,), self.n

        @classmethod
        def tree_unflatten(cls, n, children):
            return cls(*children, n)

    @pytree.register_pytree_with_keys_class
    class Keyed(Plain):
        tree_flatten = None

        def tree_flatten_with_keys(self):
            return ((GetAttrKey("x"), self.x),), self.n

    del Keyed.tree_flatten
    for cls, path in ((Plain, "[<flat index 0>]"), (Keyed, ".x")):
        again = map_leaves(lambda x: x + 1, cls(1, 2))
        assert (type(again), again.x, again.n) == (cls, 2, 2)
        assert keystr(flatten_with_path(cls(1, 2))[0][0][0]) == path


def test_a_class_is_registered_once():
    with pytest.raises(PytreeError, match="Box is registered as a pytree already"):
        pytree.register_static(Box)
    with pytest.raises(PytreeError, match="tuple is registered"):
        pytree.register_static(tuple)
    with pytest.raises(PytreeError, match="3 is not a class"):
        pytree.register_static(3)


def test_a_named_tuple_can_be_registered_even_after_its_first_use():
    Named = collections.namedtuple("Named", "x y")
    assert leaves(Named(1, 2)) == [1, 2]
    pytree.register_pytree_node(Named, lambda t: ((t.x,), t.y), lambda y, xs: Named(*xs, y))
    assert leaves(Named(1, 2)) == [1]
    assert str(structure(Named(1, 2))) == "PyTreeDef(CustomNode(Named[2], [*]))"


def test_a_static_class_belongs_to_the_structure():
    assert leaves((Mode("a"), 1)) == [1]
    assert structure(Mode("a")) == structure(Mode("a"))
    assert structure(Mode("a")) != structure(Mode("b"))
    assert map_leaves(lambda x: x, Mode("a")) == Mode("a")


def test_lists_and_dicts_in_static_data_are_compared_as_in_jax():
    """Libraries keep annotations of functions there."""
    one, other = structure(Layer(1, (["a"], {"b": [1]}))), structure(Layer(2, (["a"], {"b": [1]})))
    assert one == other and hash(one) == hash(other)
    assert one != structure(Layer(1, (["a"], {"b": [2]})))


def test_the_class_with_unhashable_data_is_named_from_outside():
    with pytest.raises(PytreeError, match="the static data of Layer is not hashable"):
        hash(structure((1, [Layer(1, np.zeros(2))])))


def test_arrays_in_static_data_are_explained():
    one, other = structure(Layer(1, np.zeros(2))), structure(Layer(1, np.ones(2)))
    with pytest.raises(PytreeError, match=r"the static data of Layer is not hashable(.|\n)*Fix: keep arrays"):
        hash(one)
    boxes = [structure(Box(1, np.zeros(2))) for _ in range(2)]
    with pytest.raises(PytreeError, match=r"the static data of Box cannot be compared(.|\n)*Fix: keep arrays"):
        _ = boxes[0] == boxes[1]
    with pytest.raises(PytreeError, match="cannot be compared"):
        _ = one == other


def scale(x, *, by=1):
    return x * by


def test_partial_binds_children_and_compares_by_function():
    bound = Partial(scale, by=3)
    assert bound(2) == 6
    assert leaves(bound) == [3]
    doubled = map_leaves(lambda x: 2 * x, bound)
    assert (type(doubled), doubled(2)) == (Partial, 12)
    assert structure(Partial(scale, by=3)) == structure(Partial(scale, by=4))


def test_partial_does_not_take_over_an_inner_partials_arguments():
    inner = functools.partial(scale, by=3)
    outer = Partial(inner, 2)
    assert (outer(), leaves(outer)) == (6, [2])
    assert structure(outer) == structure(Partial(functools.partial(scale, by=3), 5))
    assert structure(outer) != structure(Partial(functools.partial(scale, by=4), 2))


def test_a_mismatch_of_large_trees_is_a_short_message():
    large = {f"layer{i}": [i] for i in range(512)}
    with pytest.raises(PytreeError, match=r"no key 'layer0', 'layer1', .* and 506 more") as caught:
        structure(large).flatten_up_to({"a": 1})
    assert len(str(caught.value)) < 1000
