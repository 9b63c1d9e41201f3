"""Every error that Snellen raises on purpose.

::

    SnellenError
    ├─ InputError      (also ValueError)   wrong use or unusable input             exit code 2
    │  └─ ModelError                       a model file that is wrong or damaged   exit code 2
    ├─ DeviceError     (also RuntimeError) the device asked for cannot be used     exit code 2
    ├─ OutputError     (also OSError)      the result could not be written         exit code 1
    └─ IncompleteError      (also RuntimeError) what was decodable is written, not all  exit code 3

Each message says what came, what was wanted and what to do.
"""


class SnellenError(Exception):
    """Base of all errors of this package."""

    exit_code = 1


class InputError(SnellenError, ValueError):
    """Wrong use, or an input that cannot be used."""

    exit_code = 2


class ModelError(InputError):
    """A model file that is missing, damaged or not a model of ours."""


class DeviceError(SnellenError, RuntimeError):
    """The device asked for does not exist here or cannot be used."""

    exit_code = 2


class OutputError(SnellenError, OSError):
    """The result could not be written (disk full, no permission); nothing is left behind."""


class IncompleteError(SnellenError, RuntimeError):
    """The input was damaged: what could be decoded is written, and this says what is missing."""

    exit_code = 3
