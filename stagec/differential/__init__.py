"""`check`: one program computed in every way that stagec has, the results compared, and a difference cut down."""
