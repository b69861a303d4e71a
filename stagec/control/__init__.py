"""Operations that hold graphs."""
