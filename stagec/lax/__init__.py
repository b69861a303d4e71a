"""Operations as the compiler knows them: no promotion, no broadcasting, JAX's `jax.lax` names."""

# ruff: noqa: I001

import typing as _typing

from stagec.core.boundary import publish as _publish
from stagec.core.exports import exported as _exported
from stagec.lax.fourier import FftType as FftType, fft as fft
from stagec.lax.composed import (
    approx_max_k as approx_max_k,
    approx_min_k as approx_min_k,
    broadcast_like as broadcast_like,
    broadcast_to_rank as broadcast_to_rank,
    convert_element_type as convert_element_type,
    dtype as dtype,
    empty as empty,
    index_take as index_take,
    mulhi as mulhi,
    shape_as_value as shape_as_value,
    stack as stack,
    tile as tile,
    unstack as unstack,
)
from stagec.lax.patches import (
    conv_general_dilated_local as conv_general_dilated_local,
    conv_general_dilated_patches as conv_general_dilated_patches,
    conv_general_permutations as conv_general_permutations,
    conv_general_shape_tuple as conv_general_shape_tuple,
    conv_shape_tuple as conv_shape_tuple,
    conv_transpose_shape_tuple as conv_transpose_shape_tuple,
    reduce_window_shape_tuple as reduce_window_shape_tuple,
)
from stagec.lax.generators import (
    RandomAlgorithm as RandomAlgorithm,
    rng_bit_generator as rng_bit_generator,
    rng_uniform as rng_uniform,
)
from stagec.lax.ragged import (
    RaggedDotDimensionNumbers as RaggedDotDimensionNumbers,
    ragged_dot as ragged_dot,
    ragged_dot_general as ragged_dot_general,
)
from stagec.lax.scaled import scaled_dot as scaled_dot
from stagec.lax.tokens import (
    after_all as after_all,
    create_token as create_token,
    dce_sink as dce_sink,
    stage as stage,
    with_sharding_constraint as with_sharding_constraint,
)
from stagec.lax.special import (
    betainc as betainc,
    igamma as igamma,
    igamma_grad_a as igamma_grad_a,
    igammac as igammac,
    random_gamma_grad as random_gamma_grad,
)
from stagec.primitives.fft import fft_p as fft_p
from stagec.primitives.arithmetic import (
    RoundingMethod as RoundingMethod,
    abs as abs,
    abs_p as abs_p,
    add as add,
    cbrt as cbrt,
    cbrt_p as cbrt_p,
    ceil as ceil,
    ceil_p as ceil_p,
    div as div,
    div_p as div_p,
    floor as floor,
    floor_p as floor_p,
    integer_pow as integer_pow,
    integer_pow_p as integer_pow_p,
    max as max,
    max_p as max_p,
    min as min,
    min_p as min_p,
    mul as mul,
    mul_p as mul_p,
    neg as neg,
    nextafter as nextafter,
    nextafter_p as nextafter_p,
    pow as pow,
    pow_p as pow_p,
    reciprocal as reciprocal,
    rem as rem,
    rem_p as rem_p,
    round as round,
    round_p as round_p,
    rsqrt as rsqrt,
    rsqrt_p as rsqrt_p,
    sign as sign,
    sign_p as sign_p,
    sqrt as sqrt,
    sqrt_p as sqrt_p,
    square as square,
    square_p as square_p,
    sub as sub,
    sub_p as sub_p,
)
from stagec.primitives.rules import add_p as add_p, neg_p as neg_p
from stagec.primitives.barrier import (
    optimization_barrier as optimization_barrier,
    optimization_barrier_p as optimization_barrier_p,
    stop_gradient as stop_gradient,
    stop_gradient_p as stop_gradient_p,
)
from stagec.primitives.complex import (
    complex as complex,
    complex_p as complex_p,
    conj as conj,
    conj_p as conj_p,
    imag as imag,
    imag_p as imag_p,
    real as real,
    real_p as real_p,
)
from stagec.primitives.convert import (
    bitcast_convert_type as bitcast_convert_type,
    bitcast_convert_type_p as bitcast_convert_type_p,
    convert_element_type_p as convert_element_type_p,
    reduce_precision as reduce_precision,
    reduce_precision_p as reduce_precision_p,
)
from stagec.primitives.logic import (
    and_p as and_p,
    bitwise_and as bitwise_and,
    bitwise_not as bitwise_not,
    bitwise_or as bitwise_or,
    bitwise_xor as bitwise_xor,
    clamp as clamp,
    clamp_p as clamp_p,
    clz as clz,
    clz_p as clz_p,
    eq as eq,
    eq_p as eq_p,
    ge as ge,
    ge_p as ge_p,
    gt as gt,
    gt_p as gt_p,
    is_finite as is_finite,
    is_finite_p as is_finite_p,
    le as le,
    le_p as le_p,
    lt as lt,
    lt_p as lt_p,
    ne as ne,
    ne_p as ne_p,
    not_p as not_p,
    or_p as or_p,
    population_count as population_count,
    population_count_p as population_count_p,
    select as select,
    select_n as select_n,
    select_n_p as select_n_p,
    shift_left as shift_left,
    shift_left_p as shift_left_p,
    shift_right_arithmetic as shift_right_arithmetic,
    shift_right_arithmetic_p as shift_right_arithmetic_p,
    shift_right_logical as shift_right_logical,
    shift_right_logical_p as shift_right_logical_p,
    xor_p as xor_p,
)
from stagec.primitives.special import (
    bessel_i0e as bessel_i0e,
    bessel_i0e_p as bessel_i0e_p,
    bessel_i1e as bessel_i1e,
    bessel_i1e_p as bessel_i1e_p,
    digamma as digamma,
    digamma_p as digamma_p,
    erf as erf,
    erf_inv as erf_inv,
    erf_inv_p as erf_inv_p,
    erf_p as erf_p,
    erfc as erfc,
    erfc_p as erfc_p,
    lgamma as lgamma,
    lgamma_p as lgamma_p,
    polygamma as polygamma,
    polygamma_p as polygamma_p,
    zeta as zeta,
    zeta_p as zeta_p,
)
from stagec.primitives.arithmetic import log_p as log_p
from stagec.primitives.transcendental import (
    acos as acos,
    acos_p as acos_p,
    acosh as acosh,
    acosh_p as acosh_p,
    asin as asin,
    asin_p as asin_p,
    asinh as asinh,
    asinh_p as asinh_p,
    atan as atan,
    atan2 as atan2,
    atan2_p as atan2_p,
    atan_p as atan_p,
    atanh as atanh,
    atanh_p as atanh_p,
    cos as cos,
    cos_p as cos_p,
    cosh as cosh,
    cosh_p as cosh_p,
    exp as exp,
    exp2 as exp2,
    exp2_p as exp2_p,
    exp_p as exp_p,
    expm1 as expm1,
    expm1_p as expm1_p,
    log as log,
    log1p as log1p,
    log1p_p as log1p_p,
    logistic as logistic,
    logistic_p as logistic_p,
    sin as sin,
    sin_p as sin_p,
    sinh as sinh,
    sinh_p as sinh_p,
    tan as tan,
    tan_p as tan_p,
    tanh as tanh,
    tanh_p as tanh_p,
)

# shape, index, dot
from stagec.primitives.joining import concatenate as concatenate, concatenate_p as concatenate_p, pad as pad
from stagec.primitives.padding import pad_p as pad_p
from stagec.primitives.broadcast import (
    broadcast_in_dim_p as broadcast_in_dim_p,
    reshape_p as reshape_p,
    transpose_p as transpose_p,
)
from stagec.primitives.shape import (
    broadcast as broadcast,
    broadcast_in_dim as broadcast_in_dim,
    collapse as collapse,
    expand_dims as expand_dims,
    reshape as reshape,
    rev as rev,
    rev_p as rev_p,
    squeeze as squeeze,
    squeeze_p as squeeze_p,
    transpose as transpose,
)
from stagec.primitives.padding import slice_p as slice_p
from stagec.primitives.slicing import (
    dynamic_index_in_dim as dynamic_index_in_dim,
    dynamic_slice as dynamic_slice,
    dynamic_slice_in_dim as dynamic_slice_in_dim,
    dynamic_slice_p as dynamic_slice_p,
    dynamic_update_index_in_dim as dynamic_update_index_in_dim,
    dynamic_update_slice as dynamic_update_slice,
    dynamic_update_slice_in_dim as dynamic_update_slice_in_dim,
    dynamic_update_slice_p as dynamic_update_slice_p,
    index_in_dim as index_in_dim,
    slice_in_dim as slice_in_dim,
    split as split,
    split_p as split_p,
)
from stagec.primitives.iota import (
    broadcasted_iota as broadcasted_iota,
    full as full,
    full_like as full_like,
    iota as iota,
    iota_p as iota_p,
    zeros_like as zeros_like,
)
from stagec.primitives.gather import gather as gather
from stagec.primitives.gather_parts import (
    GatherDimensionNumbers as GatherDimensionNumbers,
    GatherScatterMode as GatherScatterMode,
    ScatterDimensionNumbers as ScatterDimensionNumbers,
)
from stagec.primitives.gather_scatter import gather_p as gather_p
from stagec.primitives.gather_scatter import (
    scatter_add_p as scatter_add_p,
    scatter_max_p as scatter_max_p,
    scatter_min_p as scatter_min_p,
    scatter_mul_p as scatter_mul_p,
    scatter_p as scatter_p,
    scatter_sub_p as scatter_sub_p,
)
from stagec.primitives.scatter import (
    scatter as scatter,
    scatter_add as scatter_add,
    scatter_apply as scatter_apply,
    scatter_max as scatter_max,
    scatter_min as scatter_min,
    scatter_mul as scatter_mul,
    scatter_sub as scatter_sub,
)
from stagec.primitives.dot import (
    DotDimensionNumbers as DotDimensionNumbers,
    batch_matmul as batch_matmul,
    dot as dot,
    dot_general as dot_general,
    dot_general_p as dot_general_p,
)
from stagec.primitives.precision import (
    AccuracyMode as AccuracyMode,
    DotAlgorithm as DotAlgorithm,
    DotAlgorithmPreset as DotAlgorithmPreset,
    Precision as Precision,
    PrecisionLike as PrecisionLike,
    Tolerance as Tolerance,
)
from stagec.primitives.broadcast import reduce_sum_p as reduce_sum_p
from stagec.primitives.reduce import (
    argmax as argmax,
    argmax_p as argmax_p,
    argmin as argmin,
    argmin_p as argmin_p,
    reduce_and as reduce_and,
    reduce_and_p as reduce_and_p,
    reduce_max as reduce_max,
    reduce_max_p as reduce_max_p,
    reduce_min as reduce_min,
    reduce_min_p as reduce_min_p,
    reduce_or as reduce_or,
    reduce_or_p as reduce_or_p,
    reduce_prod as reduce_prod,
    reduce_prod_p as reduce_prod_p,
    reduce_sum as reduce_sum,
    reduce_xor as reduce_xor,
    reduce_xor_p as reduce_xor_p,
)
from stagec.primitives.cumulative import (
    cumlogsumexp as cumlogsumexp,
    cumlogsumexp_p as cumlogsumexp_p,
    cummax as cummax,
    cummax_p as cummax_p,
    cummin as cummin,
    cummin_p as cummin_p,
    cumprod as cumprod,
    cumprod_p as cumprod_p,
    cumsum as cumsum,
    cumsum_p as cumsum_p,
)
from stagec.primitives.sort import (
    sort as sort,
    sort_key_val as sort_key_val,
    sort_p as sort_p,
    top_k as top_k,
    top_k_p as top_k_p,
)
from stagec.control.windows import reduce_window as reduce_window, reduce_window_p as reduce_window_p
from stagec.primitives.window import (
    padtype_to_pads as padtype_to_pads,
    reduce_window_max_p as reduce_window_max_p,
    reduce_window_min_p as reduce_window_min_p,
    reduce_window_sum_p as reduce_window_sum_p,
)
from stagec.primitives.conv_dimensions import (
    ConvDimensionNumbers as ConvDimensionNumbers,
    ConvGeneralDilatedDimensionNumbers as ConvGeneralDilatedDimensionNumbers,
    conv_dimension_numbers as conv_dimension_numbers,
)
from stagec.primitives.conv import (
    conv as conv,
    conv_general_dilated as conv_general_dilated,
    conv_general_dilated_p as conv_general_dilated_p,
    conv_transpose as conv_transpose,
    conv_with_general_padding as conv_with_general_padding,
)
from stagec.control.reduce import reduce as reduce, reduce_p as reduce_p
from stagec.primitives.slicing import slice_ as _slice
from stagec.numpy.promotion import broadcast_shapes as broadcast_shapes
from stagec.control.associative import associative_scan as associative_scan
from stagec.control.cond import cond as cond, cond_p as cond_p, switch as switch
from stagec.control.loops import fori_loop as fori_loop, while_loop as while_loop, while_p as while_p
from stagec.control.scan import map_ as _map, scan as scan, scan_p as scan_p
from stagec.control.collective import (
    all_gather as all_gather,
    axis_index as axis_index,
    axis_size as axis_size,
    pmax as pmax,
    pmean as pmean,
    pmin as pmin,
    psum as psum,
)
from stagec.control.exchanges import (
    all_to_all as all_to_all,
    pbroadcast as pbroadcast,
    pcast as pcast,
    ppermute as ppermute,
    pshuffle as pshuffle,
    psum_scatter as psum_scatter,
    pswapaxes as pswapaxes,
)
from stagec.control.linear_solve import custom_linear_solve as custom_linear_solve
from stagec.control.platforms import composite as composite, platform_dependent as platform_dependent
from stagec.control.root import custom_root as custom_root
from stagec.runtime.plans import cover as _cover

# Their modules have the builtin functions of these names.
map = _map
slice = _slice
_cover(globals())

if _typing.TYPE_CHECKING:
    from stagec.lax import linalg as linalg


def __dir__() -> list[str]:
    return _exported(globals(), "linalg")


_publish(globals(), "linalg")
