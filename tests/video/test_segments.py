"""Long films in segments: they give the frames of a run in one piece, and outlive a kill."""

from __future__ import annotations

import errno
import json
import os
import random
import shutil
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from snellen.errors import InputError, OutputError
from snellen.video.clip import Clip
from snellen.video.convert import Encoding
from snellen.video.messages import clock, parts
from snellen.video.segments import cuts, encode, film, packets, room, store
from snellen.video.segments.folder import make as make_folder
from snellen.video.segments.manifest import differences, read_manifest
from support.video.clips import SRT, make, read
from support.video.converting import convert
from support.video.segments import KEYS, LOSSLESS, MS, Dying, KilledError, Run, check, same
from support.video.steps import Double, Nearest


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """Films of more than a second are long, and cut after each second."""
    monkeypatch.setattr(cuts, "LONG", 1)
    monkeypatch.setattr(cuts, "SECONDS", {"cpu": 1})


@pytest.mark.slow
def test_a_film_with_all_streams(tmp_path):
    source = make(tmp_path / "in.mkv", rate=Fraction(12), frames=50, options=KEYS, audio="aac",
                  subtitles=SRT, chapters=((0, 2000, "one"), (2000, 4000, "two")),
                  attachments=(("font.ttf", "font/ttf", b"x" * 99),))  # fmt: skip
    run = check(source, tmp_path)
    assert run.summary.frames == 50
    assert read(tmp_path / "cut.mkv").types == read(source).types


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".mp4", ".mov", ".mkv"])
@pytest.mark.parametrize("codec", ["libx264", "libx265"])
def test_open_groups_of_pictures(tmp_path, codec, suffix):
    options = {**KEYS, "flags": "-cgop"}
    if codec == "libx264":
        options["x264-params"] = "open-gop=1"
    else:
        options = {"x265-params": "open-gop=1:keyint=12:min-keyint=12:scenecut=0:bframes=3"}
    source = make(tmp_path / "in.mkv", codec=codec, rate=Fraction(12), frames=60, options=options)
    check(source, tmp_path, suffix)


@pytest.mark.slow
@pytest.mark.parametrize("codec", ["libx264", "libx265", "libsvtav1", "ffv1", "libvpx-vp9"])
@pytest.mark.parametrize("suffix", [".mp4", ".mkv"])
def test_variable_rates(tmp_path, codec, suffix):
    if codec == "ffv1" and suffix == ".mp4":
        pytest.skip("no mp4 holds FFV1")
    draw = np.random.default_rng(5)
    times = np.cumsum(draw.integers(10, 160, 70)).tolist()
    source = make(tmp_path / "in.mkv", times=times, time_base=MS, options=KEYS, audio="aac")
    encoding = Encoding(codec=codec, preset={"libx264": "veryfast", "libx265": "ultrafast",
                                             "libsvtav1": "11"}.get(codec))  # fmt: skip
    whole, cut, again = (tmp_path / f"{name}{suffix}" for name in ("whole", "cut", "again"))
    convert(source, whole, Nearest(), encoding=encoding)
    assert Run(source, cut, encoding=encoding).error is None
    assert Run(source, again, Dying(30), encoding=encoding).error is not None
    assert Run(source, again, encoding=encoding).error is None
    a, b, c = read(whole), read(cut), read(again)
    assert a.times == b.times == c.times
    if suffix == ".mkv":  # of mp4 FFmpeg takes them from decoding times
        assert a.durations[:-1] == b.durations[:-1]
    assert all(bytes(x.planes[0]) == bytes(y.planes[0])
               for x, y in zip(b.frames, c.frames, strict=True))  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".mp4", ".mkv"])
def test_transport_streams(tmp_path, suffix):
    source = make(tmp_path / "in.ts", rate=Fraction(12), frames=70, options=KEYS, audio="mp2")
    check(source, tmp_path, suffix)


@pytest.mark.slow
def test_edit_lists(tmp_path):
    """A film that begins within a group of pictures: frames before are decoded, not shown."""
    from support.video.edits import skipping

    source = make(tmp_path / "a.mp4", rate=Fraction(12), frames=70, options=KEYS, audio="aac")
    check(skipping(source, tmp_path / "in.mp4", Fraction(1, 3)), tmp_path)


@pytest.mark.slow
def test_intra_refresh(tmp_path):
    """Key frames of the container that are none: decoding begins further back."""
    source = make(tmp_path / "in.mkv", rate=Fraction(12), frames=90,
                  options={**KEYS, "intra-refresh": "1", "bf": "0"})  # fmt: skip
    check(source, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    "clip", [Clip(start=Fraction(3, 2)), Clip(duration=Fraction(7, 2)), Clip(frames=43),
             Clip(start=Fraction(1, 3), duration=Fraction(4), frames=40)]
)  # fmt: skip
@pytest.mark.parametrize("suffix", [".mkv", ".ts"])
def test_parts_of_films(tmp_path, clip, suffix):
    source = make(tmp_path / f"in{suffix}", rate=Fraction(12), frames=70, options=KEYS, audio="mp2")
    check(source, tmp_path, clip=clip)


def test_a_damaged_segment_is_made_again(tmp_path):
    source = make(tmp_path / "in.mkv", rate=Fraction(12), frames=50, options=KEYS)
    first = Run(source, tmp_path / "a.mkv", keep=True)
    assert first.folder.is_dir()
    parts = sorted(first.folder.glob("*.packets"))
    assert len(parts) == 5
    shutil.copytree(first.folder, tmp_path / "b.mkv.segments")
    part = tmp_path / "b.mkv.segments" / parts[1].name
    data = bytearray(part.read_bytes())
    data[len(data) // 2] ^= 1
    part.write_bytes(data)
    second = Run(source, tmp_path / "b.mkv")
    assert second.error is None, second.error
    assert second.step.ran == 12
    assert "1 more are damaged" in second.said[0]
    same(tmp_path / "a.mkv", tmp_path / "b.mkv")


@pytest.mark.parametrize("times", [film.ROUNDS - 1, film.ROUNDS])
def test_a_segment_that_something_else_changes_is_made_three_times(tmp_path, monkeypatch, times):
    """Whatever changes it must not keep a run at work for ever."""
    source = make(tmp_path / "in.mkv", rate=Fraction(12), frames=24, options=KEYS)
    add, harmed = store.Store.add, []

    def added(self, record):
        add(self, record)
        if record.number == 2 and len(harmed) < times:
            harmed.append(self.file(2).write_bytes(b"something else"))

    monkeypatch.setattr(store.Store, "add", added)
    run = Run(source, tmp_path / "a.mkv")
    assert len(harmed) == times
    assert run.step.ran == 24 + 12 * (min(times, film.ROUNDS - 1))
    if times < film.ROUNDS:
        assert run.error is None, run.error
        return
    assert isinstance(run.error, OutputError)
    assert f"a.mkv: segment 2 was made 3 times, and its files in {run.folder}" in str(run.error)
    assert "changed each time by something else" in str(run.error)
    assert run.said[-1].startswith("1 of 2 segments are kept")


@pytest.mark.slow
@pytest.mark.parametrize("left", [None, b"", bytes(400), 0.5])
def test_a_record_that_a_loss_of_power_spoils_costs_its_segment_only(tmp_path, left):
    """Records do not wait for the disk: one may be missing, empty, zeros, or cut short."""
    source = make(tmp_path / "in.mkv", rate=Fraction(12), frames=40, options=KEYS)
    first = Run(source, tmp_path / "a.mkv", Dying(38))
    record = sorted(first.folder.glob("*.record"))[1]
    if left is None:
        record.unlink()
    else:
        whole = record.read_bytes()
        record.write_bytes(whole[: int(len(whole) * left)] if left == 0.5 else left)
    second = Run(source, tmp_path / "a.mkv")
    assert second.error is None, second.error
    assert second.step.ran == 12 + 4
    assert "goes on: 2 of 4 segments are finished" in second.said[0]
    Run(source, tmp_path / "b.mkv")
    same(tmp_path / "a.mkv", tmp_path / "b.mkv")


@pytest.mark.slow
def test_a_record_names_only_bytes_that_are_on_the_disk(tmp_path, monkeypatch):
    source = make(tmp_path / "in.mkv", rate=Fraction(12), frames=24, options=KEYS)
    real, synced = os.fsync, []

    def sync(descriptor):
        synced.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)
        real(descriptor)

    monkeypatch.setattr(os, "fsync", sync)
    add = store.Store.add

    def added(self, record):
        folder = self.folder.name
        assert synced[-1] == folder and self.file(record.number).is_file()
        assert synced[-2].endswith(".packets")
        before = len(synced)
        add(self, record)
        assert len(synced) == before

    monkeypatch.setattr(store.Store, "add", added)
    assert Run(source, tmp_path / "a.mkv").error is None


def test_other_settings_and_another_input_are_refused(tmp_path):
    source = make(tmp_path / "in.mkv", rate=Fraction(12), frames=40, options=KEYS)
    out = tmp_path / "a.mkv"
    first = Run(source, out, Dying(30))
    manifest = (first.folder / "manifest.json").read_bytes()
    other = Run(source, out, encoding=Encoding(preset="ultrafast", crf=9))
    assert isinstance(other.error, InputError)
    assert "crf was 0, and is 9" in str(other.error)
    renamed = Run(source, out, job={"input": {"bytes": 1}})
    assert isinstance(renamed.error, InputError)
    assert (first.folder / "manifest.json").read_bytes() == manifest
    anew = Run(source, out, discard=True, encoding=Encoding(preset="ultrafast", crf=9))
    assert anew.error is None
    assert not first.folder.exists()


def test_other_settings_begin_anew_where_nothing_is_finished(tmp_path):
    source = make(tmp_path / "in.mkv", rate=Fraction(12), frames=40, options=KEYS)
    first = Run(source, tmp_path / "a.mkv", Dying(30))
    for file in first.folder.glob("*.record"):
        file.unlink()
    second = Run(source, tmp_path / "a.mkv", encoding=Encoding(preset="ultrafast", crf=9))
    assert second.error is None
    assert not first.folder.exists()


def test_what_differs_is_said_in_the_words_of_users():
    clip = {"$type": "Clip", "start": None, "map": []}
    job = {"$type": "UpscaleJob", "scale": None, "crf": 16, "video": {"$type": "V", "clip": clip}}
    old = {"input": {"bytes": 1}, "job": job, "models": {"a": "0f"}, "encoder": {"crf": "16"}}
    cut = clip | {"start": {"$fraction": "1/3"}, "map": ["0:v", "0:a"]}
    new = job | {
        "scale": 3,
        "options": {"$mapping": {"a": "b"}},
        "video": {"$type": "V", "clip": cut},
    }
    other = {"input": {"bytes": 1}, "job": new, "models": {"b": "1f"}, "encoder": {"crf": "20"}}
    assert differences(old, other) == [
        "`scale` was not given, and is 3",
        "`start` was not given, and is 1/3",
        "`map` was not given, and is 0:v, 0:a",
        "`options` was not given, and is a=b",
    ]
    assert differences(old, other | {"input": {}}) == [
        "the input is another one, or has changed meanwhile"
    ]
    assert differences(old, old | {"models": {}, "encoder": {}}) == ["the model is another one"]
    assert differences(old, old | {"encoder": {"crf": "20"}}) == ["encoder, crf was 16, and is 20"]
    assert differences(old, old) == []


@pytest.mark.slow
def test_two_runs_at_once_are_refused(tmp_path):
    source = make(tmp_path / "in.mkv", rate=Fraction(12), frames=40, options=KEYS)
    out = tmp_path / "a.mkv"

    class Second(Nearest):
        found = None

        def run(self, frame):
            self.found = self.found or Run(source, out).error
            return super().run(frame)

    step = Second()
    assert Run(source, out, step).error is None
    assert "another run is at work" in str(step.found)


def test_a_folder_of_somebody_else_stays(tmp_path):
    source = make(tmp_path / "in.mkv", rate=Fraction(12), frames=30, options=KEYS)
    folder = tmp_path / "a.mkv.segments"
    folder.mkdir()
    mine = {".lock", "manifest.json", "mine.packets", "mine.txt"}
    for name in mine:
        (folder / name).write_text("x")
    for discard in (False, True):
        run = Run(source, tmp_path / "a.mkv", discard=discard)
        assert isinstance(run.error, InputError)
        assert "mine.txt" in str(run.error)
        assert {one.name for one in folder.iterdir()} == mine


@pytest.mark.skipif(os.name == "nt", reason="folders have no such modes")
def test_a_folder_that_others_may_write_is_refused(tmp_path):
    """They could exchange segments. One of ours is nobody else's, whatever the umask."""
    folder = tmp_path / "a.mkv.segments"
    umask = os.umask(0)
    try:
        make_folder(folder)
    finally:
        os.umask(umask)
    assert folder.stat().st_mode & 0o777 == 0o700
    (folder / ".lock").write_bytes(b"")
    one = store.Store(folder, {})
    one.open()
    one.leave()
    for mode in (0o770, 0o702):
        folder.chmod(mode)
        for refused in (store.Store(folder, {}).open, lambda: store.discard(folder)):
            with pytest.raises(InputError, match=r"can be written by other users.*chmod go-w"):
                refused()


def test_segments_of_another_format_of_manifests_are_refused(tmp_path):
    """As those of another version of Snellen are. Where nothing is made yet, nothing is lost."""
    folder = tmp_path / "a.mkv.segments"
    make_folder(folder)
    content = {"snellen segments": 99, "made by": {}, "output": None, "plan": {}, "segments": {}}
    (folder / "manifest.json").write_text(json.dumps(content))
    (folder / ".lock").write_bytes(b"")
    one = store.Store(folder, {})
    one.open()
    one.leave()
    (folder / "0000.packets").write_bytes(b"x")
    for planned in (False, True):
        with pytest.raises(InputError, match=r"format 99; expected 2.*discard_segments"):
            store.Store(folder, {}, planned=planned).open()
    assert {one.name for one in folder.iterdir()} == {".lock", "0000.packets", "manifest.json"}
    assert store.discard(folder) and not folder.exists()


@pytest.mark.slow
def test_links_are_not_followed(tmp_path):
    source = make(tmp_path / "in.mkv", rate=Fraction(12), frames=40, options=KEYS)
    first = Run(source, tmp_path / "a.mkv", Dying(30))
    (tmp_path / "b.mkv.segments").symlink_to(first.folder)
    for discard in (False, True):
        run = Run(source, tmp_path / "b.mkv", discard=discard)
        assert "no folder of yours" in str(run.error)
    assert (first.folder / "manifest.json").is_file()


@pytest.mark.slow
def test_a_broken_manifest_is_none(tmp_path):
    source = make(tmp_path / "in.mkv", rate=Fraction(12), frames=40, options=KEYS)
    first = Run(source, tmp_path / "a.mkv", Dying(30))
    (first.folder / "manifest.json").write_text("{")
    second = Run(source, tmp_path / "a.mkv")
    assert second.error is None, second.error
    assert second.step.ran == 40
    assert not first.folder.exists()


def gather(folder):
    """Put the records of a killed run into its manifest, as a join does."""
    found = store.Store(folder, json.loads((folder / "manifest.json").read_text())["made by"])
    found.open()
    found.joined(None)
    found.leave()
    for file in folder.glob("*.record"):
        file.unlink()


@pytest.mark.slow
def test_a_record_of_other_types_is_none(tmp_path):
    source = make(tmp_path / "in.mkv", rate=Fraction(12), frames=40, options=KEYS)
    first = Run(source, tmp_path / "a.mkv", Dying(30))
    good, other = sorted(first.folder.glob("*.record"))
    found = json.loads(good.read_text())
    found["record"]["frames"] = "12"
    good.write_text(json.dumps(found))
    other.write_text("[" * 100_000)
    again = Run(source, tmp_path / "a.mkv")
    assert again.error is None, again.error
    assert again.step.ran == 40


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        lambda found: found["segments"].update(x=found["segments"]["1"]),
        lambda found: found["segments"].update({"2": found["segments"]["1"]}),
        lambda found: found["segments"]["1"].update(frames="12"),
        lambda found: found["segments"]["1"].update(lost=[1]),
        lambda found: found["plan"]["cuts"][0].update(frames=None),
        lambda found: found["plan"].update(threads="2"),
    ],
)
def test_a_manifest_of_other_types_is_none(tmp_path, change):
    source = make(tmp_path / "in.mkv", rate=Fraction(12), frames=40, options=KEYS)
    file = Run(source, tmp_path / "a.mkv", Dying(15)).folder / "manifest.json"
    gather(file.parent)
    found = json.loads(file.read_text())
    assert read_manifest(file.parent) is not None
    change(found)
    file.write_text(json.dumps(found))
    assert read_manifest(file.parent) is None
    again = Run(source, tmp_path / "a.mkv")
    assert again.error is None, again.error
    assert again.step.ran == 40


def test_a_manifest_that_is_no_file_or_nests_deeply_is_none(tmp_path):
    (tmp_path / "manifest.json").write_text("[" * 100_000)
    assert read_manifest(tmp_path) is None
    (tmp_path / "manifest.json").unlink()
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "manifest.json")
        assert read_manifest(tmp_path) is None  # and nobody waits for a writer


@pytest.mark.parametrize("name", [".lock", "manifest.json", "0001.packets"])
def test_links_in_the_folder_are_not_followed(tmp_path, name):
    folder = tmp_path / "a.mkv.segments"
    folder.mkdir()
    (folder / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match=name):
        store.Store(folder, {}).open()
    assert not (tmp_path / "elsewhere").exists()


def test_headers_of_x265_do_not_depend_on_the_processor():
    def stream(data):
        codec = SimpleNamespace(name="libx265")
        return SimpleNamespace(codec_context=SimpleNamespace(codec=codec, extradata=data))

    sets = b"\0\0\0\1\x40\1\x0c\0\0\0\1\x42\1\1"
    said = b"\0\0\1\x4e\1\5cpuid=%d"
    first, second = encode.headers(stream(sets + said % 1)), encode.headers(stream(sets + said % 2))
    assert first == second == encode.headers(stream(sets))
    assert first != encode.headers(stream(sets + b"\2"))


@pytest.mark.cases
@pytest.mark.parametrize(
    ("target", "settings", "why"),
    [("a.webm", {"encoding": Encoding(codec="libvpx-vp9")}, "no file of .mp4"),
     ("a.mkv", {"clip": Clip(deinterlace="field", frames=30)}, "progressive frames"),
     ("a.mkv", {"step": Double()}, "may depend on the whole film")],
)  # fmt: skip
def test_what_cannot_be_cut_is_said(tmp_path, target, settings, why):
    source = make(tmp_path / "in.mkv", rate=Fraction(12), frames=30, options=KEYS)
    run = Run(source, tmp_path / target, **settings)
    assert run.error is None, run.error
    assert why in run.said[0]
    assert "in one piece" in run.said[0]


def test_of_a_pipe_nothing_is_said(tmp_path):
    source = make(tmp_path / "in.y4m", codec="rawvideo", rate=Fraction(12), frames=3)
    with source.open("rb") as pipe:
        run = Run(pipe, tmp_path / "a.mkv")
    assert run.error is None, run.error
    assert run.said == []


def test_no_key_frames_within_is_said(tmp_path):
    source = make(tmp_path / "in.mkv", rate=Fraction(12), frames=30)
    assert "no key frame at which" in Run(source, tmp_path / "a.mkv").said[0]


@pytest.mark.slow
def test_short_films_are_made_in_one_piece(tmp_path, monkeypatch):
    monkeypatch.setattr(cuts, "LONG", 60)
    source = make(tmp_path / "in.mkv", rate=Fraction(12), frames=30, options=KEYS)
    assert Run(source, tmp_path / "a.mkv").said == []


@pytest.mark.slow
def test_a_disk_that_fills_ends_the_work_before_it_is_full(tmp_path, monkeypatch):
    source = make(tmp_path / "in.mkv", rate=Fraction(12), frames=40, options=KEYS)
    out = tmp_path / "a.mkv"
    monkeypatch.setattr(room.Room, "_free", lambda self: 1000)
    run = Run(source, out)
    assert isinstance(run.error, OutputError)
    assert "make room" in str(run.error)
    assert "1 of 4 segments are kept" in run.said[-1]
    assert [file.name for file in run.folder.glob("*.record")] == ["0001.record"]
    monkeypatch.undo()
    monkeypatch.setattr(cuts, "SECONDS", {"cpu": 1})
    assert Run(source, out).error is None


def test_packets_come_back(tmp_path):
    class Packet(bytes):
        pts, duration, is_keyframe = 7, 3, True
        size = 4

    with (tmp_path / "p").open("wb") as file:
        writer = packets.PacketWriter(file)
        writer.write(Packet(b"data"))
    (one,) = packets.packets(tmp_path / "p")
    assert (one.pts, one.duration, one.is_keyframe, bytes(one)) == (7, 3, True, b"data")
    assert packets.times(tmp_path / "p") == [7]
    assert packets.checksum(tmp_path / "p") == writer.checksum
    assert writer.size == (tmp_path / "p").stat().st_size


def test_delay_of_decoding():
    assert packets.delay([0, 1, 2]) == 0
    assert packets.delay([0, 4, 2, 1, 3]) == 2
    assert packets.delay([]) == 0


def test_texts():
    assert clock(Fraction(3725)) == "1:02:05"
    assert room.words(3 << 30) == "3 GiB"


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".mkv", ".ts", ".mp4"])
def test_a_film_that_ends_early(tmp_path, suffix):
    source = make(tmp_path / f"in{suffix}", rate=Fraction(12), frames=90, size=(160, 120),
                  options=KEYS,
                  container={"movflags": "faststart"} if suffix == ".mp4" else {})  # fmt: skip
    with source.open("r+b") as file:
        file.truncate(source.stat().st_size * 3 // 4 + 5)
    whole, cut = tmp_path / "whole.mkv", tmp_path / "cut.mkv"
    one = convert(source, whole, Nearest(), encoding=LOSSLESS)
    run = Run(source, cut)
    assert run.error is None, run.error
    assert one.lost
    assert run.summary.lost
    same(whole, cut)


@pytest.mark.slow
def test_damage_within(tmp_path):
    source = make(tmp_path / "in.mkv", rate=Fraction(12), frames=90, size=(160, 120), options=KEYS)
    data = bytearray(source.read_bytes())
    data[len(data) // 2 : len(data) // 2 + 3000] = bytes(3000)
    source.write_bytes(data)
    whole, cut = tmp_path / "whole.mkv", tmp_path / "cut.mkv"
    one = convert(source, whole, Nearest(), encoding=LOSSLESS)
    run = Run(source, cut)
    assert run.error is None, run.error
    print(one.lost, run.summary.lost, run.summary.warnings)
    assert one.lost
    assert run.summary.lost
    assert abs(one.frames - run.summary.frames) <= 12
    again = tmp_path / "again.mkv"
    assert Run(source, again, Dying(50)).error is not None
    assert Run(source, again).error is None
    same(cut, again)


@pytest.mark.slow
def test_a_film_that_is_too_short_for_two_segments_says_so(tmp_path, monkeypatch):
    monkeypatch.setitem(cuts.SECONDS, "cpu", 5)
    source = make(tmp_path / "in.mkv", rate=Fraction(12), frames=30, options=KEYS)
    run = Run(source, tmp_path / "a.mkv")
    assert run.error is None, run.error
    assert run.said[0].endswith("no key frame at which a segment of 5 s or more could end")


@pytest.mark.slow
def test_seeking_that_misses_a_segment_begins_further_back(tmp_path):
    source = make(tmp_path / "in.mpg", codec="mpeg2video", rate=Fraction(25), frames=60,
                  options={"g": "12", "bf": "2"})  # fmt: skip
    data, chance = bytearray(source.read_bytes()), random.Random(1)
    at = chance.randrange(len(data) // 8, len(data) * 7 // 8)
    data[at : at + 3000] = chance.randbytes(len(data[at : at + 3000]))
    source.write_bytes(data)
    whole = convert(source, tmp_path / "a.mkv", Nearest(), encoding=LOSSLESS)
    run = Run(source, tmp_path / "b.mkv")
    assert run.error is None, run.error
    assert run.summary.frames == whole.frames


@pytest.mark.slow
def test_a_damaged_film_without_times_is_made_in_one_piece(tmp_path):
    """Packets behind the damage have other times when they are reached by the index."""
    source = make(tmp_path / "in.avi", codec="mpeg4", rate=Fraction(12), frames=60,
                  options={"g": "12"})  # fmt: skip
    assert "segments" in Run(source, tmp_path / "whole.mkv").said[0]
    data = bytearray(source.read_bytes())
    middle = len(data) // 2
    del data[middle : middle + 1500]
    source.write_bytes(data)
    whole = convert(source, tmp_path / "a.mkv", Nearest(), encoding=LOSSLESS)
    run = Run(source, tmp_path / "b.mkv")
    assert run.error is None, run.error
    assert "in one piece" in run.said[0]
    assert run.summary.frames == whole.frames
    same(tmp_path / "a.mkv", tmp_path / "b.mkv")


@pytest.mark.slow
def test_pictures_that_change_end_the_film(tmp_path):
    """As in one piece: what follows is left out."""
    parts = [make(tmp_path / f"{n}.ts", rate=Fraction(12), frames=40, options=KEYS, size=size)
             for n, size in enumerate([(64, 48), (96, 64)])]  # fmt: skip
    source = tmp_path / "in.ts"
    source.write_bytes(parts[0].read_bytes() + parts[1].read_bytes())
    whole, cut = tmp_path / "whole.mkv", tmp_path / "cut.mkv"
    one = convert(source, whole, Nearest(), encoding=LOSSLESS)
    run = Run(source, cut)
    assert run.error is None, run.error
    assert run.summary.frames == one.frames
    assert any("the picture changes" in text for text in run.summary.lost)


@pytest.mark.slow
def test_what_a_kill_leaves_of_a_removal_is_removed(tmp_path, monkeypatch):
    source = make(tmp_path / "in.mkv", rate=Fraction(12), frames=40, options=KEYS)
    out = tmp_path / "a.mkv"
    with monkeypatch.context() as patch:
        patch.setattr(store, "remove", lambda folder: None)
        folder = Run(source, out).folder
    kept, unlink = tmp_path / "kept", Path.unlink
    shutil.copytree(folder, kept)
    for most in range(len(list(kept.iterdir()))):
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(kept, folder)
        removed = []

        def dying(path, missing_ok=False, most=most, removed=removed):
            if len(removed) == most:
                raise KilledError
            removed.append(path)
            unlink(path, missing_ok)

        with monkeypatch.context() as patch, pytest.raises(KilledError):
            patch.setattr(Path, "unlink", dying)
            store.remove(folder)
        assert folder.is_dir()
        store.tidy(folder, out)
        assert not folder.exists()


@pytest.mark.slow
def test_segments_of_a_complete_film_are_removed(tmp_path, monkeypatch):
    """A run that is killed between the output's name and the removal of its segments."""
    source = make(tmp_path / "in.mkv", rate=Fraction(12), frames=30, options=KEYS)
    out = tmp_path / "a.mkv"
    kept = Run(source, tmp_path / "kept.mkv", keep=True).folder
    store.tidy(kept, tmp_path / "kept.mkv")
    assert kept.is_dir()
    monkeypatch.setattr(store.Store, "remove", lambda self: None)
    folder = Run(source, out).folder
    monkeypatch.undo()
    store.tidy(folder, tmp_path / "none.mkv")
    store.tidy(folder, source)
    assert folder.is_dir()
    store.tidy(folder, out)
    assert not folder.exists()


@pytest.mark.slow
def test_a_plan_without_a_finished_segment_is_removed(tmp_path):
    """It would stay for good where the next run is in one piece."""
    source = make(tmp_path / "in.mkv", rate=Fraction(12), frames=30, options=KEYS)
    first = Run(source, tmp_path / "a.mkv", keep=True)
    file = first.folder / "manifest.json"
    store.tidy(first.folder, source)
    assert file.is_file()
    file.write_text(json.dumps(json.loads(file.read_text()) | {"segments": {}}))
    for record in first.folder.glob("*.record"):
        record.unlink()
    (first.folder / ".0001.snellen-0123456789ab-01234567-0123456789abcdef.record").touch()  # begun
    with (first.folder / ".lock").open() as held:
        if store.fcntl is not None:
            store.fcntl.flock(held, store.fcntl.LOCK_EX)
            store.tidy(first.folder, source)
            assert file.is_file()
    store.tidy(first.folder, source)
    assert not first.folder.exists()


@pytest.mark.slow
def test_segments_are_compared_once(tmp_path, monkeypatch):
    source = make(tmp_path / "in.mkv", rate=Fraction(12), frames=40, options=KEYS)
    compared = []

    def watched(file):
        compared.append(file.name)
        return packets.checksum(file)

    monkeypatch.setattr(store, "checksum", watched)
    assert Run(source, tmp_path / "a.mkv", Dying(30)).error is not None
    assert compared == []
    run = Run(source, tmp_path / "a.mkv")
    assert run.error is None, run.error
    assert sorted(compared) == [f"000{n}.packets" for n in (1, 2, 3, 4)]
    assert compared[:2] == ["0001.packets", "0002.packets"]


def test_the_same_damage_is_said_once():
    assert parts(["0:00:01"]) == "in the part from 0:00:01"
    assert parts(["1", "2", "3"]) == "in the parts from 1, 2 and 3"
    assert parts(["1", "2", "3", "4", "5"]) == "in the parts from 1, 2, 3 and 2 more"


@pytest.mark.slow
def test_what_cannot_be_written_is_called_by_the_output(tmp_path, monkeypatch):
    source = make(tmp_path / "in.mkv", rate=Fraction(12), frames=30, options=KEYS)

    def full(writer, packet):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(packets.PacketWriter, "write", full)
        run = Run(source, tmp_path / "a.mkv")
    assert isinstance(run.error, OutputError)
    assert "a.mkv could not be written" in str(run.error)

    class Full(packets.PacketWriter):
        def __init__(self, file):
            full(self, None)

    monkeypatch.setattr(encode, "PacketWriter", Full)
    run = Run(source, tmp_path / "a.mkv")
    assert isinstance(run.error, OutputError)
    assert "a.mkv, segment 1, could not be written" in str(run.error)
    assert ".packets" not in str(run.error)
