"""`explain`: would a call hit the cache, and if not, what differs from the nearest program that is there?"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from stagec.api import program, spanning
from stagec.api.differences import Difference, brief_text, of_signatures
from stagec.api.jit import JitFunction, as_jitted
from stagec.api.open_dimensions import suggestion
from stagec.api.program import RunnableGraph
from stagec.api.traces import TracedSignature
from stagec.compiler import cache, key
from stagec.compiler.cache_file import Entry, EntryError, EntryHeader, read_entry
from stagec.core import errors, location, pytree
from stagec.core.config import config, state
from stagec.core.dims_values import symbols

_ENTRIES_READ = 1000
# Explanations of contributors whose name is not enough.
_MEANING = {
    "program": "the traced steps: the function's code, or a constant in it",
    "stagec source": "the sources of stagec and its passes",
    "passes": "the user's own passes",
}
# Contributors that differ as a consequence of others: with other inputs, the program and its outputs differ too.
_IMPLIED = {
    "inputs": ("program", "outputs"),
    "target": ("target compiled as", "machine", "cpu model", "cpu features"),
}


@dataclass(frozen=True, repr=False)
class Explanation:
    """Whether a call hits the cache, and what a miss differs in.

    Attributes:
      status: `memory`, `disk` or `miss`.
      key: the program's cache key; empty if there is nothing to compile.
      nearest: the known program that differs least, in words; empty if none is known.
      differing: what differs from it, as (what, ours, theirs).
      name: the function's name.
      notes: what else a reader should know, such as that the function was traced to find out.
    """

    status: str
    key: str
    nearest: str
    differing: list[Difference] = field(default_factory=list)
    name: str = "function"
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [f"{self.name}: {_HEADLINES[self.status]}", *(f"  {note}" for note in self.notes)]
        if self.nearest:
            lines.append(f"  nearest: {self.nearest}")
        rows = [(row.what, *_shown(row)) for row in self.differing]
        widths = [max((len(row[i]) for row in rows), default=0) for i in (0, 1)]
        lines += [f"    {what:<{widths[0]}}  now {ours:<{widths[1]}}  there {theirs}" for what, ours, theirs in rows]
        meanings = [f"  {row.what} is {_MEANING[row.what]}" for row in self.differing if row.what in _MEANING]
        lines += meanings
        if self.key:
            lines.append(f"  key: {self.key}")
        return "\n".join(lines)

    __repr__ = __str__


_HEADLINES = {
    "memory": "memory; the program is loaded, a call runs it at once",
    "disk": "disk; a call loads the program and does not compile",
    "miss": "miss; a call compiles the program",
}


def explain(fun: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Explanation:
    """Say whether a call would find its program in memory or on disk, and if not, what differs.

    Nothing is compiled, run or stored. A signature that was not called before
    is traced, and that trace is thrown away: `fun` itself runs once on tracers,
    as it does at a first call, with its side effects, such as `print`. The call
    that follows traces it again.

    Args:
      fun: a function, jitted or not.
      args, kwargs: the arguments of the call; arrays or `ShapeDtypeStruct`s.

    Returns:
      An `Explanation`; print it.

    Raises:
      UnsupportedError: called while a function is being traced.
      StagecError: `fun` cannot be traced on these arguments.

    >>> import stagec, stagec.numpy as snp
    >>> @stagec.jit
    ... def double(x):
    ...     return 2 * x
    >>> _ = double(snp.ones(3))
    >>> stagec.explain(double, snp.ones(3)).status
    'memory'
    >>> with stagec.config.override(enable_cache=False):
    ...     stagec.explain(double, snp.ones(4)).differing
    [Difference(what='shape of x', ours='(4,)', theirs='(3,)')]
    """
    if state.trace is not None:
        raise location.error(
            errors.UnsupportedError,
            "explain was called inside a function that is being traced",
            fix="call it from outside; a jitted function inside another one is part of the outer program",
        )
    function, args = as_jitted(fun, args)
    known = dict(function._cache.traces)
    traced = function.trace(*args, **kwargs)
    trace = traced._trace
    signature = next((k for k, t in function._cache.traces.items() if t is trace), None)
    notes: list[str] = []
    if signature not in known:
        function._cache.traces.pop(signature, None)
        count = len(trace.graph.equations)
        notes.append(f"traced to find out: {count} equation{'s' if count != 1 else ''}, not kept")
    runnable = function._settings.runnable(trace, traced._device)
    operands = [*trace.captured, *pytree.leaves((args, kwargs))]
    mesh = spanning.mesh_of(trace.graph, operands)
    if mesh is not None:
        operands = [*trace.captured, *function._traced(args, kwargs)[1]]
        part = spanning.share(trace.graph, operands, mesh, function._settings.options(graph=trace.graph), trace.name)
        runnable = part.runnable
        notes += part.gathers or [f"runs in parts on {mesh.size} devices, and gathers nothing"]
    opened = symbols([a.shape for a in trace.graph.in_avals])
    if opened:
        names = ", ".join(dict.fromkeys(s.name for s in opened))
        notes.append(f"open dimensions: {names}; other sizes run the same program")
    elif function._settings.dynamic is not None:
        notes.append("arrays without elements, references and descriptions have programs of their own")
    else:
        calls = [k[1] for k in known if signature is not None and (k[0], k[2]) == (signature[0], signature[2])]
        here = trace.graph.in_avals[len(trace.captured) :]
        advice = suggestion(trace.leaf_names, [*calls, here])
        if advice:
            notes.append(f"sizes vary; jit({advice}) would compile once for all of them")
    if config.disable_jit:
        notes.append("jit is disabled (disable_jit): a call runs operation by operation")
    if runnable.trivial:
        notes.append("there is nothing to compile: no equations, or arrays without elements")
        return Explanation("memory", "", "", [], trace.name, tuple(notes))
    loaded = False
    try:
        runnable.code.check_target()
        loaded = runnable._executable is not None or program.is_loaded(runnable)
    except (errors.TargetError, errors.DeviceError) as error:
        notes.append(f"a call would fail: {str(error).splitlines()[0]}")
    ours = runnable.code.options.contributors(runnable.code.graph)
    digest = key.digest(ours)
    if loaded:
        return Explanation("memory", digest, "", [], trace.name, tuple(notes))
    store = cache.default_cache()
    if store is None:
        notes.append("the disk cache is off (enable_cache, cache_max_bytes)")
    elif config.dump:
        notes.append("STAGEC_DUMP is set, so the disk is not read")
    else:
        entry = _on_disk(store, digest, notes)
        if entry is not None:
            layers = [layer.directory for layer in store.layers]
            kind = "entry, in a read-only layer" if os.path.dirname(entry.path) in layers else "entry"
            notes.append(f"{kind}: {entry.path}")
            notes.append(f"compiled with the flag set {entry.meta['flags']!r}, in {entry.meta['seconds']} s")
            return Explanation("disk", digest, "", [], trace.name, tuple(notes))
        if store.remote is not None:
            notes.append(f"a call looks into the remote cache too: {store.remote.place}")
    told: set[str] = set()
    candidates = list(_in_memory(function, trace, signature, known, ours, told))
    # Programs that this process compiled come first: more is known about them than their entries on disk say.
    candidates += _stored(store, trace, runnable, ours, told)
    _, nearest, rows = min(candidates, key=lambda row: row[0], default=(0, "", []))
    if not nearest:
        notes.append("no program of this function is known, here or on disk")
    return Explanation("miss", digest, nearest, rows, trace.name, tuple(notes))


def _on_disk(store: cache.DiskCache, digest: str, notes: list[str]) -> Entry | None:
    """The entry as a call would find it, without counting a hit or removing a damaged one."""
    for directory in (*store.layers, store):
        refusal = directory._refusal()
        if refusal:
            what = "the disk cache" if directory is store else f"the layer {directory.directory}"
            notes.append(f"{what} is not used: {refusal}")
            continue
        try:
            return read_entry(directory._path(digest), digest)
        except FileNotFoundError:
            continue
        except (EntryError, OSError) as error:
            where = "" if directory is store else f" in the layer {directory.directory}"
            notes.append(f"an entry is there{where}, but {error}")
    return None


Candidate = tuple[Any, str, list[Difference]]


def _in_memory(
    function: JitFunction[..., Any],
    trace: TracedSignature,
    signature: Any,
    known: dict[Any, TracedSignature],
    ours: dict[str, str],
    told: set[str],
) -> Iterator[Candidate]:
    """Programs that this process compiled for the function, the latest first."""
    for other_signature, other in reversed(list(known.items())):
        for runnable in reversed(list(other.runnables.values())):
            if runnable._executable is None:
                continue
            rows = of_signatures(
                function._settings.rules, trace.leaf_names, signature, other.leaf_names, other_signature
            )
            theirs = runnable.code.options.contributors(runnable.code.graph)
            told.add(key.digest(theirs))
            names = [n for n in _differing(ours, theirs) if n not in ("program", "inputs", "outputs")]
            said = {row.what for row in rows}
            rows += [_contributor(n, ours, theirs) for n in names if n not in said]
            if rows:
                # Shape and dtype of one argument are one difference to the user.
                subjects = {row.what.rpartition(" of ")[2] for row in rows}
                hidden = len(other.captured)
                avals = ", ".join(a.long() for a in other.graph.in_avals[hidden:]) or "no arrays"
                yield (0, len(subjects)), f"compiled in this process for {avals}", rows


def _stored(
    store: cache.DiskCache | None, trace: TracedSignature, runnable: RunnableGraph, ours: dict[str, str], told: set[str]
) -> Iterator[Candidate]:
    """Programs on disk, the most recently used first."""
    if store is None or config.dump:
        return
    for count, header in enumerate(store.entries()):
        if count >= _ENTRIES_READ:
            return
        if "program" not in header.contributors:  # a module of another framework, by its content
            continue
        if header.key in told or header.contributors == ours:  # the latter is damaged, or it would have been found
            continue
        distance = _distance(trace, header)
        if distance is None and header.contributors["program"] != ours["program"]:
            continue
        rows = _entry_differences(trace, runnable, ours, header)
        text = f"{header.meta.get('name', 'a program')} on disk, {header.key[:12]}"
        yield (_ANOTHER if distance is None else distance, len(rows)), text, rows


# The distance of another function, which computes the same.
_ANOTHER = 3


def _distance(trace: TracedSignature, header: EntryHeader) -> int | None:
    """How far a program on disk is from the function: 1 if it is of the same lines, 2 if these have moved since.

    None for a program of another function.
    """
    theirs = str(header.meta.get("definition", ""))
    if header.meta.get("name") != trace.name or not theirs:
        return None
    if theirs == trace.definition:
        return 1
    # Only its line tells a lambda from others.
    return 2 if _without_line(theirs) == _without_line(trace.definition) and "<lambda>" not in theirs else None


def _without_line(definition: str) -> str:
    """A definition without its line, and in a notebook without the number of its cell, which another run changes."""
    return re.sub(r"( at Cell In)\[\d+\]|:\d+$", r"\1", definition)


def _entry_differences(
    trace: TracedSignature, runnable: RunnableGraph, ours: dict[str, str], header: EntryHeader
) -> list[Difference]:
    theirs = header.contributors
    names = _differing(ours, theirs)
    if "inputs" not in names:
        return [_contributor(n, ours, theirs) for n in names]
    rows: list[Difference] = []
    here, there = ours["inputs"].split(), theirs.get("inputs", "").split()
    if header.meta.get("name") == trace.name and len(here) == len(there):
        arguments = [*[f"closed-over array {i}" for i in range(len(trace.captured))], *trace.leaf_names]
        # The part of one of several processes asks first which part it is.
        arguments[:0] = ["the process"] * (len(runnable.in_avals) - len(trace.graph.in_avals))
        arguments = [arguments[i] for i in runnable.used]
        rows += [Difference(name, a, b) for name, a, b in zip(arguments, here, there) if a != b]
    else:
        rows.append(Difference("inputs", ours["inputs"], theirs.get("inputs", "")))
    return rows + [_contributor(n, ours, theirs) for n in names if n != "inputs"]


def _differing(ours: dict[str, str], theirs: dict[str, str]) -> list[str]:
    """Names of the contributors that differ, without those that follow from another one that does."""
    names = [n for n in dict.fromkeys([*ours, *theirs]) if ours.get(n) != theirs.get(n)]
    implied = {n for cause in names for n in _IMPLIED.get(cause, ())}
    return [n for n in names if n not in implied]


def _contributor(name: str, ours: dict[str, str], theirs: dict[str, str]) -> Difference:
    return Difference(name, ours.get(name, "absent"), theirs.get(name, "absent"))


def _shown(row: Difference) -> tuple[str, str]:
    if row.what == "cpu features":
        here, there = set(row.ours.split()), set(row.theirs.split())
        return _only(here - there), _only(there - here)
    return brief_text(row.ours), brief_text(row.theirs)


def _only(words: set[str]) -> str:
    return "also " + brief_text(" ".join(sorted(words))) if words else "none more"
