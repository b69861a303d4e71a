"""Op views with named operands; MLIR imports these modules by dialect name."""
