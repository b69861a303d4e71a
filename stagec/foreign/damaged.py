"""What the readers of files raise."""


class Damaged(ValueError):
    """Bytes are not of the format that they are read as: an offset leads out of them, or they end early."""
