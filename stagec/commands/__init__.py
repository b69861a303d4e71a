"""The subcommands of `stagec`, one module each."""
