"""Files that CONTRIBUTING.md and docs/layout.md name exist; each dependency has a reason."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "snellen"
LAYOUT = (ROOT / "docs/layout.md").read_text(encoding="utf-8")


def layout():
    """Lines of the tree: the folder that a line is about, and its text."""
    block = LAYOUT.split("src/snellen/\n", 1)[1].split("\n```", 1)[0].split("\nsrc/", 1)[0]
    parents = [PACKAGE]
    for line in block.splitlines():
        branches, text = re.match(r"([│├└─ ]*)(.*)", line).groups()
        if "─" in branches:
            name = re.match(r"([\w/]+)/ ", text)
            del parents[len(branches) // 3 :]
            parents.append(parents[-1] / name[1] if name else parents[-1])
        yield parents[-1], text


FILES = [
    (folder, name)
    for folder, text in layout()
    for name in re.findall(r"[\w/]+\.(?:py|cuh?)\b", text)
]


@pytest.mark.parametrize(("folder", "name"), FILES, ids=[f"{f.name}-{n}" for f, n in FILES])
def test_a_file_of_the_layout_exists(folder, name):
    assert (folder / name).is_file() or (PACKAGE / name).is_file()


def test_paths_of_the_guide_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = re.findall(r"`([\w.-]+/[\w./-]*)(?::\w+)?`", text)
    missing = [name for name in named if not any((at / name).exists() for at in (ROOT, PACKAGE))]
    assert len(named) > 20 and missing == ["cuda/luma.py", "models/"]  # of any new method


def test_every_package_is_in_the_layout():
    tree = "\n".join(text for _, text in layout())
    packages = {path.parent.name for path in PACKAGE.rglob("__init__.py")} - {"snellen"}
    assert not {name for name in packages if f"{name}/" not in tree}


@pytest.mark.slow
def test_every_dependency_has_a_reason():
    table = (ROOT / "docs/dependencies.md").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"]]
    for extra in project["optional-dependencies"].values():
        wanted += extra
    names = {re.match(r"[\w-]+", one)[0] for one in wanted} - {"snellen"}
    names = {re.sub(r"^cupy-cuda1\dx$", "cupy", name) for name in names}
    missing = {name for name in names if not re.search(rf"\b{name}\b", table)}
    assert not missing


def test_docstrings_are_sentences():
    """None is a clause, as "What is read" or "Of the input", without a verb of its own."""
    clause = re.compile(r'^ *"""(What|Of|Whether) ', re.MULTILINE)
    files = [*PACKAGE.rglob("*.py"), *(ROOT / "src/snellen_lab").rglob("*.py")]
    assert not [one for one in files if clause.search(one.read_text(encoding="utf-8"))]
