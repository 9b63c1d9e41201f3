"""Films and pictures at addresses, read by jobs, and written to a store."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
import urllib.request
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from snellen.errors import InputError
from snellen.files import transfer
from snellen.files.remote import Remote, typed
from snellen.jobs import Job, UpscaleJob, VideoOptions
from snellen.jobs.calls.execute import run as run_job
from snellen.jobs.calls.planning import plan
from snellen.jobs.calls.plans import write_plan
from snellen.jobs.kinds.upload import folder_of
from snellen.jobs.sharing.segments import _identity
from snellen.video.clip import Clip
from support.cli import names, run
from support.video.clips import make, read
from support.web import served

pytest.importorskip("fsspec")
pytest.importorskip("aiohttp")

BLOCK = 1 << 16


@pytest.fixture
def web(monkeypatch, tmp_path):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(transfer, "PAUSES", (0.0, 0.0))
    monkeypatch.setattr(transfer, "BLOCK", BLOCK)
    monkeypatch.chdir(tmp_path)
    with served() as web:
        yield web


def spread(path):
    """Return an mp4 whose index is 100 blocks behind the frames."""
    data = path.read_bytes()
    index = data.rindex(b"moov") - 4
    return data[:index] + (100 * BLOCK).to_bytes(4, "big") + b"free" + bytes(100 * BLOCK - 8) + (
        data[index:]
    )  # fmt: skip


@pytest.mark.slow
def test_a_film_is_read_by_parts(web, tmp_path):
    from snellen.video.source.decode import Source

    data = spread(make(tmp_path / "a.mp4", frames=6))
    source = Source(typed(web.put("a.mp4", data)), Clip())
    items = list(source.items())
    source.close()
    assert len(items) == 7 and items[-1].report.damage == ()
    assert web.sent < len(data) / 5
    web.put("a.mp4", data)
    source = Source(typed(f"{web.base}/a.mp4"), Clip())
    web.put("a.mp4", data[:-1] + b"x")
    assert any("changed while" in text for text in list(source.items())[-1].report.damage)
    source.close()


@pytest.mark.cases(3)
@pytest.mark.parametrize("suffix", [".mkv", ".ts", ".avi", ".nut"])
def test_a_film_that_breaks_off_is_no_damaged_film(web, tmp_path, suffix, capfd):
    from snellen.video.source.decode import Source

    codec = "mpeg2video" if suffix == ".ts" else "rawvideo"
    how = {"options": {"qmin": "1", "qmax": "1"}} if suffix == ".ts" else {}
    size = (640, 480) if suffix == ".ts" else (128, 96)
    data = make(tmp_path / f"a{suffix}", frames=40, codec=codec, size=size, **how).read_bytes()
    assert len(data) > 4 * BLOCK
    source = Source(typed(web.put("a", data) + "?k=secret"), Clip())
    web.statuses["/a"] = (503,)
    with pytest.raises(InputError, match="HTTP 503") as error:
        list(source.items())
    assert "secret" not in str(error.value)
    source.close()
    assert capfd.readouterr() == ("", "")


def test_jobs_hold_no_secrets_as_json(tmp_path):
    job = UpscaleJob(source="https://me:key@h/a.mkv?sig=1", target="s3://bucket/b.mkv")
    assert isinstance(job.source, Remote) and "key" not in repr(job) + job.to_json()
    with pytest.raises(InputError, match="given with a password or a query"):
        Job.from_json(job.to_json())
    plain = replace(job, source="https://h/a.mkv")
    assert Job.from_json(plain.to_json()) == plain and "s3://bucket/b.mkv" in plain.to_json()
    for one, why in ((job, "address"), (replace(job, target=tmp_path / "b.mkv"), "password")):
        with pytest.raises(InputError, match=why):
            write_plan(one, tmp_path / "plan")
    with pytest.raises(InputError, match="is an address"):
        write_plan(replace(plain, target=tmp_path / "b.mkv"), "s3://bucket/plan")


def test_names_of_outputs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    one, other = typed("http://h/get/a.mov?id=1"), typed("http://h/get/a.avi?id=2")
    found = plan([one, other], None, lambda path: "x2")
    assert found.pairs == ((one, Path("a-x2.mov")), (other, Path("a-x2.mkv")))
    found = plan([one, other], typed("s3://bucket/x"), lambda path: "x2", into=True)
    assert [str(goal) for _, goal in found.pairs] == ["s3://bucket/x/a.mov", "s3://bucket/x/a.mkv"]
    Path("in/deep").mkdir(parents=True)
    for name in ("a.png", "deep/b.png"):
        Path("in", name).write_bytes(b"")
    bucket = typed("s3://bucket")
    found = plan([Path("in")], bucket, lambda path: "x2", recursive=True, into=True)
    assert {goal.url for _, goal in found.pairs} == {"s3://bucket/a.png", "s3://bucket/deep/b.png"}
    same = typed("http://h/get/a.mov?id=3")
    assert [len(plan([one, x], None, lambda path: "x2").failed) for x in (one, same)] == [0, 2]


def test_logs_hold_no_secrets(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    url = "https://me:secret@127.0.0.1:1/a.mkv?k=secret"
    assert run("upscale", url, "-o", "https://me:secret@h/b.mkv", "--log", "log", "--debug") == 2
    said = Path("log").read_text() + "".join(capsys.readouterr())
    assert "https://127.0.0.1:1/a.mkv" in said and "secret" not in said


@pytest.mark.cases
@pytest.mark.parametrize(
    "words",
    [["doctor", "URL"], ["upscale", "a.png", "--scale", "URL"], ["bench", "URL"],
     ["upscale", "a.png", "--config", "URL"],
     ["upscale", "a.png", "--cluster=URL", "--json"]],
)  # fmt: skip
def test_messages_about_wrong_words_hold_no_secrets(words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    url = "https://me:secret@127.0.0.1:1/a.toml?k=secret"
    assert run(*(word.replace("URL", url) for word in words)) == 2
    said = "".join(capsys.readouterr())
    assert "https://127.0.0.1:1/a.toml" in said and "secret" not in said


@pytest.mark.slow
def test_previews_hold_no_secrets(web, tmp_path, capsys):
    make(tmp_path / "a.mkv", frames=2)
    web.put("a.cube", b"LUT_1D_SIZE 2\n0 0 0\n1 1 1\n")
    url = web.base.replace("//", "//me:secret@") + "/a.cube?k=secret"
    variants = [f"--preview-with=--lut {url}{number} --grain 3" for number in range(2)]
    words = ["--device", "cpu", "--method", "aplus", "--preview", "1", *variants, "--json"]
    assert run("upscale", "a.mkv", *words) == 0
    said = "".join(capsys.readouterr()) + Path("a-preview.html").read_text()
    assert f"--lut {web.base}/a.cube --grain 3 (2)" in said and "secret" not in said


def test_the_identity_of_an_input(web):
    path = typed(web.put("a.mkv", bytes(9)))
    before = _identity(path)
    assert before == _identity(path) and before["bytes"] == 9 and before["modified"]
    web.put("a.mkv", bytes(8) + b"x")
    assert _identity(path) != before


@pytest.mark.cases(5)
@pytest.mark.parametrize(
    ("words", "why"),
    [(["http://127.0.0.1/a.mkv", "-o", "http://127.0.0.1/b.mkv"], "http:// is read only"),
     (["file:///etc/passwd"], "the scheme file"),
     (["s3://b/a.mkv", "-o", "s3://b/a.mkv"], "itself"),
     (["http://127.0.0.1/a.mkv", "-o", "s3://b/x%03d.png"], "is written to files"),
     (["a.mkv", "--model", "http://h/b.safetensors"], "is an address"),
     (["a.mkv", "-o", "s3://bucket"], "behind the bucket")],
)  # fmt: skip
def test_what_no_command_takes(words, why, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make(tmp_path / "a.mkv", frames=2)
    assert run("upscale", *words) == 2
    assert why in capsys.readouterr().err and names(tmp_path) == ["a.mkv"]


def test_an_address_that_does_not_answer_is_said_before_an_output_without_suffix(
    capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(transfer, "PAUSES", (0.0, 0.0))
    assert run("upscale", "http://127.0.0.1:1/a.mkv", "-o", "zz", "--device", "cpu") != 0
    err = capsys.readouterr().err
    assert "http://127.0.0.1:1/a.mkv" in err and "suffix" not in err


@pytest.mark.slow
def test_a_store_that_does_not_answer(tmp_path, monkeypatch, capsys):
    pytest.importorskip("s3fs")
    monkeypatch.chdir(tmp_path)
    given = {"ENDPOINT_URL": "http://127.0.0.1:1", "ACCESS_KEY_ID": "a", "SECRET_ACCESS_KEY": "b"}
    for name, value in given.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    make(tmp_path / "a.mkv", frames=2)
    assert run("upscale", "a.mkv", "-o", "s3://bucket/a.mkv", "-y") == 2
    assert "cannot be written" in capsys.readouterr().err and names(tmp_path) == ["a.mkv"]


def test_a_model_at_an_address(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    job = UpscaleJob(source="a.png", target="b.png", model="https://me:secret@h/a?k=secret")
    with pytest.raises(InputError, match="https://h/a' is an address") as error:
        run_job(replace(job, source=make(tmp_path / "a.mkv", frames=1), target="b.mkv"))
    assert "secret" not in str(error.value)


def test_a_path_that_looks_like_an_address_is_none(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    job = UpscaleJob(source="a.png", target=Path("s3://bucket/b.png"))
    with pytest.raises(InputError, match=r"s3://bucket is an address.* count only where they are"):
        run_job(job)


def test_a_folder_of_somebody_else(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    folder_of(typed("s3://b/a.mkv")).symlink_to(tmp_path / "elsewhere")
    assert run("upscale", "none.mkv", "-o", "s3://b/a.mkv") == 2
    assert "no folder of yours" in capsys.readouterr().err


def test_addresses_in_a_list_of_pairs_are_names(web, tmp_path, capsys):
    (tmp_path / "list.csv").write_text(f"{web.put('a.png', b'x')},{web.base}/a.png\n")
    assert run("score", "--pairs", "list.csv", "--csv", "t.csv") == 2
    assert "typed as an argument" in Path("t.csv").read_text() + "".join(capsys.readouterr())
    assert not web.asked


@pytest.mark.slow
def test_workers_open_addresses_themselves(web, tmp_path, heard):
    file = make(tmp_path / "a.mkv", rate=Fraction(2), frames=140, options={"g": "12"})
    url = web.put("a.mkv", file.read_bytes()).replace("//", "//me:secret@") + "?sig=secret"
    job = UpscaleJob(
        source=file, target=tmp_path / "one.mkv", method="aplus", source_kind="clean",
        device="cpu", keep_segments=True,
    )  # fmt: skip
    run_job(job)
    result = run_job(replace(job, source=url, target=tmp_path / "two.mkv", workers=2), heard)
    one, two = (read(tmp_path / name) for name in ("one.mkv", "two.mkv"))
    assert len(one.frames) == 140 == result.summary.frames and one.times == two.times
    assert all((a == b).all() for a, b in zip(planes(one), planes(two), strict=True))
    files = [one for one in (tmp_path / "two.mkv.segments").iterdir() if one.suffix == ".json"]
    assert files and not any(b"secret" in one.read_bytes() for one in files)
    assert "secret" not in repr(result) + repr(heard.warnings)


def planes(film):
    return [np.asarray(plane) for frame in film.frames for plane in frame.planes]


# s3: moto's server, which is no dependency: pip install "moto[server]" s3fs.


@pytest.fixture
def store(monkeypatch, tmp_path):
    server = pytest.importorskip("moto.server")
    s3fs = pytest.importorskip("s3fs")
    for name, value in (
        ("AWS_ACCESS_KEY_ID", "id"), ("AWS_SECRET_ACCESS_KEY", "secretkey"),
        ("AWS_DEFAULT_REGION", "us-east-1"), ("no_proxy", "127.0.0.1"),
    ):  # fmt: skip
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    moto = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    moto.start()
    host, port = moto.get_host_and_port()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
    asked = urllib.request.Request(f"http://{host}:{port}/moto-api/reset", method="POST")
    urllib.request.urlopen(asked).close()
    s3fs.S3FileSystem.clear_instance_cache()  # of another server
    system = s3fs.S3FileSystem(use_listings_cache=False, skip_instance_cache=True)
    system.mkdir("bucket")
    yield system
    moto.stop()


FAST = ["--device", "cpu", "--method", "aplus"]


@pytest.mark.slow
def test_s3(store, tmp_path, capsys):
    make(tmp_path / "a.mkv", frames=5)
    store.put_file("a.mkv", "bucket/in/a.mkv")
    words = ["upscale", "s3://bucket/in/a.mkv", *FAST]
    assert run(*words, "-o", "s3://bucket/out/") == 0
    assert run(*words, "-o", "b.mkv") == 0
    assert store.cat("bucket/out/a.mkv")[:4] == Path("b.mkv").read_bytes()[:4]
    first = store.info("bucket/out/a.mkv")["ETag"]
    folder_of(typed("s3://bucket/out/a.mkv")).mkdir()  # of a run that was killed
    assert run(*words, "-o", "s3://bucket/out/a.mkv") == 2
    assert "exists" in capsys.readouterr().err
    assert run(*words, "-o", "s3://bucket/out/", "--skip-existing") == 0
    assert store.info("bucket/out/a.mkv")["ETag"] == first
    assert run(*words, "-o", "s3://bucket/out/a.mkv", "-y", "--frames", "2") == 0
    assert store.info("bucket/out/a.mkv")["ETag"] != first
    assert run("score", "a.mkv", "s3://bucket/in/a.mkv", "--csv", "s3://bucket/t.csv") == 0
    assert store.cat("bucket/t.csv").count(b"\n") > 5
    assert run(*words, "-o", "s3://nobucket/a.mkv") == 2
    assert run("upscale", "s3://bucket/in/none.mkv") == 2
    said = "".join(capsys.readouterr())
    assert "no bucket nobucket" in said and "secretkey" not in said
    assert names(tmp_path) == ["a.mkv", "b.mkv"]


@pytest.mark.slow
def test_what_comes_to_exist_meanwhile_stays(store, tmp_path, monkeypatch, heard):
    from snellen.jobs.calls import execute
    from snellen.stills.still import Still, write

    write(tmp_path / "a.png", Still(np.zeros((8, 8, 3), np.uint8)))
    job = UpscaleJob(source="a.png", target="s3://bucket/b.png", method="aplus", device="cpu")
    real = execute._run

    def slow(*given):
        result = real(*given)
        store.pipe_file("bucket/b.png", b"theirs")
        return result

    monkeypatch.setattr(execute, "_run", slow)
    with pytest.raises(OSError, match="come to exist meanwhile; the whole result is "):
        run_job(job, heard)
    assert store.cat("bucket/b.png") == b"theirs"
    (left,) = tmp_path.glob("b.png.upload-*/b.png")
    assert left.stat().st_size


@pytest.mark.slow
def test_an_upload_that_is_killed_leaves_no_object(store, tmp_path):
    code = """
import os, signal
from pathlib import Path
from snellen.files import store, transfer
from snellen.files.remote import typed
system = transfer.system(typed("s3://bucket/b"))
async def parts(*given, **how):
    os.kill(os.getpid(), signal.SIGKILL)
type(system)._upload_file_part_concurrent = parts
Path("big").write_bytes(bytes(150 << 20))
store.upload(Path("big"), typed("s3://bucket/b"), True)
"""
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert store.find("bucket") == []


@pytest.mark.slow
def test_an_interrupt_while_the_network_waits(web, tmp_path):
    """The command ends by the signal, although FFmpeg reads in its main thread."""
    url = web.put("a.mkv", make(tmp_path / "a.mkv", frames=5).read_bytes())
    web.hold.set()
    process = subprocess.Popen(
        [sys.executable, "-m", "snellen", "upscale", url, *FAST],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    end = time.monotonic() + 60
    while "/a.mkv" not in web.asked and time.monotonic() < end:
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    time.sleep(0.5)
    web.hold.clear()
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert names(tmp_path) == ["a.mkv"]


def test_manifests_hold_no_secrets():
    path = typed("https://me:key@h/a.cube?sig=abc")
    job = UpscaleJob(source="a.mkv", target="b.mkv", video=VideoOptions())
    job = replace(job, enhancement=replace(job.enhancement, lut=path))
    text = job.to_json()
    assert "https://h/a.cube" in text and "me:key" not in text and "abc" not in text
