"""NumPy's functions, on arrays that may be traced.

Names, signatures and results are NumPy's; dtypes follow JAX: 32 bits unless
`enable_x64` is set, and Python scalars adopt the dtype of the arrays that they are combined with.
"""

# ruff: noqa: I001

import typing as _typing

from stagec.core.boundary import publish as _publish
from stagec.core.exports import exported as _exported
from stagec.numpy import fft as fft, methods
from stagec.numpy.arithmetic import (
    abs as abs,
    absolute as absolute,
    add as add,
    cbrt as cbrt,
    divide as divide,
    divmod as divmod,
    fabs as fabs,
    float_power as float_power,
    floor_divide as floor_divide,
    fmod as fmod,
    mod as mod,
    multiply as multiply,
    negative as negative,
    positive as positive,
    pow as pow,
    power as power,
    reciprocal as reciprocal,
    remainder as remainder,
    sign as sign,
    sqrt as sqrt,
    square as square,
    subtract as subtract,
    true_divide as true_divide,
)
from stagec.numpy.averages import (
    average as average,
    mean as mean,
    std as std,
    var as var,
)
from stagec.numpy.bits import (
    packbits as packbits,
    unpackbits as unpackbits,
)
from stagec.numpy.conditionals import (
    allclose as allclose,
    array_equal as array_equal,
    array_equiv as array_equiv,
    nan_to_num as nan_to_num,
    piecewise as piecewise,
    select as select,
    where as where,
)
from stagec.numpy.concatenators import (
    c_ as c_,
    r_ as r_,
)
from stagec.numpy.constants import (
    ComplexWarning as ComplexWarning,
    bfloat16 as bfloat16,
    bool as bool,
    bool_ as bool_,
    cdouble as cdouble,
    character as character,
    complex128 as complex128,
    complex64 as complex64,
    complex_ as complex_,
    complexfloating as complexfloating,
    csingle as csingle,
    double as double,
    dtype as dtype,
    e as e,
    euler_gamma as euler_gamma,
    finfo as finfo,
    flexible as flexible,
    float4_e2m1fn as float4_e2m1fn,
    float6_e2m3fn as float6_e2m3fn,
    float6_e3m2fn as float6_e3m2fn,
    float8_e3m4 as float8_e3m4,
    float8_e4m3 as float8_e4m3,
    float8_e4m3b11fnuz as float8_e4m3b11fnuz,
    float8_e4m3fn as float8_e4m3fn,
    float8_e4m3fnuz as float8_e4m3fnuz,
    float8_e5m2 as float8_e5m2,
    float8_e5m2fnuz as float8_e5m2fnuz,
    float8_e8m0fnu as float8_e8m0fnu,
    float16 as float16,
    float32 as float32,
    float64 as float64,
    float_ as float_,
    floating as floating,
    generic as generic,
    iinfo as iinfo,
    inexact as inexact,
    inf as inf,
    int16 as int16,
    int32 as int32,
    int64 as int64,
    int2 as int2,
    int4 as int4,
    int8 as int8,
    int_ as int_,
    integer as integer,
    isdtype as isdtype,
    issubdtype as issubdtype,
    nan as nan,
    ndarray as ndarray,
    newaxis as newaxis,
    number as number,
    object_ as object_,
    pi as pi,
    promote_types as promote_types,
    result_type as result_type,
    signedinteger as signedinteger,
    single as single,
    uint as uint,
    uint16 as uint16,
    uint32 as uint32,
    uint64 as uint64,
    uint2 as uint2,
    uint4 as uint4,
    uint8 as uint8,
    unsignedinteger as unsignedinteger,
)
from stagec.numpy.creation import (
    arange as arange,
    copy as copy,
    empty as empty,
    empty_like as empty_like,
    eye as eye,
    from_dlpack as from_dlpack,
    frombuffer as frombuffer,
    fromiter as fromiter,
    fromstring as fromstring,
    full as full,
    full_like as full_like,
    identity as identity,
    indices as indices,
    meshgrid as meshgrid,
    ones as ones,
    ones_like as ones_like,
    tri as tri,
    zeros as zeros,
    zeros_like as zeros_like,
)
from stagec.numpy.einsum import (
    einsum as einsum,
    einsum_path as einsum_path,
)
from stagec.numpy.elementary import (
    acos as acos,
    acosh as acosh,
    arccos as arccos,
    arccosh as arccosh,
    arcsin as arcsin,
    arcsinh as arcsinh,
    arctan as arctan,
    arctan2 as arctan2,
    arctanh as arctanh,
    asin as asin,
    asinh as asinh,
    atan as atan,
    atan2 as atan2,
    atanh as atanh,
    cos as cos,
    cosh as cosh,
    deg2rad as deg2rad,
    degrees as degrees,
    exp as exp,
    exp2 as exp2,
    expm1 as expm1,
    i0 as i0,
    log as log,
    log10 as log10,
    log1p as log1p,
    log2 as log2,
    rad2deg as rad2deg,
    radians as radians,
    sin as sin,
    sinc as sinc,
    sinh as sinh,
    tan as tan,
    tanh as tanh,
)
from stagec.numpy.extremes import (
    clip as clip,
    fmax as fmax,
    fmin as fmin,
    gcd as gcd,
    heaviside as heaviside,
    hypot as hypot,
    lcm as lcm,
    logaddexp as logaddexp,
    logaddexp2 as logaddexp2,
    maximum as maximum,
    minimum as minimum,
)
from stagec.numpy.files import (
    fromfile as fromfile,
    load as load,
    save as save,
    savez as savez,
)
from stagec.numpy.grids import (
    index_exp as index_exp,
    iterable as iterable,
    mgrid as mgrid,
    ndim as ndim,
    ogrid as ogrid,
    s_ as s_,
    shape as shape,
    size as size,
)
from stagec.numpy.histograms import (
    histogram2d as histogram2d,
    histogramdd as histogramdd,
)
from stagec.numpy.mapping import (
    apply_along_axis as apply_along_axis,
    apply_over_axes as apply_over_axes,
    fromfunction as fromfunction,
    vectorize as vectorize,
)
from stagec.numpy.insertion import (
    delete as delete,
    insert as insert,
)
from stagec.numpy.interpolation import (
    interp as interp,
    polyval as polyval,
)
from stagec.numpy.joining import (
    append as append,
    array_split as array_split,
    block as block,
    column_stack as column_stack,
    concat as concat,
    concatenate as concatenate,
    dsplit as dsplit,
    dstack as dstack,
    hsplit as hsplit,
    hstack as hstack,
    split as split,
    stack as stack,
    unstack as unstack,
    vsplit as vsplit,
    vstack as vstack,
)
from stagec.numpy.linear import (
    cross as cross,
    dot as dot,
    inner as inner,
    kron as kron,
    matmul as matmul,
    matvec as matvec,
    outer as outer,
    tensordot as tensordot,
    vdot as vdot,
    vecdot as vecdot,
    vecmat as vecmat,
)
from stagec.numpy.diagonals import (
    diag as diag,
    diagflat as diagflat,
    diagonal as diagonal,
    fill_diagonal as fill_diagonal,
    trace as trace,
    tril as tril,
    triu as triu,
    vander as vander,
)
from stagec.numpy.logical import (
    bitwise_and as bitwise_and,
    bitwise_count as bitwise_count,
    bitwise_invert as bitwise_invert,
    bitwise_left_shift as bitwise_left_shift,
    bitwise_not as bitwise_not,
    bitwise_or as bitwise_or,
    bitwise_right_shift as bitwise_right_shift,
    bitwise_xor as bitwise_xor,
    equal as equal,
    greater as greater,
    greater_equal as greater_equal,
    invert as invert,
    isclose as isclose,
    iscomplex as iscomplex,
    iscomplexobj as iscomplexobj,
    isfinite as isfinite,
    isinf as isinf,
    isnan as isnan,
    isneginf as isneginf,
    isposinf as isposinf,
    isreal as isreal,
    isrealobj as isrealobj,
    isscalar as isscalar,
    left_shift as left_shift,
    less as less,
    less_equal as less_equal,
    logical_and as logical_and,
    logical_not as logical_not,
    logical_or as logical_or,
    logical_xor as logical_xor,
    not_equal as not_equal,
    right_shift as right_shift,
)
from stagec.numpy.manipulation import (
    astype as astype,
    atleast_1d as atleast_1d,
    atleast_2d as atleast_2d,
    atleast_3d as atleast_3d,
    broadcast_arrays as broadcast_arrays,
    broadcast_to as broadcast_to,
    expand_dims as expand_dims,
    flip as flip,
    fliplr as fliplr,
    flipud as flipud,
    matrix_transpose as matrix_transpose,
    moveaxis as moveaxis,
    permute_dims as permute_dims,
    ravel as ravel,
    reshape as reshape,
    roll as roll,
    rollaxis as rollaxis,
    rot90 as rot90,
    squeeze as squeeze,
    swapaxes as swapaxes,
    transpose as transpose,
)
from stagec.numpy.repetition import (
    repeat as repeat,
    tile as tile,
)
from stagec.numpy.namespace import (
    __array_api_version__ as __array_api_version__,
    __array_namespace_info__ as __array_namespace_info__,
    can_cast as can_cast,
)
from stagec.numpy.nan_reductions import (
    nanargmax as nanargmax,
    nanargmin as nanargmin,
    nanmax as nanmax,
    nanmean as nanmean,
    nanmin as nanmin,
    nanprod as nanprod,
    nanstd as nanstd,
    nansum as nansum,
    nanvar as nanvar,
)
from stagec.numpy.padding import (
    pad as pad,
    resize as resize,
    trim_zeros as trim_zeros,
)
from stagec.numpy.phases import (
    unwrap as unwrap,
)
from stagec.numpy.printing import (
    array_repr as array_repr,
    array_str as array_str,
    get_printoptions as get_printoptions,
    printoptions as printoptions,
    set_printoptions as set_printoptions,
)
from stagec.numpy.polynomials import (
    poly as poly,
    polyadd as polyadd,
    polyder as polyder,
    polydiv as polydiv,
    polyfit as polyfit,
    polyint as polyint,
    polymul as polymul,
    polysub as polysub,
    roots as roots,
)
from stagec.numpy.positions import (
    argwhere as argwhere,
    diag_indices as diag_indices,
    diag_indices_from as diag_indices_from,
    flatnonzero as flatnonzero,
    ix_ as ix_,
    mask_indices as mask_indices,
    nonzero as nonzero,
    ravel_multi_index as ravel_multi_index,
    tril_indices as tril_indices,
    tril_indices_from as tril_indices_from,
    triu_indices as triu_indices,
    triu_indices_from as triu_indices_from,
    unravel_index as unravel_index,
)
from stagec.numpy.promotion import (
    broadcast_shapes as broadcast_shapes,
)
from stagec.numpy.quantiles import (
    median as median,
    nanmedian as nanmedian,
    nanpercentile as nanpercentile,
    nanquantile as nanquantile,
    percentile as percentile,
    quantile as quantile,
)
from stagec.numpy.reductions import (
    all as all,
    amax as amax,
    amin as amin,
    any as any,
    argmax as argmax,
    argmin as argmin,
    count_nonzero as count_nonzero,
    max as max,
    min as min,
    prod as prod,
    ptp as ptp,
    sum as sum,
)
from stagec.numpy.rounding import (
    angle as angle,
    around as around,
    ceil as ceil,
    conj as conj,
    conjugate as conjugate,
    fix as fix,
    floor as floor,
    imag as imag,
    real as real,
    rint as rint,
    round as round,
    trunc as trunc,
)
from stagec.numpy.running import (
    cumprod as cumprod,
    cumsum as cumsum,
    cumulative_prod as cumulative_prod,
    cumulative_sum as cumulative_sum,
    diff as diff,
    ediff1d as ediff1d,
    gradient as gradient,
    nancumprod as nancumprod,
    nancumsum as nancumsum,
    trapezoid as trapezoid,
)
from stagec.numpy.selection import (
    choose as choose,
    compress as compress,
    extract as extract,
    place as place,
    put as put,
    put_along_axis as put_along_axis,
    take as take,
    take_along_axis as take_along_axis,
)
from stagec.numpy.sets import (
    intersect1d as intersect1d,
    isin as isin,
    setdiff1d as setdiff1d,
    setxor1d as setxor1d,
    union1d as union1d,
    unique as unique,
    unique_all as unique_all,
    unique_counts as unique_counts,
    unique_inverse as unique_inverse,
    unique_values as unique_values,
)
from stagec.numpy.sorting import (
    argpartition as argpartition,
    argsort as argsort,
    digitize as digitize,
    lexsort as lexsort,
    partition as partition,
    searchsorted as searchsorted,
    sort as sort,
    sort_complex as sort_complex,
)
from stagec.numpy.spacing import (
    geomspace as geomspace,
    linspace as linspace,
    logspace as logspace,
)
from stagec.numpy.statistics import (
    bincount as bincount,
    convolve as convolve,
    corrcoef as corrcoef,
    correlate as correlate,
    cov as cov,
    histogram as histogram,
    histogram_bin_edges as histogram_bin_edges,
)
from stagec.numpy.ufuncs import (
    frompyfunc as frompyfunc,
    ufunc as ufunc,
)
from stagec.numpy.unpacking import (
    copysign as copysign,
    frexp as frexp,
    ldexp as ldexp,
    modf as modf,
    nextafter as nextafter,
    signbit as signbit,
    spacing as spacing,
)
from stagec.numpy.windows import (
    bartlett as bartlett,
    blackman as blackman,
    hamming as hamming,
    hanning as hanning,
    kaiser as kaiser,
)
from stagec.numpy.values import (
    array as array,
    asarray as asarray,
)
from stagec.numpy.ufuncs import attach as _attach
from stagec.runtime.plans import cover as _cover

# Outside `jit`, functions run by recorded plans, which only compute. So these do not: some take data that is not an
# array yet or have side effects, and a trace of `copy` is empty.
_unplanned = "array asarray copy array_repr array_str fromfile get_printoptions iterable load printoptions save savez"
_cover(globals(), methods.OF_NUMBERS, {*_unplanned.split(), "set_printoptions"})
_attach(globals())
_array_methods = methods.of_arrays(globals())

if _typing.TYPE_CHECKING:
    from stagec.numpy import linalg as linalg


def __dir__() -> list[str]:
    return _exported(globals(), "fft", "linalg")


_publish(globals(), "linalg")
