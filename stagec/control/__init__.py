"""Operations with inner graphs: calls, conditionals, loops, custom derivatives."""
