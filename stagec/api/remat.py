"""`checkpoint`, its policies, `checkpoint_name` and `print_saved_residuals`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, overload

from stagec.api.arguments import ArgumentRules
from stagec.api.flat import FlatFunction, leaf_names, operand, with_references
from stagec.control.call import inlined, jit_p
from stagec.control.checkpoint import checkpoint_p, name_p
from stagec.control.graph_rules import Unkeyed
from stagec.core import errors, location, pytree
from stagec.core.boundary import short_tracebacks
from stagec.core.callables import Function, P, R, X
from stagec.core.graph import Literal, Var
from stagec.core.primitive import Primitive
from stagec.core.recording import trace_flat
from stagec.core.wrapping import shown_name, wraps
from stagec.primitives.convert import as_array
from stagec.primitives.operand import aval_of
from stagec.primitives.references import Ref
from stagec.transforms.linearize import linearize_flat

__all__ = ["checkpoint", "checkpoint_name", "checkpoint_policies", "print_saved_residuals", "remat"]

Policy = Callable[..., bool]


@overload
def checkpoint(
    fun: Callable[P, R],
    *,
    prevent_cse: bool = True,
    policy: Policy | None = None,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
    concrete: bool = False,
) -> Function[P, R]: ...
@overload
def checkpoint(
    fun: None = None,
    *,
    prevent_cse: bool = True,
    policy: Policy | None = None,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
    concrete: bool = False,
) -> Callable[[Callable[P, R]], Function[P, R]]: ...
def checkpoint(
    fun: Callable[..., Any] | None = None,
    *,
    prevent_cse: bool = True,
    policy: Policy | None = None,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
    concrete: bool = False,
) -> Any:
    """A function that computes its intermediate values again in the backward pass, instead of keeping them.

    Args:
      fun: a function of pytrees of arrays. It is traced.
      prevent_cse: keep the compiler from using the values of the forward pass instead; not needed in a loop's body.
      policy: decides for each operation whether its results are kept: one of `checkpoint_policies`, or
        `(primitive, *avals, **params) -> bool`. None keeps nothing but the arguments.
      static_argnums, static_argnames: positions and names of arguments that are Python values.
      concrete: must be False.

    >>> import stagec, stagec.numpy as snp
    >>> f = stagec.checkpoint(lambda x: snp.sin(snp.sin(x)))
    >>> round(float(stagec.grad(f)(1.0)), 4)
    0.36
    """
    if fun is None:
        return functools.partial(
            checkpoint,
            prevent_cse=prevent_cse,
            policy=policy,
            static_argnums=static_argnums,
            static_argnames=static_argnames,
            concrete=concrete,
        )
    if not callable(fun):
        raise location.error(
            TypeError, f"checkpoint takes a function, got {type(fun).__name__}", fix="write stagec.checkpoint(f)(x)"
        )
    if concrete:
        raise location.error(
            errors.UnsupportedError,
            "checkpoint: concrete=True is not supported",
            fix="leave it out, and name arguments with values in static_argnums",
        )
    rules = ArgumentRules(fun, static_argnums, static_argnames, hashed=False)
    name = shown_name(fun)

    @short_tracebacks
    @wraps(fun)
    def rematerialized(*args: Any, **kwargs: Any) -> Any:
        dynamic, dynamic_kwargs, static = rules.split(args, kwargs)
        leaves, tree = pytree.flatten((tuple(dynamic), dynamic_kwargs))
        names = rules.leaf_names(args, kwargs)
        refs = {i: v for i, v in enumerate(leaves) if type(v) is Ref}
        values = [operand(v, n) for i, (v, n) in enumerate(zip(leaves, names)) if i not in refs]
        names = [n for i, n in enumerate(names) if i not in refs]

        def joined(*dynamic: Any, **dynamic_kwargs: Any) -> Any:
            call_args, call_kwargs = rules.join(dynamic, dynamic_kwargs, static)
            return fun(*call_args, **call_kwargs)

        flat = FlatFunction(joined, tree)
        graph, captured = trace_flat(
            lambda *xs: flat(*with_references(xs, refs)),
            [aval_of(v) for v in values],
            names,
            name,
            outer=[(v, False) for v in values],
        )
        outs = checkpoint_p(
            *captured,
            *values,
            name=name,
            graph=graph if policy is None else inlined(graph),
            policy=Unkeyed(policy),
            prevent_cse=prevent_cse,
        )
        return flat.out_tree.unflatten([as_array(o) for o in outs])

    return rematerialized


remat = checkpoint


def checkpoint_name(x: X, name: str) -> X:
    """`x` itself, under a name that the policies `save_only_these_names` and the like know.

    Args:
      x: pytree of arrays.
    """
    named: X = pytree.map_leaves(lambda leaf: name_p(operand(leaf, name), name=name), x)
    return named


class checkpoint_policies:
    """What `checkpoint` may keep. Each is a policy, or, where it takes names or policies, makes one."""

    @staticmethod
    def everything_saveable(primitive: Primitive, *avals: Any, **params: Any) -> bool:
        """Keep every result."""
        return True

    @staticmethod
    def nothing_saveable(primitive: Primitive, *avals: Any, **params: Any) -> bool:
        """Keep no result."""
        return False

    @staticmethod
    def dots_saveable(primitive: Primitive, *avals: Any, **params: Any) -> bool:
        """Keep the results of products of matrices, and of convolutions."""
        return primitive.name in ("dot_general", "conv_general_dilated")

    @staticmethod
    def dots_with_no_batch_dims_saveable(primitive: Primitive, *avals: Any, **params: Any) -> bool:
        """Keep the results of products of matrices that are not batched."""
        if primitive.name != "dot_general":
            return False
        _, (lhs_batch, rhs_batch) = params["dimension_numbers"]
        return not lhs_batch and not rhs_batch

    checkpoint_dots = dots_saveable
    checkpoint_dots_with_no_batch_dims = dots_with_no_batch_dims_saveable

    @staticmethod
    def save_any_names_but_these(*names: str) -> Policy:
        """Keep the values of `checkpoint_name`, except those with these names."""
        return _Named(frozenset(names), False)

    @staticmethod
    def save_only_these_names(*names: str) -> Policy:
        """Keep the values of `checkpoint_name` with these names."""
        return _Named(frozenset(names), True)

    @staticmethod
    def save_anything_except_these_names(*names: str) -> Policy:
        """Keep every result, except those of `checkpoint_name` with these names."""
        return lambda primitive, *avals, **params: primitive is not name_p or params["name"] not in names

    @staticmethod
    def save_from_both_policies(first: Policy, second: Policy) -> Policy:
        """Keep what either of two policies keeps."""
        return lambda primitive, *avals, **params: (
            first(primitive, *avals, **params) or second(primitive, *avals, **params)
        )

    @staticmethod
    def save_and_offload_only_these_names(
        *,
        names_which_can_be_saved: Sequence[str],
        names_which_can_be_offloaded: Sequence[str],
        offload_src: str,
        offload_dst: str,
    ) -> Policy:
        """Keep the values of `checkpoint_name` with the names of both lists, and none in another memory.

        Raises:
          ArgumentValueError: a name is in both.
        """
        both = sorted({*names_which_can_be_saved} & {*names_which_can_be_offloaded})
        if both:
            raise location.error(
                errors.ArgumentValueError,
                f"save_and_offload_only_these_names: {', '.join(map(repr, both))} is in both lists",
                fix="keep each name in one list",
            )
        return _Named(frozenset([*names_which_can_be_saved, *names_which_can_be_offloaded]), True)

    @staticmethod
    def offload_dot_with_no_batch_dims(offload_src: str, offload_dst: str) -> Policy:
        """The same as `dots_with_no_batch_dims_saveable`: nothing is kept in another memory."""
        return checkpoint_policies.dots_with_no_batch_dims_saveable


class _Named:
    """A policy by names."""

    def __init__(self, names: frozenset[str], keep: bool) -> None:
        self.names = names
        self.keep = keep

    def __call__(self, primitive: Primitive, *avals: Any, **params: Any) -> bool:
        return primitive is name_p and (params["name"] in self.names) == self.keep

    # Equal policies share what was made under one of them.
    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Named) and (self.names, self.keep) == (other.names, other.keep)

    def __hash__(self) -> int:
        return hash((self.names, self.keep))


def saved_residuals(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> list[tuple[Any, str]]:
    """What reverse mode keeps between the passes: the aval of each array, and its source."""
    leaves, tree = pytree.flatten((args, kwargs))
    rules = ArgumentRules(fun)
    names = rules.leaf_names(args, kwargs) if kwargs else leaf_names(fun, args)
    values = [operand(v, n) for v, n in zip(leaves, names)]
    flat = FlatFunction(fun, tree)

    def residuals(*tracers: Any) -> list[Any]:
        _, linear = linearize_flat(flat, tracers)
        return list(linear.residuals)

    graph, captured = trace_flat(residuals, [aval_of(v) for v in values], names)
    hidden = set(graph.inputs[: len(captured)])
    found = []
    for atom in dict.fromkeys([_source(a) for a in graph.outputs]):
        if type(atom) is Literal or atom in hidden:
            where = "from a constant"
        elif atom.equation is None:
            where = f"from the argument {atom.name}"
        elif atom.equation.primitive is name_p:
            where = f"named {atom.equation.params['name']!r} from {_source_line(atom)}"
        else:
            where = f"output of {atom.equation.primitive} from {_source_line(atom)}"
        found.append((atom.aval, where))
    return found


def _source(atom: Any) -> Any:
    """The variable that a value is computed as; calls of jitted functions are followed into their graphs."""
    while type(atom) is Var and atom.equation is not None and atom.equation.primitive is jit_p:
        equation = atom.equation
        inner = equation.params["graph"]
        source = inner.outputs[equation.outputs.index(atom)]
        if source not in inner.inputs:
            return _source(source)
        atom = equation.inputs[inner.inputs.index(source)]
    return atom


def _source_line(var: Var) -> str:
    assert var.equation is not None, "arguments have no equation"
    line = var.equation.location
    return f"{errors.notebook_cell(line.file) or line.file}:{line.line} ({line.function})"


def print_saved_residuals(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """Print what reverse mode keeps between the passes: shape and source.

    >>> import stagec, stagec.numpy as snp
    >>> from stagec.ad_checkpoint import print_saved_residuals
    >>> print_saved_residuals(stagec.checkpoint(lambda x: snp.sin(snp.cos(x)).sum()), snp.ones(3))
    f32[3] from the argument x
    """
    for aval, where in saved_residuals(fun, *args, **kwargs):
        print(aval.short(), where)
