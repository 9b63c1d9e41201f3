"""Write NOTICE: whose pictures our models are learnt from; `python -m benchmarks.notice`.

Attributions come from the headers of the models in the package, so this is run again whenever a
model comes or goes. --licenses FOLDER, as ../shared/data/trainset/LICENSES, has the licences of the
pictures; those whose text has to travel with copies are added.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Mapping
from importlib import resources
from pathlib import Path
from textwrap import fill

from snellen.files import tensors
from snellen.report import vendored
from snellen.upscaling import shipped

PATH = Path(__file__).resolve().parents[1] / "NOTICE"
KEYS = ("attribution", "pack_attribution")  # of the headers of networks, of A+
TRAVEL = ("MIT", "BSD-2-Clause")  # licences that want their text in every copy
HEAD = """Snellen
Copyright 2026 The Snellen authors

Licensed under the Apache License, Version 2.0: see LICENSE.

Software of others in this package

{software}
Models

{plain}
learnt from T91, a research image set that carries no licence text.
"""
MODELS = """
{names}
learnt from pictures of the following authors, which were shrunk and cropped, for film and soft
sources also coded, and for soft ones blurred. Networks for clean sources are learnt from T91 as
well, and training of those for film and soft sources began with these.
Author (licence): where the pictures are.

"""
TEXTS = "\nLicences of these pictures whose text goes with copies\n"


def attributions(models: Mapping[str, Path]) -> dict[str, tuple[str, ...]]:
    """Return the lines of each model's header that name authors; empty: it has none."""
    found = {}
    for name, path in models.items():
        strings, _ = tensors.read(path)
        said = "\n".join(strings[key] for key in KEYS if key in strings)
        found[name] = tuple(line for line in said.split("\n") if line.strip())
    return found


def missing(notice: str, models: Mapping[str, Path]) -> list[str]:
    """Return what NOTICE does not name of the models: their authors' lines, and names of models."""
    there = set(notice.split("\n"))
    lines = {line for own in attributions(models).values() for line in own}
    absent = [name for name in models if not re.search(rf"\b{re.escape(name)}\b", notice)]
    return absent + sorted(lines - there)


def text(models: Mapping[str, Path], licences: Iterable[Path] = ()) -> str:
    """Return NOTICE."""
    found = attributions(models)
    plain, named = ([n for n, own in found.items() if bool(own) is b] for b in (False, True))
    notice = HEAD.format(plain=joined(plain), software=software())
    if named:
        lines = sorted({line for own in found.values() for line in own})
        notice += MODELS.format(names=joined(named)) + "\n".join(lines) + "\n"
        texts = [path for path in licences if travels(path, lines)]
        for number, path in enumerate(texts):
            owner, _, project = path.name.removesuffix("__LICENSE.txt").partition("__")
            own = path.read_text(encoding="utf-8").strip()
            notice += f"{TEXTS if not number else ''}\n--- {owner}/{project} ---\n\n{own}\n"
    return notice


def software() -> str:
    """Return name, place and licence of what reports draw their curves with."""
    files = [name for name in vendored.SHA256 if not name.endswith("LICENSE")]
    licence = resources.files("snellen.report").joinpath("uplot/LICENSE").read_text("utf-8")
    where = " and ".join(f"snellen/report/{name}" for name in files)
    return (
        f"{vendored.NAME} {vendored.VERSION} ({vendored.LICENCE}), unchanged, as {where},\n"
        f"and in each report that Snellen writes: {vendored.SOURCE}\n\n{licence.strip()}\n"
    )


def joined(names: Iterable[str]) -> str:
    """Return names in lines, and a colon."""
    return fill(", ".join(names) + ":", 100, break_long_words=False, break_on_hyphens=False)


def travels(path: Path, lines: Iterable[str]) -> bool:
    """Return whether a file's licence, of OWNER__PROJECT, goes with copies of these pictures."""
    owner, _, project = path.name.removesuffix("__LICENSE.txt").partition("__")
    own = [line for line in lines if f"github.com/{owner}/{project}@" in line]
    return any(f"({licence})" in line for line in own for licence in TRAVEL)


def main() -> int:
    """Write NOTICE; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--licenses", type=Path, help="folder of OWNER__PROJECT__LICENSE.txt")
    given = parser.parse_args()
    licences = sorted(given.licenses.glob("*__LICENSE.txt")) if given.licenses else []
    PATH.write_text(text(shipped.files(), licences), encoding="utf-8")
    print(f"{PATH.name}: {len(PATH.read_text(encoding='utf-8').splitlines())} lines")
    return 0


if __name__ == "__main__":
    sys.exit(main())
