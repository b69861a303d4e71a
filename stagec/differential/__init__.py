"""`check`: computes a program in every way that stagec has, compares the results, and reduces differences."""
