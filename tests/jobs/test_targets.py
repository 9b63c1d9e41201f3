"""Runs of several jobs: no output replaces a later input, or another output."""

from __future__ import annotations

import numpy as np
import pytest

from snellen import deblur_files, upscale_file, upscale_files
from snellen.errors import InputError
from snellen.jobs import DeblurJob, UpscaleJob, run_several
from snellen.jobs.kinds.files import read_by, written_by
from snellen.jobs.options.methods import MiaSettings
from snellen.jobs.options.positions import Region


@pytest.fixture
def three(saved, picture):
    return [saved(f"{name}.png", picture()) for name in "abc"]


@pytest.mark.slow
@pytest.mark.parametrize("link", ["symlink_to", "hardlink_to"])
def test_a_link_to_a_later_input(three, tmp_path, small_model, link):
    out = tmp_path / "out"
    out.mkdir()
    getattr(out / "a.png", link)(three[2])
    before = three[2].read_bytes()
    with pytest.raises(InputError, match=r"a\.png is the input itself"):
        upscale_files(three, out, model=small_model, device="cpu", overwrite=True)
    assert three[2].read_bytes() == before
    assert (out / "b.png").exists() and (out / "c.png").exists()


@pytest.mark.slow
def test_jobs_that_follow_each_other(three, tmp_path, small_model):
    """An output may be the next job's input where it is new; else it would be lost as an input."""
    one, other = tmp_path / "x.png", tmp_path / "y.png"
    jobs = [
        UpscaleJob(source=source, target=target, model=small_model, device="cpu", overwrite=True)
        for source, target in ((three[0], one), (one, other))
    ]
    assert [finished.error for finished in run_several(jobs)] == [None, None]
    assert one.exists() and other.exists()
    first, second = run_several(jobs)
    assert "is the input itself" in str(first.error) and second.error is None


def test_jobs_with_one_output(three, tmp_path, small_model):
    link = tmp_path / "link.png"
    link.symlink_to("out.png")
    jobs = [
        UpscaleJob(source=three[0], target=target, model=small_model, device="cpu", overwrite=True)
        for target in (tmp_path / "out.png", link)
    ]
    first, second = run_several(jobs)
    assert first.error is None and "would become" in str(second.error)


def test_a_psf_that_is_another_result(three, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "a.png.npy").symlink_to("b.png")
    with pytest.raises(InputError, match="would become"):
        deblur_files(three[:2], out, psf_size=3, psf_out=out, overwrite=True)
    assert not (out / "b.png").exists()


def test_an_option_of_the_encoder_that_names_an_input(three, tmp_path, small_model):
    """x264 writes its statistics into a file of any name."""
    before = three[0].read_bytes()
    with pytest.raises(InputError, match="names an input"):
        upscale_file(
            three[0], tmp_path / "o.png", model=small_model, device="cpu",
            encoder_options={"x264-params": f"pass=1:stats={three[0]}"},
        )  # fmt: skip
    assert three[0].read_bytes() == before


def test_what_a_job_reads_and_writes(three, tmp_path):
    np.save(tmp_path / "psf.npy", np.ones((3, 3)))
    roi = tmp_path / "roi.txt"
    job = DeblurJob(
        source=three[0], target=tmp_path / "o.png", psf_out=tmp_path / "p.npy",
        mia=MiaSettings(psf=tmp_path / "psf.npy"), region=Region(2, 2, positions=roi),
    )  # fmt: skip
    assert read_by(job) == [three[0], tmp_path / "psf.npy", roi]
    assert written_by(job) == [tmp_path / "o.png", tmp_path / "p.npy"]


@pytest.mark.parametrize("parameter", ["vf", "post_vf"])
@pytest.mark.parametrize(
    "chain", ["hflip,metadata=print:file={}", "metadata=mode=print:file='file:{}'",
              "deshake=filename={}", "curves=plot={}"],
)  # fmt: skip
def test_a_filter_that_would_write_into_an_input(tmp_path, parameter, chain):
    source = tmp_path / "in.y4m"
    source.write_bytes(b"YUV4MPEG2 W64 H48 F25:1 C420\n" + (b"FRAME\n" + bytes(4608)) * 3)
    before = source.read_bytes()
    link = tmp_path / "link"
    link.symlink_to(source)
    for name in (source, link):
        with pytest.raises(InputError, match="names an input"):
            upscale_file(source, tmp_path / "o.mkv", device="cpu",
                         **{parameter: chain.format(name)})  # fmt: skip
    assert source.read_bytes() == before and not (tmp_path / "o.mkv").exists()


def test_a_filter_may_read_its_table(tmp_path):
    table = tmp_path / "look.cube"
    table.write_text("LUT_3D_SIZE 2\n" + "0.1 0.2 0.3\n" * 8)
    source = tmp_path / "in.y4m"
    source.write_bytes(b"YUV4MPEG2 W64 H48 F25:1 C420\n" + (b"FRAME\n" + bytes(4608)) * 3)
    upscale_file(source, tmp_path / "o.y4m", device="cpu", vf=f"lut3d={table}")
    assert (tmp_path / "o.y4m").exists()
