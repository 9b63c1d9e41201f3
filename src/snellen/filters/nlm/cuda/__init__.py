"""The GPU backend of non-local means."""
