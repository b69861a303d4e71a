"""Files that hold compiled functions: their layout, what they say of themselves, and how both are checked."""
