"""Where the segments of an output are."""

from __future__ import annotations

import os

import pytest

from snellen.jobs.segments import folder_of


@pytest.mark.parametrize("letter", ["a", "ä", "語"])
def test_the_longest_name_of_an_output_has_a_folder(tmp_path, letter):
    stem = letter * (250 // len(letter.encode()))
    first, second = (folder_of(tmp_path / f"{stem}{end}.mkv") for end in "12")
    first.mkdir()
    assert first != second
    assert len(os.fsencode(first.name)) <= 255
    assert folder_of(tmp_path / "film.mkv") == tmp_path / "film.mkv.segments"
