"""Parameters of equations by JAX's names, for interpreters that are written for jaxprs."""

from __future__ import annotations

from typing import Any

# Programs, and how many of the operands are theirs.
OWN_NAMES = {
    "jaxpr": "graph",
    "call_jaxpr": "graph",
    "cond_jaxpr": "cond",
    "body_jaxpr": "body",
    "cond_nconsts": "cond_consts",
    "body_nconsts": "body_consts",
}
# Parameters that are None where nothing was asked for.
_OPTIONAL = ("accuracy", "out_sharding", "sharding")
# What `in_own_names` changes.
CONVERTED = frozenset((*OWN_NAMES, *_OPTIONAL, "branches"))


class Parameters(dict[str, Any]):
    """The parameters of an equation. Those that have other names in JAX are found under these, too."""

    def __missing__(self, name: str) -> Any:
        own = OWN_NAMES.get(name)
        if own is None:
            raise KeyError(name)
        return self[own]

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or super().__contains__(OWN_NAMES.get(name))  # type: ignore[call-overload]

    def get(self, name: str, default: Any = None) -> Any:
        return super().get(name, super().get(OWN_NAMES.get(name, name), default))

    def copy(self) -> Parameters:
        return Parameters(self)

    def pop(self, name: str, *default: Any) -> Any:
        return super().pop(name if super().__contains__(name) else OWN_NAMES.get(name, name), *default)


def in_own_names(args: tuple[Any, ...], params: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Operands and parameters as rows take them, from those with JAX's names.

    A parameter of such a name replaces the one that it stands for. The values that programs hold become operands.
    """
    own = {k: v for k, v in params.items() if k not in OWN_NAMES and (v is not None or k not in _OPTIONAL)}
    own.update({OWN_NAMES[k]: v for k, v in params.items() if k in OWN_NAMES})
    place = 0
    for name, count in (("graph", "num_consts"), ("cond", "cond_consts"), ("body", "body_consts")):
        program = own.get(name)
        if program is not None:
            args = (*args[:place], *program.consts, *args[place:])
            own[name] = getattr(program, "graph", program)
            if count in own:
                own[count] += len(program.consts)
                place += own[count]
    if "branches" in own:
        args, own["branches"] = _with_values_of_all(args, own["branches"])
    return args, own


def _with_values_of_all(args: tuple[Any, ...], branches: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Branches that all take the values that one of them holds."""
    counts = [len(b.consts) for b in branches]
    graphs = [getattr(b, "graph", b) for b in branches]
    made = []
    for i, graph in enumerate(graphs):
        # Of other branches' values, variables that nothing reads.
        groups = [
            g.inputs[:n] if i == j else [v.copy() for v in g.inputs[:n]] for j, (g, n) in enumerate(zip(graphs, counts))
        ]
        made.append(graph.replace(invars=[*(v for group in groups for v in group), *graph.inputs[counts[i] :]]))
    return (args[0], *(c for b in branches for c in b.consts), *args[1:]), tuple(made if any(counts) else graphs)
