"""An interpreter of StableHLO programs in NumPy, op by op."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from passes import attributes as attrs, bindings, match, operations
from passes.errors import InterpretError, message
from passes.numeric import elementwise, products, shapes
from passes.patterns import location_text

Array = np.ndarray
Environment = dict[Any, Array]
_LOWER_FIRST = "rewrite it into operations that the interpreter implements"


def interpret(module: Any, *arrays: Any, function: str = "main") -> list[Array]:
    """Run a function of a StableHLO module on NumPy arrays.

    Args:
      module: an `ir.Module` or MLIR text.
      arrays: one for each argument, of its shape and dtype.
      function: the name of the function.

    Returns:
      One array for each result.

    Raises:
      InterpretError: an op is not implemented, or the arguments do not fit.

    >>> text = '''func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
    ...   %0 = stablehlo.add %x, %x : tensor<3xf32>
    ...   return %0 : tensor<3xf32>
    ... }'''
    >>> interpret(text, np.arange(3, dtype=np.float32))
    [array([0., 2., 4.], dtype=float32)]
    """
    if isinstance(module, str):
        module = bindings.ir.Module.parse(module, bindings.new_context())
    functions = match.functions(module)
    if function not in functions:
        known = [("functions", ", ".join(functions))]
        raise InterpretError(message(f"no function named {function}", values=known, fix="name one of them"))
    with np.errstate(all="ignore"):
        return _Interpreter(functions).call(function, [np.asarray(a) for a in arrays])


def evaluate(op: Any, operands: Sequence[Array]) -> list[Array]:
    """The results of one op, given its operands' values; its regions may not capture values."""
    with np.errstate(all="ignore"):
        return _Interpreter({}).evaluate(op, list(operands), {})


class _Interpreter:
    def __init__(self, functions: dict[str, Any]) -> None:
        self.functions = functions

    def call(self, name: str, arrays: list[Array]) -> list[Array]:
        block = self.functions[name].regions[0].blocks[0]
        if len(arrays) != len(block.arguments):
            count = len(block.arguments)
            raise InterpretError(
                message(f"@{name} takes {count} arguments and was given {len(arrays)}", fix=f"pass {count} arrays")
            )
        for i, (argument, array) in enumerate(zip(block.arguments, arrays)):
            shape = tuple(argument.type.shape)
            fits = len(shape) == array.ndim and all(n < 0 or n == m for n, m in zip(shape, array.shape))
            if not fits or match.dtype_of(argument) != array.dtype:
                raise InterpretError(
                    message(
                        f"argument {i} of @{name} is {argument.type}",
                        values=[("given", f"{array.dtype}{list(array.shape)}")],
                        fix="pass an array of that shape and dtype",
                    )
                )
        return self.block(block, arrays, {})

    def block(self, block: Any, arguments: Sequence[Array], outer: Environment) -> list[Array]:
        env = dict(outer)
        env.update(zip(block.arguments, arguments))
        for op in block.operations:
            operation = op.operation
            operands = [env[value] for value in operation.operands]
            if operation.name in ("stablehlo.return", "func.return"):
                return operands
            results = self.evaluate(op, operands, env)
            for value, array in zip(operation.results, results):
                env[value] = array
        raise InterpretError("a block has no terminator")

    def evaluate(self, op: Any, operands: list[Array], env: Environment) -> list[Array]:
        operation = op.operation
        name = operation.name
        try:
            outcome = self._run(name, op, operands, env)
        except (InterpretError, KeyError):
            raise
        except Exception as error:
            raise InterpretError(
                message(f"{name}: {type(error).__name__}: {error}", where=location_text(op))
            ) from error
        results = list(outcome) if isinstance(outcome, (tuple, list)) else [outcome]
        return [_as_result(value, result) for value, result in zip(results, operation.results)]

    def _run(self, name: str, op: Any, operands: list[Array], env: Environment) -> Any:
        meaning = operations.of(name).numpy
        if meaning is not None:
            return meaning(*operands)
        if name in SIMPLE:
            return SIMPLE[name](op, *operands)
        if name in _REGIONS:
            return _REGIONS[name](self, op, operands, env)
        if name.startswith("chlo.broadcast_"):
            return self._chlo_broadcast(name, op, operands)
        raise InterpretError(
            message(f"the NumPy interpreter does not implement {name}", where=location_text(op), fix=_LOWER_FIRST)
        )

    def _chlo_broadcast(self, name: str, op: Any, operands: list[Array]) -> Array:
        inner = name.removeprefix("chlo.broadcast_")
        pair = np.broadcast_arrays(*operands)
        if inner == "compare":
            return _compare(op, *pair)
        for full in (f"stablehlo.{inner}", f"chlo.{inner}"):
            meaning = operations.of(full).numpy
            if meaning is not None:
                return meaning(*pair)
        raise InterpretError(
            message(f"the NumPy interpreter does not implement {name}", where=location_text(op), fix=_LOWER_FIRST)
        )

    def region(self, op: Any, index: int, env: Environment) -> Callable[[list[Array]], list[Array]]:
        """A region as a function of arrays.

        The body of a reduction, which is written for scalars, may be called with whole arrays.
        """
        block = op.operation.regions[index].blocks[0]
        return lambda arguments: self.block(block, arguments, env)


def _as_result(value: Any, result: Any) -> Any:
    if not isinstance(result.type, bindings.ir.RankedTensorType):
        return value  # a tuple
    array, shape = np.asarray(value), tuple(result.type.shape)
    # In the body of a reduction, ops have scalar types but run on arrays.
    if array.shape != shape and shape != () and all(n >= 0 for n in shape):
        raise InterpretError(f"{result}: computed shape {array.shape}")
    dtype = match.dtype_of(result)
    return array if array.dtype == dtype else elementwise.convert(array, dtype)


def _compare(op: Any, x: Array, y: Array) -> Array:
    return elementwise.compare(x, y, attrs.word(op, "comparison_direction"), attrs.word(op, "compare_type", "NOTYPE"))


def _clamp(op: Any, low: Array, x: Array, high: Array) -> Array:
    low, high = np.broadcast_to(low, x.shape), np.broadcast_to(high, x.shape)
    return elementwise.minimum(elementwise.maximum(x, low), high)


# Operations whose results depend on attributes; `passes.operations` has the functions of all others.
SIMPLE: dict[str, Callable[..., Any]] = {
    "stablehlo.constant": lambda op: match.constant_of(op.operation.results[0]),
    "stablehlo.iota": shapes.iota,
    "stablehlo.compare": _compare,
    "stablehlo.select": lambda op, p, x, y: np.asarray(np.where(p, x, y), x.dtype),
    "stablehlo.clamp": _clamp,
    "stablehlo.convert": lambda op, x: elementwise.convert(x, shapes.result_dtype(op)),
    "stablehlo.bitcast_convert": shapes.bitcast_convert,
    "stablehlo.reduce_precision": lambda op, x: elementwise.reduce_precision(
        x, attrs.integer(op, "exponent_bits"), attrs.integer(op, "mantissa_bits")
    ),
    "stablehlo.optimization_barrier": lambda op, *xs: xs,
    "stablehlo.broadcast_in_dim": shapes.broadcast_in_dim,
    "stablehlo.broadcast": lambda op, x: np.broadcast_to(x, (*attrs.ints(op, "broadcast_sizes"), *x.shape)),
    "stablehlo.dynamic_broadcast_in_dim": shapes.broadcast_in_dim,
    "stablehlo.dynamic_iota": shapes.iota,
    "stablehlo.dynamic_pad": lambda op, x, value, *amounts: shapes.pad_array(x, value, *amounts),
    "stablehlo.dynamic_reshape": shapes.reshape,
    "stablehlo.get_dimension_size": lambda op, x: x.shape[attrs.integer(op, "dimension")],
    "stablehlo.real_dynamic_slice": lambda op, x, *bounds: x[tuple(slice(*ends) for ends in zip(*bounds))],
    "stablehlo.set_dimension_size": lambda op, x, size: x.take(range(int(size)), attrs.integer(op, "dimension")),
    "stablehlo.tuple": lambda op, *xs: [xs],
    "stablehlo.get_tuple_element": lambda op, xs: [xs[attrs.integer(op, "index")]],
    "stablehlo.reshape": shapes.reshape,
    "stablehlo.transpose": lambda op, x: x.transpose(attrs.ints(op, "permutation")),
    "stablehlo.reverse": shapes.reverse,
    "stablehlo.slice": shapes.slice_,
    "stablehlo.pad": shapes.pad,
    "stablehlo.concatenate": lambda op, *xs: np.concatenate(xs, attrs.integer(op, "dimension")),
    "stablehlo.dynamic_slice": shapes.dynamic_slice,
    "stablehlo.dynamic_update_slice": shapes.dynamic_update_slice,
    "stablehlo.gather": shapes.gather,
    "stablehlo.dot_general": products.dot_general,
    "stablehlo.convolution": products.convolution,
    "stablehlo.fft": products.fft,
    "stablehlo.cholesky": products.cholesky,
    "stablehlo.triangular_solve": products.triangular_solve,
    "chlo.top_k": shapes.top_k,
    "chlo.constant": lambda op: match.constant_of(op.operation.results[0]),
}


def _while(run: _Interpreter, op: Any, operands: list[Array], env: Environment) -> list[Array]:
    condition, body = run.region(op, 0, env), run.region(op, 1, env)
    state = operands
    while bool(condition(state)[0]):
        state = body(state)
    return state


def _case(run: _Interpreter, op: Any, operands: list[Array], env: Environment) -> list[Array]:
    count, index = len(op.operation.regions), int(operands[0])
    return run.region(op, index if 0 <= index < count else count - 1, env)([])


def _if(run: _Interpreter, op: Any, operands: list[Array], env: Environment) -> list[Array]:
    return run.region(op, 0 if bool(operands[0]) else 1, env)([])


def _call(run: _Interpreter, op: Any, operands: list[Array], env: Environment) -> list[Array]:
    return run.call(op.operation.attributes["callee"].value, operands)


def _composite(run: _Interpreter, op: Any, operands: list[Array], env: Environment) -> list[Array]:
    return run.call(op.operation.attributes["decomposition"].value, operands)


def _scatter(run: _Interpreter, op: Any, operands: list[Array], env: Environment) -> Any:
    return shapes.scatter(op, operands, run.region(op, 0, env))


def _sort(run: _Interpreter, op: Any, operands: list[Array], env: Environment) -> Any:
    comparator = run.region(op, 0, env)
    return shapes.sort(op, operands, lambda pair: bool(comparator(pair)[0]))


_REGIONS: dict[str, Callable[[_Interpreter, Any, list[Array], Environment], Any]] = {
    "stablehlo.while": _while,
    "stablehlo.case": _case,
    "stablehlo.if": _if,
    "func.call": _call,
    "stablehlo.composite": _composite,
    "stablehlo.reduce": lambda run, op, xs, env: products.reduce(op, xs, run.region(op, 0, env)),
    "stablehlo.reduce_window": lambda run, op, xs, env: products.reduce_window(op, xs, run.region(op, 0, env)),
    "stablehlo.map": lambda run, op, xs, env: [np.broadcast_to(v, xs[0].shape) for v in run.region(op, 0, env)(xs)],
    "stablehlo.scatter": _scatter,
    "stablehlo.sort": _sort,
    "stablehlo.select_and_scatter": lambda run, op, xs, env: products.select_and_scatter(
        op, xs[0], xs[1], xs[2], run.region(op, 0, env), run.region(op, 1, env)
    ),
}
