"""Prove the laws of the passes for all values: `python -m tests.proving [law ...]`.

Each law rewrites its examples (`tests/passes/laws`), in each width of numbers in which it fires. A solver (Bitwuzla)
shows that no values of the arguments tell the program before from the program after: NaN, infinities, subnormal numbers
and zeros of both signs are among them. Functions such as sines are unknown functions, and sums and products of more
than two floats are the same in any order, as StableHLO leaves it open. Arrays have the shapes of the examples.

Then the law runs on unknown sizes, and a second solver (z3) compares elements at unknown places: `rank-3` means that
the law is proven for all sizes of the examples, of up to three axes.

The verdicts are written to `passes/verdicts.txt`, which the page of laws takes its word from.

`--mutants` changes the programs after a law at random, and counts how many of these are refuted; `--moves`, those for
unknown sizes.
"""

import argparse
import collections
import multiprocessing
import random
import re

import numpy as np
from law_examples import ALL, examples
from pass_helpers import parse, same_bits

import passes
import stagec
from passes import verdicts
from passes.proving.verdict import verdict
from tests.proving import wrong
from tests.proving.sizes import proven_rank

WIDTHS = {"f32": ("f16", "bf16", "f32", "f64"), "i32": ("i8", "i32", "i64"), "ui32": ("ui8", "ui32", "ui64")}


def variants(example):
    """The example in each width: text of MLIR."""
    yield example.main
    for name, widths in WIDTHS.items():
        for width in widths:
            if (width != name and f"x{name}>" in example.main) or f"<{name}>" in example.main:
                yield example.main.replace(f"x{name}>", f"x{width}>").replace(f"<{name}>", f"<{width}>")


def widths(law):
    """The examples of a law in all widths in which it fires, and whether that is the example's own."""
    for example in (e for e in examples() if e.leaves is not None and e.law is law):
        for text in dict.fromkeys(variants(example)):
            try:
                if passes.apply(parse(text), [law]):
                    yield text, text == example.main
            except Exception:  # not all operations have all widths
                assert text != example.main, text


def proofs(law, seconds):
    """The verdicts on a law's examples, in all widths."""
    for text, own in widths(law):
        try:
            before, after = parse(text), parse(text)
            passes.apply(after, [law])
            yield verdict(before, after, seconds).word
        except Exception as error:  # Bitwuzla does not know all widths
            if own:
                yield f"not described: {type(error).__name__} {str(error)[:60]}"


# What a mutant has in the place of a word of a program.
_OTHERS = {
    "add": "subtract", "subtract": "add", "multiply": "add", "maximum": "minimum", "minimum": "maximum", "and": "or",
    "or": "and", "divide": "multiply", "negate": "abs", "abs": "negate", "sine": "cosine", "EQ": "NE", "NE": "EQ",
    "LT": "LE", "LE": "LT", "GT": "GE", "GE": "GT", "floor": "ceil", "shift_left": "shift_right_logical",
}  # fmt: skip


def mutant(text, rng):
    """A program with another operation, number, bound or order of operands; None if the text is no program."""
    words = [m for m in re.finditer(r"(?<=stablehlo\.)\w+|\b(?:EQ|NE|LT|LE|GT|GE)\b", text) if m[0] in _OTHERS]
    numbers = list(re.finditer(r"(?<=[\[:, <])-?\d+(?:\.\d+e[+-]\d+)?(?=[\],:>])", text))
    orders = list(re.finditer(r"(?:subtract|divide|remainder|power|concatenate) (%\w+), (%\w+)(?= :)", text))
    place = rng.choice([*words, *numbers, *orders] or [None])
    if place is None:
        return None
    if place in words:
        new = _OTHERS[place[0]]
    elif place in orders:
        new = f"{place[0].split()[0]} {place[2]}, {place[1]}"
    else:
        new = str(float(place[0]) + 1) if "e" in place[0] else str(int(place[0]) + rng.choice([-1, 1]))
    changed = text[: place.start()] + new + text[place.end() :]
    try:
        return parse(changed) if changed != text else None
    except Exception:
        return None


def mutants(count, seconds):
    """How many mutants of rewritten programs are refuted, and how many have the results of the program.

    A refutation counts as `confirmed` if stagec's NumPy evaluation of the arguments that the solver names tells the
    programs apart, bit for bit.
    """
    rng, counts = random.Random(0), collections.Counter()
    chosen = [e for e in examples() if e.leaves is not None and e.law.exact]
    while sum(counts.values()) - counts["confirmed"] < count:
        example = rng.choice(chosen)
        before, after = example.module(), example.module()
        passes.apply(after, [example.law])
        changed = mutant(str(after), rng)
        if changed is not None and verdict(before, after, seconds).word == "proven":
            word, arrays = verdict(before, changed, seconds)
            counts[word] += 1
            counts["confirmed"] += word == "refuted" and differ(before, changed, arrays)
    return counts


def differ(one, other, arrays):
    """Whether NumPy's evaluation of two programs differs in a bit."""
    with stagec.disable_jit(), stagec.enable_x64(True), np.errstate(all="ignore"):
        try:
            results = [np.asarray(r) for m in (one, other) for r in _listed(stagec.from_stablehlo(str(m))(*arrays))]
        except stagec.errors.StagecError:
            return False
    half = len(results) // 2
    return any(not same_bits(a, b) for a, b in zip(results[:half], results[half:]))


def _listed(found):
    return found if isinstance(found, tuple) else (found,)


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m tests.proving", description=__doc__)
    parser.add_argument("laws", nargs="*")
    parser.add_argument("--seconds", type=float, default=4, help="for each program")
    parser.add_argument("--mutants", type=int, default=0)
    parser.add_argument("--moves", type=int, default=0)
    options = parser.parse_args(arguments)
    if options.mutants:
        print(dict(mutants(options.mutants, options.seconds)))
        return
    if options.moves:
        print(dict(wrong.mutants(options.moves, differ)))
        return
    words = {}
    chosen = [k for k, law in enumerate(ALL) if law.exact and (not options.laws or law.name in options.laws)]
    with multiprocessing.get_context("fork").Pool() as pool:
        for name, word, found in pool.imap_unordered(judged, [(k, options.seconds) for k in chosen]):
            words[name] = word
            print(f"{name}: {word}" + ("" if [*found] == ["proven"] else f" {dict(found)}"), flush=True)
    print(dict(collections.Counter(words.values())))
    words = verdicts.verdicts() | words
    names = [law.name for law in ALL if law.exact and law.name in words]
    verdicts.FILE.write_text("".join(f"{name} {words[name]}\n" for name in names))


def judged(task):
    """The name of a law, a word for it, and the verdicts on its examples."""
    law, seconds = ALL[task[0]], task[1]
    found = collections.Counter(proofs(law, seconds))
    word = summary(found)
    # What is proven in all widths for the examples' shapes is not proven again for each.
    texts = [text for text, own in widths(law) if own or (word != "proven" and "bf16" not in text)]
    rank = proven_rank(law, texts, seconds) if word != "refuted" else 0
    return law.name, f"rank-{rank}" if rank else word, found


def summary(found):
    """A word for the verdicts on all examples of a law."""
    if "refuted" in found:
        return "refuted"
    return "proven" if [*found] == ["proven"] else "partly" if "proven" in found else "tested"


if __name__ == "__main__":
    main()
