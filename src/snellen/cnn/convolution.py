"""A convolution with PReLU on the CPU, as machine code for its sizes: many pixels in registers.

Pixels are stored one after another with all of their channels, so that the taps of a row of the
kernel are neighbours in memory. A block of pixels keeps its sums in vector registers, one lane for
each of 16 output channels, while all taps and input channels go by: a vector of weights is loaded
once, and multiplied by one sample of each pixel. Every sum has one order, wherever a pixel lies.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir

from snellen.cpu import assembler

LANES = 16  # of a vector, in the code; the compiler cuts it into registers
SPARE = 4  # registers that hold no sums: weights and samples
MOST = 24  # pixels of a block

LONG, FLOAT, INT = ir.IntType(64), ir.FloatType(), ir.IntType(32)
ARGUMENTS = (
    "source", "source_pitch", "weight", "start", "start_pitch", "start_step", "slope", "out",
    "out_pitch", "rows", "count",
)  # fmt: skip

Float32 = npt.NDArray[np.float32]


def padded(channels: int) -> int:
    """Return the output channels of a convolution that has to have so many: 4, or whole vectors."""
    return channels if channels == 4 else -(-channels // LANES) * LANES


class Convolution:
    """A correlation of (rows, pixels, channels) with weights, bias and PReLU, inside only.

    Parameters
    ----------
    weight : (D, C, k, k) array
    bias, slope : (D,) array or None
        None: sums begin with what `out` holds; there is no PReLU.
    given : int
        Channels of the input in memory, C or more.
    """

    def __init__(self, weight: Any, bias: Any, slope: Any, given: int):
        made, taken, side, _ = weight.shape
        self.side, self.made = side, padded(made)
        taps = np.zeros((side, side, given, self.made), np.float32)
        taps[:, :, :taken, :made] = weight.transpose(2, 3, 1, 0)
        self._weight = taps
        self._bias, self._slope = np.zeros(self.made, np.float32), np.ones(self.made, np.float32)
        self._onto = bias is None
        if bias is not None:
            self._bias[:made] = bias
        if slope is not None:
            self._slope[:made] = slope
        self.block = _block(min(LANES, self.made))
        self._code = _code(side, given, self.made, self.block)

    def __call__(self, source: Float32, out: Float32, rows: int, count: int) -> None:
        """Fill rows and `count` pixels of each, and up to `block` − 1 pixels after them.

        Parameters
        ----------
        source : (rows + k − 1 or more, n, given) float32
            n is at least `count` + k − 1 + `block` − 1.
        out : (rows or more, m, D padded) float32
            m is at least `count` + `block` − 1.
        """
        first, (pitch, step) = self._bias, (0, 0)
        if self._onto:
            first, (pitch, step) = out, out.strides[:2]
        self._code(
            source.ctypes.data, source.strides[0], self._weight.ctypes.data, first.ctypes.data,
            pitch, step, self._slope.ctypes.data, out.ctypes.data, out.strides[0], rows, count,
        )  # fmt: skip


def _block(lanes: int) -> int:
    """Return the number of pixels whose sums fit the registers."""
    count, width = assembler.registers()
    return max(1, min(MOST, (count - SPARE) // max(1, lanes // width)))


@cache
def _code(side: int, given: int, made: int, block: int) -> Any:
    """Return the function in C for these sizes."""
    address = assembler.address("convolution", _module(side, given, made, block))
    return ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * len(ARGUMENTS))(address)


def _module(side: int, given: int, made: int, block: int) -> ir.Module:
    """Return a convolution in LLVM's language."""
    lanes = min(LANES, made)
    kind, module = ir.VectorType(FLOAT, lanes), ir.Module()
    form = ir.FunctionType(ir.VoidType(), [LONG] * len(ARGUMENTS))
    function = ir.Function(module, form, assembler.PLACE)
    fused = ir.Function(module, ir.FunctionType(kind, [kind] * 3), f"llvm.fmuladd.v{lanes}f32")
    builder = ir.IRBuilder(function.append_basic_block())
    given_of = dict(zip(ARGUMENTS, function.args, strict=True))
    sums = [builder.alloca(kind) for _ in range(block)]

    def at(address: Any, of: Any) -> Any:
        return builder.inttoptr(address, of.as_pointer())

    def vector(address: Any) -> Any:
        return builder.load(at(address, kind), align=4)

    def after(address: Any, number: Any, step: Any) -> Any:
        return builder.add(address, builder.mul(number, step))

    row = _Loop(builder, given_of["rows"], 1)
    source = after(given_of["source"], row.number, given_of["source_pitch"])
    start = after(given_of["start"], row.number, given_of["start_pitch"])
    out = after(given_of["out"], row.number, given_of["out_pitch"])
    pixel = _Loop(builder, given_of["count"], block)
    source = after(source, pixel.number, LONG(4 * given))
    start = after(start, pixel.number, given_of["start_step"])
    out = after(out, pixel.number, LONG(4 * made))
    channel = _Loop(builder, LONG(4 * made), 4 * lanes)  # bytes
    start, out = builder.add(start, channel.number), builder.add(out, channel.number)
    for n in range(block):
        builder.store(vector(after(start, LONG(n), given_of["start_step"])), sums[n])
    weight = builder.add(given_of["weight"], channel.number)
    for _ in range(side):
        tap = _Loop(builder, LONG(side * given), 1)
        sample = after(source, tap.number, LONG(4))
        weights = vector(after(weight, tap.number, LONG(4 * made)))
        for n in range(block):
            one = builder.load(at(after(sample, LONG(n), LONG(4 * given)), FLOAT), align=4)
            product = builder.call(
                fused, [_everywhere(builder, one, lanes), weights, builder.load(sums[n])]
            )
            builder.store(product, sums[n])
        tap.end()
        source = builder.add(source, given_of["source_pitch"])
        weight = builder.add(weight, LONG(4 * side * given * made))
    slope = vector(builder.add(given_of["slope"], channel.number))
    for n in range(block):
        value = builder.load(sums[n])
        below = builder.fcmp_ordered("<", value, ir.Constant(kind, [0.0] * lanes))
        value = builder.select(below, builder.fmul(value, slope), value)
        builder.store(value, at(after(out, LONG(n), LONG(4 * made)), kind), align=4)
    for loop in (channel, pixel, row):
        loop.end()
    builder.ret_void()
    return module


def _everywhere(builder: ir.IRBuilder, number: Any, lanes: int) -> Any:
    """Return a vector with a number in every lane."""
    nothing = ir.Constant(ir.VectorType(FLOAT, lanes), ir.Undefined)
    first = ir.Constant(ir.VectorType(INT, lanes), [0] * lanes)
    return builder.shuffle_vector(builder.insert_element(nothing, number, INT(0)), nothing, first)


class _Loop:
    """A loop from 0 to an end, which it does not reach; at least once."""

    def __init__(self, builder: ir.IRBuilder, end: Any, step: int):
        self._builder, self._last, self._step = builder, end, step
        before = builder.block
        self._block = builder.append_basic_block()
        builder.branch(self._block)
        builder.position_at_end(self._block)
        self.number = builder.phi(LONG)
        self.number.add_incoming(LONG(0), before)

    def end(self) -> None:
        """Close the loop; what follows comes after it."""
        builder = self._builder
        following = builder.add(self.number, LONG(self._step))
        self.number.add_incoming(following, builder.block)
        after = builder.append_basic_block()
        builder.cbranch(builder.icmp_signed("<", following, self._last), self._block, after)
        builder.position_at_end(after)
