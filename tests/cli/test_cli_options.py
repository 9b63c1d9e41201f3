"""Names of parameters in errors: each is an option of a command, or of a function of Python."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import snellen
from snellen.cli import groups
from snellen.cli.commands import COMMANDS
from snellen.cli.options import option
from support.cli import run

ROOT = Path(snellen.__file__).parent
ELSEWHERE = ("bench", "fft", "gpu/nvrtc.py", "gpu/kernel.py", "torch", "vapoursynth.py")
"""What no command for files reaches."""


def texts(node):
    """The literal parts of a string, with {} for what is put in."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(texts(one) if isinstance(one, ast.Constant) else "{}" for one in node.values)
    return ""


def named():
    """Every parameter that an error names, with a file that does; and those of functions."""
    found, parameters = {}, set()
    for path in sorted(ROOT.rglob("*.py")):
        file = path.relative_to(ROOT).as_posix()
        if file.startswith(ELSEWHERE):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.arg):
                parameters.add(node.arg)
            if isinstance(node, ast.FunctionDef):
                parameters.add(node.name)  # as the advice to call a method has it
            if not isinstance(node, ast.Call) or not ast.unparse(node.func).endswith("Error"):
                continue
            for one in [*node.args, *(keyword.value for keyword in node.keywords)]:
                for name in re.findall(r"`([a-z][a-z0-9_]*)`", texts(one)):
                    found.setdefault(name, file)
            for keyword in node.keywords:
                if keyword.arg == "parameter" and texts(keyword.value):
                    found.setdefault(texts(keyword.value), file)
    return found, parameters


NAMED, PARAMETERS = named()


@pytest.mark.parametrize(("name", "file"), sorted(NAMED.items()))
def test_a_parameter_is_an_option_or_pythons(name, file):
    assert option(name) != name or name in PARAMETERS, f"{name} in {file}"


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("psf_size", "--psf-size"), ("segments", "--no-segments"),
        ("target", "-o"), ("positions", "--roi-file"), ("notes", "--about"),
        ("dry_run", "--dry-run"), ("anchors", "--anchors"), ("channel_axis", "channel_axis"),
    ],
)  # fmt: skip
def test_a_parameter_as_the_command_line_has_it(name, wanted):
    assert option(name) == wanted


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("Rows.  [default: 2; x>=1]", "Rows [default: 2]."),
        ("Rows.  [x>=1]", "Rows."),
        ("Of images [default: 95].  [1<=x<=100]", "Of images [default: 95; 1 to 100]."),
        ("A folder.  [required]", "A folder [required]."),
        ("Rows [default: all].", "Rows [default: all]."),
    ],
)
def test_defaults_and_ranges_are_told_in_one_style(given, wanted):
    assert groups._plain(given) == wanted


@pytest.mark.parametrize("name", [*COMMANDS, "bench mia", "bench quality"])
def test_help_has_groups_examples_and_no_jargon(name, capsys):
    assert run(*name.split(), "--help") == 0
    text = capsys.readouterr().out
    assert "x>=" not in text and "x<=" not in text and ".  [" not in text
    if name != "bench":
        assert "\nExamples:\n  snellen " in text
        assert "\nReports:\n" in text or name == "completion"
