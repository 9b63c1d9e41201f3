"""The anchor of each feature is that of float32 arithmetic, and the bound that proves it holds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from snellen.aplus.cuda.layout import pad, padded
from snellen.aplus.cuda.match import (
    HALF,
    JOINED,
    LARGEST,
    MORE,
    ROUNDING,
    SCALE,
    STEP,
    SUBNORMAL,
    Match,
    fragments,
    half,
    match_kernel,
    tiles,
)
from snellen.aplus.cuda.match import UNIT as UNIT_OF_SUM
from snellen.aplus.model import Model
from snellen.gpu.kernel import Kernel

UNIT = 2.0**-24
KERNELS = Path(__file__).parents[2] / "gpu" / "kernels"


def model_of(anchors):
    """A model of these anchors, of unit norm, of which nothing else matters here."""
    anchors = anchors / np.linalg.norm(anchors, axis=1, keepdims=True)
    dims = anchors.shape[1]
    return Model(
        scale=2,
        window=1,
        anchors=anchors.astype(np.float32),
        basis=np.zeros((16, dims), np.float32),
        projections=np.zeros((len(anchors), 4, dims), np.float16),
    )


# The half-precision anchors, and the bound of match.cu. No GPU needed.


@pytest.mark.parametrize("dims", [5, 28, 33, 128])
def test_the_error_bounds_every_anchor(random, dims):
    anchors = model_of(random.normal(size=(200, dims)) ** 5).anchors  # many small numbers
    halves, error = half(anchors)
    norms = np.linalg.norm(halves.astype(np.float64) / SCALE - anchors, axis=1)
    assert (norms <= error).all() and error <= norms.max() * 1.00001
    assert ((halves == 0) | (np.abs(halves) >= SUBNORMAL)).all()
    assert (halves == 0).any()


def test_what_is_subnormal_becomes_zero():
    halves, error = half(np.array([[1, 2.0**-18, 2.0**-18 * 0.99, 0]], np.float32))
    assert halves.tolist() == [[16, 2.0**-14, 0, 0]]
    assert 2.0**-18 * 0.99 <= error < 2.0**-18


@pytest.mark.parametrize(("anchors", "dims"), [(32, 32), (96, 64), (32, 128)])
def test_fragments(anchors, dims):
    """Column g of tile j of a step is anchor JOINED · g + j; lane t holds its dimensions."""
    numbers = np.arange(anchors * dims).reshape(anchors, dims)
    found = fragments(numbers).reshape(-1, JOINED, dims // 32, 8, 4, 8)
    for step, j, slab, g, t in np.ndindex(found.shape[:-1]):
        row = numbers[step * STEP + JOINED * g + j, slab * 32 :]
        wanted = [*row[4 * t : 4 * t + 4], *row[16 + 4 * t : 20 + 4 * t]]
        assert found[step, j, slab, g, t].tolist() == wanted


# The bound, derived once more from docs/aplus.md and the format alone: nothing of match.py in it.

ULP = 2.0**-10  # of a half, relative to its leading bit
NORMAL = 2.0**-14  # the least normal half


def derived(features, anchor_error):
    """The error of any score, beside ULP of the score, of features whose greatest is 2⁶ … 2⁷."""
    dims = features.shape[1]
    squares = (features**2).reshape(len(features), -1, 16).sum(axis=2)[:, ::-1]
    norms = np.sqrt(squares.cumsum(axis=1))  # of the last 16 dimensions, the last 32 …
    relative = ULP / 2 + anchor_error + dims * 2.0**-21
    return norms[:, -1] * relative + ULP * norms[:, :-1].sum(axis=1) + NORMAL * dims


def test_the_constants_cover_the_format():
    """Every normal half: the error of rounding to it, and the gap to the next one."""
    patterns = np.arange(0x0400, 0x7C00, dtype=np.uint16)  # 2⁻¹⁴ … 65504
    values = patterns.view(np.float16).astype(np.float64)
    assert values[0] == NORMAL and values[-1] == 65504 and np.isfinite(values).all()
    below, above = values[:-1], values[1:]
    assert ((above - below) / (above + below)).max() <= HALF  # the midpoint, relative to itself
    assert ((above - below) / below).max() <= UNIT_OF_SUM  # whatever the hardware rounds to
    assert SUBNORMAL == NORMAL
    assert HALF / (ULP / 2) == UNIT_OF_SUM / ULP == MORE > 1.001  # for norms of 1 within 10⁻³
    assert ROUNDING >= 2.0**-21


KINDS = ["normal", "falling", "steep", "like an anchor", "midpoints", "aligned", "cancelling"]


def adversarial(random, kind, anchors, dims, count=300):
    """Features that make the errors of a score large; float32, its greatest number 2⁶ … 2⁷."""
    features = pad(random.normal(size=(count, dims)), 1, anchors.shape[1])
    chosen = anchors[random.integers(0, len(anchors), count)].astype(np.float64)
    if kind in ("falling", "steep"):
        features *= np.arange(1.0, features.shape[1] + 1) ** (-1 if kind == "falling" else -6)
    elif kind == "like an anchor":
        features = chosen * random.uniform(0.5, 2, (count, 1))
    elif kind == "midpoints":  # every number lies between two halves
        near = features.astype(np.float16).astype(np.float64)
        features = near + np.sign(near) * np.spacing(near.astype(np.float16)) / 2
    elif kind == "aligned":  # all numbers are rounded towards zero, as far as numbers can be
        powers = 2.0 ** np.floor(np.log2(np.maximum(np.abs(chosen), 2.0**-9)))
        features = np.sign(chosen) * powers * (1 + 0.999 * 2.0**-11)
    elif kind == "cancelling":  # the sum of the last dimensions is undone by the first ones
        middle = dims // 2
        features = chosen.copy()
        tail = (chosen[:, middle:] ** 2).sum(axis=1) / (chosen[:, :middle] ** 2).sum(axis=1)
        features[:, :middle] *= -tail[:, None]
    features = features.astype(np.float32).astype(np.float64)
    greatest = np.abs(features).max(axis=1, keepdims=True)
    return features * 2.0 ** (6 - np.floor(np.log2(greatest)))


def towards_zero(x):
    near = x.astype(np.float16)
    return np.where(np.abs(near) > np.abs(x), np.nextafter(near, np.float16(0)), near)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dims", [28, 33, 128])
def test_the_derivation_holds_for_the_least_sums(random, dims, kind):
    """Sums of 16 dimensions, each cut to the half below: the least scores that are allowed."""
    anchors = pad(model_of(random.normal(size=(256, dims))).anchors, 1, padded(dims))
    features = adversarial(random, kind, anchors, dims)
    halves = (anchors.astype(np.float64) * 16).astype(np.float16).astype(np.float64)
    halves[np.abs(halves) < NORMAL] = 0
    error = np.linalg.norm(halves / 16 - anchors, axis=1).max()
    rounded = features.astype(np.float16).astype(np.float64)
    rounded[np.abs(rounded) < NORMAL] = 0
    scores = np.zeros((len(features), len(anchors)))
    for k in range(features.shape[1] - 16, -1, -16):
        scores += rounded[:, k : k + 16] @ halves[:, k : k + 16].T
        scores = towards_zero(scores).astype(np.float64)
    exact = np.abs(features @ anchors.T.astype(np.float64)) * 16
    assert (exact <= np.abs(scores) * (1 + ULP) + 16 * derived(features, error)[:, None]).all()


# The bound of the kernel itself, by the header that it includes.


def first_pass(model):
    """The test kernel, compiled with the constants of the model's own kernel."""
    constants = {name.lower(): value for name, value in match_kernel(model).constants.items()}
    return Kernel(KERNELS / "half_scores.cu", "half_scores", spills=64, **constants)


@pytest.mark.parametrize("dims", [28, 33, 128])
def test_the_first_pass_compiles(nvrtc, random, dims):
    assert first_pass(model_of(random.normal(size=(256, dims)))).compile("sm_90").code


@pytest.mark.gpu
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dims", [28, 33, 64, 96, 128])
def test_the_bound_is_sound(cuda, random, dims, kind):
    """No exact score is greater than what the kernel takes for its upper bound."""
    model = model_of(random.normal(size=(256, dims)))
    stage, anchors = Match(model), pad(model.anchors, 1, padded(dims)).astype(np.float64)
    features = adversarial(random, kind, anchors, dims) * 2.0 ** random.integers(-40, 40, (300, 1))
    kernel, count = first_pass(model), len(features)
    found, bounds = (cuda.full((count, 256), cuda.nan, cuda.float32) for _ in range(2))
    scales = cuda.full(count, cuda.nan, cuda.float32)
    kernel(
        -(-count // (16 * tiles(padded(dims)))), 32, cuda.asarray(features.astype(np.float32)),
        count, stage.halves, stage.error, found, bounds, scales,
    )  # fmt: skip
    found, bounds, scales = (array.get().astype(np.float64) for array in (found, bounds, scales))
    scaled = features * scales[:, None] / 16
    greatest = np.abs(scaled).max(axis=1)
    assert ((greatest >= 2.0**6) & (greatest < 2.0**7)).all() and found.max() < 60000
    assert (np.abs(scaled @ anchors.T) * 16 <= bounds).all()
    # It is what was derived, with the allowance MORE on each term and no other.
    least = found * (1 + ULP) + 16 * derived(scaled, stage.error)[:, None]
    assert (bounds >= least).all() and (bounds <= least * MORE * (1 + 2.0**-20)).all()


# On the GPU.


def chosen(cuda, stage, features, dims):
    """Anchors of features (n, d), how many float32 had to settle, and which."""
    count = len(features)
    rows = cuda.asarray(pad(features.astype(np.float32), 1, padded(dims)))
    index = cuda.full(count + 40, 65535, cuda.uint16)
    listed, work = cuda.full(1, -5, cuda.int32), cuda.full(count + 40, -1, cuda.int32)
    stage(rows, index[:count], listed, work[:count])
    assert (index[count:] == 65535).all() and (work[count:] == -1).all()
    return index[:count].get(), int(listed[0]), work[:count].get()


def check(found, features, anchors):
    """Exact, but for ties within the rounding of two float32 sums."""
    assert (found < len(anchors)).all()
    # Of unit norm, so that neither tiny nor huge features lose digits here.
    norms = np.linalg.norm(features.astype(np.float64), axis=1, keepdims=True)
    unit = np.divide(features, norms, out=np.zeros(features.shape), where=norms > 0)
    scores = np.abs(unit @ anchors.T.astype(np.float64))
    best = scores.argmax(axis=1)
    loss = scores.max(axis=1) - scores[np.arange(len(found)), found]
    # Each score: dims products and their sums, four roundings of ours, of at most the norm.
    assert (loss <= 2 * (anchors.shape[1] + 4) * UNIT).all()
    return (found != best).mean()


SHAPES = [
    (5, 1, 17),
    (5, 1024, 1000),
    (28, 7, 1000),
    (28, 32, 15),
    (28, 33, 16),
    (28, 100, 1),
    (28, 256, 50_000),
    (28, 1500, 1000),
    (28, 4096, 2000),
    (32, 1024, 1000),
    (33, 1024, 1000),
    (64, 100, 17),
    (64, 1024, 1000),
    (96, 1500, 1000),
    (128, 256, 1000),
    (128, 33, 1),
    (129, 256, 1000),
    (200, 100, 16),
]


@pytest.mark.gpu
@pytest.mark.parametrize(("dims", "anchors", "count"), SHAPES)
def test_random_features(cuda, random, dims, anchors, count):
    model = model_of(random.normal(size=(anchors, dims)))
    features = random.normal(size=(count, dims)).astype(np.float32)
    stage = Match(model)
    found, listed, work = chosen(cuda, stage, features, dims)
    # Two of 1024 Gaussian scores tie within 1e-6 for one feature in ten thousand.
    assert check(found, features, model.anchors) <= max(0.001, 1 / count)
    if dims > LARGEST:
        assert listed == count
    else:
        settled = work[:listed]
        assert 0 <= listed <= count and (work[listed:] == -1).all()
        assert len(set(settled.tolist())) == listed
        assert (settled >= 0).all() and (settled < count).all()
    again = chosen(cuda, stage, features, dims)
    assert again[0].tobytes() == found.tobytes() and again[1] == listed


@pytest.mark.gpu
@pytest.mark.parametrize("dims", [28, 96])
@pytest.mark.parametrize("kind", ["norms", "correlated", "falling", "one dimension"])
def test_other_features(cuda, random, dims, kind):
    model = model_of(random.normal(size=(1024, dims)))
    features = random.normal(size=(3000, dims))
    if kind == "norms":
        features *= 10.0 ** random.uniform(-36, 30, (3000, 1))
    elif kind == "correlated":
        features = features[:, :3] @ random.normal(size=(3, dims)) + 0.01 * features
    elif kind == "falling":  # as PCA leaves them, and further
        features *= 10.0 ** -np.linspace(0, 8, dims)
    else:
        features *= np.eye(dims)[random.integers(0, dims, 3000)]
    features = features.astype(np.float32)
    found, _, _ = chosen(cuda, Match(model), features, dims)
    check(found, features, model.anchors)


@pytest.mark.gpu
def test_few_gaussian_features_are_listed(cuda, random):
    model = model_of(random.normal(size=(1024, 28)))
    features = random.normal(size=(50_000, 28)).astype(np.float32)
    _, listed, _ = chosen(cuda, Match(model), features, 28)
    assert 0 < listed < 0.05 * 50_000


@pytest.mark.gpu
@pytest.mark.parametrize("dims", [3, 28, 64])
@pytest.mark.parametrize("count", [1, 700])
def test_of_equal_scores_the_first(cuda, random, dims, count):
    anchors = model_of(random.normal(size=(40, dims))).anchors
    features = random.normal(size=(count, dims)).astype(np.float32)

    def first(anchors):
        found, _, _ = chosen(cuda, Match(model_of(anchors.astype(np.float64))), features, dims)
        return found

    once = first(anchors)
    for more in ([anchors, anchors], [anchors, -anchors, anchors], [-anchors] * 30):
        assert (first(np.concatenate(more)) == once).all()
    assert (first(np.repeat(anchors, 2, axis=0)) == 2 * once).all()
    assert (first(np.repeat(anchors, 9, axis=0)) == 9 * once).all()


def knots(random, size, spread, dims, knot_count=30):
    """1024 anchors, among which `size` at a time have equal scores with a direction; and those.

    spread: whether they stand far apart, or side by side.
    """
    anchors = random.normal(size=(1024, dims))
    centres = random.normal(size=(knot_count, dims))
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    places = random.permutation(1024) if spread else np.arange(1024)
    members = places[: knot_count * size].reshape(knot_count, size)
    for centre, member in zip(centres, members, strict=True):
        beside = random.normal(size=(size, dims))
        beside -= np.outer(beside @ centre, centre)
        beside /= np.linalg.norm(beside, axis=1, keepdims=True)
        sign = random.choice([-1.0, 1.0], (size, 1))
        anchors[member] = sign * (0.95 * centre + np.sqrt(1 - 0.95**2) * beside)
    return anchors, centres


@pytest.mark.gpu
@pytest.mark.parametrize("dims", [28, 64])
@pytest.mark.parametrize("spread", [False, True])
@pytest.mark.parametrize("size", [2, 3, 9])
def test_near_ties(cuda, random, size, spread, dims):
    """Best scores that differ by 1e-3 down to 1e-8 of themselves."""
    anchors, centres = knots(random, size, spread, dims)
    model = model_of(anchors)
    gaps = 10.0 ** random.uniform(-7, -1.5, (30, 40, 1))
    beside = random.normal(size=(30, 40, dims)) / np.sqrt(dims)
    features = ((centres[:, None] + gaps * beside) * 2.0**3).reshape(-1, dims).astype(np.float32)
    found, listed, _ = chosen(cuda, Match(model), features, dims)
    check(found, features, model.anchors)
    if spread and size > 2:  # more than two groups can win: none but float32 can tell
        assert listed > 0.5 * len(features)


@pytest.mark.gpu
@pytest.mark.parametrize("dims", [28, 96, 200])
def test_a_zero_feature_takes_the_first(cuda, random, dims):
    model = model_of(random.normal(size=(300, dims)))
    features = random.normal(size=(1000, dims)).astype(np.float32)
    features[[0, 17, 998, 999]] = 0
    found, _, work = chosen(cuda, Match(model), features, dims)
    assert not found[[0, 17, 998, 999]].any()
    assert not set(work.tolist()) & {0, 17, 998, 999}
    check(found, features, model.anchors)


@pytest.mark.gpu
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 3e38])
@pytest.mark.parametrize(("dims", "anchors"), [(28, 5), (28, 300), (96, 33), (200, 33)])
def test_what_is_no_number_gets_some_anchor(cuda, random, dims, anchors, value):
    """And changes no other feature's."""
    model = model_of(random.normal(size=(anchors, dims)))
    features = random.normal(size=(1000, dims)).astype(np.float32)
    stage = Match(model)
    clean, _, _ = chosen(cuda, stage, features, dims)
    strange = random.random(1000) < 0.1
    features[strange, random.integers(0, dims)] = value
    features[np.flatnonzero(strange)[:5]] = value
    found, _, _ = chosen(cuda, stage, features, dims)
    assert (found < anchors).all()
    assert (found[~strange] == clean[~strange]).all()


# What match.cu takes for granted of half-precision sums.


def sums(cuda, a, b, added):
    """a (n, 16, 16) · b (n, 16, 8) + added (n, 16, 8), all float16, on tensor cores."""
    b = np.ascontiguousarray(b.swapaxes(1, 2))
    left, right, rest = (cuda.asarray(x) for x in (a, b, added))
    out = cuda.full(rest.shape, cuda.nan, cuda.float16)
    kernel = Kernel(KERNELS / "half_sums.cu", "half_sums")
    kernel(-(-len(a) // 8), 256, left, right, rest, out, len(a))
    return out.get().astype(np.float64)


def operands(random, kind, n=2000):
    """As match makes them: features up to 2⁷, anchors up to 16, and what came before them."""
    a = random.uniform(-128, 128, (n, 16, 16))
    b = random.normal(size=(n, 16, 8))
    b *= 16 / np.linalg.norm(b, axis=1, keepdims=True)
    added = random.normal(size=(n, 16, 8)) * 2000
    if kind == "none before":
        added[:] = 0
    elif kind == "ranges":
        a *= 2.0 ** random.integers(-14, 1, a.shape)
        b *= 2.0 ** random.integers(-10, 1, b.shape)
        added *= 2.0 ** random.integers(-20, 3, added.shape)
    elif kind == "one large":
        a[..., 1:] *= 2.0**-11
    elif kind == "cancelling":  # all but a little: the second half of the products, or the rest
        a[: n // 2, :, 8:], b[: n // 2, 8:] = a[: n // 2, :, :8], -b[: n // 2, :8]
        added[: n // 2] *= 2.0**-8
    a, b, added = (x.astype(np.float16) for x in (a, b, added))
    if kind == "cancelling":
        exact = a[n // 2 :].astype(np.float64) @ b[n // 2 :].astype(np.float64)
        added[n // 2 :] = -exact.astype(np.float16)
    for x in (a, b):
        x[np.abs(x) < SUBNORMAL] = 0  # allowed for elsewhere, by SMALLEST
    return a, b, added


@pytest.mark.gpu
@pytest.mark.parametrize("kind", ["plain", "none before", "ranges", "one large", "cancelling"])
def test_half_precision_sums(cuda, random, kind):
    """Within a unit in the last place, but for what tensor cores cut off before they add.

    match.cu allows UNIT of the sum (2⁻¹⁰) for the rounding, SMALLEST (2⁻¹⁴) for each of 16 numbers,
    and, in ROUNDING, 16 · 2⁻²¹ of the feature's norm (anchors have a norm of 1, here of 16). An
    eighth of that is float32's, who scores the best again, and two eighths are the second order of
    the others; a half is left for cutting off: 2⁻¹⁸ of the greatest that the sum might have.
    """
    a, b, added = operands(random, kind)
    left, right, before = (x.astype(np.float64) for x in (a, b, added))
    exact = left @ right + before
    assert np.abs(exact).max() < 60000
    norms = np.linalg.norm(left, axis=2)[..., None] * np.linalg.norm(right, axis=1)[:, None]
    bound = 2.0**-10 * np.abs(exact) + 2.0**-18 * np.maximum(norms, np.abs(before)) + 2.0**-14
    assert (np.abs(sums(cuda, a, b, added) - exact) <= bound).all()
