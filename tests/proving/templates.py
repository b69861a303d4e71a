"""Examples of laws with unknown sizes, starts, limits, strides and paddings, and with more axes."""

import itertools

import z3
from pass_helpers import parse

from passes import attributes as attrs, bindings, build, operations
from passes.analysis.strided import groups
from passes.match import dtype_of, functions
from tests.proving.tracing import Size, term


class OpenError(Exception):
    """An operation of which no program with unknown sizes is made."""


class Template:
    """A program of which numbers are unknown.

    Args:
      text: the program, of which operations and orders of axes stay. Axes of one element stay what they are.
      lead: how many axes each array gets before its own.
      fixed: whether strides, and paddings between elements, stay.

    Attributes:
      unknowns: z3's constants, by name.
      valid: what z3 has to take for granted of them: the program is one of StableHLO.
    """

    def __init__(self, text, lead, fixed=False):
        self.text, self.lead, self.fixed = text, lead, fixed
        self.unknowns, self.valid = {}, []
        self.module({})

    def module(self, values, trace=None):
        """The program with numbers in the place of the unknowns, which it writes down where a law is traced."""
        self._values, self._trace, self._names, self.valid = values, trace, itertools.count(), []
        module = parse(self.text)
        function = functions(module)["main"]
        block = function.regions[0].blocks[0]
        if "tuple<" in self.text:
            raise OpenError("a tuple")
        with module.context, bindings.ir.Location.unknown():
            self._block, self._shapes = block, {}
            self._examples = {v: list(v.type.shape) for v in block.arguments}
            lifted = self._is_lifted = {}
            for value in block.arguments:
                shape = self._examples[value]
                lifted[value] = bool(shape)
                self._set(value, [*self._extra(shape), *(self._size(n) for n in shape)])
            for op in [o.operation for o in block.operations]:
                if op.name.endswith("return"):
                    break
                if op.name.startswith("stablehlo.dynamic_") and self.lead and lifted[op.operands[0]]:
                    op = self._with_starts(op)
                for value in op.results:
                    self._examples[value] = list(value.type.shape)
                known = [lifted[v] for v in op.operands if self._examples[v] or lifted[v]]
                self._lifted = any(known) if known else any(self._examples[v] for v in op.results)
                for value, shape in zip(op.results, self._moved(op)):
                    lifted[value] = self._lifted
                    self._set(value, shape)
            types = [v.type for v in block.arguments], [v.type for v in op.operands]
            function.attributes["function_type"] = bindings.ir.TypeAttr.get(bindings.ir.FunctionType.get(*types))
        return module

    def _with_starts(self, op):
        """A dynamic slice or update in the place of another, with a start for each axis that is added."""
        starts = [v for v in op.operands if not v.type.shape]
        arrays = list(op.operands)[: len(op.operands) - len(starts)]
        for _ in range(self.lead):
            if isinstance(starts[-1].owner, bindings.ir.Block):
                new = self._block.add_argument(starts[-1].type, bindings.ir.Location.unknown())
            else:
                new = starts[-1].owner.operation.clone(ip=bindings.ir.InsertionPoint(op)).operation.results[0]
                self._unknown_number(new)
            starts.insert(0, new)
            self._shapes[new] = self._examples[new] = []
            self._is_lifted[new] = False
        with bindings.ir.InsertionPoint(op):
            made = build.op(op.name, [*arrays, *starts], [op.results[0].type], attributes=attrs.copied(op)).owner
        op.results[0].replace_all_uses_with(made.results[0])
        op.erase()
        return made.operation

    def _unknown_number(self, value):
        """A constant that is a start of a slice, and so far of nothing else."""
        op = value.owner.operation
        if op.name == "stablehlo.constant":
            number = self._trace.write(self._unknown(), self._trace.constants) if self._trace else self._unknown()
            made = build.np.asarray(int(number), dtype_of(value))
            op.attributes["value"] = bindings.ir.DenseElementsAttr.get(made, type=value.type.element_type, shape=())

    def _unknown(self, least=0):
        name = f"n{next(self._names)}"
        known = self.unknowns.setdefault(name, z3.Int(name))
        self.valid.append(known >= least)
        return Size(self._values.get(name, 20), known)

    def _size(self, example):
        return example if example < 2 else self._unknown()

    def _extra(self, shape):
        return [self._unknown() for _ in range(self.lead)] if shape else []

    def _set(self, value, shape):
        self._shapes[value] = shape
        value.set_type(build.tensor_type(shape, value.type.element_type))

    def _equate(self, *shapes):
        for a, b in itertools.pairwise(shapes):
            if len(a) != len(b):
                raise OpenError("arrays of different ranks")
            self.valid += [z3.IntVal(0) + term(m) == term(n) for m, n in zip(a, b) if m is not n]

    def _moved(self, op):
        name = op.name.removeprefix("stablehlo.")
        rule = getattr(self, f"_{name}", None)
        if rule is not None:
            return [rule(op, *(self._shapes[v] for v in op.operands))]
        if name in ("reduce", "optimization_barrier"):
            return self._of_several(op, name)
        if op.regions or not operations.of(op.name).elementwise:
            raise OpenError(name)
        shapes = [self._shapes[v] for v in op.operands]
        rank = max(map(len, shapes))
        spread = [shape for shape in shapes if len(shape) == rank]
        if any(len(shape) not in (0, rank) for shape in shapes):
            raise OpenError("arrays of different ranks")
        self._equate(*spread)
        return [spread[0]]

    def _of_several(self, op, name):
        shapes = [self._shapes[v] for v in op.operands]
        if name != "reduce":
            return shapes
        arrays = shapes[: len(op.results)]
        self._equate(*arrays)
        axes = self._axes(op, "dimensions")
        return [[n for d, n in enumerate(arrays[0]) if d not in axes]] * len(arrays)

    def _axes(self, op, name):
        """An attribute of axes, which come after those that are added."""
        found = [axis + self.lead * self._lifted for axis in attrs.ints(op, name)]
        op.attributes[name] = build.i64_array(found)
        return found

    def _constant(self, op):
        shape = self._examples[op.results[0]]
        splat = bindings.ir.DenseElementsAttr(op.attributes["value"])
        if not shape and all(use.owner.name.startswith("stablehlo.dynamic_") for use in op.results[0].uses):
            self._unknown_number(op.results[0])
        if not shape or not splat.is_splat:
            self._lifted = False
            return shape
        made = [*self._extra(shape), *map(self._size, shape)]
        type_ = build.tensor_type(made, op.results[0].type.element_type)
        op.attributes["value"] = bindings.ir.DenseElementsAttr.get_splat(type_, splat.get_splat_value())
        return made

    def _iota(self, op):
        op.attributes["iota_dimension"] = build.i64(attrs.integer(op, "iota_dimension") + self.lead)
        shape = self._examples[op.results[0]]
        return [*self._extra(shape), *map(self._size, shape)]

    def _slice(self, op, shape):
        strides = [*[1] * (len(shape) - len(attrs.ints(op, "strides"))), *attrs.ints(op, "strides")]
        starts, limits, sizes = [], [], []
        for d, n in enumerate(shape):
            start, size = self._unknown(), self._unknown()
            rest = 0
            if strides[d] != 1 and self.fixed:
                rest = self._unknown()
                self.valid += [rest.term < strides[d], z3.Or(size.term > 0, rest.term == 0)]
            elif strides[d] != 1:
                strides[d], rest = self._unknown(1), self._unknown()
                self.valid += [rest.term < strides[d].term, z3.Or(size.term > 0, rest.term == 0)]
            starts.append(start)
            limits.append(start + size * strides[d] - rest)
            sizes.append(size)
            self.valid.append(term(limits[d]) <= term(n))
        for name, values in zip(("start_indices", "limit_indices", "strides"), (starts, limits, strides)):
            op.attributes[name] = build.i64_array(values)
        return sizes

    def _pad(self, op, shape, _):
        low, high, inside = map(list, attrs.padding(op))
        extra = len(shape) - len(low)
        inside, examples = [0] * extra + inside, [1] * extra + [min(pair) for pair in zip(low, high)]
        least = [-(10**6) if n < 0 else 0 for n in examples]
        low, high = ([self._unknown(n) for n in least] for _ in range(2))
        inside = inside if self.fixed else [self._unknown() if gap else 0 for gap in inside]
        for name, values in zip(("edge_padding_low", "edge_padding_high", "interior_padding"), (low, high, inside)):
            op.attributes[name] = build.i64_array(values)
        made = []
        for n, a, b, gap in zip(shape, low, high, inside):
            between = Size(max(int(n) - 1, 0) * gap, z3.If(term(n) > 0, (term(n) - 1) * term(gap), 0)) if gap else 0
            made.append(n + a + b + between)
            self.valid.append(term(made[-1]) >= 0)
        return made

    def _transpose(self, op, shape):
        extra = len(shape) - len(attrs.ints(op, "permutation"))
        order = [*range(extra), *(axis + extra for axis in attrs.ints(op, "permutation"))]
        op.attributes["permutation"] = build.i64_array(order)
        return [shape[axis] for axis in order]

    def _reverse(self, op, shape):
        self._axes(op, "dimensions")
        return shape

    def _broadcast_in_dim(self, op, shape):
        example, dims = self._examples[op.results[0]], list(attrs.ints(op, "broadcast_dimensions"))
        source = self._examples[op.operands[0]]
        extra = len(shape) - len(source)
        made = [*(shape[:extra] or self._extra(example)), *map(self._size, example)]
        lead = len(made) - len(example)
        for axis, (n, m) in enumerate(zip(shape[extra:], source)):
            if m != 1:
                made[lead + dims[axis]] = n
        dims = [*range(extra), *(axis + lead for axis in dims)]
        op.attributes["broadcast_dimensions"] = build.i64_array(dims)
        self._lifted = bool(lead)
        return made

    def _concatenate(self, op, *shapes):
        axis = attrs.integer(op, "dimension") + self.lead * self._lifted
        op.attributes["dimension"] = build.i64(axis)
        self._equate(*([n for d, n in enumerate(shape) if d != axis] for shape in shapes))
        return [sum(shape[d] for shape in shapes) if d == axis else n for d, n in enumerate(shapes[0])]

    def _reshape(self, op, shape):
        before, after = self._examples[op.operands[0]], self._examples[op.results[0]]
        extra = len(shape) - len(before)
        made = [*(shape[:extra] or self._extra(after)), *map(self._size, after)]
        lead = len(made) - len(after)
        for left, right in groups(before, after) or ():
            old, new = 1, 1
            for d in left:
                old = shape[extra + d] * old
            if len(right) == 1:
                made[lead + right[0]] = old
                continue
            for d in right:
                new = made[lead + d] * new
            self.valid.append(z3.IntVal(0) + term(old) == term(new))
        if lead != extra:
            self.valid += [term(n) == 1 for n in made[:lead]]
        return made

    def _dynamic_slice(self, op, shape, *starts):
        sizes = [self._unknown() for _ in shape]
        self.valid += [term(m) <= term(n) for m, n in zip(sizes, shape)]
        op.attributes["slice_sizes"] = build.i64_array(sizes)
        self._need_starts(shape, starts)
        return sizes

    def _dynamic_update_slice(self, op, shape, update, *starts):
        if len(update) != len(shape):
            raise OpenError("arrays of different ranks")
        self.valid += [z3.IntVal(0) + term(m) <= term(n) for m, n in zip(update, shape)]
        self._need_starts(shape, starts)
        return shape

    def _need_starts(self, shape, starts):
        if len(starts) != len(shape):
            raise OpenError("slices with more starts")

    def _dot_general(self, op, left, right):
        dims = attrs.dot_dimensions(op)
        extra = self.lead * self._lifted
        batch, contract = zip(dims.lhs_batch, dims.rhs_batch), zip(dims.lhs_contract, dims.rhs_contract)
        batch = [*((d, d) for d in range(extra)), *((a + extra, b + extra) for a, b in batch)]
        contract = [(a + extra, b + extra) for a, b in contract]
        self._equate(*([side[pair[k]] for pair in batch + contract] for k, side in enumerate((left, right))))
        names = ("lhs_batching_dimensions", "rhs_batching_dimensions", "lhs_contracting_dimensions")
        axes = [[pair[k] for pair in pairs] for pairs in (batch, contract) for k in (0, 1)]
        text = ", ".join(f"{n} = {a}" for n, a in zip((*names, "rhs_contracting_dimensions"), axes) if a)
        op.attributes["dot_dimension_numbers"] = build.attribute(f"#stablehlo.dot<{text}>")
        used = [{pair[k] for pair in batch + contract} for k in (0, 1)]
        free = [n for side, gone in zip((left, right), used) for d, n in enumerate(side) if d not in gone]
        return [*(left[a] for a, _ in batch), *free]
