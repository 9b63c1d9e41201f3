"""Videos restored: frames, regions that move, frames of one object, from frame to frame."""

from __future__ import annotations

import numpy as np
import pytest

from snellen import Deblurrer, deblur_file
from snellen.errors import InputError
from snellen.frames.frame import Format
from snellen.frames.luma import samples
from snellen.jobs import Region
from support.cli import names
from support.jobs import FORMAT, FRAMES, HEIGHT, WIDTH, coded, planes, same, write_y4m
from support.mia.plain import deblur

MIA = {"psf_size": 5, "iterations": 3, "device": "cpu"}
QUICK = {**MIA, "prior": None}


def refused(match, *arguments, **options):
    """Check for an InputError that says this."""
    with pytest.raises(InputError, match=match):
        deblur_file(*arguments, **options)


def lumas(frames):
    """Luma of frames as floats, 0 to 1."""
    return [samples(one[0], FORMAT) for one in frames]


def test_frames_of_one_value(tmp_path):
    """Black, below black, grey, white and above white: themselves, and nothing is NaN."""
    values = [16, 4, 100, 235, 250]
    chroma = np.full((HEIGHT // 2, WIDTH // 2), 128, np.uint8)
    frames = [[np.full((HEIGHT, WIDTH), v, np.uint8), chroma, chroma] for v in values]
    clip = write_y4m(tmp_path / "clip.y4m", frames)
    result = deblur_file(clip, tmp_path / "out.y4m", **QUICK, warm=True)
    assert [int(one[0].min()) for one in planes(result.target)] == [16, 16, 100, 235, 250]
    assert [int(one[0].max()) for one in planes(result.target)] == [16, 16, 100, 235, 250]
    assert all(np.isfinite(frame.fit) for frame in result.frames)


@pytest.mark.slow
@pytest.mark.parametrize("region", [(6, 4, 12, 10), (7, 3, 12, 10), (0, 0, 24, 20)])
def test_a_region(clip, frames, tmp_path, region):
    x, y, width, height = region
    target = tmp_path / "out.y4m"
    deblur_file(clip, target, **QUICK, region=region)
    there = slice(y, y + height), slice(x, x + width)
    wanted = []
    for one in lumas(frames):
        wanted.append(coded(deblur(np.ascontiguousarray(one[there]), **QUICK).image))
    found = planes(target)
    assert all((one[0] == luma).all() for one, luma in zip(found, wanted, strict=True))
    assert all(one[1].shape == (height // 2, width // 2) for one in found)
    deblur_file(clip, target, **QUICK, region=region, paste_back=True, overwrite=True)
    whole = [one[0].copy() for one in frames]
    for one, luma in zip(whole, wanted, strict=True):
        one[there] = luma
    same(planes(target), whole, frames)


@pytest.mark.slow
@pytest.mark.parametrize("region", ["12,10", "7,7,12,10"])
def test_a_region_that_moves(clip, frames, tmp_path, heard, region):
    """By a file, whatever place the region names."""
    (tmp_path / "at.txt").write_text("# x,y\n0,0\n 3 , 2 \n6 4\n9,6\n\n")
    result = deblur_file(
        clip, tmp_path / "out.y4m", **QUICK, region=region, positions=tmp_path / "at.txt",
        events=heard,
    )  # fmt: skip
    for n, (one, luma) in enumerate(zip(planes(result.target), lumas(frames), strict=True)):
        part = np.ascontiguousarray(luma[2 * n : 2 * n + 10, 3 * n : 3 * n + 12])
        assert (one[0] == coded(deblur(part, **QUICK).image)).all()
    assert heard.warnings == []


@pytest.mark.cases(5)
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0,0\n1,1\n2,2\n", r"at\.txt has 3 positions, but at least 4 frames"),
        ("0,0\n1,1\n2;2\n3,3\n", r"at\.txt line 3: got '2;2'; expected X,Y"),
        ("0,0\n\n2,2\n3,3\n4,4\n", r"at\.txt line 2: got an empty line"),
        ("#\n0,0\n1,1,1\n", r"at\.txt line 3: got '1,1,1'"),
        ("0,0\n1.5,1\n", r"at\.txt line 2: got '1\.5,1'; expected X,Y in whole pixels"),
        ("0,0\n0,0\n#\n13,0\n0,0\n", r"at\.txt line 4 leaves the frame: 13,0 with a region of"),
        ("0,0\n0,-1\n0,0\n0,0\n", r"at\.txt line 2 leaves the frame"),
        ("# nothing\n", r"at\.txt has no position"),
        (b"\xff\xfe\x00", r"at\.txt is no text"),
        (None, "no such file"),
    ],
)
def test_wrong_positions(clip, tmp_path, text, said):
    """Refused before any work, with the number of the line."""
    path = tmp_path / "at.txt"
    if isinstance(text, bytes):
        path.write_bytes(text)
    elif text is not None:
        path.write_text(text)
    before = names(tmp_path)
    refused(said, clip, tmp_path / "out.y4m", **QUICK, region=(12, 10), positions=path)
    assert names(tmp_path) == before


@pytest.mark.cases
@pytest.mark.parametrize(
    ("positions", "said"),
    [
        ([(0, 0)] * 3, "positions has 3 positions, but at least 4 frames"),
        ([(0, 0), (13, 0), (0, 0), (0, 0)], "positions line 2 leaves the frame"),
        ([(0, 0), (1.5, 0)], r"positions\[1\]=\(1\.5, 0\); expected \(x, y\) in whole pixels"),
        ([], "got no positions"),
    ],
)
def test_wrong_positions_as_numbers(clip, tmp_path, positions, said):
    refused(said, clip, tmp_path / "out.y4m", **QUICK, region=(12, 10), positions=positions)
    assert names(tmp_path) == ["clip.y4m"]


def test_positions_as_an_array(clip, tmp_path):
    how = {**QUICK, "region": (12, 10)}
    deblur_file(clip, tmp_path / "a.y4m", **how, positions=[(n, n) for n in range(FRAMES)])
    deblur_file(
        clip, tmp_path / "b.y4m", **how, positions=np.arange(FRAMES).repeat(2).reshape(-1, 2)
    )
    assert (tmp_path / "a.y4m").read_bytes() == (tmp_path / "b.y4m").read_bytes()


def test_positions_of_another_editor(tmp_path):
    """A byte order mark, lines of Windows, spaces for commas, a comment."""
    path = tmp_path / "at.txt"
    path.write_bytes(b"\xef\xbb\xbf3,4\r\n# the rest\r\n5 6\r\n\r\n")
    track = Region(4, 4, positions=path).track()
    assert track.positions == ((3, 4), (5, 6)) and track.lines == (1, 3)


def test_more_positions_than_frames(clip, tmp_path, heard):
    (tmp_path / "at.txt").write_text("0,0\n" * 6)
    how = {**QUICK, "region": "12,10", "positions": tmp_path / "at.txt", "events": heard}
    deblur_file(clip, tmp_path / "a.y4m", **how)
    ((_, text),) = heard.warnings
    assert "at.txt has 2 positions more than there are frames" in text
    deblur_file(clip, tmp_path / "b.y4m", **how, frames=3)
    assert len(heard.warnings) == 1


def test_fewer_positions_will_do_for_a_part(clip, tmp_path):
    (tmp_path / "at.txt").write_text("0,0\n1,1\n")
    how = {**QUICK, "region": "12,10", "positions": tmp_path / "at.txt"}
    result = deblur_file(clip, tmp_path / "out.y4m", **how, frames=2)
    assert result.summary.frames == len(planes(result.target)) == 2


def test_warm(clip, frames, tmp_path):
    psf = tmp_path / "psf.npy"
    result = deblur_file(clip, tmp_path / "out.y4m", **QUICK, warm=True, psf_out=psf)
    with Deblurrer(**MIA, edges="extend", warm=True) as deblurrer:
        deblurrer.prepare(Format(WIDTH, HEIGHT, 0))
        found = [deblurrer.run(one) for one in lumas(frames)]
    same(planes(result.target), [coded(one.image) for one in found], frames)
    assert (np.load(psf) == np.stack([one.psf for one in found])).all()
    assert [frame.fit for frame in result.frames] == [one.fit for one in found]
    assert (result.psf == found[-1].psf).all()
    cold = deblur(lumas(frames)[1], **QUICK)
    assert (found[1].psf != cold.psf).any()


def test_a_window(clip, frames, tmp_path):
    """Of two frames: itself and the one before; of the first itself, twice."""
    target, psf = tmp_path / "out.y4m", tmp_path / "psf.npy"
    deblur_file(clip, target, **QUICK, window=2, psf_out=psf)
    ones = lumas(frames)
    pairs = zip([ones[0], *ones], ones, strict=False)
    found = [deblur(np.stack(pair), **QUICK, multiframe=True) for pair in pairs]
    same(planes(target), [coded(one.image) for one in found], frames)
    assert np.load(psf).shape == (FRAMES, 2, 5, 5)
    alone = deblur(ones[0], **QUICK)
    assert np.abs(found[0].image - alone.image).max() < 1e-5  # of 1; sums of equal terms


@pytest.mark.slow
def test_tiles(clip, frames, tmp_path):
    target = tmp_path / "out.y4m"
    deblur_file(clip, target, **QUICK, tile=14)
    found = [deblur(one, **QUICK, tile=14).image for one in lumas(frames)]
    same(planes(target), [coded(one) for one in found], frames)


@pytest.mark.slow
def test_a_psf_that_is_given(clip, frames, tmp_path):
    target, how = tmp_path / "out.y4m", {"iterations": 3, "device": "cpu"}
    deblur_file(clip, target, np.eye(3), **how)
    found = [deblur(one, np.eye(3), **how).image for one in lumas(frames)]
    same(planes(target), [coded(one) for one in found], frames)


def test_psfs_of_a_single_frame_are_a_stack_too(clip, tmp_path):
    deblur_file(clip, tmp_path / "out.y4m", **QUICK, frames=1, psf_out=tmp_path / "psf.npy")
    assert np.load(tmp_path / "psf.npy").shape == (1, 5, 5)


def test_a_psf_for_each_frame_of_a_window(clip, frames, tmp_path):
    """The oldest first."""
    both = np.stack([np.eye(3), np.ones((3, 3))])
    target, how = tmp_path / "out.y4m", {"iterations": 3, "device": "cpu"}
    deblur_file(clip, target, both, **how, window=2)
    ones = lumas(frames)
    pairs = [np.stack(pair) for pair in zip([ones[0], *ones], ones, strict=False)]
    found = [deblur(one, both, **how, multiframe=True).image for one in pairs]
    same(planes(target), [coded(one) for one in found], frames)


def test_the_value_of_white_is_for_images(clip, frames, tmp_path, heard):
    target = tmp_path / "out.y4m"
    deblur_file(clip, target, **QUICK, data_range=255, events=heard)
    text = "`data_range` is for float images: without effect on a video"
    assert heard.warnings == [(str(clip), text)]
    found = [coded(deblur(one, **QUICK).image) for one in lumas(frames)]
    same(planes(target), found, frames)
