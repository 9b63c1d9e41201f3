"""Pictures of a report that are kept on the disk."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.errors import OutputError
from snellen.jobs.reports.shelf import Shelf
from snellen.report.fit import fitted
from support.cli import names
from support.report import contents, moments


def test_a_report_is_the_same_and_files_are_gone(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    given = moments()
    one = sum(picture.samples.nbytes for picture in given[0].pictures)
    reports = []
    for budget in (1 << 30, 2 * one, 0):
        monkeypatch.setattr("snellen.jobs.reports.shelf.IN_MEMORY", budget)
        with Shelf() as shelf:
            kept = [shelf.kept(moment) for moment in given]
            in_files = [isinstance(moment.pictures[0].samples, np.memmap) for moment in kept]
            assert in_files == ([False] * 3 if budget > 2 * one else
                                [False, True, True] if budget else [True] * 3)  # fmt: skip
            assert len(names(tmp_path)) == any(in_files)
            reports.append(fitted(contents(), kept, 600_000).html)
        assert names(tmp_path) == []
    assert reports[0] == reports[1] == reports[2]


def test_a_disk_without_room(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))
    monkeypatch.setattr("snellen.jobs.reports.shelf.IN_MEMORY", 0)
    (tmp_path / "none").mkdir()

    def full(*_, **__):
        raise OSError("No space left on device")

    monkeypatch.setattr("pathlib.Path.open", full)
    with pytest.raises(OutputError, match="fewer"), Shelf() as shelf:
        shelf.kept(moments()[0])
    assert names(tmp_path / "none") == []
