"""A planned graph in an arena, whose nodes run as C where there is a kernel."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from rlx.ir.evaluate import explain
from rlx.runtime.numpy_backend import NumpyProgram
from rlx.support.text.units import counted
from rlx_host.instruction_set import find, processor
from rlx_host.kernels.rules import lower_schedule
from rlx_host.library import StepError, load
from rlx_host.pool import pool_of
from rlx_host.source import ProgramSource, number_steps

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rlx.ir import Array, GraphModule, Node, Refusal
    from rlx.runtime import CompileOptions
    from rlx.runtime.numpy_backend import BoundStep
    from rlx_host.layer import NativeLayer
    from rlx_host.library import Library
    from rlx_host.source import NativeStep


@dataclass(frozen=True, slots=True)
class NativeCode:
    """Compiled code of a graph, which programs share.

    Attributes:
        instruction_set: Name of the instruction set it is compiled for.
        steps: Call of each native node.
        refusals: Reason of each node that runs by NumPy.
        source: The C file; None if no node is native.
        library: Its compiled form; None if no node is native.
    """

    instruction_set: str
    steps: Mapping[Node, NativeStep]
    refusals: Mapping[Node, Refusal]
    source: ProgramSource | None
    library: Library | None


def compile_module(module: GraphModule, options: CompileOptions) -> NativeCode:
    """Return the code of a planned graph.

    Raises:
        UsageError: The machine does not have the instruction set.
        SimulationError: The compiler fails.
    """
    assert module.plan is not None
    instructions = find(options.instruction_set)
    layers, refusals = lower_schedule(module.plan, instructions)
    steps = number_steps(layers)
    source = ProgramSource.of(steps, instructions) if steps else None
    library = None if source is None else load(source)
    return NativeCode(
        instructions.name, {step.node: step for step in steps}, refusals, source, library
    )


class NativeProgram(NumpyProgram):
    """A program of the NumPy backend whose runs of native nodes are one call each.

    Attributes:
        code: The compiled code.
    """

    def __init__(self, module: GraphModule, options: CompileOptions, code: NativeCode) -> None:
        self.code = code
        self._threads = options.threads
        self._pool = pool_of(options.threads) if code.steps else None
        count = sum(step.pointer_count for step in code.steps.values())
        self._pointers = (ctypes.c_void_p * count)()
        self._kept: dict[Node, list[Array]] = {}
        self._only: Callable[[], object] | None = None
        self._fallible: dict[int, BoundStep] = {}
        super().__init__(module, options)

    @property
    def code_key(self) -> str:
        """Text that differs between C files, compilers, flags and processors."""
        library = "" if self.code.library is None else self.code.library.key
        return f"{self.code.instruction_set} {library} {processor()}"

    @property
    def summary(self) -> str:
        """Instruction set, and the number of nodes in C and by NumPy, with the ops of these."""
        native = f"{self.code.instruction_set}, {counted(len(self.code.steps), 'node')} in C"
        if self._threads > 1:
            native += f" on {self._threads} threads"
        if not self.code.refusals:
            return native
        ops = sorted({node.op.name for node in self.code.refusals})
        return f"{native}, {len(self.code.refusals)} by NumPy: {', '.join(ops)}"

    def run(self, inputs: Sequence[Array]) -> tuple[Array, ...]:
        """Return the outputs, which the next run overwrites (see ``NumpyProgram.run``)."""
        try:
            return super().run(inputs)
        except StepError as failure:
            error = self._explain(failure)
        raise error

    def profile(self, inputs: Sequence[Array]) -> list[tuple[Node, int, int]]:
        """Run once; return each node that computes, and when it began and ended."""
        try:
            return super().profile(inputs)
        except StepError as failure:
            error = self._explain(failure)
        raise error

    def _explain(self, failure: StepError) -> Exception:
        """Return the error that NumPy raises for the step that failed."""
        step = self._fallible[failure.step]
        try:
            super().bind_step(step)()
        except Exception as error:
            explain(step.node, error)
            return error
        return failure

    def bind_step(self, step: BoundStep) -> Callable[[], object]:
        """Return the call of a native node, else NumPy's function."""
        native = self.code.steps.get(step.node)
        if native is None:
            return super().bind_step(step)
        arrays = bound_arrays(native.layer, step, self._threads)
        self._kept[step.node] = arrays
        if native.layer.may_fail:
            self._fallible[native.index] = step
        for index, array in enumerate(arrays):
            self._pointers[native.first + index] = array.ctypes.data
        return self._call(native.index, native.index + 1)

    def join(self, runs: Sequence[Callable[[], object]]) -> Sequence[Callable[[], object]]:
        """Return one call for each run of native steps."""
        calls: list[Callable[[], object]] = []
        function = None if self.code.library is None else self.code.library.run
        first = last = 0
        for run in runs:
            if not (isinstance(run, partial) and run.func is function):
                calls.append(run)
                first = last = -1
                continue
            begin, end = (argument.value for argument in run.args[1:3])
            if begin == last and calls and first >= 0:
                calls[-1] = self._call(first, end)
            else:
                calls.append(run)
                first = begin
            last = end
        self._only = calls[0] if len(calls) == 1 and first >= 0 else None
        return calls

    def _compute(self) -> None:
        """Run every step; only NumPy's need its error handling, which costs time."""
        if self._only is None:
            super()._compute()
        else:
            self._only()

    def _call(self, first: int, last: int) -> partial[object]:
        """Return the call of native steps ``first`` to ``last``, the latter not included."""
        assert self.code.library is not None
        pointers = ctypes.c_void_p(ctypes.addressof(self._pointers))
        pool = None if self._pool is None else self._pool.handle
        steps = ctypes.c_int(first), ctypes.c_int(last)
        return partial(self.code.library.run, pointers, *steps, pool)


def bound_arrays(layer: NativeLayer, step: BoundStep, threads: int = 1) -> list[Array]:
    """Return the arrays that a call of a layer passes, each in one run of bytes.

    Scratch memory is one array with a part for each thread that may compute units of the layer.
    """
    values = step.inputs
    arrays = [np.ascontiguousarray(values[index]) for index in layer.operands]
    arrays += [_aligned(pack(values)) for pack in layer.tables]
    if layer.scratch_bytes:
        copies = 1 if layer.split is None else threads
        arrays.append(step.workspace.take((copies, layer.thread_scratch_bytes), np.uint8))
    return [*arrays, *step.outputs]


def _aligned(table: Array) -> Array:
    """Return a copy of a table that begins at a multiple of 64 bytes."""
    raw = np.empty(table.nbytes + 64, np.uint8)
    begin = -raw.ctypes.data % 64
    copy = raw[begin : begin + table.nbytes].view(table.dtype).reshape(table.shape)
    copy[...] = table
    return copy
