"""Whatever is begun on disk is removed, wherever an interrupt arrives."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from contextlib import suppress
from itertools import count

import pytest

from snellen import unfinished
from snellen.files import atomic
from snellen.jobs.inputs import folders
from snellen.video.sink import staging
from support.moments import Interrupts

pytestmark = [  # what an interrupt cuts off is closed by the garbage collector, in `moments`
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
FILES = ("snellen/unfinished.py", "files/atomic.py", "files/leftovers.py", "jobs/inputs/folders.py")


def interrupt():
    raise KeyboardInterrupt


def moments(tmp_path, code, files=FILES, least=50):
    """Interrupt code at each moment; yield what is in its folder afterwards."""
    interrupts = Interrupts(files, interrupt)
    for moment in count():
        folder = tmp_path / str(moment)
        folder.mkdir()
        with suppress(KeyboardInterrupt):
            interrupts.at(moment, lambda: code(folder))  # noqa: B023
        unfinished.clear()
        if not interrupts.struck:
            break
        yield sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))
    gc.collect()  # here, not in another test, where its warnings would count
    assert moment > least


@pytest.mark.parametrize(("overwrite", "fails"), [(True, True), (False, False)])
def test_an_output_at_every_moment(tmp_path, monkeypatch, overwrite, fails):
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)

    def code(folder):
        with atomic.writing(folder / "out.png", overwrite) as file:
            file.write(b"done")
            if fails:
                raise KeyboardInterrupt

    seen = set(map(tuple, moments(tmp_path, code)))
    assert seen == ({()} if fails else {(), ("out.png",)})


def test_a_check_at_every_moment(tmp_path, monkeypatch):
    monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    assert not any(moments(tmp_path, lambda folder: atomic.check_folder(folder)))


def test_folders_at_every_moment(tmp_path):
    def code(folder):
        with folders.made([folder / "a" / "out.png"]):
            pass

    assert not any(moments(tmp_path, code))


def test_a_temporary_folder_at_every_moment(tmp_path, monkeypatch):
    def code(folder):
        monkeypatch.setattr("tempfile.tempdir", str(folder))
        with unfinished.folder() as name:
            (name / "file").touch()

    # Python 3.13.0 tells 13 moments of these, 3.11 all 129.
    assert not any(moments(tmp_path, code, ("snellen/unfinished.py",), least=10))


def test_pictures_that_appear_together_at_every_moment(tmp_path):
    def code(folder):
        with staging.staged(folder / "f%d.png", False) as hidden:
            (hidden / "f1.png").touch()
            raise KeyboardInterrupt

    assert not any(moments(tmp_path, code, ("snellen/unfinished.py", "sink/staging.py")))


def test_the_end_of_python(tmp_path):
    """A clean-up that an interrupt has ended: what it left goes at the end."""
    code = (
        "import sys\nfrom pathlib import Path\nfrom snellen.files.leftovers import Temporary\n"
        "Temporary(Path.cwd() / 'out.png').make(0o600)\n"
        "print(*Path.cwd().iterdir())\nsys.exit(1)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ".out.snellen" in done.stdout and list(tmp_path.iterdir()) == []


def test_a_forked_child_leaves_what_is_its_parents(tmp_path):
    path = tmp_path / "file"
    unfinished.note(str(path), path.unlink)
    path.touch()
    child = os.fork()
    if not child:
        unfinished.clear()
        os._exit(0)
    os.waitpid(child, 0)
    assert path.exists()
    unfinished.remove(str(path))
    assert not path.exists() and not unfinished.is_noted(str(path))
