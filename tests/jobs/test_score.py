"""Scores of two videos, two images, two folders: what meets what, parts, ST-MAD, warnings."""

from __future__ import annotations

import struct
import zlib

import numpy as np
import pytest
from PIL import ExifTags, Image

import snellen
from snellen import score_files
from snellen.errors import IncompleteError, InputError
from snellen.jobs.kinds import score_step
from snellen.jobs.steps.pairs import pair
from snellen.mad import heatmap
from snellen.mad.luma import luma
from snellen.mad.temporal import st_mad
from snellen.stills.still import Still, write
from snellen.video.comparing.luma_reader import grey
from snellen.video.comparing.resize import resize
from support.mad import drawn
from support.scores import FRAMES
from support.video.clips import HEIGHT, WIDTH, make, read
from support.video.clips import luma as plane


def refused(match, *inputs, **options):
    """Check for an InputError that says this, before anything was scored; return it."""
    with pytest.raises(InputError, match=match) as caught:
        score_files(*inputs, **options)
    assert caught.value.result is None
    return caught.value


def scores(result):
    return [(row.mad, row.hi, row.lo) for row in result.table.rows]


def test_a_film_and_itself(films):
    result = score_files(films[0], films[0])
    assert [row.frame for row in result.table.rows] == list(range(FRAMES))
    assert [row.time for row in result.table.rows] == [n / 25 for n in range(FRAMES)]
    assert scores(result) == [(0, 0, 0)] * FRAMES
    summary = result.summary
    assert summary.frames == summary.reference_frames == summary.distorted_frames == FRAMES
    assert result.warnings == () and summary.lost == () and summary.resized is None


@pytest.mark.slow
def test_a_worse_encode_scores_higher(films):
    means = [score_files(films[0], film).table.pooled()["mad"].mean for film in films]
    assert means[0] == 0 < means[1] < means[2]


@pytest.mark.slow
def test_each_frame_is_scored_as_a_picture(films):
    result = score_files(films[0], films[2])
    pairs = zip(read(films[0]).frames, read(films[2]).frames, strict=True)
    found = [snellen.score(plane(one), plane(other)) for one, other in pairs]
    assert scores(result) == [(one.mad, one.hi, one.lo) for one in found]
    mads = [row.mad for row in result.table.rows]
    assert result.table.pooled()["mad"].max == max(mads)
    assert result.table.worst(1) == [result.table.rows[int(np.argmax(mads))]]


@pytest.mark.gpu
@pytest.mark.parametrize("device", ["cuda:0", "cuda:0,cuda:1"])
def test_a_film_in_flight_on_the_gpu_has_the_scores_of_its_pictures(cuda, random, tmp_path, device):
    """Some with areas of one value, in float64; ever worse ones, with maps at once."""
    if cuda.cuda.runtime.getDeviceCount() < device.count("cuda"):
        pytest.skip("2 GPUs are needed")
    size, found = (400, 422), []
    for name in ("one", "two"):
        frames = []
        for number in range(14):
            sigma = 0 if name == "one" else 2 * number + 2
            frame = drawn.noisy(random, drawn.scene(random, size), sigma)
            if number % 3 == 1:
                frame[64:192, 128:256] = 99
            frames.append(np.rint(frame).astype(np.uint8))
        head = f"YUV4MPEG2 W{size[1]} H{size[0]} F25:1 Ip A1:1 Cmono\n".encode()
        body = b"".join(b"FRAME\n" + frame.tobytes() for frame in frames)
        (tmp_path / f"{name}.y4m").write_bytes(head + body)
        found.append(frames)
    both = [tmp_path / f"{name}.y4m" for name in ("one", "two")]
    result = score_files(*both, device=device, maps=tmp_path / "maps", worst=3)
    with snellen.Scorer(device="cuda:0") as scorer:
        scorer.prepare(snellen.Format(size[1], size[0]))
        wanted = [scorer.run(*planes, maps=True) for planes in zip(*found, strict=True)]
    assert scores(result) == [(one.mad, one.hi, one.lo) for one in wanted]
    for row in result.table.worst(3):
        file = tmp_path / "maps" / f"frame{row.frame:06}_appearance.png"
        with Image.open(file) as image:
            shades = heatmap.shades(wanted[row.frame].appearance, heatmap.BRIGHTEST["appearance"])
            np.testing.assert_array_equal(np.asarray(image), shades)


@pytest.mark.slow
def test_parts_and_offset(films):
    rows = score_files(films[0], films[0], every=2, offset=-1).table.rows
    assert [row.frame for row in rows] == [1, 3, 5] and rows[0].mad > 0
    rows = score_files(films[0], films[0], start="0.08", duration=0.08).table.rows
    assert [row.frame for row in rows] == [2, 3]
    result = score_files(films[0], films[0], frames=2)
    assert len(result.table.rows) == 2 and result.summary.reference_frames is None


def test_different_lengths_are_warned_of(films, tmp_path, heard):
    short = make(tmp_path / "short.mkv", codec="ffv1", frames=4)
    result = score_files(films[0], short, events=heard)
    assert len(result.table.rows) == 4 and result.table.pooled()["mad"].max == 0
    assert (result.summary.reference_frames, result.summary.distorted_frames) == (6, 4)
    assert heard.warnings == [(f"{films[0]} {short}", result.warnings[0])]
    assert "has 6 frames" in result.warnings[0] and "has 4" in result.warnings[0]


@pytest.mark.slow
def test_different_depths(films, tmp_path):
    deep = make(tmp_path / "deep.mkv", codec="ffv1", frames=FRAMES, pix_fmt="yuv420p10le")
    # 4·v·255/1023 for v: the same picture, 0.3 % brighter.
    rows = score_files(films[0], deep).table.rows
    assert all(0 <= row.mad < 1 and 0 < row.lo < 0.1 for row in rows)
    assert scores(score_files(deep, deep)) == [(0, 0, 0)] * FRAMES


@pytest.mark.slow
def test_sizes(films, tmp_path, heard):
    large = make(tmp_path / "large.mkv", codec="ffv1", frames=FRAMES, size=(128, 96))
    refused("64×48.*128×96", films[0], large)
    result = score_files(films[0], large, resize=True, events=heard)
    assert "Lanczos" in result.summary.resized and "Lanczos" in heard.warnings[0][1]
    assert (result.summary.width, result.summary.height) == (WIDTH, HEIGHT)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("channels", [1, 3, 4])
def test_depth_and_colour_of_images(tmp_path, random, dtype, channels):
    most = np.iinfo(dtype).max
    pictures = []
    for name in ("a.png", "b.png"):
        pixels = random.integers(0, most, (50, 60, channels), dtype, endpoint=True)
        pictures.append(pixels[..., 0] if channels == 1 else pixels)
        write(tmp_path / name, Still(pictures[-1]))
    result = score_files(tmp_path / "a.png", tmp_path / "b.png", device="cpu")
    planes = [p if channels == 1 else p[..., :3] for p in pictures]
    wanted = snellen.score(*planes, data_range=most, device="cpu")
    assert result.table.rows[0].mad == pytest.approx(wanted.mad, rel=1e-12)
    assert len(result.warnings) == (2 if channels == 4 else 0)


def test_images_of_different_depth_and_size(tmp_path, random):
    pixels = random.integers(0, 256, (50, 60, 3), np.uint8)
    one, two, three = (tmp_path / f"{name}.png" for name in "abc")
    write(one, Still(luma(pixels)))
    write(two, Still(luma(pixels).astype(np.uint16) * 257))
    write(three, Still(pixels.astype(np.uint16).repeat(2, 0).repeat(2, 1) * 257))
    assert score_files(one, two).table.rows[0].mad == pytest.approx(0, abs=1e-6)
    refused("60×50.*120×100", one, three)
    assert score_files(one, three, resize=True).table.rows[0].lo > 0


def test_luma_of_16_bit_colours_is_rounded_half_up_before_it_is_scaled(tmp_path, random):
    one, two = tmp_path / "a.png", tmp_path / "b.png"
    pixels = random.integers(0, 65536, (80, 88, 3), np.uint16)
    write(one, Still(pixels[:40, :44]))
    write(two, Still(pixels))
    found = pair(one, two, True, None, lambda name, text: None)
    whole = np.floor(luma(pixels) + 0.5).astype(np.uint16)
    assert (found.distorted == grey(resize(whole, 16, 44, 40), 16)).all()


@pytest.mark.slow
def test_folders(tmp_path, random):
    for folder, suffix in (("one", "png"), ("two", "tif")):
        (tmp_path / folder).mkdir()
        for number in range(3):
            size = (50, 50 + 2 * (number % 2))
            pixels = random.integers(0, 256, size, np.uint8)
            write(tmp_path / folder / f"{number}.{suffix}", Still(pixels))
    both = tmp_path / "one", tmp_path / "two"
    rows = score_files(*both).table.rows
    assert [(row.frame, row.name) for row in rows] == [(n, str(n)) for n in range(3)]
    pair = score_files(both[0] / "1.png", both[1] / "1.tif").table.rows
    assert pair[0].mad == rows[1].mad
    assert [row.frame for row in score_files(*both, every=2).table.rows] == [0, 2]
    assert [row.frame for row in score_files(*both, frames=1).table.rows] == [0]


def test_folders_that_do_not_match(tmp_path, random):
    pixels = random.integers(0, 256, (50, 50), np.uint8)
    one, two, none = (tmp_path / name for name in ("one", "two", "none"))
    for folder, names in ((one, "abc"), (two, "cd"), (none, "")):
        folder.mkdir()
        for name in names:
            write(folder / f"{name}.png", Still(pixels))
    refused(f"holds 3 images.*holds 2.*{one}: a, b.*{two}: d", one, two)
    write(one / "a.tif", Still(pixels))
    refused(r"a\.png and a\.tif", one, two)
    refused("holds no image", two, none)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda path: write(path, Still(np.zeros((40, 50), np.uint8)), True), "50×40"),
        (lambda path: write(path, Still(np.zeros((20, 44), np.uint8)), True), "20"),
        (lambda path: path.write_text("no image"), "not an image"),
    ],
)  # fmt: skip
def test_a_bad_image_is_refused_before_any_is_scored(folders, heard, spoil, said):
    spoil(folders[1] / "c.png")
    refused(said, *folders, events=heard)
    assert heard.frames == []
    assert len(score_files(*folders, frames=2).table.rows) == 2  # what is not wanted is not read


def test_images_of_floats(folders, tmp_path, heard):
    """White is 1 or `data_range`: the same score as in 8 bits, and beside 8 bits."""
    both = [folder / "c.png" for folder in folders]
    ((wanted,),) = (scores(score_files(*both)),)
    for white in (1, 100):
        tiffs = []
        for path in both:
            tiffs.append(tmp_path / f"{path.parent.name}-{white}.tif")
            pixels = np.asarray(Image.open(path))
            assert pixels.ndim == 2
            write(tiffs[-1], Still((pixels * np.float32(white / 255)).astype(np.float32)))
        how = {"data_range": None if white == 1 else white}
        for images in (tiffs, (both[0], tiffs[1])):
            (found,) = scores(score_files(*images, **how))
            assert found == pytest.approx(wanted, rel=1e-4)  # float32 has 7 digits
    refused(r"1-?0?0?\.tif: got samples from 0 to .*; expected 0 to 1; state another data_range",
            *tiffs)  # fmt: skip
    score_files(*both, data_range=255, events=heard)
    ((_, text),) = heard.warnings
    assert text.startswith("`data_range` is for float images: without effect")


def test_small_images_are_refused_before_any_is_scored(folders, heard):
    for folder in folders:
        write(folder / "c.png", Still(np.zeros((33, 44), np.uint8)), True)
    refused("44×33; expected at least 34×34", *folders, events=heard)
    assert heard.frames == []


def test_a_png_that_says_only_at_its_end_how_it_is_turned(folders):
    """EXIF may stand behind the pixels, where the header does not reach."""
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = 6
    body = b"eXIf" + exif.tobytes().removeprefix(b"Exif\0\0")
    chunk = struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body))
    path = folders[1] / "c.png"
    write(path, Still(np.zeros((52, 50), np.uint8)), True)
    whole = path.read_bytes()
    path.write_bytes(whole[:-12] + chunk + whole[-12:])
    assert len(score_files(*folders).table.rows) == 3


def test_a_tiff_of_32_bits_is_refused(images, tmp_path):
    Image.fromarray(np.zeros((40, 40), np.int32)).save(tmp_path / "deep.tif")
    refused("32-bit samples", tmp_path / "deep.tif", images[0][0])


def test_both_means_of_psnr(clips, tmp_path):
    table = score_files(*clips, metrics="psnr", device="cpu").table
    errors = [
        np.mean((plane(a).astype(float) - plane(b)) ** 2)
        for a, b in zip(*(read(clip).frames for clip in clips), strict=True)
    ]
    pooled = table.pooled()["psnr"]
    assert pooled.mean == pytest.approx(np.mean([10 * np.log10(255**2 / e) for e in errors]))
    assert pooled.of_mean_mse == pytest.approx(10 * np.log10(255**2 / np.mean(errors)))


@pytest.mark.slow
def test_st_mad(clips):
    found = score_files(*clips, temporal=True).temporal
    assert found == st_mad(*(np.stack([plane(f) for f in read(clip).frames]) for clip in clips))


@pytest.mark.slow
def test_st_mad_of_too_short_a_film_costs_no_score(films):
    with pytest.raises(InputError, match="frames; temporal needs 34 or more") as caught:
        score_files(films[0], films[2], temporal=True)
    result = caught.value.result
    assert len(result.table.rows) == FRAMES and result.temporal is None


def test_st_mads_memory_is_warned_of(clips, monkeypatch, heard):
    monkeypatch.setattr(score_step, "LARGE", 2 * WIDTH * HEIGHT * 10)
    score_files(*clips, temporal=True, events=heard)
    ((_, text),) = heard.warnings
    assert "10 frames" in text and "memory" in text and "`frames` and `duration`" in text


def test_damage(films, tmp_path):
    torn = make(tmp_path / "torn.y4m", codec="rawvideo", frames=FRAMES)
    torn.write_bytes(torn.read_bytes()[:-100])
    with pytest.raises(IncompleteError, match=r"torn\.y4m") as caught:
        score_files(films[0], torn)
    result = caught.value.result
    assert len(result.table.rows) == FRAMES - 1 and "ends early" in result.summary.lost[0]


def test_a_warning_names_its_input_once(tmp_path, random, heard):
    pixels = random.integers(0, 256, (50, 60, 4), np.uint8)
    one, two = tmp_path / "a.png", tmp_path / "b.png"
    write(one, Still(pixels))
    write(two, Still(pixels[..., :3]))
    for other in (two, one):
        heard.warnings.clear()
        result = score_files(one, other, events=heard)
        assert heard.warnings == [(str(one), "transparency does not count")]
        assert result.warnings == (f"{one}: transparency does not count",)


def test_what_is_left_out_of_a_folder_is_warned_of(folders, heard):
    for name in ("film.mkv", "c.mp4", "d.gif", ".hidden.mp4", "notes.txt"):
        (folders[0] / name).write_bytes(b"")
    assert len(score_files(*folders, events=heard).table.rows) == 3
    assert heard.warnings == [
        (str(folders[0]), "videos are left out: c.mp4, film.mkv"),
        (str(folders[0]), "images of types that are not read are left out: d.gif"),
    ]


@pytest.mark.slow
def test_metrics_beside_mad_of_a_film(films):
    result = score_files(films[0], films[2], metrics="mad,psnr,ssim")
    assert scores(result) == scores(score_files(films[0], films[2]))
    pairs = zip(read(films[0]).frames, read(films[2]).frames, strict=True)
    for row, (one, other) in zip(result.table.rows, pairs, strict=True):
        found = snellen.score(plane(one), plane(other), metrics="psnr,ssim", device="cpu")
        assert (row.psnr, row.ssim) == (found.psnr, found.ssim)
    assert result.table.columns == ("frame", "time", "mad", "hi", "lo", "psnr", "ssim")
    assert set(result.table.pooled()) == {"mad", "hi", "lo", "psnr", "ssim"}


def test_metrics_without_mad(films, folders):
    result = score_files(films[0], films[2], metrics=["ssim", "psnr"])
    assert result.table.columns == ("frame", "time", "psnr", "ssim")
    (worst,) = result.table.worst(1)
    assert worst.psnr == result.table.pooled()["psnr"].min and worst.mad is None
    same = score_files(folders[0], folders[0], metrics="psnr,ssim").table
    assert [(row.psnr, row.ssim) for row in same.rows] == [(np.inf, 1)] * 3
    assert "0,a,inf,1.0" in same.to_csv()


def test_small_images_without_mad(tmp_path):
    for name in ("a.png", "b.png"):
        write(tmp_path / name, Still(np.arange(132, dtype=np.uint8).reshape(11, 12)))
    both = tmp_path / "a.png", tmp_path / "b.png"
    assert score_files(*both, metrics="ssim").table.rows[0].ssim == 1
    refused("34×34", *both, metrics="mad,ssim")


def test_metrics_that_use_no_gpu_say_so(folders, heard):
    notices = []
    heard.notice = lambda *said: notices.append(said)
    score_files(*folders[:2], metrics="psnr", device="cuda", events=heard)
    assert notices == [("`device`=cuda", "the CPU is used: of the metrics only MAD uses a GPU")]


def test_metrics_that_do_not_go(films, tmp_path):
    refused("metrics='psnr;ssim'; expected some of mad", *films[:2], metrics="psnr;ssim")
    refused("got maps with metrics=psnr", *films[:2], metrics="psnr", maps=tmp_path / "maps")
    refused("got temporal with metrics=psnr", *films[:2], metrics="psnr", temporal=True)
    refused("got variant with metrics=ssim", *films[:2], metrics="ssim", variant="paper")
    refused("got hi_scale with metrics=psnr,ssim", *films[:2], metrics="psnr,ssim", hi_scale=10)
    refused("got eight_bit_lut with metrics=psnr", *films[:2], metrics="psnr", eight_bit_lut=True)


def test_vmaf_says_what_is_missing(films, monkeypatch):
    monkeypatch.setattr("snellen.video.vmaf.filters_available", set())
    said = refused("built without the filter libvmaf", *films[:2], metrics="mad,vmaf")
    assert said.parameter == "metrics" and "leave vmaf out" in str(said)
