"""The package's version: read by the build, and by every module that writes it into a file."""

__version__ = "0.1.0"
