"""Write the measured commit into result files: `python benchmarks/commit.py RESULT…`.

A run where there is no Git writes the source digest only. This command, in the checkout, finds the
newest commit whose src/ and tests/ have that digest. It exits with 1 where there is none.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.digest import ROOT, combined, counts


def main(names: list[str]) -> int:
    """Write the commit of each result file; return the exit status."""
    missing = 0
    for path in map(Path, names):
        result = json.loads(path.read_text(encoding="utf-8"))
        commit = find(result["digest"])
        if commit is None:
            missing += 1
            print(f"{path}: no commit has the source digest {result['digest']}", file=sys.stderr)
            continue
        result["commit"] = commit
        path.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        print(f"{path}: {commit}")
    return 1 if missing else 0


def find(digest: str, root: Path = ROOT) -> str | None:
    """Return the newest commit whose source has a digest; None where there is none.

    The history of the checked-out commit goes first, then all other branches.
    """
    contents: dict[str, str] = {}
    for which in ("HEAD", "--all"):
        for commit in _git(root, "rev-list", which).decode().split():
            if of_commit(commit, root, contents) == digest:
                return commit
    return None


def of_commit(commit: str, root: Path = ROOT, contents: dict[str, str] | None = None) -> str:
    """Return the source digest of a commit.

    Parameters
    ----------
    commit : str
    root : Path
        The folder of the checkout.
    contents : dict, optional
        SHA-256 of the content of each blob that is known already; new ones are added.
    """
    contents = {} if contents is None else contents
    listed = _git(root, "ls-tree", "-r", "-z", "--full-tree", commit, "--", "src", "tests")
    blobs = {}
    for entry in filter(None, listed.decode().split("\0")):
        facts, _, name = entry.partition("\t")
        if counts(name):
            blobs[name] = facts.split()[2]
    unknown = sorted(set(blobs.values()) - set(contents))
    contents.update(zip(unknown, _hashes(root, unknown), strict=True))
    return combined((name, contents[blob]) for name, blob in blobs.items())


def _hashes(root: Path, blobs: list[str]) -> Iterator[str]:
    """Yield the SHA-256 of the content of each blob."""
    answer = _git(root, "cat-file", "--batch", given="\n".join([*blobs, ""])) if blobs else b""
    place = 0
    for _ in blobs:
        end = answer.index(b"\n", place)
        size = int(answer[place:end].split()[2])  # "<blob> blob <size>"
        yield hashlib.sha256(answer[end + 1 : end + 1 + size]).hexdigest()
        place = end + size + 2


def _git(root: Path, *words: str, given: str = "") -> bytes:
    return subprocess.run(
        ["git", *words], cwd=root, input=given.encode(), capture_output=True, check=True
    ).stdout


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
