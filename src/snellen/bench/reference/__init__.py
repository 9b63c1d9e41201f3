"""Independent references: each method from its paper, in plain NumPy and float64.

They share no stage with the package. Results are checked against them before they are timed.
"""
