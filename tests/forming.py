"""What tests of random programs watch while kernels of stagec's own are formed."""

import contextlib

import stagec
from passes import kernels
from stagec.backends.cpu import cpu_levels


@contextlib.contextmanager
def without_failures(monkeypatch):
    """In the block, forming kernels never fails: a program without them would be compiled as well."""
    found, formed = [], kernels.formed

    def noting(*args):
        try:
            return formed(*args)
        except Exception as error:
            found.append(error)
            raise

    monkeypatch.setattr(kernels, "formed", noting)
    yield
    assert found == []


@contextlib.contextmanager
def alone(monkeypatch, former, kind):
    """In the block, only one former runs; lists how many kernels of its kind each program had. Nothing is cached."""
    counts = []

    def form(table, processor):
        hits = former(table, processor)
        counts.append(hits.get(kind, 0))
        return hits

    monkeypatch.setattr(kernels, "_FORMERS", (form,))
    with stagec.config.override(enable_cache=False, enable_x64=True):
        yield counts


def target_of(seed):
    """The machine's own CPU, or one of the levels that it has."""
    targets = ["cpu", *(f"cpu:{level}" for level in cpu_levels())]
    return targets[seed % len(targets)]
