"""``.rlx`` files with dimensions that are expressions: damaged, out of order or beyond bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from malformed.case import Accepted, Case, Refused
from malformed.rlx_models import edited, joined, op, parts
from rlx.ir import Dim, Graph, GraphModule, f32
from rlx.ir.file import to_file_bytes
from rlx.ops.real import RealBroadcastTo, RealNeg, RealReshape
from rlx.support.errors import FrontendError

if TYPE_CHECKING:
    from collections.abc import Callable

NEEDS = (
    'is not a Dim: expected either a name or terms such as [[4, "batch"], [1]] for 4 * batch + 1'
)


def first_dimension(**fields: Any) -> bytes:
    """Return the sound file whose input has this dimension first."""
    return edited("nodes", 0, "types", 0, "shape", 0, value={"@": "Dim", **fields})


def refused(message: str, **fields: Any) -> Refused:
    """Return the case of a first dimension that is not a dimension."""
    return Refused(
        lambda: first_dimension(**fields),
        FrontendError,
        "document",
        f"nodes[0].types[0].shape[0] {message}",
    )


def symbolic(change: Callable[[dict[str, Any]], object]) -> bytes:
    """Return a file of symbolic dimensions, its document changed: reshape, broadcast, negate."""
    n, m = Dim("n"), Dim("m")
    graph = Graph("symbolic")
    x = graph.input("x", f32(n + 1, m, 2))
    flat = graph.apply(RealReshape(shape=(n * m + m, 2)), x)
    wide = graph.apply(RealBroadcastTo(shape=(3, n * m + m, 2)), flat)
    graph.output(graph.apply(RealNeg(), wide), names=["y"])
    tensors, content = parts(to_file_bytes(GraphModule.mir(graph)))
    change(content["document"])
    return joined(tensors, content)


def reshaped(*terms: Any) -> bytes:
    """Return the symbolic file whose reshape has these terms as its first dimension."""

    def change(document: dict[str, Any]) -> None:
        shape = [{"@": "Dim", "terms": list(terms)}, 2]
        document["nodes"][1]["op"]["shape"] = shape
        document["nodes"][1]["types"][0]["shape"] = shape

    return symbolic(change)


def products(count: int) -> bytes:
    """Return a file in which each of many reshapes multiplies sums."""
    dims = [Dim(name) + 1 for name in "abcd"]
    graph = Graph("products")
    x = graph.input("x", f32(*dims))
    for turn in range(count):
        first, second, third, fourth = dims[turn % 4 :] + dims[: turn % 4]
        x = graph.apply(RealReshape(shape=(first * second, third * fourth)), x)
    graph.output(x, names=["y"])
    return to_file_bytes(GraphModule.mir(graph))


CASES: dict[str, Case] = {
    "no fields": refused(NEEDS),
    "name a number": refused(NEEDS, name=3),
    "name and terms": refused(NEEDS, name="n", terms=[[1, "n"], [1]]),
    "terms a text": refused(NEEDS, terms="n + 1"),
    "term a number": refused(NEEDS, terms=[1]),
    "term empty": refused(NEEDS, terms=[[]]),
    "factor true": refused(NEEDS, terms=[[True, "n"]]),
    "factor 1.5": refused(NEEDS, terms=[[1.5, "n"]]),
    "symbol a number": refused(NEEDS, terms=[[1, 2]]),
    "exponent 10000": refused(NEEDS, terms=[[1, *["n"] * 10_000]]),
    "terms 100000": refused(
        "is not a Dim: it has 100000 terms; at most 16 are allowed",
        terms=[[1, f"n{i}"] for i in range(100_000)],
    ),
    "terms none": refused("is not a Dim: 0 must be written as 0", terms=[]),
    "factor 0": refused("is not a Dim: 0 must be written as 0", terms=[[0, "n"]]),
    "terms a symbol": refused('is not a Dim: n must be written as {"name": "n"}', terms=[[1, "n"]]),
    "terms in another order": refused(
        'is not a Dim: n + 1 must be written as {"terms": [[1, "n"], [1]]}',
        terms=[[1], [1, "n"]],
    ),
    "symbols in another order": refused(
        'is not a Dim: m * n must be written as {"terms": [[1, "m", "n"]]}',
        terms=[[1, "n", "m"]],
    ),
    "term twice": refused(
        'is not a Dim: 2 * n must be written as {"terms": [[2, "n"]]}',
        terms=[[1, "n"], [1, "n"]],
    ),
    "factor 2^70": Refused(
        lambda: first_dimension(terms=[[2**70, "n"]]),
        FrontendError,
        "node 0",
        "a dimension is 1180591620717411303424 * n; the limit is 8388608",
    ),
    "factor -2^70": Refused(
        lambda: first_dimension(terms=[[1, "n", "n"], [-(2**70), "n"]]),
        FrontendError,
        "node 0",
        "a dimension is n * n - 1180591620717411303424 * n; the limit is 8388608",
    ),
    "always negative": Refused(
        lambda: first_dimension(terms=[[-2, "n"], [1]]),
        FrontendError,
        "node 0",
        "a dimension must not be negative, got -2 * n + 1",
    ),
    "elements 2^46 at least": Refused(
        lambda: edited(
            "nodes", 0, "types", 0, "shape", value=[{"@": "Dim", "terms": [[2**23, "n"]]}] * 2
        ),
        FrontendError,
        "node 0",
        "a tensor has 70368744177664 elements; the limit is 8388608",
    ),
    "constant of a symbol": Refused(
        lambda: edited("nodes", 1, "types", 0, "shape", 0, value={"@": "Dim", "name": "n"}),
        FrontendError,
        "node 1",
        "expected a constant with a static shape, got i8[n, 3, 3, 2]",
    ),
    "symbol where a number is needed": Refused(
        lambda: op("q.reshape", "shape", value=[1, {"@": "Dim", "terms": [[2, "n"], [1]]}]),
        FrontendError,
        "node 5",
        "q.reshape: shape[1] must be an integer, got Dim",
    ),
    "reshape to other symbols": Refused(
        lambda: reshaped([1, "m", "n"], [1, "n"]),
        FrontendError,
        "node 1",
        "real.reshape: f32[n + 1, m, 2] does not have the elements of shape [m * n + n, 2]",
    ),
    "reshape to a factor 2^70": Refused(
        lambda: reshaped([2**70, "m"]),
        FrontendError,
        "node 1",
        "a dimension is 1180591620717411303424 * m; the limit is 8388608",
    ),
    "broadcast to a product that is too large": Refused(
        lambda: symbolic(
            lambda d: d["nodes"][1]["op"].update(
                shape=[{"@": "Dim", "terms": [[1, *"abcdefgh"]]}, {"@": "Dim", "name": "n"}]
            )
        ),
        FrontendError,
        "node 1",
        "dimension: multiplies 9 symbols; at most 8 are allowed",
    ),
    "attribute with a factor 2^70": Refused(
        lambda: symbolic(
            lambda d: d["nodes"][2]["op"]["shape"].__setitem__(
                1, {"@": "Dim", "terms": [[2**70, "n"]]}
            )
        ),
        FrontendError,
        "node 2",
        "real.broadcast_to: shape[1] is 1180591620717411303424; the limit is 8388608",
    ),
    "type of other terms than the op's": Refused(
        lambda: symbolic(
            lambda d: d["nodes"][2]["types"][0]["shape"].__setitem__(
                1, {"@": "Dim", "terms": [[1, "m", "n"], [2, "m"]]}
            )
        ),
        FrontendError,
        "node 2",
        "real.broadcast_to: expected f32[3, m * n + m, 2], got f32[3, m * n + 2 * m, 2]",
    ),
    "symbolic and sound": Accepted(
        lambda: symbolic(lambda _: None), "expressions are a part of the format"
    ),
    "four hundred products": Accepted(lambda: products(400), "each product stays small"),
}
"""Files by name."""
