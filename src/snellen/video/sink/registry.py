"""The encoders that Snellen knows, by FFmpeg's names: one entry holds all that is known of one.

An encoder that has no entry works too, with `Traits()`. Nothing else names encoders: their aliases,
defaults, ranges, advice in messages and help texts are made from here. What some need beside is in
`hardware.py` (NVENC, Quick Sync) and `numbers.py` (SVT-AV1).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field


def _as_many_as_cores(cores: int) -> int:
    return min(16, cores)


def _half_more(cores: int) -> int:
    return min(16, cores * 3 // 2)


def _pools(cores: int) -> int:
    """Return the frames that x265 encodes at once by default."""
    sizes = ((32, 6), (16, 4), (8, 3), (4, 2))
    return next((threads for least, threads in sizes if cores >= least), 1)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)  # made at every --help
class Traits:
    """The traits of an encoder."""

    codec: str = ""
    """The name of a codec that stands for this encoder, as for FFmpeg."""
    common: bool = False
    """`snellen doctor` tries it."""

    preset: str | None = None
    """Our preset; None: the encoder's own."""
    crf: float | None = None
    """Our constant quality, nearly without visible loss, since a result may become a new master;
    None: the encoder has none."""
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The only values of some options, where the encoder itself reports others on standard error,
    whatever the log level."""
    quality: str = "crf"
    """The option that is its constant quality, or one of those of `constant`: its type counts."""
    constant: Mapping[str, str] = field(default_factory=dict)
    """All options by which it gets one, "{}" for the number; empty: `quality` alone."""
    crf_limits: bool = False
    """Its crf is no more than a limit beside a bit rate."""
    worst: float | None = None
    """The greatest quality that it takes; None: that of its option."""
    step: float | None = None
    """Between two qualities, where it is not that of the option."""
    lossless_below: float = 0
    """A quality at 8 bit below which all are 0, which means without loss."""
    search: tuple[float, float, float, float] | None = None
    """How a target is searched for: the best quality, the worst one, the step between two, and
    where the search begins; None: neither a target nor a limit of the bit rate is possible."""
    on_average: bool = False
    """A limit of the bit rate holds on average, not over the length of a buffer."""

    parameters: tuple[str, ...] = ()
    """Options that pass its own parameters, key=value:key=value; the first one is ours."""
    always: Mapping[str, str] = field(default_factory=dict)
    """Parameters that it always gets, as those by which it does not log on standard error."""
    threads_by: str = ""
    """The parameter that limits its threads, where FFmpeg limits its frames in work only."""
    threads: Callable[[int], int] = _as_many_as_cores
    """The threads that it starts on so many cores, which its packets may depend on."""
    narrow: tuple[int, str] | None = None
    """A width in pixels, and what it gets as parameters for less."""
    small: tuple[int, str] | None = None
    """A size of both sides in pixels, and what it gets as parameters where one has less."""
    light: tuple[str, str] | None = None
    """Parameters of the mastering display and of the light levels of HDR10."""
    plain_light: bool = False
    """These are plain numbers, not counts of the bitstream's steps."""

    alpha: tuple[str, ...] | None = None
    """The formats with alpha that it takes, where it offers others; None: all of them."""
    alpha_beside: bool = False
    """Its alpha channel is a stream of its own."""
    alpha_in: str = ""
    """The suffix of films of this encoder that hold an alpha channel."""
    unstated: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """FFmpeg's numbers of colours, by the attribute, with which it would not open: they are left
    out, and said to be lost."""
    upper_bits: bool = False
    """It takes deep samples in the upper bits of a word."""

    least: int = 0
    """Pixels of a side, below which it reads and writes beyond its memory."""
    even: bool = False
    """It reports an odd width or height on standard error."""
    most_rate: int | None = None
    """Likewise more frames a second."""
    real_time: bool = False
    """It gives real-time priority to the process where root runs it."""
    frame_clock: bool = False
    """It reads a time base of 1/12800 s as 12800 frames/s, or takes none below 1/65535 s."""
    named_in_headers: bool = False
    """It says of itself in its headers what the processor is, in messages of their own."""
    tree: int = 0
    """It gives a frame more bits the longer others refer to it. In an excerpt of n frames it gives
    n / (n + this) as many as in a film, about: lab/dry-run.md."""
    streamed: bool = False
    """Transport streams hold it, as far as readers go: they take anything, but as mere data."""
    played: bool = False
    """Players expect it, with half the chroma."""

    on_cpu: str = ""
    """The encoder of the same codec that encodes where this one's hardware does not work."""
    presets: tuple[str, ...] = ()
    """Presets of such an encoder, from the fastest to the best."""
    similar: tuple[str, ...] = ()
    """Those that replace them: similar positions in the range of the other one, not similar
    speeds."""


_SPEEDS = ("superfast", "veryfast", "faster", "fast", "medium", "slow", "slower")
_SVT_SPEEDS = ("11", "10", "9", "8", "6", "5", "4")
_X264 = {
    "preset": ("ultrafast", *_SPEEDS, "veryslow", "placebo"),
    "tune": (
        *("film", "animation", "grain", "stillimage", "psnr", "ssim", "fastdecode"),
        "zerolatency",
    ),
    "profile": ("baseline", "main", "high", "high10", "high422", "high444"),
}


def _nvenc(on_cpu: str, crf: float, worst: float, start: float, similar: tuple[str, ...]) -> Traits:
    """Return the traits of an encoder of NVIDIA's; p4 is its own default preset."""
    return Traits(
        common=True, crf=crf, quality="cq", worst=worst, search=(1, worst, 0.25, start),
        constant={"cq": "{}", "rc": "vbr"},  # without it, cq would limit a bit rate
        upper_bits=True, on_cpu=on_cpu, presets=("p1", "p2", "p3", "p4", "p5", "p6", "p7"),
        similar=similar,
    )  # fmt: skip


def _qsv(on_cpu: str, crf: float, similar: tuple[str, ...] = (*_SPEEDS[1:], "veryslow")) -> Traits:
    """Return the traits of an encoder of Intel's."""
    return Traits(
        common=True, crf=crf, quality="global_quality", worst=51, on_cpu=on_cpu,
        presets=(*_SPEEDS[1:], "veryslow"), similar=similar,
    )  # fmt: skip


_FRAME_CLOCK = Traits(frame_clock=True)

ENCODERS: dict[str, Traits] = {
    "libx264": Traits(
        codec="h264", common=True, preset="medium", crf=16, values=_X264, worst=51,
        lossless_below=1, search=(1, 51, 0.25, 22), parameters=("x264-params", "x264opts"),
        threads=_half_more, light=("mastering-display", "cll"), tree=3, streamed=True, played=True,
    ),
    # For narrow pictures cutree is off, which distributes bits over time: its vector code writes
    # beyond its memory for those 33 to 48 pixels wide, and the process aborts.
    "libx265": Traits(
        codec="hevc", common=True, preset="medium", crf=16, worst=51, step=0.01,
        search=(0, 51, 0.25, 24), parameters=("x265-params",), always={"log-level": "error"},
        threads_by="pools", threads=_pools, narrow=(64, "cutree=0"),
        light=("master-display", "max-cll"), alpha=(), least=96, even=True, named_in_headers=True,
        unstated={"color_primaries": (22,), "colorspace": (16, 17)},  # EBU 3213, lossless YCgCo
        tree=3, streamed=True, played=True,
    ),
    # Several threads of it wait for each other for ever where one side of the pictures has up to 24
    # pixels and the other one more than 64: small ones get one.
    "libsvtav1": Traits(
        codec="av1", common=True, preset="6", crf=18, step=0.25, search=(1, 63, 0.25, 30),
        parameters=("svtav1-params",), small=(64, "lp=1"), most_rate=240, real_time=True,
        light=("mastering-display", "content-light"), plain_light=True,
    ),
    "ffv1": Traits(common=True, alpha_in=".mkv"),
    # FFmpeg's name "prores" means another one, which does not make all of its kinds.
    "prores_ks": Traits(codec="prores", common=True, alpha_in=".mov"),
    "libvpx-vp9": Traits(
        codec="vp9", common=True, crf=15, search=(0, 63, 1, 30), on_average=True,
        alpha=("yuva420p",), alpha_beside=True, alpha_in=".webm",
    ),
    # A constant quantizer is what is meant by a quality; it wants a bit rate beside, which is none.
    "libvpx": Traits(
        codec="vp8", crf=10, constant={"qmin": "{}", "qmax": "{}", "b": "1G"}, crf_limits=True,
        alpha_beside=True,
    ),
    "h264_nvenc": _nvenc("libx264", 16, 51, 24, _SPEEDS),
    "hevc_nvenc": _nvenc("libx265", 16, 51, 26, _SPEEDS),
    "av1_nvenc": _nvenc("libsvtav1", 18, 63, 32, _SVT_SPEEDS),
    "h264_qsv": _qsv("libx264", 16),
    "hevc_qsv": _qsv("libx265", 16),
    "av1_qsv": _qsv("libsvtav1", 18, _SVT_SPEEDS),
    "vc2": Traits(codec="dirac"),
    "libwebp_anim": Traits(codec="webp"),
    "mpeg1video": _FRAME_CLOCK,
    "mpeg2video": _FRAME_CLOCK,
    "mpeg4": _FRAME_CLOCK,
    "libxvid": _FRAME_CLOCK,
    "msmpeg4v2": _FRAME_CLOCK,
    "msmpeg4": _FRAME_CLOCK,
}  # fmt: skip

WORST = 63
"""The greatest `crf` of any encoder: that of AV1 and VP9."""

LOSSLESS, SVT_AV1 = "ffv1", "libsvtav1"
"""The encoder that advice names for no loss at all; the one that has rules of its own."""

DEFAULT = (
    "libx264; above 8 bit and of HDR libx265; of AV1 and VP9 libsvtav1; of transparent ones in "
    ".webm libvpx-vp9, above 8 bit in .mkv ffv1, in .mov prores_ks"
)
"""The choices of `defaults.py`, for help texts."""

_CODECS = {known.codec: name for name, known in ENCODERS.items() if known.codec}
CODECS = f"{', '.join(_CODECS)} stand for {', '.join(_CODECS.values())}"
"""The names of codecs that are taken, for help texts."""


def traits(name: str) -> Traits:
    """Return what is known of an encoder."""
    return ENCODERS.get(name, Traits())


def encoder_of(codec: str) -> str:
    """Return the encoder that the name of a codec stands for; any other name is that of one."""
    return next((name for name, known in ENCODERS.items() if codec and known.codec == codec), codec)


def names(chosen: Callable[[Traits], object]) -> list[str]:
    """Return the encoders of which something holds."""
    return [name for name, known in ENCODERS.items() if chosen(known)]


def parameter_options() -> Iterator[str]:
    """Yield the options that pass encoders' own parameters."""
    for known in ENCODERS.values():
        yield from known.parameters


def defaults(of: Callable[[Traits], str | float | None]) -> str:
    """Return the defaults of a setting in words: the one of most encoders, then the others."""
    given = {name: of(known) for name, known in ENCODERS.items() if of(known) is not None}
    usual = Counter(given.values()).most_common(1)[0][0]
    others = [f"{name} {value}" for name, value in given.items() if value != usual]
    return f"{usual}; {', '.join(others)}"
