"""Identifiers and element types of C and JavaScript."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from stagec.core.dtypes import KEY


class Scalar(NamedTuple):
    """A number of an array in other languages.

    Attributes:
      type: in C.
      array: the class of arrays in JavaScript.
      parts: numbers for each element.
      note: what the number means, if its type does not say it.
    """

    type: str
    array: str
    parts: int = 1
    note: str = ""


_PAIRS = "real and imaginary parts in turns"
_SCALARS = {
    "bool": Scalar("uint8_t", "Uint8Array", note="0 or 1"),
    "float16": Scalar("uint16_t", "Uint16Array", note="the bits of float16"),
    "bfloat16": Scalar("uint16_t", "Uint16Array", note="the bits of bfloat16"),
    "float32": Scalar("float", "Float32Array"),
    "float64": Scalar("double", "Float64Array"),
    "complex64": Scalar("float", "Float32Array", 2, _PAIRS),
    "complex128": Scalar("double", "Float64Array", 2, _PAIRS),
    **{f"int{n}": Scalar(f"int{n}_t", f"Int{n}Array") for n in (8, 16, 32)},
    **{f"uint{n}": Scalar(f"uint{n}_t", f"Uint{n}Array") for n in (8, 16, 32)},
    "int64": Scalar("int64_t", "BigInt64Array"),
    "uint64": Scalar("uint64_t", "BigUint64Array"),
    KEY.name: Scalar("uint32_t", "Uint32Array", KEY.words, "the two words of a key in turns"),
}


def scalar_of(dtype: np.dtype) -> Scalar | None:
    """The elements of a dtype; None if they have no form.

    >>> scalar_of(np.dtype("float32")).type
    'float'
    """
    found = _SCALARS.get(dtype.name)
    if found is None and dtype.name.startswith("float8_"):
        return Scalar("uint8_t", "Uint8Array", note=f"the bits of {dtype.name}")
    return found


# Words of C, C++ and JavaScript, types and macros of the headers, and what the code that is written calls its own.
WORDS = frozenset(
    """
    alignas alignof and and_eq arguments asm async atomic await auto bitand bitor bool boolean break byte case catch
    char char8_t char16_t char32_t class co_await co_return co_yield compl concept const const_cast consteval constexpr
    constinit continue debugger decltype default delete do double dynamic_cast else enum eval explicit export extends
    extern false finally float for friend function goto if implements import in inline instanceof int interface let
    linux long mutable namespace new noexcept not not_eq null nullptr of operator or or_eq package private protected
    public register reinterpret_cast requires restrict return short signed sizeof static static_assert static_cast
    struct super switch template this thread_local throw true try typedef typeid typename typeof undefined union unix
    unsigned using var virtual void volatile wchar_t while with xor xor_eq yield
    abort exit free main malloc memcpy memset printf
    EOF I INFINITY NAN NULL assert complex errno imaginary noreturn stderr stdin stdout
    ptrdiff_t size_t int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t
    group kernel launch place repeat run stagec stagec_detail stagec_threads std threads work workspace
    """.split()
)

# What a function's name may not be, as the C library has a function of this name, which any other part of a program may
# call, or as <features.h> and its like would be the header of the function.
_MATH = """
    abs acos acosh arg asin asinh atan atan2 atanh cabs cacos cacosh carg casin casinh catan catanh cbrt ccos ccosh ceil
    cexp cimag clog conj copysign cos cosh cpow cproj creal csin csinh csqrt ctan ctanh div drem erf erfc exp exp10 exp2
    expm1 fabs fdim finite floor fma fmax fmin fmod frexp gamma hypot ilogb j0 j1 jn ldexp lgamma llrint llround log
    log10 log1p log2 logb lrint lround modf nan nearbyint nextafter nexttoward pow remainder remquo rint round scalb
    scalbln scalbn significand sin sincos sinh sqrt tan tanh tgamma trunc y0 y1 yn
"""
_OTHERS = """
    a64l accept access acct alarm alloca asprintf atexit atof atoi atol atoll basename bcmp bcopy bind brk bsearch bzero
    calloc chdir chmod chown clearerr clock clone close connect creat ctime daemon difftime dirname drand48 dup dup2
    encrypt environ erand48 error execv execve fclose feof ferror fflush ffs fgetc fgets fileno flock fopen fork
    fprintf fputc fputs fread freopen fscanf fseek fsync ftell ftok fwrite getc getchar getenv getline getpid gets
    gmtime index initstate insque ioctl isalnum isalpha isascii isatty isblank iscntrl isdigit isgraph isinf islower
    isnan isprint ispunct isspace isupper isxdigit kill labs lfind link listen llabs localtime lockf longjmp lrand48
    lsearch lseek memchr memcmp memmem memmove mkdir mktime mmap mount mrand48 munmap nice nrand48 open pause perror
    pipe poll prctl pread profil psignal putc putchar putenv puts pwrite qsort raise rand rand_r random read readlink
    readv realloc reboot recv remove remque rename rewind rindex rmdir sbrk scanf seed48 select send setjmp setstate
    shutdown signal sleep socket splice sprintf srand srand48 srandom sscanf stat stime strcat strchr strcmp strcoll
    strcpy strcspn strdup strerror strlen strncat strncmp strncpy strpbrk strrchr strspn strstr strtod strtof strtok
    strtol strtold strtoll strtoul strtoull strxfrm swab symlink sync syscall sysinfo system tdelete tee tfind time
    times tmpfile tmpnam tolower toupper truncate tsearch twalk umask umount uname ungetc unlink usleep utime vfork
    vprintf wait warn warnx write writev
    byteswap ctype err features fenv inttypes limits link locale math memory paths regex search setjmp stdarg stdbool
    stddef stdint stdio stdlib string strings tgmath uchar unistd values wchar wctype
"""
LIBRARY = frozenset(_OTHERS.split()) | {f"{name}{end}" for name in _MATH.split() for end in ("", "f", "l")}


def identifier(text: str, taken: set[str]) -> str:
    """A text as a name that is not taken; it is from now on.

    >>> taken = {"double"}
    >>> [identifier(text, taken) for text in ("params['w'][0]", "double", "params.w[0]", "2x")]
    ['params_w_0', 'double_', 'params_w_0_', 'x2x']
    """
    name = re.sub(r"[\W_]+", "_", text, flags=re.ASCII).strip("_")
    if not name or name[0].isdigit() or re.fullmatch(r"[np]\d+", name):
        name = f"x{name}"
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def constant(function: str, number: int) -> str:
    """The name of a constant of a function."""
    return f"{function}_constant{number}"
