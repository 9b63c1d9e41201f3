"""Errors about outputs that are there already, or that another run is making."""

from __future__ import annotations

from snellen.errors import InputError, OutputError


class ExistsError(InputError):
    """An output is there, and must not be replaced."""


class AppearedError(OutputError):
    """An output has come to exist while it was made; the one that is there stays."""


class BusyError(InputError):
    """Another run is making the output."""


ELSEWHERE = (ExistsError, AppearedError, BusyError)
"""Errors of a run whose output another run has made, or is making."""


def exists(target: object) -> ExistsError:
    """Return the error about an output that is there."""
    return ExistsError(
        f"{target} exists",
        parameter="overwrite",
        advice="choose another name or give `overwrite`=True",
    )
