"""Make lines of src/snellen wrong, one at a time, and see whether the quick tests notice.

`make mutants`, from the root of a checkout: a line for each mutation, then a count. Each runs in a
copy of the checkout; its own tests come first, all quick tests only where these pass. Before, all
quick tests must pass as the source is. Exit status 1 where one survives.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from mutants.mutations import MUTATIONS, Mutation

ROOT = Path(__file__).resolve().parents[2]
LEFT_OUT = shutil.ignore_patterns(".git", ".venv*", ".*cache*", "_build", "results", "demo", "data")


def caught(folder: Path, words: list[str]) -> bool:
    """Return whether tests fail in a copy of the checkout."""
    source = os.pathsep.join([str(folder / "src"), str(folder)])
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-n", "auto", "-p", "no:cacheprovider",
         "-p", "no:randomly", *words],
        cwd=folder, env={**os.environ, "PYTHONPATH": source}, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    if done.returncode not in (0, 1, 2):
        raise SystemExit(f"pytest ended with {done.returncode}:\n{done.stdout[-3000:]}")
    return done.returncode != 0


def survives(mutation: Mutation, folder: Path) -> bool:
    """Return whether no quick test notices a mutation of a copy of the checkout."""
    file = folder / "src" / "snellen" / mutation.file
    text = file.read_text("utf-8")
    assert text.count(mutation.line) == 1, mutation
    file.write_text(text.replace(mutation.line, mutation.wrong), "utf-8")
    try:
        return not caught(folder, mutation.tests.split()) and not caught(folder, [])
    finally:
        file.write_text(text, "utf-8")


def main() -> int:
    """Run all mutations, or those that are named by number; return the exit status."""
    parser = argparse.ArgumentParser(prog="mutants", description=__doc__)
    parser.add_argument("numbers", type=int, nargs="*", help="which mutations, from 1; none: all")
    numbers = parser.parse_args().numbers or range(1, len(MUTATIONS) + 1)
    survivors = []
    with tempfile.TemporaryDirectory() as where:
        folder = Path(where) / "checkout"
        shutil.copytree(ROOT, folder, ignore=LEFT_OUT)
        if caught(folder, []):
            raise SystemExit("the quick tests fail as the source is: mend that first")
        for number in numbers:
            mutation = MUTATIONS[number - 1]
            survived = survives(mutation, folder)
            survivors += [number] * survived
            word = "SURVIVED" if survived else "caught"
            print(f"{number:2} {word:8} {mutation.file}: {mutation.wrong}", flush=True)
    print(f"{len(numbers) - len(survivors)} of {len(numbers)} caught")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
