"""Map a compiled file over a Dask array and over an xarray data set, in workers that need no compiler.

The function is the wind chill of a place: how cold the air feels in the wind. It is compiled once, into a file for
blocks of a few sizes, and each worker loads the file.

`python examples/map_artifact.py` needs `pip install '.[examples,dask]' xarray`.
"""

from __future__ import annotations

import os
import sys
import tempfile
from typing import Any, NamedTuple

import dask.array as da
import numpy as np
import xarray as xr
from distributed import Client, LocalCluster

import stagec
import stagec.numpy as snp


class Result(NamedTuple):
    """The largest differences from NumPy, the coldest hour, and whether a worker loaded the compiler."""

    array_difference: float
    table_difference: float
    coldest: str
    compiler_loaded: bool


def wind_chill(temperature: Any, wind: Any) -> Any:
    """The felt temperature in degrees Celsius, for a wind in km/h (Osczevski and Bluestein, 2005)."""
    power = wind**0.16
    felt = 13.12 + 0.6215 * temperature - 11.37 * power + 0.3965 * temperature * power
    return snp.where((temperature <= 10) & (wind > 4.8), felt, temperature)


def expected(temperature: Any, wind: Any) -> Any:
    """The same by NumPy."""
    power = wind**0.16
    felt = 13.12 + 0.6215 * temperature - 11.37 * power + 0.3965 * temperature * power
    return np.where((temperature <= 10) & (wind > 4.8), felt, temperature)


def weather(hours: int, places: int) -> xr.Dataset:
    """Made-up weather: temperature and wind by hour and place."""
    random = np.random.default_rng(0)
    hour = np.arange(hours)[:, None]
    temperature = 4 + 9 * np.sin(hour / 24 * 2 * np.pi) + random.normal(0, 3, (hours, places))
    wind = random.gamma(2, 9, (hours, places))
    return xr.Dataset(
        {
            "temperature": (("time", "place"), temperature.astype(np.float32)),
            "wind": (("time", "place"), wind.astype(np.float32)),
        },
        coords={"time": np.datetime64("2026-01-01T00") + np.arange(hours)},
    )


def has_compiler() -> bool:
    """Whether this process has loaded the compiler."""
    return any(name.startswith("iree.compiler") for name in sys.modules)


def run(workers: int = 2, hours: int = 1000, places: int = 300, block: int = 256) -> Result:
    """Compile into a file, map the file over an array and a data set, and compare with NumPy."""
    table = weather(hours, places)
    temperature, wind = table.temperature.data, table.wind.data
    # A compiled function is for some shapes: that of the blocks, and that of the last one, which may be smaller.
    blocks = [stagec.ShapeDtypeStruct((n, places), "float32") for n in {block, hours % block or block}]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "wind_chill.stagec")
        stagec.save(path, [stagec.export(wind_chill)(b, b) for b in blocks])
        felt = stagec.load(path)  # pickled as its path and checksum
        with (
            LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0") as cluster,
            Client(cluster) as client,
        ):
            chunks = (block, places)
            # With dtype, Dask does not call the function with a small array to find it out.
            mapped = da.map_blocks(
                felt, da.from_array(temperature, chunks), da.from_array(wind, chunks), dtype=np.float32
            )
            array = mapped.map_blocks(np.asarray, dtype=np.float32).compute()

            parts = table.chunk(time=block)
            lazy = xr.apply_ufunc(felt, parts.temperature, parts.wind, dask="parallelized", output_dtypes=[np.float32])
            labelled = lazy.compute()
            loaded = any(client.run(has_compiler).values())

    sought = expected(temperature, wind)
    coldest = labelled.mean("place").idxmin("time")
    return Result(
        float(np.max(np.abs(array - sought))),
        float(np.max(np.abs(np.asarray(labelled.data) - sought))),
        str(coldest.values.astype("datetime64[h]")),
        loaded,
    )


def main() -> None:
    """Map the file, and print how it compares with NumPy."""
    result = run()
    print(f"Dask array: largest difference from NumPy  {result.array_difference:.1e} degrees")
    print(f"xarray data set: largest difference        {result.table_difference:.1e} degrees")
    print(f"coldest hour, as it feels                  {result.coldest}")
    print(f"the workers loaded the compiler            {'yes' if result.compiler_loaded else 'no'}")


if __name__ == "__main__":
    main()
