"""Build the release of the commit that is checked out: `make release`.

The wheel, the sdist and the wheel of packages/lab come into dist/, and SHA256SUMS beside them.
Whoever builds the same commit with the same versions of Python and of the packages of the extra
`release` gets the same bytes: the files come from Git, not from the folder, and all times are the
commit's.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tarfile
import tempfile
from io import BytesIO
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def build(source: Path, out: Path, epoch: int) -> dict[str, str]:
    """Build the sdist and the wheel of a folder, and the wheel of its packages/lab.

    Nothing is fetched.

    Parameters
    ----------
    source : Path
        The folder of pyproject.toml.
    out : Path
        Where they come.
    epoch : int
        The time of all files in them, in seconds since 1970.

    Returns
    -------
    dict
        The SHA-256 of each file by its name.
    """
    out.mkdir(parents=True, exist_ok=True)
    for folder, targets in ((source, ("sdist", "wheel")), (source / "packages/lab", ("wheel",))):
        words = [word for target in targets for word in ("-t", target)]
        subprocess.run(
            [sys.executable, "-m", "hatchling", "build", *words, "-d", str(out.resolve())],
            cwd=folder,
            env={**os.environ, "SOURCE_DATE_EPOCH": str(epoch)},
            stdout=subprocess.DEVNULL,
            check=True,
        )
    made = sorted(path for path in out.iterdir() if path.suffix in (".whl", ".gz"))
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in made}


def _git(*words: str) -> bytes:
    return subprocess.run(["git", *words], cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout


def main() -> int:
    """Build into dist/; return the exit status."""
    if changed := _git("status", "--porcelain").decode():
        print(f"a release is a commit, and these files are in none:\n{changed}", file=sys.stderr)
        return 1
    out = ROOT / "dist"
    if out.is_dir() and any(out.iterdir()):
        print("dist/ is not empty: remove what is in it", file=sys.stderr)
        return 1
    epoch = int(_git("log", "-1", "--format=%ct"))
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=BytesIO(_git("archive", "HEAD"))) as archive:
            archive.extractall(folder, filter="data")
        sums = build(Path(folder), out, epoch)
    lines = "".join(f"{content}  {name}\n" for name, content in sums.items())
    (out / "SHA256SUMS").write_text(lines, encoding="utf-8")
    print(lines, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
