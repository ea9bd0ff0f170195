"""Content of the stream of weights, in its order."""

from targets.fpga.architectures.engine.test_design import network

from rlx.ir import Graph, i8
from rlx.ops.q import QMaxPool2d, Window
from rlx.support.errors import EmitError
from rlx_fpga.architectures.engine.loader import stream_bytes
from rlx_fpga.architectures.engine.lower import assemble
from rlx_fpga.architectures.engine.program import Feed
from support.messages import raises


def parts(program):
    """Return constants and weights as bytes: of each instruction."""
    size, scale, word = program.beats_a_scale * program.lanes, 0, 0
    for one in program.instructions:
        scales = program.constants.words[scale : scale + one.scales]
        words = program.weights[word : word + one.words]
        scale, word = scale + one.scales, word + one.words
        yield (
            b"".join(n.to_bytes(size, "little") for n in scales),
            b"".join(bytes(n & 0xFF for n in row) for row in words),
        )


def test_each_instruction_has_its_constants_before_its_weights():
    program = assemble(network(), 9, feed=Feed.STREAM)
    assert stream_bytes(program) == b"".join(a + b for a, b in parts(program))
    assert program.weight_depth == max(one.words for one in program.instructions)
    assert all(one.weights == one.constants == 0 for one in program.instructions)


def test_all_constants_come_before_all_weights_if_they_come_once():
    program = assemble(network(), 9, feed=Feed.LOAD)
    scales, words = zip(*parts(program), strict=True)
    assert stream_bytes(program) == b"".join((*scales, *words))
    assert program.weight_depth == len(program.weights)


def test_a_graph_without_weights_has_nothing_to_stream():
    graph = Graph("net")
    graph.output(graph.apply(QMaxPool2d(window=Window((2, 2))), graph.input("x", i8(1, 4, 4, 1))))
    with raises(EmitError):
        assemble(graph, 8, feed=Feed.STREAM)
