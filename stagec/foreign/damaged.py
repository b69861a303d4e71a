"""The exception of the readers of binary formats."""


class Damaged(ValueError):
    """The bytes do not have the expected format: an offset is out of bounds, or they end early."""
