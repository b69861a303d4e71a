"""Processes that measure with one library each, and answer requests: lines of JSON on their inputs and outputs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable, Mapping
from typing import Any


def serve(answer: Callable[[Any], dict[str, Any]], longest: int) -> None:
    """Answer requests, a line each, until the input ends.

    Args:
      longest: the most seconds that an answer may take; the process ends then.
    """
    warnings.simplefilter("ignore")
    for line in sys.stdin:
        signal.alarm(longest)
        try:
            reply = answer(json.loads(line))
        except Exception as error:
            reply = {"error": f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"}
        signal.alarm(0)
        print(json.dumps(reply), flush=True)


class Worker:
    """A process of a module of benchmarks, which is told the library by `--serve`, with environment variables."""

    def __init__(self, module: str, library: str, environment: Mapping[str, str] | None = None) -> None:
        self.module, self.library, self.environment = module, library, environment or {}
        self.start()

    def start(self) -> None:
        """Start the process, again where it has ended."""
        self.process = subprocess.Popen(
            [sys.executable, "-m", f"tests.benchmarks.{self.module}", "--serve", self.library],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "STAGEC_CACHE": "0", **self.environment},
        )

    def ask(self, request: Any) -> dict[str, Any]:
        """One turn."""
        assert self.process.stdin is not None and self.process.stdout is not None, "both are pipes"
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if line:
            return json.loads(line)  # type: ignore[no-any-return]
        ended = self.process.wait()
        self.start()
        return {"error": f"the process ended with {ended}"}

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None, "it is a pipe"
        self.process.stdin.close()
        self.process.wait()
