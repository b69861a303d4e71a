"""Files of compiled functions: their layout, their manifest, and the checks of both."""
