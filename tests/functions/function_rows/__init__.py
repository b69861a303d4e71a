"""A table of the public functions: how to draw random arguments for each, and what computes the same."""

TOPICS = """
numpy_elements numpy_reductions numpy_shapes numpy_indices numpy_creation numpy_searches numpy_products
linear lax_linear scipy_linear fourier lax_elements lax_arrays lax_indices lax_products
activations initializers special_functions distributions scientific random_numbers
""".split()
