"""One library in one process: it takes names of cases on stdin and answers with times, a line each."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

import numpy as np

from tests.benchmarks.case import Call
from tests.benchmarks.cases import CASES
from tests.benchmarks.libraries import Library, load
from tests.benchmarks.share import own_share

# A measurement repeats the call until it has taken this long.
_SECONDS = 0.02
# Set where the time of all processors is measured, which does not depend on what else the machine does.
CPU = "BENCHMARK_CPU"


def measure(call: Call, tiny: bool) -> float:
    """Seconds of one call, the mean of one batch."""
    clock = time.process_time if os.environ.get(CPU) else time.perf_counter
    count = 1
    while True:
        started = clock()
        for _ in range(count):
            call()
        seconds = clock() - started
        if tiny or seconds >= _SECONDS:
            return seconds / count
        count = max(count * 2, int(count * _SECONDS * 1.2 / max(seconds, 1e-9)))


def summary(result: Any) -> list[Any]:
    """Shape and mean, without NaN, of the first array in a result, or nothing: enough to see that libraries agree."""
    while isinstance(result, (tuple, list)):
        result = result[0]
    if not hasattr(result, "shape"):
        return []
    array = np.abs(np.asarray(result)).astype(np.float64)
    return [list(array.shape), float(np.nanmean(array))]


def answer(lib: Library, request: dict[str, Any], ready: dict[str, Call]) -> dict[str, Any]:
    """Run one request: `{"case": id, "tiny": bool}` or `{"drop": id}`."""
    if "drop" in request:
        ready.pop(request["drop"], None)
        return {}
    name, tiny = request["case"], request["tiny"]
    reply: dict[str, Any] = {}
    if name not in ready:
        case = next(c for c in CASES if c.id == name)
        call = case.setup(lib, tiny)
        reply["result"] = summary(call())  # traces, compiles and warms up
        ready[name] = call

    def timed() -> None:
        reply["seconds"] = measure(ready[name], tiny)

    if lib.name == "stagec" and name.startswith("compile/"):
        reply["own"] = own_share(timed)
    else:
        timed()
    return reply


def main() -> None:
    """Serve until stdin ends."""
    # What the libraries print must not get between the answers.
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def say(reply: dict[str, Any]) -> None:
        out.write(json.dumps(reply) + "\n")
        out.flush()

    try:
        lib = load(sys.argv[1])
    except ImportError as error:
        say({"missing": str(error)})
        return
    say({"library": lib.name})
    ready: dict[str, Call] = {}
    for line in sys.stdin:
        try:
            say(answer(lib, json.loads(line), ready))
        except Exception as error:
            say({"error": f"{type(error).__name__}: {error}".splitlines()[0]})


if __name__ == "__main__":
    main()
