"""Outputs at an address: made in a folder here, and uploaded when they are whole."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from snellen.errors import InputError, OutputError
from snellen.files import store
from snellen.files.existing import exists
from snellen.files.remote import Remote
from snellen.jobs.events import Events, notify
from snellen.jobs.inputs.sequence import is_sequence
from snellen.jobs.kinds.files import AnyJob, read_by
from snellen.jobs.kinds.score import ScoreJob
from snellen.jobs.kinds.train import TrainJob


def folder_of(target: Remote) -> Path:
    """Return the folder in which an output is until it is uploaded, with its segments.

    The same for the same address: a run that was killed is taken up there.
    """
    digest = sha256(target.url.encode()).hexdigest()[:8]
    return Path.cwd() / f"{target.name[:40]}.upload-{digest}"


class Staged:
    """A job whose output at an address, if it has one, is a file of this machine.

    `job` is as given, but for that output. A notice says that something is uploaded. InputError:
    there is no writing to such an address, or something is there and must not be replaced.
    """

    def __init__(self, job: AnyJob, events: Events) -> None:
        self._field = "table" if isinstance(job, ScoreJob) else "target"
        target = getattr(job, self._field)
        self._target = target if isinstance(target, Remote) else None
        self._overwrite, self._events = job.overwrite, events
        self.job: Any = job
        if self._target is not None:
            self._file = folder_of(self._target) / self._target.name
            self._check(self._target)
            given: dict[str, Any] = {self._field: self._file}
            self.job = replace(self.job, **given)

    def _check(self, target: Remote) -> None:
        why = None
        if not target.is_store:
            why = f"{target.scheme}:// is read only; expected a file, s3:// or gs://"
        elif not target.suffix or target.url.endswith("/"):
            why = "expected the name of a file behind the bucket"
        elif isinstance(self.job, TrainJob) or is_sequence(target):
            why = "expected a film, a picture, a page or a table; all else is written to files"
        elif target in read_by(self.job):
            why = "it is the input itself"
        if why is not None:
            raise InputError(f"{target}: {why}", parameter=self._field)
        _check_folder(self._file.parent)
        store.check_bucket(target)
        if not self._overwrite and store.is_there(target):
            raise exists(target)

    def result(self, result: Any) -> Any:
        """Return a result that names the job's own output."""
        if self._target is None:
            return result
        if hasattr(result, self._field) and self._field == "target":
            result = replace(result, target=self._target)
        error = getattr(result, "error", None)
        if error is None:
            return result
        text = error.message.replace(str(self._file), str(self._target))
        return replace(
            result, error=type(error)(text, parameter=error.parameter, advice=error.advice)
        )

    def upload(self) -> None:
        """Write the output to its address, and remove it here.

        Raises
        ------
        OutputError
            That failed; the file stays.
        """
        if self._target is None or not self._file.is_file():
            return
        size = self._file.stat().st_size
        notify(self._events, str(self._target), f"it is whole: uploading {size:,} bytes")
        try:
            store.upload(self._file, self._target, self._overwrite)
        except (OSError, InputError) as error:
            why = getattr(error, "strerror", None) or error
            raise OutputError(
                f"{self._target} could not be written: {why}",
                advice=f"the whole result is {self._file}",
            ) from None
        self._file.unlink()
        with suppress(OSError):  # segments that are kept are in it
            self._file.parent.rmdir()


def _check_folder(folder: Path) -> None:
    """Refuse (InputError) what is there and no folder of this user's: others could exchange it."""
    try:
        found = folder.lstat()
    except OSError:
        return  # it is made
    own = not hasattr(os, "getuid") or found.st_uid == os.getuid()
    if not stat.S_ISDIR(found.st_mode) or not own:
        raise InputError(
            f"{folder} is where the result is made before it is uploaded, but it is no folder of "
            "yours",
            advice="move it away, or go to another folder",
        )
