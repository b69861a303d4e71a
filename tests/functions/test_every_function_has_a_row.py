"""The table of random calls is complete: each public function has a row, or a reason why it has none."""

import importlib
import types

import pytest

pytest.importorskip("scipy")

from function_rows import TOPICS
from test_every_function import MODULES, names_in_tests
from test_reference import public_names

import stagec.scipy.stats

WITHOUT = {
    "reads or writes files or memory": """
        numpy.fromfile numpy.load numpy.save numpy.savez numpy.frombuffer numpy.from_dlpack numpy.fromiter
        numpy.fromstring""",
    "returns text or options for printing": """
        numpy.array_repr numpy.array_str numpy.get_printoptions numpy.set_printoptions numpy.printoptions""",
    "describes dtypes": "numpy.finfo numpy.iinfo numpy.promote_types numpy.result_type lax.dtype",
    "leaves the elements open": "numpy.empty numpy.empty_like lax.empty",
    "makes a function of a function, and tests of its own call the result": """
        numpy.frompyfunc numpy.vectorize numpy.piecewise lax.composite lax.custom_linear_solve lax.custom_root
        lax.dce_sink lax.platform_dependent lax.stage scipy.linalg.funm scipy.optimize.minimize""",
    "has a meaning under vmap with named axes only": """
        lax.all_gather lax.all_to_all lax.axis_index lax.axis_size lax.pbroadcast lax.pcast lax.pmax lax.pmean lax.pmin
        lax.ppermute lax.pshuffle lax.psum lax.psum_scatter lax.pswapaxes""",
    "orders effects, or says where arrays are": """
        lax.after_all lax.create_token lax.with_sharding_constraint""",
    "computes shapes and numbers of axes for other functions": """
        lax.DotDimensionNumbers lax.broadcast_shapes lax.conv_dimension_numbers lax.conv_general_permutations
        lax.conv_general_shape_tuple lax.conv_shape_tuple lax.conv_transpose_shape_tuple lax.padtype_to_pads
        lax.reduce_window_shape_tuple lax.shape_as_value numpy.einsum_path""",
    "draws bits, which tests of random compare with known ones": """
        lax.rng_bit_generator lax.rng_uniform random.PRNGKey random.clone random.key random.key_data random.key_dtype
        random.key_impl
        random.wrap_key_data random.orthogonal""",
    "writes to references": "ref.addupdate ref.empty_ref ref.free_ref ref.freeze ref.get ref.new_ref ref.set ref.swap",
    "has results of which only products are unique, checked by backward errors": """
        lax.linalg.hessenberg lax.linalg.qdwh lax.linalg.tridiagonal scipy.linalg.qr_multiply scipy.linalg.rsf2csf""",
    "multiplies blocks with scales or in groups, compared in tests of its own": """
        lax.ragged_dot_general lax.scaled_dot nn.scaled_matmul""",
    "returns a function in addition to the array": "flatten_util.ravel_pytree",
}
EXCEPTIONS = {name for names in WITHOUT.values() for name in names.split()}


def functions() -> set[str]:
    found = set()
    for module in [*MODULES, "scipy.stats"]:
        values = importlib.import_module(f"stagec.{module}")
        named = {n: getattr(values, n) for n in public_names(values)}
        found |= {f"{module}.{n}" for n, value in named.items() if callable(value) and not isinstance(value, type)}
    for name in dir(stagec.scipy.stats):
        distribution = getattr(stagec.scipy.stats, name)
        if isinstance(distribution, types.ModuleType):
            found |= {f"scipy.stats.{name}.{f}" for f in public_names(distribution)}
    return found


def test_every_function_has_a_row_or_a_reason():
    rows = [row.name for topic in TOPICS for row in importlib.import_module(f"function_rows.{topic}").ROWS]
    assert sorted(functions() - set(rows) - EXCEPTIONS) == [], "give it a row in function_rows"
    assert sorted(set(rows) - functions()) == [], "a row of a function that does not exist"
    assert sorted(EXCEPTIONS - functions() | EXCEPTIONS & set(rows)) == [], "a reason that nothing needs"


def test_functions_without_a_row_are_called_by_another_test():
    known = names_in_tests(but=__file__)
    assert sorted(name for name in EXCEPTIONS if name.rpartition(".")[2] not in known | {"DotDimensionNumbers"}) == []
