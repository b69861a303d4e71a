"""stagec's exceptions and warnings."""

from stagec.core.errors import (
    ArgumentTypeError,
    AxisError,
    CacheWarning,
    CarryError,
    CompileError,
    ConcretizationError,
    DonationError,
    DonationWarning,
    DtypeError,
    IndexingError,
    LeakedTracerError,
    NonConcreteBooleanIndexError,
    OutputTypeError,
    PytreeError,
    ShapeError,
    StagecError,
    StaticArgumentError,
    TargetError,
    TracerArrayConversionError,
    TracerBoolConversionError,
    TracerIntegerConversionError,
    UnsupportedError,
)

# JAX's names for the same errors, so that `except` clauses move over.
ConcretizationTypeError = ConcretizationError
UnexpectedTracerError = LeakedTracerError

__all__ = [
    "ArgumentTypeError",
    "AxisError",
    "CacheWarning",
    "CarryError",
    "CompileError",
    "ConcretizationError",
    "ConcretizationTypeError",
    "DonationError",
    "DonationWarning",
    "DtypeError",
    "IndexingError",
    "LeakedTracerError",
    "NonConcreteBooleanIndexError",
    "OutputTypeError",
    "PytreeError",
    "ShapeError",
    "StagecError",
    "StaticArgumentError",
    "TargetError",
    "TracerArrayConversionError",
    "TracerBoolConversionError",
    "TracerIntegerConversionError",
    "UnexpectedTracerError",
    "UnsupportedError",
]
