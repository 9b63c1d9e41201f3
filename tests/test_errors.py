"""The tree of errors, as its docstring draws it."""

from __future__ import annotations

import pytest

from snellen import errors


@pytest.mark.parametrize(
    ("name", "bases", "code"),
    [
        ("SnellenError", (Exception,), 1),
        ("InputError", (errors.SnellenError, ValueError), 2),
        ("ModelError", (errors.InputError,), 2),
        ("DeviceError", (errors.SnellenError, RuntimeError), 2),
        ("OutputError", (errors.SnellenError, OSError), 1),
        ("IncompleteError", (errors.SnellenError, RuntimeError), 3),
    ],
)
def test_tree(name, bases, code):
    kind = getattr(errors, name)
    assert issubclass(kind, errors.SnellenError) and kind.exit_code == code
    assert all(issubclass(kind, base) for base in bases)
    assert str(kind("what came")) == "what came"
