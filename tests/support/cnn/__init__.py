"""Float64 reference of compact networks."""
