"""Hints of random numbers, of Fourier transforms, and of the array API's namespace."""

import numpy as np

import stagec
import stagec.numpy as snp
from stagec import lax, random
from stagec.experimental import random as stateful
from stagec.scipy import fft as scipy_fft

V = snp.array([3.0, 1.0, 2.0])
C = snp.array([1 + 2j, 3j])
KEY = random.key(0)
KEYS = random.split(KEY, 2)


def reused():
    with stagec.config.override(debug_key_reuse=True):
        key = random.key(1)
        random.normal(key)
        return random.normal(key)


def split_first():
    with stagec.config.override(debug_key_reuse=True):
        key, subkey = random.split(random.key(1))
        random.normal(random.clone(subkey))
        return random.normal(key), random.normal(subkey)


CASES = [
    # Keys.
    (
        "pass keys alone, or the bits of keys: random.key_data(keys)",
        lambda: snp.stack([KEY, 1]),
        lambda: (snp.stack([KEY, random.key(1)]), snp.stack([random.key_data(KEY), snp.array([0, 1], "uint32")])),
    ),
    (
        "compare keys with ==; random.key_data(key) returns the bits of a key",
        lambda: 1 if KEY else np.asarray(KEY),
        lambda: 1 if random.key(0) == KEY else np.asarray(random.key_data(KEY)),
    ),
    ("make one with random.key(seed)", lambda: random.normal(3), lambda: random.normal(random.key(3))),
    (
        "map over them: stagec.vmap(lambda key: random.normal(key, ...))(keys)",
        lambda: random.normal(KEYS),
        lambda: stagec.vmap(lambda key: random.normal(key, (3,)))(KEYS),
    ),
    ("split it first: key, subkey = random.split(key); random.clone(key) allows one more use", reused, split_first),
    ("use the key as it is", lambda: random.key(KEY), lambda: random.normal(KEY)),
    ("take it modulo 2**64", lambda: random.key(1 << 65), lambda: random.key((1 << 65) % 2**64)),
    (
        "give one integer; stagec.vmap(random.key)(seeds) makes several keys",
        lambda: random.key(snp.array([1, 2])),
        lambda: (random.key(snp.array(1)), stagec.vmap(random.key)(snp.array([1, 2]))),
    ),
    ("use 'threefry2x32', the default", lambda: random.key(0, impl="rbg"), lambda: random.key(0, impl="threefry2x32")),
    (
        "give one integer; stagec.vmap maps over several",
        lambda: random.fold_in(KEY, snp.array([1, 2])),
        lambda: (random.fold_in(KEY, 1), stagec.vmap(lambda n: random.fold_in(KEY, n))(snp.array([1, 2]))),
    ),
    (
        "split the key, and draw in parts",
        lambda: stagec.eval_shape(lambda: random.bits(KEY, (1 << 33,))),
        lambda: stagec.eval_shape(lambda: [random.bits(k, (1 << 31,)) for k in random.split(KEY, 4)]),
    ),
    # Draws.
    (
        "give a Python integer for the numbers below it",
        lambda: random.permutation(KEY, snp.array(3.0)),
        lambda: random.permutation(KEY, 3),
    ),
    (
        "give one probability for each element along the axis",
        lambda: random.choice(KEY, V, p=V[:2] / 4),
        lambda: random.choice(KEY, V, p=V / 6),
    ),
    ("give p as a float, such as 0.5", lambda: random.bernoulli(KEY, 1), lambda: random.bernoulli(KEY, 0.5)),
    (
        "leave dtype out, or use a floating-point or complex dtype",
        lambda: random.normal(KEY, dtype="int32"),
        lambda: (random.normal(KEY), random.normal(KEY, dtype="float16")),
    ),
    (
        "give the shape of the result, which includes the axes of the parameters",
        lambda: random.gamma(KEY, V, (2,)),
        lambda: random.gamma(KEY, V, (2, 3)),
    ),
    ("use real numbers", lambda: random.gamma(KEY, C), lambda: random.gamma(KEY, abs(C))),
    ("give one concentration for each component", lambda: random.dirichlet(KEY, 1.0), lambda: random.dirichlet(KEY, V)),
    # Fourier transforms.
    ("give one for each of the last axes", lambda: lax.fft(C, "fft", (2, 2)), lambda: lax.fft(C, "fft", (2,))),
    ("convert with astype", lambda: lax.fft(V, "fft", (3,)), lambda: lax.fft(V.astype("complex64"), "fft", (3,))),
    ("snp.fft cuts and fills to a length", lambda: lax.fft(C, "fft", (3,)), lambda: snp.fft.fft(C, 3)),
    ("name one in axes", lambda: snp.fft.rfftn(V, axes=()), lambda: snp.fft.rfftn(V, axes=(0,))),
    (
        "use 'backward', 'ortho' or 'forward'",
        lambda: snp.fft.fft(V, norm="best"),
        lambda: [snp.fft.fft(V, norm=n) for n in ("backward", "ortho", "forward")],
    ),
    (
        "give a size for each axis",
        lambda: snp.fft.fftn(V, s=(2,), axes=(0, 0)),
        lambda: snp.fft.fftn(V, s=(2,), axes=(0,)),
    ),
    ("give 1 point or more", lambda: snp.fft.fft(V, 0), lambda: snp.fft.fft(V, 1)),
    (
        "use the transform of complex numbers, fft or ifft, or take the real part",
        lambda: snp.fft.rfft(C),
        lambda: (snp.fft.fft(C), snp.fft.ifft(C), snp.fft.rfft(C.real)),
    ),
    ("use type 2 or 3", lambda: scipy_fft.dct(V, type=1), lambda: [scipy_fft.dct(V), scipy_fft.idct(V)]),
    (
        "use 'backward' or 'ortho'",
        lambda: scipy_fft.dct(V, norm="best"),
        lambda: [scipy_fft.dct(V, norm=n) for n in ("backward", "ortho")],
    ),
    # The array API.
    (
        "use one of 2021.12, 2022.12, 2023.12, 2024.12",
        lambda: V.__array_namespace__(api_version="1999.01"),
        lambda: [V.__array_namespace__(api_version=f"{y}.12") for y in (2021, 2022, 2023, 2024)],
    ),
    ("leave copy=False out", lambda: snp.from_dlpack(np.ones(3), copy=False), lambda: snp.from_dlpack(np.ones(3))),
    (
        "pass stateful_rng(seed), or make the generator outside, and pass it to the function",
        lambda: stagec.jit(lambda: stateful.stateful_rng().uniform())(),
        lambda: stagec.jit(lambda: stateful.stateful_rng(0).uniform())(),
    ),
    (
        "draw in a function under stagec.vmap, or make generators with spawn",
        lambda: stateful.stateful_rng(0).split(2).uniform(),
        lambda: [
            stagec.vmap(lambda rng: rng.uniform())(stateful.stateful_rng(0).split(2)),
            [rng.uniform() for rng in stateful.stateful_rng(0).spawn(2)],
        ],
    ),
]
