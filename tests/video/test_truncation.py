"""Files that end within a box, a segment or a packet."""

from __future__ import annotations

import random
import struct

import av
import pytest

from benchmarks.damage_ends import outcomes
from benchmarks.sound import FILMS, alarms, make, read
from snellen.video.source import truncation
from snellen.video.source.truncation import cut_short


class TestExtent:
    """What files of a few bytes say of their own size."""

    @pytest.mark.cases(6)
    @pytest.mark.parametrize(
        ("data", "whole", "reported"),
        [
            (b"\0\0\0\x0cmdat1234", True, None),
            (b"\0\0\0\x0cmdat123", True, "'mdat' (11 of 12 bytes)"),
            (b"\0\0\0\x0cmdat123", False, None),
            (b"\0\0\0\x0cmoov123", False, "'moov' (11 of 12 bytes)"),
            (b"\0\0\0\0mdat123", True, None),
            (b"\0\0\0\x01mdat\0\0\0\0\0\0\0\x141234", True, None),
            (b"\0\0\0\x01mdat\0\0\0\0\0\0\0\x14123", True, "(19 of 20 bytes)"),
            (b"\0\0\0\x08free\0\0\1", True, "a box's header (3 of 8 bytes)"),
            (b"\0\0\0\x08free\0\0\0\0", True, None),
            (b"\0\0\1\0free", True, None),
            (b"\0\0\0\x08freewhat a camera adds", True, None),
        ],
    )
    def test_boxes(self, tmp_path, data, whole, reported):
        (tmp_path / "x").write_bytes(data)
        message = cut_short(tmp_path / "x", "mov,mp4,m4a,3gp,3g2,mj2", whole)
        assert (reported is None and message is None) or reported in message

    @pytest.mark.cases(4)
    @pytest.mark.parametrize(
        ("size", "reported"),
        [("84", False), ("85", True), ("ff", False), ("4004", False), ("4005", True),
         ("01ffffffffffffff", False), ("0100000000000005", True), ("01", True)],
    )  # fmt: skip
    def test_segment(self, tmp_path, size, reported):
        (tmp_path / "x").write_bytes(bytes.fromhex(f"1a45dfa3 82 0000 18538067 {size}") + b"1234")
        assert (cut_short(tmp_path / "x", "matroska,webm", True) is not None) == reported

    @pytest.mark.parametrize(
        ("name", "data", "reported"),
        [
            ("x.avi", b"RIFx\x10\0\0\0AVI ", True),
            ("x.avi", bytes(64) + b"\0\0\1\x67", True),  # its header was erased
            ("x.avi", b"\0\0\0\1\x67", False),  # a raw stream under another name
            ("x.h264", b"\x10\0\0\0\0\0\1", False),  # one that begins anywhere
        ],
    )
    def test_a_raw_stream_that_was_a_container(self, tmp_path, name, data, reported):
        (tmp_path / name).write_bytes(data)
        message = cut_short(tmp_path / name, "h264", False)
        assert (message is not None) == reported
        assert not reported or "no header of a .avi file" in message

    def test_transport_stream_that_begins_anywhere(self, tmp_path):
        packet = b"\x47" + bytes(187)
        for data, reported in ((packet[-50:] + packet * 40, False),
                           (packet[-50:] + packet * 40 + packet[:99], True),
                           (packet * 3 + packet[:5], False)):  # fmt: skip
            (tmp_path / "x").write_bytes(data)
            assert (cut_short(tmp_path / "x", "mpegts", True) is not None) == reported

    def test_a_file_of_endless_tiny_parts_is_given_up(self, tmp_path, monkeypatch):
        box = struct.pack(">I4s", 8, b"free")
        (tmp_path / "x").write_bytes(struct.pack(">I4s", 12, b"mdat") + b"1234" + box * 99 + b"1")
        assert "1 of 8 bytes" in cut_short(tmp_path / "x", "mov,mp4", True)
        monkeypatch.setattr(truncation, "_MOST", 50)
        assert cut_short(tmp_path / "x", "mov,mp4", True) is None
        assert truncation.samples_short(tmp_path / "x", "mov,mp4", 1, 0) is None


def element(name, body, length=None):
    """An element of Matroska; length 1: unknown."""
    size = bytes([0x80 | len(body)]) if length is None else b"\x01" + b"\xff" * 7
    return bytes.fromhex(name) + size + body


def live_matroska(behind=b""):
    block = element("a3", b"12345")
    cluster = element("1f43b675", element("e7", b"1") + 2 * block, 1)
    return element("1a45dfa3", b"") + element("18538067", 2 * cluster, 1) + behind


def flv(**stated):
    numbers = b"".join(
        b"\0" + bytes([len(name)]) + name.encode() + b"\0" + struct.pack(">d", value)
        for name, value in stated.items()
    )
    tags = [(18, 0, numbers), (9, 0, b"12345"), (8, 20, b"1"), (9, 40, b"123"), (9, 80, b"12")]
    data = b"FLV\x01\x05\0\0\0\x09\0\0\0\0"
    for kind, time, body in tags:
        head = bytes([kind]) + len(body).to_bytes(3, "big") + time.to_bytes(3, "big") + bytes(4)
        data += head + body + (11 + len(body)).to_bytes(4, "big")
    return data


def gif(behind=b"\x3b"):
    picture = b"\x2c" + bytes(8) + b"\0" + b"\2" + b"\3abc\1d\0"
    return (
        b"GIF89a" + bytes(4) + b"\x80\0\0" + bytes(6) + b"\x21\xf9\4\0\0\0\0\0" + picture + behind
    )


def page(number, flags, body=b"1234", serial=b"abcd"):
    head = b"OggS\0" + bytes([flags]) + bytes(8) + serial + number.to_bytes(4, "little")
    return head + bytes(4) + bytes([1, len(body)]) + body


THEORA = page(0, 2, b"\x80theora1")


class TestEnds:
    """What each container's own structure tells of an end."""

    def said(self, tmp_path, data, format):
        (tmp_path / "x").write_bytes(data)
        return cut_short(tmp_path / "x", format, True)

    def test_matroska_of_unknown_length(self, tmp_path):
        whole, format = live_matroska(), "matroska,webm"
        between = {len(whole) - n for n in (0, 7, 14, 17)}  # elements that are complete
        for end in range(60 - 14, len(whole) + 1):
            told = self.said(tmp_path, whole[:end], format)
            if end in between:
                assert told is None, end
            elif end > len(whole) - 17:
                assert told is not None, end
        for behind in (bytes(50), b"what a player adds"):
            assert self.said(tmp_path, live_matroska(behind), format) is None

    def test_flv(self, tmp_path):
        whole = flv()
        assert self.said(tmp_path, whole, "flv") is None
        assert self.said(tmp_path, whole + bytes(40), "flv") is None
        for count in range(1, 17):  # the last tag has 17 bytes
            assert "within a tag" in self.said(tmp_path, whole[:-count], "flv")
        assert self.said(tmp_path, whole[:-17], "flv") is None  # between tags, and nothing stated
        size = len(flv(duration=0.12, filesize=0))
        stated = flv(duration=0.12, filesize=size)
        assert self.said(tmp_path, stated, "flv") is None
        assert f"of {size} bytes" in self.said(tmp_path, stated[:-17], "flv")
        assert "of the 9.000 s" in self.said(tmp_path, flv(duration=9), "flv")
        assert "of the 9.000 s" in self.said(tmp_path, flv(duration=9) + b"\xff" * 99, "flv")

    def test_gif(self, tmp_path):
        whole = gif()
        for behind in (b"", b"\x3b", bytes(9), b"text"):
            assert self.said(tmp_path, whole + behind, "gif") is None
        assert self.said(tmp_path, gif(b"\0\0\x3b"), "gif") is None
        for end in range(13, len(whole)):
            assert self.said(tmp_path, whole[:end], "gif"), end
        assert "no block" in self.said(tmp_path, gif(b"?"), "gif")

    def test_ogg(self, tmp_path):
        whole = THEORA + page(1, 0) + page(2, 4)
        assert self.said(tmp_path, whole, "ogg") is None
        assert self.said(tmp_path, whole + bytes(30), "ogg") is None
        assert "without the last page" in self.said(tmp_path, THEORA + page(1, 0), "ogg")
        assert "1 pages" in self.said(tmp_path, THEORA + page(2, 4), "ogg")
        for end in range(len(whole) - 1, len(whole) - len(page(2, 4)), -1):
            assert "within a page" in self.said(tmp_path, whole[:end], "ogg")
        sound = page(0, 2, b"OpusHead", b"efgh") + page(1, 0, serial=b"efgh")
        assert self.said(tmp_path, THEORA + sound + page(1, 4), "ogg") is None

    def test_avi(self, tmp_path):
        def chunk(name, body, length=None):
            return name + struct.pack("<I", len(body) if length is None else length) + body

        movi = chunk(b"LIST", b"movi" + chunk(b"00dc", b"1234") + chunk(b"01wb", b"12"))
        whole = chunk(b"RIFF", b"AVI " + movi)
        for data in (whole, whole + chunk(b"RIFF", b"AVIX" + movi), whole + bytes(100)):
            assert self.said(tmp_path, data, "avi") is None
        assert "RIFF list" in self.said(tmp_path, whole[:-10], "avi")
        for unknown in (0, 0xFFFFFFFF):
            frame = chunk(b"00dc", b"1234")
            data = chunk(b"RIFF", b"AVI " + chunk(b"LIST", b"movi" + 3 * frame, unknown), unknown)
            assert self.said(tmp_path, data, "avi") is None
            assert self.said(tmp_path, data[:-12], "avi") is None  # between chunks
            for count in (*range(1, 4),):
                assert "within a chunk" in self.said(tmp_path, data[:-count], "avi")

    def test_fragment_without_data_and_index_of_segments(self, tmp_path):
        format = "mov,mp4,m4a,3gp,3g2,mj2"
        moof, mdat = b"\0\0\0\x08moof", b"\0\0\0\x0cmdat1234"
        assert self.said(tmp_path, moof + mdat, format) is None
        assert "last fragment" in self.said(tmp_path, moof + mdat + moof, format)
        entry = struct.pack(">III", 20, 0, 0)
        sidx = struct.pack(">I4sIIIIIHH", 44, b"sidx", 0, 1, 1, 0, 0, 0, 1) + entry
        assert self.said(tmp_path, sidx + moof + mdat, format) is None
        assert "'sidx'" in self.said(tmp_path, sidx + moof[:-8] + mdat, format)


@pytest.mark.cases
@pytest.mark.parametrize(
    "name",
    ["a.flv", "no-duration.flv", "a.gif", "live.avi", "live.webm", "live.ogv", "live.wmv",
     "live.ivf", "a.mpg", "a.nut"],
)  # fmt: skip
def test_films_that_are_cut(tmp_path, name):
    """Within a packet: each says so, or is refused; whole, none is called damaged."""
    film = next(film for film in FILMS if film.name == name)
    path = make(film, tmp_path, 1)
    frames, said = read(path)
    assert frames >= 25 and said == ()
    assert outcomes(film, tmp_path, 2, 3)["within"]["unsaid"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("film", FILMS, ids=lambda film: film.name)
def test_sound_films_of_all_kinds(tmp_path, film):
    for seed in (1, 2):
        assert list(alarms(seed, tmp_path, (film,))) == []


@pytest.mark.slow
@pytest.mark.parametrize("film", FILMS, ids=lambda film: film.name)
def test_every_film_cut_within_a_packet(tmp_path, film):
    found = outcomes(film, tmp_path, 3, 10)
    assert found["within"]["unsaid"] == 0, found


@pytest.mark.cases
@pytest.mark.parametrize(
    "name",
    ["a.apng", "live.wmv", "live.avi", "a.gif", pytest.param("vp8.ivf", marks=pytest.mark.slow),
     "a.mpg", "a.nut", "flv1.flv"],
)  # fmt: skip
def test_nonsense_neither_fails_nor_holds_up(tmp_path, name):
    """Lengths and numbers that cannot be: an answer, in no time, and no exception."""
    path = make(next(film for film in FILMS if film.name == name), tmp_path, 1)
    with av.open(str(path)) as container:
        format = container.format.name
    whole, chance = path.read_bytes(), random.Random(name)
    for _ in range(60):
        data = bytearray(whole)
        for _ in range(chance.choice((1, 5, 40))):
            at, count = chance.randrange(min(len(data), chance.choice((99, 1 << 30)))), 8
            data[at : at + count] = chance.choice((bytes(8), b"\xff" * 8, chance.randbytes(8)))
        path.write_bytes(data)
        cut_short(path, format, True)
