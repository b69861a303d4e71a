"""Immutable objects that are their own copies, and cannot be pickled."""

from __future__ import annotations

import abc
import pickle
from typing import Any

from stagec.core import errors, location


class OwnCopy:
    """The base of such objects."""

    __slots__ = ()

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    @abc.abstractmethod
    def _instead_of_pickling(self) -> str:
        """The fix for an attempt to pickle it: what can be pickled instead."""

    def __reduce_ex__(self, protocol: Any) -> Any:
        what = errors.a_kind(type(self))
        raise location.error(
            pickle.PicklingError,
            f"{what} cannot be pickled: it refers to what this process alone has",
            fix=self._instead_of_pickling(),
        )
