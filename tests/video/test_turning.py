"""Rotations by a tag, in comparisons of films and of images."""

import json
from fractions import Fraction

import av
import numpy as np
import pytest
from PIL import Image

from snellen import compare_files, score_files
from snellen.errors import InputError
from snellen.video.clip import Clip
from snellen.video.comparing.align import align
from snellen.video.comparing.differences import scaled, unequal
from snellen.video.comparing.turning import lies_across, oriented, said
from support.video.clips import make

ONE = 65536
MATRICES = {
    "upright": (ONE, 0, 0, 0, ONE),
    "turned by 180°": (-ONE, 0, 0, 0, -ONE),
    "turned by a quarter, to the right": (0, ONE, 0, -ONE, 0),  # of most phones
    "turned by a quarter, to the left": (0, -ONE, 0, ONE, 0),
    "flipped left to right": (-ONE, 0, 0, 0, ONE),
    "flipped top to bottom": (ONE, 0, 0, 0, -ONE),
    "transposed": (0, ONE, 0, ONE, 0),
}


def film(path, frames, *, turns=0, tag=None, scale=1, noise=0):
    """Write moving texture, turned to the left in its pixels so many times; `tag` in degrees."""
    random = np.random.default_rng(1)
    texture = random.integers(20, 230, (12, 18 + frames // 4), np.uint8)
    texture = texture.repeat(4, 0).repeat(4, 1)
    with av.open(str(path), "w") as out:
        stream = out.add_stream("ffv1" if path.suffix == ".mkv" else "libx264", rate=25,
                                options={} if path.suffix == ".mkv" else {"crf": "1"})  # fmt: skip
        stream.pix_fmt = "gray" if path.suffix == ".mkv" else "yuv420p"
        if tag is not None:
            stream.set_display_rotation(tag)
        for number in range(frames):
            picture = np.rot90(texture[:, number : number + 64], turns).repeat(scale, 0)
            picture = picture.repeat(scale, 1) ^ np.uint8(noise)
            frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(picture), format="gray")
            if number == 0:
                stream.width, stream.height = frame.width, frame.height
            out.mux(stream.encode(frame.reformat(format=stream.pix_fmt)))
        out.mux(stream.encode(None))
    return path


@pytest.mark.parametrize("name", MATRICES)
def test_pictures_are_turned_as_they_are_shown(name):
    picture = np.arange(72).reshape(4, 6, 3)
    matrix = (*MATRICES[name], 0, 0, 0, 1 << 30)
    wanted = {
        "upright": picture, "turned by 180°": np.rot90(picture, 2),
        "turned by a quarter, to the right": np.rot90(picture, -1),
        "turned by a quarter, to the left": np.rot90(picture),
        "flipped left to right": picture[:, ::-1], "flipped top to bottom": picture[::-1],
        "transposed": picture.swapaxes(0, 1),
    }[name]  # fmt: skip
    assert np.array_equal(oriented(picture, matrix), wanted) and said(matrix) == name
    assert oriented(picture, None) is picture and said(None) == "upright"


@pytest.mark.parametrize("tag", [90, 270])
@pytest.mark.parametrize("swapped", [False, True])
def test_a_tag_on_either_side(tmp_path, tag, swapped):
    plain = film(tmp_path / "plain.mkv", 3, tag=tag)
    with av.open(str(plain)) as back:
        (seen,) = {frame.rotation for frame in back.decode(video=0)}
    turned = film(tmp_path / "turned.mkv", 3, turns=seen // 90, noise=1)
    pair = (turned, plain) if swapped else (plain, turned)
    result = score_files(*pair, metrics="psnr", device="cpu")
    assert result.table.rows[0].psnr > 40
    assert [text for text in result.warnings if "turned by a quarter" in text]
    assert result.summary.resized is None


def test_a_turn_and_another_size(tmp_path):
    plain, turned = film(tmp_path / "p.mkv", 3, tag=90), film(tmp_path / "t.mkv", 3, tag=270)
    with av.open(str(plain)) as back:
        turns = next(back.decode(video=0)).rotation // 90
    large = film(tmp_path / "large.mkv", 3, turns=turns, scale=2)
    result = score_files(large, plain, metrics="psnr", device="cpu", resize=True)
    assert result.table.rows[0].psnr > 20  # a squeezed one has about 10
    with pytest.raises(InputError, match=r"48×64: .* resize scales"):
        score_files(large, plain, metrics="psnr", device="cpu")
    both = score_files(plain, turned, metrics="psnr", device="cpu")  # another tag, the same pixels
    assert [text for text in both.warnings if "compared without rotation" in text]
    assert both.table.rows[0].psnr is None or both.table.rows[0].psnr > 90


def test_films_are_aligned_as_they_are_compared(tmp_path):
    plain = film(tmp_path / "plain.mkv", 24, tag=90)
    with av.open(str(plain)) as back:
        turns = next(back.decode(video=0)).rotation // 90
    turned = film(tmp_path / "turned.mkv", 24, turns=turns)
    assert align(plain, turned, Clip()).offset == 0


@pytest.mark.slow
def test_a_report(tmp_path):
    plain = film(tmp_path / "plain.mkv", 3, tag=90)
    with av.open(str(plain)) as back:
        turns = next(back.decode(video=0)).rotation // 90
    turned = film(tmp_path / "turned.mkv", 3, turns=turns, noise=1)
    for pair in ((plain, turned), (turned, plain)):
        target = tmp_path / "report.html"
        compare_files(pair[0], [pair[1]], target, metrics="psnr", device="cpu", overwrite=True)
        text = target.read_text("utf-8")
        data = json.loads(text.split('id="data">', 1)[1].split("</script>", 1)[0])
        assert data["moments"][0]["size"] == [48, 64]


def test_what_is_not_offered():
    assert lies_across((96, 64), (64, 96)) and lies_across((1920, 1080), (720, 1280))
    assert not lies_across((96, 64), (192, 128)) and not lies_across((64, 64), (64, 96))
    said = unequal("a", (96, 64), "b", (64, 96))
    assert "resize" not in said and "turned by a quarter" in said
    assert "resize" in unequal("a", (96, 64), "b", (48, 32))
    assert "turned" in scaled((96, 64), (64, 96)) and "turned" not in scaled((96, 64), (48, 32))


def test_images_that_lie_on_their_side(tmp_path):
    picture = Image.fromarray(np.random.default_rng(2).integers(0, 255, (64, 96), np.uint8))
    exif = Image.Exif()
    exif[274] = 6
    picture.save(tmp_path / "tagged.png", exif=exif)
    picture.rotate(-90, expand=True).save(tmp_path / "turned.png")
    picture.save(tmp_path / "plain.png")
    result = score_files(
        tmp_path / "tagged.png", tmp_path / "turned.png", metrics="psnr", device="cpu"
    )
    assert result.table.rows[0].psnr in (None, float("inf"))
    with pytest.raises(InputError, match="one seems to be turned by a quarter"):
        score_files(tmp_path / "plain.png", tmp_path / "turned.png", metrics="psnr", device="cpu")


def test_sample_aspect_ratios_are_told(tmp_path):
    wide = make(tmp_path / "wide.mkv", frames=2, aspect=Fraction(4, 3))
    plain = make(tmp_path / "plain.mkv", frames=2)
    large = make(tmp_path / "large.mkv", frames=2, size=(88, 48))
    result = score_files(wide, plain, metrics="psnr", device="cpu")
    assert [text for text in result.warnings if "sample aspect ratios, 4/3 and 1" in text]
    with pytest.raises(InputError, match=r"wide.mkv \(sample aspect ratio 4/3\) is 64×48"):
        score_files(wide, large, metrics="psnr", device="cpu")
