"""Keywords of functions for files, for type checkers: made from the fields of the jobs.

Written by `python tests/support/keywords.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, TypedDict

from snellen.jobs.options.options import File, Time
from snellen.jobs.options.positions import Region
from snellen.upscaling.shipped import Method, SourceKind


class FileKeywords(TypedDict, total=False):
    """Options of functions that take `**FileKeywords`."""

    start: Time | None
    duration: Time | None
    frames: int | None
    deinterlace: bool | str
    interlaced: str
    ivtc: bool
    map: str | Sequence[str] | None
    codec: str | None
    preset: str | None
    crf: float | None
    encoder_options: Mapping[str, str] | None
    pix_fmt: str | None
    colour: str
    target_mad: float | None
    target_ssimulacra2: float | None
    target_vmaf: float | None
    vmaf_model: str
    target_pool: str | None
    max_bitrate: int | str | None
    decoder: str
    audio: str
    fps: float | str | Fraction | None
    quality: int | None
    strict: bool
    segments: bool
    keep_segments: bool
    discard_segments: bool
    workers: int | None
    cluster: str | None
    overwrite: bool
    threads: int | None
    max_pixels: int | None
    profile: bool


class UpscaleKeywords(FileKeywords, total=False):
    """Options of functions that take `**UpscaleKeywords`."""

    size: str | tuple[int, int] | None
    height: int | None
    fit: str | None
    method: Method | None
    source_kind: SourceKind | None
    chroma: str
    crop: str | None
    vf: str | None
    deblock: bool
    denoise: str | None
    deblur: Any
    deblur_psf_out: File | None
    sharpen: float | None
    deband: bool
    lut: File | None
    lut_matrix: str | None
    post_vf: str | None
    grain: float | None
    grain_seed: int | None


class UpscaleSeveral(UpscaleKeywords, total=False):
    """Options of functions that take `**UpscaleSeveral`."""

    scale: float | None
    model: File | None
    device: str | Sequence[str]
    report: File | None
    report_size: float


class DeblurKeywords(FileKeywords, total=False):
    """Options of functions that take `**DeblurKeywords`."""

    psf_start: Any
    tolerance: float
    read_noise: float
    tv: float | None
    prior: str | None
    edges: str
    recentre: bool | str
    tile: int | None
    data_range: float | None
    dtype: str | None
    region: str | Sequence[int] | Region | None
    paste_back: bool
    window: int
    warm: bool
    device: str | Sequence[str]


class DeblurSeveral(DeblurKeywords, total=False):
    """Options of functions that take `**DeblurSeveral`."""

    psf: Any
    psf_size: int | None
    iterations: int | None
    noise: str
    positions: File | Sequence[tuple[int, int]] | None
    report: File | None
    report_size: float


class ScoreKeywords(TypedDict, total=False):
    """Options of functions that take `**ScoreKeywords`."""

    resize: bool
    offset: int
    temporal: bool
    table: File | None
    maps: File | None
    worst: int
    workers: int | None
    cluster: str | None
    metrics: str | Sequence[str]
    vmaf_model: str
    variant: str
    hi_scale: float
    eight_bit_lut: bool
    dtype: str | None
    data_range: float | None
    align: bool
    every: int
    start: Time | None
    duration: Time | None
    frames: int | None
    deinterlace: bool | str
    interlaced: str
    ivtc: bool
    decoder: str
    overwrite: bool
    device: str | Sequence[str]
    threads: int | None
    max_pixels: int | None
    profile: bool


class CompareKeywords(TypedDict, total=False):
    """Options of functions that take `**CompareKeywords`."""

    metrics: str | Sequence[str]
    pictures: int
    report_size: float
    vmaf_model: str
    variant: str
    hi_scale: float
    eight_bit_lut: bool
    dtype: str | None
    data_range: float | None
    align: bool
    every: int
    start: Time | None
    duration: Time | None
    frames: int | None
    deinterlace: bool | str
    interlaced: str
    ivtc: bool
    decoder: str
    overwrite: bool
    device: str | Sequence[str]
    threads: int | None
    max_pixels: int | None
    profile: bool
