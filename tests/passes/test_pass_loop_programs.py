"""Random programs of nested loops and choices mean the same after the laws, which then have nothing left to do."""

import random

import pytest
from hypothesis import given, settings, strategies as st
from law_examples import sample_arguments
from pass_helpers import parse, same_bits

from passes import apply, run
from passes.match import operations_in
from passes.numeric.interpreter import interpret
from passes.simplify.loops import equal_state

V, N, B, M = "tensor<3xf32>", "tensor<i32>", "tensor<i1>", "tensor<4x3xf32>"
ROW = "tensor<1x3xf32>"


class Program:
    """Lines of MLIR; each block knows the values that it can see, by type."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines = []
        self.count = 0

    def name(self):
        self.count += 1
        return f"%v{self.count}"

    def emit(self, env, type_, text):
        name = self.name()
        self.lines.append(f"{name} = {text}")
        env[type_].append(name)
        return name

    def pick(self, env, type_):
        if not env[type_] or (type_ != M and self.random.random() < 0.1):
            number = {N: ["0", "1", "2", "3", "-1"], V: ["0.0", "-0.0", "1.5"], B: ["true", "false"], M: ["0.0"]}[type_]
            return self.emit(env, type_, f"stablehlo.constant dense<{self.random.choice(number)}> : {type_}")
        return self.random.choice(env[type_][-6:] + env[type_][:3])

    def block(self, env, depth):
        """A few ops; loops and choices among them."""
        for _ in range(self.random.randint(1, 5)):
            forms = ["float", "float", "integer", "compare", "read", "write", "splat"]
            form = self.random.choice(forms + ["while", "while", "if", "case"] * (depth > 0))
            if form == "float":
                name = self.random.choice(["add", "multiply", "maximum", "subtract"])
                self.emit(env, V, f"stablehlo.{name} {self.pick(env, V)}, {self.pick(env, V)} : {V}")
            elif form == "integer":
                name = self.random.choice(["add", "multiply", "minimum", "and", "divide", "remainder"])
                other = self.pick(env, N)
                if name in ("divide", "remainder"):  # by zero, results are anything
                    three = self.emit(env, N, f"stablehlo.constant dense<3> : {N}")
                    other = self.emit(env, N, f"stablehlo.or {other}, {three} : {N}")
                self.emit(env, N, f"stablehlo.{name} {self.pick(env, N)}, {other} : {N}")
            elif form == "compare":
                direction = self.random.choice(["LT", "EQ", "GE"])
                pair = f"{self.pick(env, N)}, {self.pick(env, N)}"
                self.emit(env, B, f"stablehlo.compare {direction}, {pair} : ({N}, {N}) -> {B}")
            elif form == "read":
                zero = self.emit(env, N, f"stablehlo.constant dense<0> : {N}")
                at = f"{self.pick(env, M)}, {self.pick(env, N)}, {zero}"
                row = self.name()
                self.lines.append(f"{row} = stablehlo.dynamic_slice {at}, sizes = [1, 3] : ({M}, {N}, {N}) -> {ROW}")
                self.emit(env, V, f"stablehlo.reshape {row} : ({ROW}) -> {V}")
            elif form == "write":
                zero = self.emit(env, N, f"stablehlo.constant dense<0> : {N}")
                row = self.name()
                self.lines.append(f"{row} = stablehlo.reshape {self.pick(env, V)} : ({V}) -> {ROW}")
                at = f"{self.pick(env, M)}, {row}, {self.pick(env, N)}, {zero}"
                self.emit(env, M, f"stablehlo.dynamic_update_slice {at} : ({M}, {ROW}, {N}, {N}) -> {M}")
            elif form == "splat":
                number = self.name()
                self.lines.append(f"{number} = stablehlo.convert {self.pick(env, N)} : ({N}) -> tensor<f32>")
                self.emit(env, V, f"stablehlo.broadcast_in_dim {number}, dims = [] : (tensor<f32>) -> {V}")
            elif form == "while":
                self.loop(env, depth - 1)
            else:
                self.choice(env, depth - 1, form)

    def loop(self, env, depth):
        """A loop that counts from 0 to at most 4, with state that changes places, stays, dies, or is captured."""
        zero = self.emit(env, N, f"stablehlo.constant dense<0> : {N}")
        kinds = [N, *(self.random.choice([N, V, V, M]) for _ in range(self.random.randint(1, 4)))]
        initial = [zero, *(self.pick(env, kind) for kind in kinds[1:])]
        if self.random.random() < 0.5:  # equal from the beginning
            pairs = [(i, j) for i in range(1, len(kinds)) for j in range(1, i) if kinds[i] == kinds[j]]
            for i, j in pairs:
                initial[i] = initial[j]
        bound = self.pick(env, N) if self.random.random() < 0.3 else None
        arguments = [self.name() for _ in kinds]
        result = self.name()
        state = ", ".join(f"{a} = {v}" for a, v in zip(arguments, initial))
        self.lines.append(f"{result}:{len(kinds)} = stablehlo.while({state}) : {', '.join(kinds)}\ncond {{")
        inner = {kind: list(values) for kind, values in env.items()}
        limit = self.emit(inner, N, f"stablehlo.constant dense<{self.random.randint(0, 4)}> : {N}")
        if bound is not None:
            limit = self.emit(inner, N, f"stablehlo.minimum {bound}, {limit} : {N}")
        less = self.emit(inner, B, f"stablehlo.compare LT, {arguments[0]}, {limit} : ({N}, {N}) -> {B}")
        self.lines.append(f"stablehlo.return {less} : {B}\n}} do {{")
        inner = {kind: list(values) for kind, values in env.items()}
        for kind, argument in zip(kinds, arguments):
            inner[kind].append(argument)
        self.block(inner, depth)
        one = self.emit(inner, N, f"stablehlo.constant dense<1> : {N}")
        values = [self.emit(inner, N, f"stablehlo.add {arguments[0]}, {one} : {N}")]
        for kind, argument in zip(kinds[1:], arguments[1:]):
            peers = [a for k, a in zip(kinds[1:], arguments[1:]) if k == kind]
            values.append(self.random.choice([argument, self.random.choice(peers), self.pick(inner, kind)]))
        self.lines.append(f"stablehlo.return {', '.join(values)} : {', '.join(kinds)}\n}}")
        for i, kind in enumerate(kinds):
            if self.random.random() < 0.7:
                env[kind].append(f"{result}#{i}")

    def choice(self, env, depth, form):
        """An `if` or a `case`, some results of which may be equal, or not be read."""
        index = self.pick(env, B if form == "if" else N)
        kinds = [self.random.choice([N, V, M]) for _ in range(self.random.randint(1, 3))]
        result = self.name()
        self.lines.append(f'{result}:{len(kinds)} = "stablehlo.{form}"({index}) (')
        count = 2 if form == "if" else self.random.randint(1, 3)
        shared = self.random.getrandbits(32)
        begins_equal = self.random.random() < 0.3
        for branch in range(count):
            self.lines.append("{" if branch == 0 else "}, {")
            inner = {kind: list(values) for kind, values in env.items()}
            if begins_equal:
                others, self.random = self.random, random.Random(shared)
                self.block(inner, 0)
                self.random = others
            if self.random.random() < 0.6:
                self.block(inner, depth)
            outside = {kind: list(values) for kind, values in env.items()}
            newest = {kind: values[-2:] for kind, values in inner.items()}
            values = [self.pick(newest if self.random.random() < 0.7 else outside, kind) for kind in kinds]
            self.lines.append(f"stablehlo.return {', '.join(values)} : {', '.join(kinds)}")
        self.lines.append(f"}}) : ({B if form == 'if' else N}) -> ({', '.join(kinds)})")
        for i, kind in enumerate(kinds):
            if self.random.random() < 0.8:
                env[kind].append(f"{result}#{i}")

    def text(self):
        """The whole of a program."""
        env = {V: ["%x", "%y"], N: ["%i", "%k"], B: ["%p"], M: ["%m"]}
        self.block(env, 3)
        self.loop(env, 2)
        results = [(value, kind) for kind in (V, N, M) for value in env[kind][-3:]]
        types = ", ".join(kind for _, kind in results)
        body = "\n".join(self.lines)
        return (
            f"func.func @main(%x: {V}, %y: {V}, %i: {N}, %k: {N}, %p: {B}, %m: {M}) -> ({types}) {{\n{body}\n"
            f"return {', '.join(value for value, _ in results)} : {types}\n}}"
        )


def check(text, seed, name="simplify"):
    module = parse(text)
    inputs = [sample_arguments(module, seed + i) for i in range(2)]
    expected = [interpret(module, *arrays) for arrays in inputs]
    run(module, name)
    for arrays, values in zip(inputs, expected):
        for value, found in zip(values, interpret(module, *arrays)):
            assert same_bits(value, found), f"{text}\n{module}\n{arrays}\nexpected {value}\nactual {found}"
    once = str(module)
    report = run(module, name)
    assert once == str(module)
    assert report.hits == {}


@pytest.mark.parametrize("name", ["simplify", "control_flow"])
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 1 << 30))
def test_loops_and_choices_keep_the_bits_of_every_result(name, seed):
    check(Program(seed).text(), seed, name)


@pytest.mark.parametrize(
    ("element", "number", "other"),
    [("complex<f32>", "(0.0,1.0)", "(1.0,0.0)"), ("bf16", "1.5", "2.5"), ("ui8", "3", "4"), ("f32", "1.5", "-1.5")],
)
def test_equal_state_is_found_through_constants_of_every_type(element, number, other):
    def states(second):
        array = f"tensor<4x{element}>"
        module = parse(f"""func.func @main(%x: {array}) -> ({array}, {array}) {{
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:3 = stablehlo.while(%i = %zero, %s = %x, %t = %x) : tensor<i32>, {array}, {array}
  cond {{ %n = stablehlo.constant dense<9> : tensor<i32>
  %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.return %p : tensor<i1> }} do {{ %one = stablehlo.constant dense<1> : tensor<i32>
  %j = stablehlo.add %i, %one : tensor<i32>
  %c = stablehlo.constant dense<{number}> : {array}
  %d = stablehlo.constant dense<{second}> : {array}
  %0 = stablehlo.add %s, %c : {array}
  %1 = stablehlo.add %t, %d : {array}
  stablehlo.return %j, %0, %1 : tensor<i32>, {array}, {array} }}
  return %r#1, %r#2 : {array}, {array}
}}""")
        apply(module, [equal_state])
        return [len(op.operands) for op in operations_in(module, "stablehlo.while")]

    assert (states(number), states(other)) == ([2], [3])
