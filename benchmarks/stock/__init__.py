"""The same work by other libraries, timed beside ours: `python -m benchmarks.stock METHOD`."""
