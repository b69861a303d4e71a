"""The pictures of the documentation: `python -m tests.pictures` draws them into `docs/pictures`."""
