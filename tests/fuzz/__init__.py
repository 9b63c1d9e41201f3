"""The fuzzer: hostile files against the commands. See README.md."""
