"""Programs on arrays of terms: what operations do with elements, and what becomes of a program's results."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from bitwuzla import Kind

from passes import attributes as attrs, operations
from passes.match import combinations, constant_of, dtype_of, functions, shape_of
from passes.numeric.interpreter import SIMPLE
from passes.proving.terms import UnsupportedError

# What elementwise operations may have, and their terms account for.
_ATTRIBUTES = frozenset(("comparison_direction", "compare_type", "result_accuracy"))
# Operations that move elements, whatever these are: numbers or terms.
_MOVES = frozenset(
    f"stablehlo.{name}" for name in "broadcast_in_dim concatenate pad reshape reverse slice transpose".split()
)
# The most elements of a value, and rounds of a loop.
_SIZE, _ROUNDS = 4096, 40


class Program:
    """Computes with arrays of terms."""

    def __init__(self, terms: Any) -> None:
        self.terms = terms
        self.elementwise = True

    def arguments(self, module: Any) -> Any:
        """A term for each element of each argument."""
        found = []
        for number, value in enumerate(_block(module).arguments):
            shape, dtype = shape_of(value), dtype_of(value)
            if math.prod(shape) > _SIZE or -1 in shape:
                raise UnsupportedError("a large array")
            found.append(_each(shape, lambda i, n=number, dtype=dtype: self.terms.variable(dtype, f"x{n}{list(i)}")))
        return found

    def results(self, module: Any, arguments: Any) -> Any:
        """The results of `main`."""
        return self.block(_block(module), arguments, {})

    def block(self, block: Any, arguments: Any, outer: Any) -> Any:
        env = {**outer, **dict(zip(block.arguments, arguments))}
        for op in (o.operation for o in block.operations):
            if op.name.endswith("return"):
                return [env[v] for v in op.operands]
            for result, value in zip(op.results, self.operation(op, [env[v] for v in op.operands], env)):
                if not isinstance(value, np.ndarray):
                    value = _filled((), value)
                assert value.shape == shape_of(result), f"{op.name}: {value.shape}"
                env[result] = value
        raise AssertionError("a block ends with its results")

    def operation(self, op: Any, values: Any, env: Any) -> Any:
        name = op.name.removeprefix("stablehlo.")
        if any(-1 in shape_of(r) or math.prod(shape_of(r)) > _SIZE for r in op.results):
            raise UnsupportedError("a large or open array")
        if op.name in _MOVES:
            return [SIMPLE[op.name](op, *values)]
        rule = getattr(self, f"_{name}", None)
        if rule is not None:
            found = rule(op, values, env)
            return found if isinstance(found, list) else [found]
        if op.regions or not operations.of(op.name).elementwise or not attrs.copied(op).keys() <= _ATTRIBUTES:
            raise UnsupportedError(name)
        word = attrs.word(op, "comparison_direction")
        if name == "compare" and attrs.word(op, "compare_type") == "TOTALORDER":
            raise UnsupportedError("a total order")
        dtypes = [dtype_of(v) for v in op.operands]
        shape, dtype = shape_of(op.results[0]), dtype_of(op.results[0])

        def item(i: Any) -> Any:
            return self.terms.apply(name, [v[i if v.shape == shape else ()] for v in values], dtypes, dtype, word)

        return [_each(shape, item)]

    def _constant(self, op: Any, values: Any, env: Any) -> Any:
        array = constant_of(op.results[0])
        if array is None:
            raise UnsupportedError("a large constant")
        return _each(array.shape, lambda i: self.terms.number(array[i], dtype_of(op.results[0])))

    def _optimization_barrier(self, op: Any, values: Any, env: Any) -> Any:
        return values

    def _iota(self, op: Any, values: Any, env: Any) -> Any:
        shape, axis, dtype = shape_of(op.results[0]), attrs.integer(op, "iota_dimension"), dtype_of(op.results[0])
        return _each(shape, lambda i: self.terms.number(i[axis], dtype))

    def _sort(self, op: Any, values: Any, env: Any) -> Any:
        if values[0].shape[attrs.sort_dimension(op)] > 1:
            raise UnsupportedError("sort")
        return values

    def _starts(self, starts: Any, operands: Any, limits: Any) -> Any:
        """Each possible place of a slice, with a test of whether it is there."""
        options = [
            list(self._places(start[()], dtype_of(value), limit))
            for start, value, limit in zip(starts, operands, limits)
        ]
        for combined in itertools.product(*options):
            tests = [test for _, test in combined]
            both = tests[0] if len(tests) == 1 else self.terms.do(Kind.AND, *tests) if tests else None
            yield tuple(k for k, _ in combined), both

    def _places(self, start: Any, dtype: Any, limit: Any) -> Any:
        """Where a clamped start may be, each place with a test."""
        last = min(limit, int(np.iinfo(dtype).max))
        for k in range(last + 1):
            word = "LE" if k == 0 else "GE" if k == limit else "EQ"
            test = self.terms.compare(word, [start, self.terms.number(k, dtype)], dtype.kind)
            yield k, self.terms.manager.mk_true() if limit == 0 else test

    def _dynamic_slice(self, op: Any, values: Any, env: Any) -> Any:
        array, *starts = values
        sizes = attrs.ints(op, "slice_sizes")
        limits = [n - m for n, m in zip(array.shape, sizes)]
        found = None
        for place, test in self._starts(starts, list(op.operands)[1:], limits):
            part = array[tuple(slice(k, k + m) for k, m in zip(place, sizes))]
            found = part if found is None else self._chosen(test, part, found)
        return found

    def _dynamic_update_slice(self, op: Any, values: Any, env: Any) -> Any:
        array, update, *starts = values
        limits = [n - m for n, m in zip(array.shape, update.shape)]
        found = None
        for place, test in self._starts(starts, list(op.operands)[2:], limits):
            made = array.copy()
            made[tuple(slice(k, k + m) for k, m in zip(place, update.shape))] = update
            found = made if found is None else self._chosen(test, made, found)
        return found

    def _chosen(self, test: Any, yes: Any, no: Any) -> Any:
        return _each(yes.shape, lambda i: self.terms.choose(test, yes[i], no[i]))

    def _reduce(self, op: Any, values: Any, env: Any) -> Any:
        names = combinations(op.regions[0])
        count = len(op.results)
        if names is None:
            raise UnsupportedError("a reduction by another function")
        axes = attrs.ints(op, "dimensions")
        found = []
        for name, array, first, result in zip(names, values[:count], values[count:], op.results):
            made, dtype = np.empty(shape_of(result), object), dtype_of(result)
            moved = np.moveaxis(array, axes, range(len(axes))).reshape(-1, *made.shape)
            for i in np.ndindex(made.shape):
                items = [first[()], *(moved[(k,) + i] for k in range(len(moved)))]
                made[i] = self.terms.total(name.removeprefix("stablehlo."), items, dtype)
            found.append(made)
        return found

    def _dot_general(self, op: Any, values: Any, env: Any) -> Any:
        x, y = values
        numbers, dtype = attrs.dot_dimensions(op), dtype_of(op.results[0])
        dtypes = [dtype_of(v) for v in op.operands]
        free = [
            [i for i in range(v.ndim) if i not in (*batch, *contract)]
            for v, batch, contract in (
                (x, numbers.lhs_batch, numbers.lhs_contract),
                (y, numbers.rhs_batch, numbers.rhs_contract),
            )
        ]
        x = np.transpose(x, (*numbers.lhs_batch, *free[0], *numbers.lhs_contract))
        y = np.transpose(y, (*numbers.rhs_batch, *free[1], *numbers.rhs_contract))
        batch, depth = len(numbers.lhs_batch), len(numbers.lhs_contract)
        inner = x.shape[x.ndim - depth :]

        def item(i: Any) -> Any:
            rows, columns = x[i[: batch + len(free[0])]], y[i[:batch] + i[batch + len(free[0]) :]]
            pairs = [(np.asarray(rows, object)[k], np.asarray(columns, object)[k]) for k in np.ndindex(inner)]
            items = [self._product(pair, dtypes, dtype) for pair in pairs]
            return self.terms.total("add", [self.terms.number(0, dtype), *items], dtype)

        return _each(shape_of(op.results[0]), item)

    def _product(self, pair: Any, dtypes: Any, dtype: Any) -> Any:
        wide = [self.terms.convert(item, source, dtype) for item, source in zip(pair, dtypes)]
        return self.terms.apply("multiply", wide, [dtype] * 2, dtype)

    def _reduce_window(self, op: Any, values: Any, env: Any) -> Any:
        names, count = combinations(op.regions[0]), len(op.results)
        if names is None:
            raise UnsupportedError("a reduction by another function")
        rank = values[0].ndim
        sizes = attrs.ints(op, "window_dimensions")
        strides, base, spread = (
            attrs.ints(op, name, (1,) * rank) for name in ("window_strides", "base_dilations", "window_dilations")
        )
        padding = attrs.pairs(op, "padding", rank)
        found = []
        for name, array, first, result in zip(names, values[:count], values[count:], op.results):
            made, dtype = np.empty(shape_of(result), object), dtype_of(result)
            for i in np.ndindex(made.shape):
                items = [first[()]]
                for k in np.ndindex(sizes):
                    at = [a * s + b * d - low for a, s, b, d, (low, _) in zip(i, strides, k, spread, padding)]
                    if all(a >= 0 and a % step == 0 and a // step < n for a, step, n in zip(at, base, array.shape)):
                        items.append(array[tuple(a // step for a, step in zip(at, base))])
                made[i] = self.terms.total(name.removeprefix("stablehlo."), items, dtype)
            found.append(made)
        return found

    def _convolution(self, op: Any, values: Any, env: Any) -> Any:
        x, y = values
        numbers, dtype = attrs.convolution_dimensions(op), dtype_of(op.results[0])
        groups, batches = attrs.integer(op, "feature_group_count"), attrs.integer(op, "batch_group_count")
        if batches != 1:
            raise UnsupportedError("a convolution with groups of batches")
        x = np.transpose(x, (numbers.lhs_batch, numbers.lhs_feature, *numbers.lhs_spatial))
        y = np.transpose(y, (numbers.rhs_output, numbers.rhs_input, *numbers.rhs_spatial))
        rank = x.ndim - 2
        strides, base, spread = (
            attrs.ints(op, name, (1,) * rank) for name in ("window_strides", "lhs_dilation", "rhs_dilation")
        )
        turned = attrs.ints(op, "window_reversal", (0,) * rank)
        padding = attrs.pairs(op, "padding", rank)
        order = (numbers.out_batch, numbers.out_feature, *numbers.out_spatial)
        made = np.empty([shape_of(op.results[0])[axis] for axis in order], object)
        each = made.shape[1] // groups
        for image, out, *place in np.ndindex(made.shape):
            items = [self.terms.number(0, dtype)]
            for channel, *k in np.ndindex(y.shape[1:]):
                at = [a * s + b * d - low for a, s, b, d, (low, _) in zip(place, strides, k, spread, padding)]
                if all(a >= 0 and a % step == 0 and a // step < n for a, step, n in zip(at, base, x.shape[2:])):
                    left = x[(image, out // each * y.shape[1] + channel) + tuple(a // s for a, s in zip(at, base))]
                    tap = tuple(n - 1 - b if back else b for n, b, back in zip(y.shape[2:], k, turned))
                    items.append(self._product((left, y[(out, channel) + tap]), [*map(dtype_of, op.operands)], dtype))
            made[(image, out) + tuple(place)] = self.terms.total("add", items, dtype)
        return np.transpose(made, np.argsort(order))

    def _gather(self, op: Any, values: Any, env: Any) -> Any:
        array, indices = values
        numbers = attrs.dimension_numbers(op, "dimension_numbers")
        if numbers.get("operand_batching_dims"):
            raise UnsupportedError("a gather with batches")
        sizes, dtype = attrs.ints(op, "slice_sizes"), dtype_of(op.operands[1])
        offsets, map_ = numbers.get("offset_dims", ()), numbers.get("start_index_map", ())
        dropped, depth = numbers.get("collapsed_slice_dims", ()), numbers.get("index_vector_dim", 0)
        kept = [axis for axis in range(array.ndim) if axis not in dropped]
        made = np.empty(shape_of(op.results[0]), object)
        for i in np.ndindex(made.shape):
            batch = [n for axis, n in enumerate(i) if axis not in offsets]
            inner = [0] * array.ndim
            for axis, place in zip(kept, offsets):
                inner[axis] = i[place]
            options = [[(n, None)] for n in inner]
            for number, axis in enumerate(map_):
                where = list(batch)
                where.insert(depth, number)
                start = indices[tuple(where[: indices.ndim])]
                limit = array.shape[axis] - sizes[axis]
                options[axis] = [(k + inner[axis], test) for k, test in self._places(start, dtype, limit)]
            made[i] = self._at(array, options)
        return made

    def _at(self, array: Any, options: Any) -> Any:
        """The element at a place of which each coordinate is one of several, each with a test."""
        found = None
        for combined in itertools.product(*options):
            item = array[tuple(k for k, _ in combined)]
            tests = [test for _, test in combined if test is not None]
            both = self.terms.do(Kind.AND, *tests) if len(tests) > 1 else tests[0] if tests else None
            found = item if found is None or both is None else self.terms.choose(both, item, found)
        return found

    def _map(self, op: Any, values: Any, env: Any) -> Any:
        def item(i: Any) -> Any:
            return self.block(op.regions[0].blocks[0], [_filled((), v[i]) for v in values], env)[0][()]

        return _each(shape_of(op.results[0]), item)

    def _if(self, op: Any, values: Any, env: Any) -> Any:
        yes, no = (self.block(region.blocks[0], [], env) for region in op.regions)
        return [self._chosen(values[0][()], a, b) for a, b in zip(yes, no)]

    def _case(self, op: Any, values: Any, env: Any) -> Any:
        *branches, last = (self.block(region.blocks[0], [], env) for region in op.regions)
        dtype, found = dtype_of(op.operands[0]), last
        for k, branch in reversed(list(enumerate(branches))):
            test = self.terms.equal(values[0][()], self.terms.number(k, dtype))
            found = [self._chosen(test, a, b) for a, b in zip(branch, found)]
        return found

    def _while(self, op: Any, values: Any, env: Any) -> Any:
        cond, body = (region.blocks[0] for region in op.regions)
        for _ in range(_ROUNDS):
            (test,) = self.block(cond, values, env)
            known = self.terms.known(test[()])
            if known is None:
                raise UnsupportedError("a loop of an unknown number of rounds")
            if not known:
                return values
            values = self.block(body, values, env)
        raise UnsupportedError("a long loop")


def _block(module: Any) -> Any:
    return functions(module)["main"].regions[0].blocks[0]


def _filled(shape: Any, item: Any) -> Any:
    return _each(shape, lambda _: item)


def _each(shape: Any, item: Any) -> Any:
    found = np.empty(shape, object)
    for i in np.ndindex(found.shape):
        found[i] = item(i)
    return found
