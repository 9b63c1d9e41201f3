"""NVENC and NVDEC: options, probes, decisions; without the hardware, the CPU and one line of it.

What needs an NVIDIA device is not tested: the probes stand in for it.
"""

from dataclasses import replace

import pytest

from snellen.errors import InputError
from snellen.frames.frame import Format
from snellen.frames.step import Traits
from snellen.video import pixels
from snellen.video.convert import Clip, Encoding
from snellen.video.opening import open_input
from snellen.video.sink import hardware
from snellen.video.sink.encoders import choose
from snellen.video.sink.registry import traits
from snellen.video.source import nvdec
from snellen.video.source.decode import Source
from support.video.clips import make, read
from support.video.converting import convert, drain
from support.video.steps import Nearest

ENCODERS = ("h264_nvenc", "hevc_nvenc", "av1_nvenc")
CODECS = {"h264_nvenc": "h264", "hevc_nvenc": "hevc", "av1_nvenc": "av1"}


def here(codec):
    return hardware.probe(codec, "yuv420p", Format(512, 512)) is None


@pytest.fixture
def info(plain):
    source = Source(plain, Clip())
    yield source.info.picture
    source.close()


@pytest.fixture
def no_nvenc(monkeypatch):
    """As on a machine without: also where there is one."""
    monkeypatch.setattr(hardware, "probe", lambda *_: "no such device")


class TestOptions:
    @pytest.mark.parametrize("codec", ENCODERS)
    def test_ours(self, info, codec):
        chosen = choose(info, "matroska", Encoding(codec=codec))
        assert chosen.options["cq"] == str(traits(codec).crf)
        assert chosen.options["rc"] == "vbr"
        assert "preset" not in chosen.options

    @pytest.mark.parametrize("codec", ENCODERS)
    def test_asked(self, info, codec):
        encoding = Encoding(
            codec=codec, preset="p7", crf=23.5, options={"rc": "vbr", "tune": "uhq"}
        )
        options = choose(info, "mp4", encoding).options
        wanted = {"preset": "p7", "cq": "23.5", "rc": "vbr", "tune": "uhq"}
        assert {key: options[key] for key in wanted} == wanted

    @pytest.mark.parametrize(
        "own", [{"rc": "constqp", "qp": "20"}, {"rc": "cbr"}, {"b": "9000000"}]
    )
    def test_another_rate_is_left_alone(self, info, own):
        options = choose(info, "mp4", Encoding(codec="hevc_nvenc", options=own)).options
        assert "cq" not in options
        assert {key: options[key] for key in own} == own
        assert options.get("rc") == own.get("rc")

    @pytest.mark.cases(6)
    @pytest.mark.parametrize(
        ("encoding", "match"),
        [
            ({"preset": "veryfast"}, "got preset='veryfast'; h264_nvenc expects p1"),
            ({"options": {"preset": "slow"}}, "got preset='slow'; h264_nvenc expects p1"),
            ({"crf": 0}, "encoder_options tune=lossless"),
            ({"crf": 52}, "got crf=52; .* up to 51"),
            ({"crf": 20, "options": {"rc": "cbr"}}, "only with rc=vbr"),
            (
                {"crf": 20, "options": {"rc": "constqp"}},
                "encoder_options qp=NUMBER with",
            ),
            ({"pix_fmt": "yuv411p"}, "got pix_fmt=yuv411p"),
        ],
    )
    def test_wrong(self, info, encoding, match):
        with pytest.raises(InputError, match=match):
            choose(info, "mp4", Encoding(codec="h264_nvenc", **encoding))

    @pytest.mark.parametrize("codec", ENCODERS)
    @pytest.mark.parametrize(
        ("bits", "subsampling", "asked", "want"),
        [
            (8, (1, 1), None, "yuv420p"),
            (8, (0, 0), None, "yuv444p"),
            (8, None, None, "yuv420p"),
            (10, (1, 1), None, "p010le"),
            (10, (1, 0), None, "p210le"),
            (8, (1, 1), "nv12", "nv12"),
            (8, (1, 1), "yuv420p10le", "p010le"),
            (8, (1, 1), "p010le", "p010le"),
        ],
    )
    def test_pixel_formats(self, info, codec, bits, subsampling, asked, want):
        info = replace(info, format=replace(info.format, bits=bits, subsampling=subsampling))
        chosen = choose(info, "mp4", Encoding(codec=codec, pix_fmt=asked))
        assert chosen.pixels.name == want

    @pytest.mark.parametrize("wide, deep", hardware._UPPER_BITS.items())
    def test_the_upper_bits_hold_the_same_samples(self, wide, deep):
        one, other = pixels.parse(wide), pixels.parse(deep)
        assert (one.bits, one.subsampling) == (other.bits, other.subsampling)


class TestProbe:
    @pytest.mark.parametrize("codec", ENCODERS)
    def test_says_why(self, codec):
        """With a device or without: nothing is raised, and a refusal has a reason."""
        why = hardware.probe(codec, "yuv420p", Format(512, 512))
        assert why is None or (why and "\n" not in why)

    def test_opens_what_there_is(self):
        assert hardware.probe("libx264", "yuv420p", Format(512, 512)) is None

    def test_the_reason_is_the_encoders(self):
        assert "width not divisible by 2" in hardware.probe("libx264", "yuv420p", Format(511, 512))


class TestInstead:
    @pytest.mark.slow
    @pytest.mark.parametrize("codec", ENCODERS)
    def test_the_cpus_encoder_of_the_same_codec(self, plain, tmp_path, no_nvenc, codec):
        reported, out = [], tmp_path / "out.mkv"
        encoding = Encoding(codec=codec, preset="p1", crf=30)
        step = Nearest()
        summary = convert(plain, out, step, encoding=encoding, on_warning=reported.append)
        cpu = traits(codec).on_cpu
        line = f"{codec} does not work here (no such device): {cpu} is used instead"
        assert reported == [line]
        assert summary.warnings == (line,) and summary.dropped == ()
        assert summary.encoder == cpu
        found = read(out)
        assert len(found.frames) == 25
        assert found.container.streams.video[0].codec_context.codec.canonical_name == CODECS[codec]

    @pytest.mark.slow
    @pytest.mark.parametrize("codec", ENCODERS)
    def test_really(self, plain, tmp_path, codec):
        """Nothing replaced: on a machine without NVENC that is the whole way."""
        if here(codec):
            pytest.skip(f"{codec} works here")
        reported = []
        encoding = Encoding(codec=codec, preset="p1", crf=30)
        convert(
            plain, tmp_path / "out.mp4", Nearest(), encoding=encoding, on_warning=reported.append
        )
        assert len(reported) == 1 and reported[0].startswith(f"{codec} does not work here (")

    def test_strict(self, plain, tmp_path, no_nvenc):
        step = Nearest()
        encoding = Encoding(codec="hevc_nvenc")
        with pytest.raises(InputError, match=r"strict, but hevc_nvenc .* libx265 is used instead"):
            convert(plain, tmp_path / "out.mkv", step, encoding=encoding, strict=True)
        assert (step.prepared, step.closed) == (None, 1)
        assert not list(tmp_path.iterdir())

    def test_translated(self, info, no_nvenc):
        own = {"rc": "vbr", "spatial-aq": "1", "g": "50", "preset": "p5"}
        encoding = Encoding(codec="hevc_nvenc", crf=22, options=own, pix_fmt="p010le")
        chosen = choose(info, "matroska", encoding)
        cpu, line = hardware.replacement(chosen, info.format, encoding)
        assert cpu == Encoding("libx265", "medium", 22, {"g": "50"}, "yuv420p10le")
        assert line.endswith("libx265 is used instead, without rc, spatial-aq")
        assert choose(info, "matroska", cpu).pixels.name == "yuv420p10le"

    def test_nothing_asked(self, info, no_nvenc):
        encoding = Encoding(codec="av1_nvenc")
        cpu, _ = hardware.replacement(choose(info, "mp4", encoding), info.format, encoding)
        assert cpu == Encoding("libsvtav1")

    @pytest.mark.slow
    def test_the_probe_gets_the_outputs_size_and_format(self, plain, tmp_path, monkeypatch):
        asked = []
        monkeypatch.setattr(hardware, "probe", lambda *given: asked.append(given) or "not today")
        encoding = Encoding(codec="hevc_nvenc", pix_fmt="yuv420p10le")
        convert(plain, tmp_path / "out.mkv", Nearest(3), encoding=encoding)
        ((codec, name, format),) = asked
        assert (codec, name, format.width, format.height) == ("hevc_nvenc", "p010le", 192, 144)

    def test_one_that_works_is_used(self, info, monkeypatch):
        monkeypatch.setattr(hardware, "probe", lambda *_: None)
        encoding = Encoding(codec="h264_nvenc")
        assert hardware.replacement(choose(info, "mp4", encoding), info.format, encoding) is None

    def test_others_are_not_asked(self, info, monkeypatch):
        monkeypatch.setattr(hardware, "probe", lambda *_: pytest.fail("asked"))
        assert (
            hardware.replacement(choose(info, "mp4", Encoding()), info.format, Encoding()) is None
        )

    def test_every_preset_has_its_stand_in(self, info, no_nvenc):
        for codec in ENCODERS:
            for preset in traits(codec).presets:
                encoding = Encoding(codec=codec, preset=preset)
                found, _ = hardware.replacement(
                    choose(info, "matroska", encoding), info.format, encoding
                )
                choose(info, "matroska", found)
                assert found.codec == traits(codec).on_cpu and found.preset


class TestDecoder:
    def test_the_cpu_unless_asked(self, plain, monkeypatch):
        monkeypatch.setattr(nvdec, "probe", lambda *_: pytest.fail("asked"))
        for decoder in ("auto", "cpu"):
            assert nvdec.choose(decoder, plain, "it") == (False, None)

    def test_unknown(self, plain, tmp_path):
        step = Nearest()
        with pytest.raises(InputError, match="got decoder=gpu; expected one of auto, cpu, nvdec"):
            convert(plain, tmp_path / "out.mkv", step, decoder="gpu")
        assert step.closed == 1

    def test_the_cpu_instead(self, plain, tmp_path, monkeypatch):
        monkeypatch.setattr(nvdec, "probe", lambda *_: "no such device")
        reported = []
        line = "NVDEC does not work here (no such device): the CPU decodes instead"
        out, encoding = tmp_path / "out.mkv", Encoding(preset="ultrafast")
        summary = convert(
            plain, out, Nearest(), encoding=encoding, decoder="nvdec", strict=True,
            on_warning=reported.append,
        )  # fmt: skip
        assert reported == [line] and summary.warnings == (line,)
        assert (summary.decoder, summary.frames) == ("cpu", 25)
        reported.clear()
        assert drain(plain, Nearest(), decoder="nvdec", on_warning=reported.append) == 25
        assert reported == [line]

    def test_really(self, plain):
        """The probe itself, on whatever machine this is."""
        why = nvdec.probe(plain, "it")
        if why is None:
            pytest.skip("NVDEC works here")
        assert "\n" not in why
        source = Source(plain, Clip(), "nvdec")
        source.close()
        assert source.info.decoder == "cpu" and why in source.info.decoder_notice

    @pytest.mark.parametrize("codec", ["ffv1", "libsvtav1"])
    def test_codecs_without_hardware(self, tmp_path, codec):
        name = {"libsvtav1": "av1"}.get(codec, codec)
        source = make(tmp_path / "in.mkv", codec=codec, frames=2)
        assert nvdec.probe(source, "it") == f"no hardware decoder for {name} in this FFmpeg"

    def test_a_stream_of_y4m(self, tmp_path):
        (tmp_path / "in.y4m").write_bytes(
            b"YUV4MPEG2 W64 H48 F25:1 Ip C420jpeg\n" + (b"FRAME\n" + bytes(4608)) * 2
        )
        with (tmp_path / "in.y4m").open("rb") as stream:
            source = Source(stream, Clip(), "nvdec")
            source.close()
        assert "read only once" in source.info.decoder_notice

    @pytest.mark.parametrize("content", [None, b"Once upon a time.\n" * 99])
    def test_an_input_that_is_none(self, tmp_path, content):
        place = tmp_path / "in.mp4"
        if content is not None:
            place.write_bytes(content)
        with pytest.raises(InputError, match=r"no such file|is text; expected|no video"):
            Source(place, Clip(), "nvdec")

    @pytest.mark.parametrize(
        ("picture", "software", "differs"),
        [
            ("nv12", "yuv420p", False),
            ("nv12", "yuvj420p", False),
            ("p010le", "yuv420p10le", False),
            ("yuv444p", "yuv444p", False),
            ("p016le", "yuv420p12le", True),
            ("yuv444p16le", "yuv444p10le", True),
            ("nv12", "yuv422p", True),
            ("nv12", None, True),
        ],
    )
    def test_only_the_same_samples(self, plain, monkeypatch, picture, software, differs):
        assert (nvdec.mismatch(picture, software) is not None) == differs

    def test_a_probe_that_gave_a_picture(self, plain, monkeypatch):
        monkeypatch.setattr(nvdec, "_first_format", lambda place, index: ("nv12", None))
        assert nvdec.probe(plain, "it") is None
        monkeypatch.setattr(nvdec, "_first_format", lambda place, index: ("p016le", None))
        assert nvdec.probe(plain, "it") == "it gives p016le for yuv420p"

    def test_what_the_reader_is_reported(self, plain, tmp_path, monkeypatch):
        """After a good probe the same file is opened for NVDEC, with one thread."""
        monkeypatch.setattr(nvdec, "probe", lambda *_: None)
        asked, prepared = [], []
        monkeypatch.setattr(nvdec, "settings", lambda fall_back: asked.append(fall_back))
        monkeypatch.setattr(nvdec, "prepare", prepared.append)
        out, encoding = tmp_path / "out.mkv", Encoding(preset="ultrafast")
        summary = convert(plain, out, Nearest(), encoding=encoding, decoder="nvdec")
        assert (asked, len(prepared)) == ([True], 1)
        assert (summary.decoder, summary.warnings) == ("nvdec", ())

    def test_settings(self, plain):
        assert nvdec.settings(True).is_hw_owned is False
        with open_input(plain) as container:
            nvdec.prepare(container.streams.video[0])
            assert container.streams.video[0].codec_context.thread_count == 1


@pytest.mark.slow
def test_the_device_is_reported(plain, tmp_path):
    encoding = Encoding(preset="ultrafast")
    assert convert(plain, tmp_path / "one.mkv", Nearest(), encoding=encoding).device == "cpu"
    step = Nearest()
    step.traits = Traits(device_name="NVIDIA H200")
    assert convert(plain, tmp_path / "two.mkv", step, encoding=encoding).device == "NVIDIA H200"
