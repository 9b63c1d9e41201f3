"""No time is told of a picture that is not right."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.bench.mia import arms, cases, exact, stock
from snellen.bench.mia.cases import OPTIONS, PLAIN, Case
from snellen.errors import SnellenError

COUNT = 40


def batch(case, option=PLAIN):
    return cases.shifted(cases.problem(case.side, option), case.batch)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("option", [PLAIN, *OPTIONS], ids=lambda option: option.name)
def test_the_cpu_arm_is_right(option, dtype):
    case = Case(32, 3)
    with arms.made(case, "cpu", option, dtype) as arm:
        row = exact.check(
            arm, batch(case, option), case, "CPU", option, dtype=dtype, count=COUNT
        )  # fmt: skip
    assert 0 < row["mean"] < row["max"] < exact.WITHIN[dtype] and row["psf"] < 1e-4
    assert row["option"] == option.name and row["batch"] == 3 and row["iterations"] == COUNT
    assert "32×32" in exact.told(row) and option.name in exact.told(row)


class Spoilt:
    """An arm whose last picture or PSF is not what it should be."""

    def __init__(self, arm, what, spoil):
        self._arm, self._what, self._spoil = arm, what, spoil
        self.start, self.iterate = arm.start, arm.iterate

    def _of(self, what):
        found = getattr(self._arm, what).copy()
        if what == self._what:
            self._spoil(found[-1])
        return found

    estimate = property(lambda self: self._of("estimate"))
    psf = property(lambda self: self._of("psf"))


def put(index, value):
    def spoil(array):
        array[index] = value

    return spoil


@pytest.mark.parametrize(
    ("what", "spoil", "told"),
    [
        ("estimate", put((5, 7), 0.0), "the picture off by"),
        ("estimate", put((5, 7), np.nan), "the picture off by nan"),
        ("estimate", lambda plane: np.copyto(plane, np.roll(plane, 1)), "the picture off by"),
        ("psf", put((0, 0, 0), 0.0), "the PSF off by"),
        ("psf", put((0, 3, 3), np.nan), "the PSF off by nan"),
    ],
)
def test_a_wrong_picture_stops_the_report(what, spoil, told):
    case = Case(32, 3)
    with arms.made(case, "cpu") as arm:
        spoilt = Spoilt(arm, what, spoil)
        with pytest.raises(SnellenError, match=rf"Poisson, 3 at once: {told}.*nothing is timed"):
            exact.check(spoilt, batch(case), case, "CPU", count=COUNT)


def test_fewer_iterations_than_asked_are_wrong():
    case = Case(32)
    with arms.made(case, "cpu") as arm:
        arm.iterate, whole = (lambda count: whole(count - 1)), arm.iterate
        with pytest.raises(SnellenError, match="nothing is timed"):
            exact.check(arm, batch(case), case, "CPU", count=COUNT)


def test_the_operators_are_right():
    case = Case(32, 3)
    row = exact.check(stock.Loop(np), batch(case), case, "NumPy", count=COUNT)
    assert row["max"] < exact.WITHIN["float32"]


def test_pytorch_s_operators_are_right():
    torch = pytest.importorskip("torch")
    case = Case(32, 3)
    row = exact.check(stock.torch_loop(), batch(case), case, "PyTorch", count=COUNT)
    assert row["max"] < exact.WITHIN["float32"] and torch.__version__


@pytest.mark.parametrize("name", ["estimate", "psf"])
def test_a_line_begins_anew(name):
    case, line = Case(32, 2), stock.Loop(np)
    given = batch(case)
    found = []
    for _ in range(2):
        line.start(given.y, given.f, given.h)
        line.iterate(3)
        found.append(getattr(line, name).copy())
    assert (found[0] == found[1]).all() and (found[0][0] != given.f[0]).any()


@pytest.mark.gpu
@pytest.mark.parametrize("side", [32, 128])
@pytest.mark.parametrize("count", [1, COUNT])
def test_lines_of_cufft_are_right_as_graphs(cuda, side, count):
    case = Case(side, 3)
    with cuda.cuda.Stream(non_blocking=True):
        given = arms.placed(batch(case), "cuda:0")
        for line in (stock.Loop(cuda), stock.ByHand()):
            line.start(given.y, given.f, given.h)
            graph = stock.Graphed(line, count)
            row = exact.check(graph, given, case, "cuFFT", count=COUNT)
            assert row["max"] < exact.WITHIN["float32"]


@pytest.mark.gpu
def test_pytorch_s_lines_are_right_on_a_gpu(cuda):
    torch = pytest.importorskip("torch")
    case = Case(64, 3)
    stream = cuda.cuda.Stream(non_blocking=True)
    with stream, torch.inference_mode(), torch.cuda.stream(torch.cuda.ExternalStream(stream.ptr)):
        given = arms.placed(batch(case), "cuda:0")
        loop = stock.torch_loop()
        loop.start(given.y, given.f, given.h)
        for line in (loop, stock.TorchGraphed(loop, COUNT)):
            assert exact.check(line, given, case, "PyTorch", count=COUNT)["max"] < 1e-4
