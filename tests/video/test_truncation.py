"""Files that end within a box, a segment or a packet."""

from __future__ import annotations

import pytest

from snellen.video.source.truncation import cut_short


class TestExtent:
    """What files of a few bytes say of their own size."""

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

    @pytest.mark.parametrize(
        ("size", "reported"),
        [("84", False), ("85", True), ("ff", False), ("4004", False), ("4005", True),
         ("01ffffffffffffff", False), ("0100000000000005", True), ("01", True)],
    )  # fmt: skip
    def test_segment(self, tmp_path, size, reported):
        (tmp_path / "x").write_bytes(bytes.fromhex(f"1a45dfa3 82 0000 18538067 {size}") + b"1234")
        assert (cut_short(tmp_path / "x", "matroska,webm", True) is not None) == reported

    def test_transport_stream_that_begins_anywhere(self, tmp_path):
        packet = b"\x47" + bytes(187)
        for data, reported in ((packet[-50:] + packet * 40, False),
                           (packet[-50:] + packet * 40 + packet[:99], True),
                           (packet * 3 + packet[:5], False)):  # fmt: skip
            (tmp_path / "x").write_bytes(data)
            assert (cut_short(tmp_path / "x", "mpegts", True) is not None) == reported
