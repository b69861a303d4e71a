"""stagec's exceptions and warnings."""

from stagec.core.errors import *

# JAX's names for the same errors, so that `except` clauses move over.
ConcretizationTypeError = ConcretizationError
UnexpectedTracerError = LeakedTracerError
JAXTypeError = ConcretizationError
JAXIndexError = IndexingError
JaxRuntimeError = ExecutionError

__all__ = [
    "ArgumentTypeError", "ArgumentValueError", "ArtifactError", "AxisError", "CacheWarning", "CallbackError",
    "CarryError", "CompileError", "CompilerWarning", "ConcretizationError", "ConcretizationTypeError", "DeviceError",
    "DimensionError", "DonationError", "DonationWarning", "DtypeError", "ExecutionError", "FormatError",
    "IndexingError", "JAXIndexError", "JAXTypeError", "JaxRuntimeError", "KeyReuseError", "LeakedTracerError",
    "MissingNameError", "NonConcreteBooleanIndexError", "NonFiniteError", "NotInstalledError", "OutOfMemoryError",
    "OutputTypeError", "PytreeError", "ShapeError", "StagecError", "StaticArgumentError", "TargetError",
    "TracerArrayConversionError", "TracerBoolConversionError", "TracerIntegerConversionError", "UnexpectedTracerError",
    "UnsupportedError",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)
