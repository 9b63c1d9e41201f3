"""Wrong use and failures: clear errors, before work starts where possible, nothing left behind."""

import errno
import os
import resource
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import av
import pytest

from snellen.errors import InputError, OutputError
from snellen.video.convert import Encoding
from snellen.video.sink import sink
from support.video.checks import FAST, PATHS, refused
from support.video.clips import make, png, read
from support.video.converting import convert
from support.video.steps import Nearest


class TestInputs:
    def test_missing(self, tmp_path):
        refused(tmp_path / "no.mp4", tmp_path / "out.mp4", "no such file")

    def test_folder(self, tmp_path):
        refused(tmp_path, tmp_path / "out.mp4", "is a folder")

    @pytest.mark.parametrize("content", [b"", b"Once upon a time.\n" * 99, bytes(5000)])
    def test_no_video(self, tmp_path, content):
        (tmp_path / "in.mp4").write_bytes(content)
        refused(tmp_path / "in.mp4", tmp_path / "out.mp4", "in.mp4 is (empty|text|nothing but)")

    def test_audio_only(self, tmp_path):
        source = tmp_path / "in.mka"
        inside = av.open(str(make(tmp_path / "av.mkv", audio="aac")))
        with av.open(str(source), "w", format="matroska") as out:
            stream = out.add_stream_from_template(inside.streams.audio[0])
            for packet in inside.demux(inside.streams.audio[0]):
                if packet.size:
                    packet.stream = stream
                    out.mux(packet)
        refused(source, tmp_path / "out.mp4", "no video stream, only audio")

    def test_a_cover_is_no_video(self, tmp_path):
        source = tmp_path / "in.mka"
        inside = av.open(str(make(tmp_path / "av.mkv", audio="aac")))
        with av.open(str(source), "w", format="matroska") as out:
            stream = out.add_stream_from_template(inside.streams.audio[0])
            out.add_attachment("cover.png", "image/png", png())
            for packet in inside.demux(inside.streams.audio[0]):
                if packet.size:
                    packet.stream = stream
                    out.mux(packet)
        assert av.open(str(source)).streams.video
        refused(source, tmp_path / "out.mp4", "no video stream")

    def test_no_frames(self, tmp_path):
        source = tmp_path / "in.mp4"
        with av.open(str(source), "w") as out:
            stream = out.add_stream("libx264", rate=25)
            stream.width, stream.height = 64, 48
            out.start_encoding()
        refused(source, tmp_path / "out.mp4", "no video stream")

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
    def test_no_permission(self, plain, tmp_path):
        source = tmp_path / "in.mp4"
        source.write_bytes(plain.read_bytes())
        source.chmod(0)
        refused(source, tmp_path / "out.mp4", "no permission")

    @pytest.mark.slow
    def test_names_that_look_like_protocols(self, plain, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        Path("pipe:0.mp4").write_bytes(plain.read_bytes())
        convert(Path("pipe:0.mp4"), Path("http:out.mkv"), Nearest(), encoding=FAST)
        assert len(read(tmp_path / "http:out.mkv").frames) == 25

    @pytest.mark.slow
    def test_names_that_are_no_text_or_too_long(self, plain, tmp_path):
        odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe.mp4"))
        odd.write_bytes(plain.read_bytes())
        convert(odd, odd.with_suffix(".mkv"), Nearest(), encoding=FAST)
        assert odd.with_suffix(".mkv").stat().st_size > 1000
        refused(Path("x" * 300 + ".mp4"), tmp_path / "out.mp4", "cannot be read")
        refused(plain, tmp_path / ("x" * 300 + ".mp4"), "too long")

    @pytest.mark.parametrize(
        "text", ["ffconcat version 1.0\nfile other.mp4\n", "#EXTM3U\n#EXT-X-TARGETDURATION:1\n"
                 "#EXTINF:1,\nother.mp4\n#EXT-X-ENDLIST\n"]
    )  # fmt: skip
    @pytest.mark.parametrize("suffix", [".mp4", ".m3u8", ".ffconcat"])
    def test_a_list_of_other_files_opens_none_of_them(self, plain, tmp_path, text, suffix):
        (tmp_path / "other.mp4").write_bytes(plain.read_bytes())
        (tmp_path / f"in{suffix}").write_text(text)
        refused(tmp_path / f"in{suffix}", tmp_path / "out.mp4", "is a (play)?list.* other files")


class TestOutputs:
    def test_folder_missing(self, plain, tmp_path):
        step = refused(plain, tmp_path / "no" / "out.mp4", "does not exist")
        assert step.prepared is None

    @pytest.mark.parametrize("name", ["out.avi", "out", "out.txt"])
    def test_unknown_ending(self, plain, tmp_path, name):
        refused(plain, tmp_path / name, r"\.mp4, \.m4v, \.mkv")

    @pytest.mark.slow
    def test_exists(self, plain, tmp_path):
        target = tmp_path / "out.mp4"
        target.write_bytes(b"mine")
        refused(plain, target, "exists")
        assert target.read_bytes() == b"mine"
        convert(plain, target, Nearest(), encoding=FAST, overwrite=True)
        assert len(read(target).frames) == 25

    @pytest.mark.parametrize("how", ["same", "symbolic", "hard"])
    def test_output_is_the_input(self, plain, tmp_path, how):
        source = tmp_path / "in.mp4"
        source.write_bytes(plain.read_bytes())
        target = source if how == "same" else tmp_path / "out.mp4"
        if how == "symbolic":
            target.symlink_to(source)
        if how == "hard":
            target.hardlink_to(source)
        refused(source, target, "is the input itself", overwrite=True)
        assert source.read_bytes() == plain.read_bytes()

    def test_no_file(self, plain, tmp_path):
        os.mkfifo(tmp_path / "out.mp4")
        refused(plain, tmp_path / "out.mp4", "not a file", overwrite=True)

    def test_folder_as_output(self, plain, tmp_path):
        (tmp_path / "out.mp4").mkdir()
        refused(plain, tmp_path / "out.mp4", "folder", overwrite=True)

    @pytest.mark.slow
    def test_target_that_appears_meanwhile_is_kept(self, plain, tmp_path):
        target = tmp_path / "out.mp4"

        def appear(progress):
            target.write_bytes(b"somebody's")

        refused(plain, target, "meanwhile", error=OutputError, on_progress=appear)
        assert target.read_bytes() == b"somebody's"
        assert list(tmp_path.iterdir()) == [target]


class TestEncoders:
    @pytest.mark.cases(10)
    @pytest.mark.parametrize(
        ("encoding", "match"),
        [
            ({"codec": "h266"}, "got codec=h266"),
            ({"codec": "aac"}, "encodes audio"),
            ({"options": {"nonsense": "1"}}, "has no option 'nonsense'"),
            ({"options": {"x264-params": "nonsense=1"}}, "nonsense"),
            ({"codec": "libx265", "options": {"x265-params": "nonsense=1"}}, "nonsense"),
            ({"preset": "warp"}, "preset|warp"),
            ({"codec": "ffv1", "crf": 3}, "ffv1 has no option crf"),
            ({"crf": 52}, "got crf=52; libx264 expects 0 to 51"),
            ({"pix_fmt": "yuv999p"}, "got pix_fmt=yuv999p"),
            ({"pix_fmt": "yuv411p"}, "got pix_fmt=yuv411p; libx264 expects"),
            ({"pix_fmt": "rgb24"}, "expected YUV or grey"),
        ],
    )
    def test_wrong_settings(self, plain, tmp_path, encoding, match):
        step = refused(plain, tmp_path / "out.mkv", match, encoding=Encoding(**encoding))
        assert step.prepared is None
        assert not list(tmp_path.iterdir())

    def test_codec_that_the_container_cannot_hold(self, plain, tmp_path):
        refused(plain, tmp_path / "out.mp4", r"\.mkv", encoding=Encoding(codec="prores_ks"))

    def test_odd_size(self, tmp_path, capfd):
        source = make(tmp_path / "in.mkv", codec="ffv1", size=(65, 49), frames=2)
        out = tmp_path / "out.mkv"
        step = Nearest(1)
        with pytest.raises(InputError, match="take an even width and height, or 4:4:4"):
            convert(source, out, step, encoding=FAST)
        assert step.closed == 1
        with pytest.raises(InputError, match="take an even width and height, or 4:4:4"):
            convert(source, out, Nearest(1), encoding=Encoding("libx265"))
        deep = make(tmp_path / "deep.mkv", codec="ffv1", size=(97, 97), pix_fmt="yuv422p10le")
        with pytest.raises(InputError, match=r"4:4:4 \(pix_fmt=yuv444p10le\), .*ffv1 in .mkv"):
            convert(deep, out, Nearest(1))
        assert capfd.readouterr().err == ""
        convert(source, out, Nearest(1), encoding=Encoding(pix_fmt="yuv444p", preset="ultrafast"))
        assert read(out).frames[0].width == 65

    @pytest.mark.slow
    def test_good_options_are_used(self, plain, tmp_path):
        encoding = Encoding(preset="ultrafast", options={"g": "5", "x264-params": "keyint=5"})
        convert(plain, tmp_path / "out.mkv", Nearest(), encoding=encoding)
        keys = [f.key_frame for f in read(tmp_path / "out.mkv").frames]
        assert keys == [i % 5 == 0 for i in range(25)]


class TestFailures:
    """Whatever stage fails: its error arrives, threads end, no file is left."""

    @pytest.mark.slow
    @pytest.mark.parametrize("when", [0, 1, 12, 24])
    @pytest.mark.parametrize("kind", [RuntimeError, KeyboardInterrupt, InputError, OSError])
    def test_the_step(self, plain, tmp_path, when, kind):
        class Failing(Nearest):
            def run(self, frame):
                if self.ran == when:
                    raise kind("the step is broken")
                return super().run(frame)

        step = Failing()
        with pytest.raises(kind, match="the step is broken") as caught:
            convert(plain, tmp_path / "out.mp4", step, encoding=FAST)
        assert type(caught.value) is kind
        assert step.closed == 1
        assert not list(tmp_path.iterdir())

    def test_prepare(self, plain, tmp_path):
        class Failing(Nearest):
            def prepare(self, format, bits=None, *, on_device=False):
                raise InputError("too large")

        step = Failing()
        with pytest.raises(InputError, match="too large"):
            convert(plain, tmp_path / "out.mp4", step)
        assert step.closed == 1
        assert not list(tmp_path.iterdir())

    @pytest.mark.parametrize("wrong", ["source", "target", "codec", "list"])
    def test_before_prepare(self, plain, tmp_path, wrong):
        source = tmp_path / "no.mp4" if wrong == "source" else plain
        target = tmp_path / ("out.txt" if wrong == "target" else "out.mp4")
        codec = "h266" if wrong == "codec" else None
        strict = wrong == "list"
        if strict:
            source = make(tmp_path / "in.mkv", audio="aac", frames=2,
                          attachments=(("a.ttf", "font/ttf", b"font"),))  # fmt: skip
        step = Nearest()
        with pytest.raises(InputError):
            convert(source, target, step, encoding=Encoding(codec=codec), strict=strict)
        assert (step.prepared, step.closed) == (None, 1)

    def test_progress(self, plain, tmp_path):
        def fail(progress):
            raise ZeroDivisionError("no luck")

        refused(plain, tmp_path / "out.mp4", "no luck", error=ZeroDivisionError, on_progress=fail)
        assert not list(tmp_path.iterdir())

    @pytest.mark.slow
    @pytest.mark.parametrize("when", [0, 5])
    def test_the_decoding_thread(self, plain, tmp_path, monkeypatch, when):
        from snellen.video import pixels

        real, calls = pixels.planes, []

        def failing(frame):
            calls.append(frame)
            if len(calls) == when + 2:  # the first is looked at before the threads start
                raise RuntimeError("decoding is broken")
            return real(frame)

        monkeypatch.setattr(pixels, "planes", failing)
        refused(plain, tmp_path / "out.mp4", "decoding is broken", error=RuntimeError)
        assert not list(tmp_path.iterdir())

    @pytest.mark.parametrize("where", ["write", "finish"])
    @pytest.mark.parametrize(
        ("kind", "reported"), [(RuntimeError("broken"), RuntimeError),
                           (OSError(errno.ENOSPC, "No space left on device"), OutputError)]
    )  # fmt: skip
    def test_the_encoding_thread(self, plain, tmp_path, monkeypatch, where, kind, reported):
        def failing(*_):
            raise kind

        monkeypatch.setattr(sink.Sink, where, failing)
        refused(plain, tmp_path / "out.mp4", "broken|No space", error=reported)
        assert not list(tmp_path.iterdir())

    def test_an_existing_target_survives_a_failure(self, plain, tmp_path):
        target = tmp_path / "out.mp4"
        target.write_bytes(b"mine")

        class Failing(Nearest):
            def run(self, frame):
                raise RuntimeError("broken")

        with pytest.raises(RuntimeError):
            convert(plain, target, Failing(), encoding=FAST, overwrite=True)
        assert target.read_bytes() == b"mine"
        assert list(tmp_path.iterdir()) == [target]

    @pytest.mark.parametrize("suffix", [".mp4", ".mkv", ".y4m"])
    @pytest.mark.parametrize("room", [0, 20_000])
    def test_full_disk(self, plain, tmp_path, suffix, room):
        """A limit on the size of files stands in for a full disk."""
        script = f"""
            import resource, signal, sys
            sys.dont_write_bytecode = True  # which the limit would cut off for all later tests
            from pathlib import Path
            from support.video.steps import Nearest
            from snellen.errors import OutputError
            from support.video.converting import convert
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, ({room}, resource.RLIM_INFINITY))
            try:
                target = Path({str(tmp_path)!r}) / "out{suffix}"
                convert(Path({str(plain)!r}), target, Nearest(4))
            except OutputError as error:
                print("reported:", error)
        """
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(script)],
            env={**os.environ, "PYTHONPATH": PATHS},
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert "File too large" in done.stdout, done.stderr
        assert done.stderr == ""
        assert not list(tmp_path.iterdir())
        assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != room

    @pytest.mark.slow
    def test_queues_are_bounded(self, plain, tmp_path):
        """The decoder must wait for a slow step, or a film would fill the memory."""
        ahead = []

        class Slow(Nearest):
            def run(self, frame):
                if self.ran == 2:
                    time.sleep(0.3)
                    ahead.append(len(seen))
                return super().run(frame)

        from snellen.video import channel, pixels

        seen, real = [], pixels.planes
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(channel, "ROOM", 0)  # as if frames were large
            patch.setattr(pixels, "planes", lambda frame: seen.append(1) or real(frame))
            convert(plain, tmp_path / "out.mp4", Slow(), encoding=FAST)
        assert ahead[0] < 12
        assert len(seen) == 25

    @pytest.mark.slow
    def test_the_step_runs_in_the_calling_thread(self, plain, tmp_path):
        """That is where Ctrl-C arrives."""
        threads = set()

        class Asking(Nearest):
            def run(self, frame):
                threads.add(threading.get_ident())
                return super().run(frame)

        convert(plain, tmp_path / "out.mp4", Asking(), encoding=FAST)
        assert threads == {threading.get_ident()}

    def test_float_frames_are_refused(self, plain, tmp_path):
        class Float(Nearest):
            def prepare(self, format, bits=None, *, on_device=False):
                return format.scaled(2, 0)

        with pytest.raises(InputError, match="float"):
            convert(plain, tmp_path / "out.mp4", Float(), encoding=FAST)
