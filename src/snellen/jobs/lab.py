"""Imports what is in the package snellen-lab, or says how to install it."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from snellen.errors import InputError

PACKAGE = "snellen_lab"


def module(name: str, purpose: str) -> ModuleType:
    """Return a module below `snellen_lab`; `purpose` says for the message what needs it.

    InputError: the package is not installed.
    """
    try:
        return import_module(f"{PACKAGE}.{name}")
    except ModuleNotFoundError as error:
        if error.name != PACKAGE:
            raise
        raise InputError(
            f"{purpose} needs the package snellen-lab, which is not installed",
            advice='run: pip install "snellen[train]"; in a checkout: pip install packages/lab',
        ) from error
