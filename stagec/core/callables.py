"""Types of returned functions, for type checkers: with the parameters of the functions that they wrap."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, overload

if TYPE_CHECKING:
    from typing_extensions import Self

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
# The first argument and those after it, and what a function returns besides its result.
X = TypeVar("X")
Remaining = ParamSpec("Remaining")
Aux = TypeVar("Aux")


class Function(Generic[P, R_co]):
    """A function, which is bound to instances where it is a method.

    What `jit` and the like return is of this class. What `grad`, `vmap` and the like return is a plain function, and
    of this class for type checkers: an overload that returns a `Callable` counts as untyped where a lambda leaves the
    choice between overloads open.
    """

    if TYPE_CHECKING:

        class _Unknown:
            """What no function returns. It leaves the choice below open where the signature is not known."""

        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...

        @overload
        def __get__(self, instance: None, owner: Any = None) -> Self: ...
        @overload
        def __get__(self: Function[..., _Unknown], instance: object, owner: Any = None) -> Callable[..., Any]: ...
        @overload
        def __get__(
            self: Function[Concatenate[X, Remaining], R], instance: X, owner: Any = None
        ) -> Callable[Remaining, R]: ...
        def __get__(self, instance: Any, owner: Any = None) -> Any: ...

    else:

        def __get__(self, instance, owner=None):
            return self if instance is None else types.MethodType(self, instance)
