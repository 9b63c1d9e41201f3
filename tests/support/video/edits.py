"""Films whose edit lists skip their beginning."""

from __future__ import annotations

import av


def skipping(source, target, seconds):
    """Copy a film into an mp4 that begins so many seconds later, by its edit list."""
    with (
        av.open(str(source)) as given,
        av.open(str(target), "w", container_options={"avoid_negative_ts": "disabled"}) as out,
    ):
        streams = {s.index: out.add_stream_from_template(s) for s in given.streams}
        for packet in given.demux():
            if packet.size:
                base = packet.time_base
                shift = round(seconds * base.denominator / base.numerator)
                packet.pts, packet.dts = packet.pts - shift, packet.dts - shift
                packet.stream = streams[packet.stream.index]
                out.mux(packet)
    return target
