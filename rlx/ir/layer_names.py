"""One name for each layer: the shortest part of its name in the model that no other layer has.

The rule is that of design note 19. Frontends and commands call :func:`with_layer_names` once,
before any pass; origins carry the names from there on, and :func:`layer_names` reads them, in any
later form of the network. Names have the characters ``[A-Za-z0-9_./-]`` and at most 64 of them, so
that comments and tables show them unchanged; identifiers come from
:func:`rlx.support.text.names.mangle`.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain, combinations
from typing import TYPE_CHECKING, Final

from rlx.ir.graph import Constant, Input, Param
from rlx.ir.macs import MACS
from rlx.ir.rewriter import Rewriter
from rlx.support.text.names import COMMENT_LENGTH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from rlx.ir.graph import Graph, Node
    from rlx.ir.module import GraphModule

MAX_PART: Final = 40
"""Maximum characters of a part that is a name alone; a longer one is hard to read."""

_MAX_TEXT: Final = 2_000
"""Characters of a model's name that are looked at."""
_MAX_WORDS: Final = 3
"""Segments that a name is put together from."""
_MAX_SEGMENTS: Final = 12
"""Segments of a path of which pairs and triples are tried."""
_MARGIN: Final = 2
"""A segment is of the layer that mentions it at least this many times more often than any other."""

_NOT_NAME: Final = re.compile(r"[^A-Za-z0-9_./;:-]+|:(?!\d+(?:;|$))")
_PLAIN: Final = re.compile(r"[A-Za-z0-9_./;-]*")
_RESULT: Final = re.compile(r":\d+$")
_NOT_WORD: Final = re.compile(r"[^a-z0-9]+")

_LETTER: Final = re.compile(r"[A-Za-z]")
_LAST: Final = ">"
"""Mark of a segment that ends a path of several: most exporters put the operation's name there."""
_NOTHING: Final = (0.0, 0.0)


@dataclass(frozen=True, slots=True)
class SourceLayer:
    """A layer of the model, as its file has it.

    Attributes:
        text: Name in the file, any text.
        op: Word for its operation, for layers whose name says nothing.
        rank: 0 for inputs, 1 for layers with weights, 2 for others; lower ranks choose first.
    """

    text: str
    op: str
    rank: int = 2


def layer_names(graph: Graph) -> dict[Node, str]:
    """Return the name of each input and each node that computes, all different.

    Of the nodes that come from one layer of the model the main one has the layer's name (see
    :func:`main_node`), and the others with their ops as suffixes. A node that a pass inserted is
    called after the layer that it reads, as in ``image_quantize``.
    """
    return _named([n for n in graph.nodes if not isinstance(n.op, Constant | Param)])


def name_nodes(every: Iterable[Node]) -> dict[Node, str]:
    """Return names as :func:`layer_names`, of some nodes of a graph and the ones that they read."""
    known = dict.fromkeys(every)
    known |= dict.fromkeys(o.node for n in known for o in n.operands)
    ordered = sorted(known, key=lambda n: n.index)
    return _named([n for n in ordered if not isinstance(n.op, Constant | Param)])


def _named(nodes: Sequence[Node]) -> dict[Node, str]:
    """Return the names of inputs and of nodes that compute."""
    if not any(n.origin.layer for n in nodes):
        return _named_by_source(nodes, {})
    names, used = _Used(), {}
    groups: dict[str, list[Node]] = defaultdict(list)
    for node in nodes:
        if node.origin.layer:
            groups[node.origin.layer].append(node)
    for layer, group in groups.items():
        used[main_node(group)] = names.claim(layer)
    for node in nodes:
        if node not in used:
            used[node] = names.claim(_with_op(node.origin.layer or _neighbour(node, used), node))
    return {node: used[node] for node in nodes}


def with_layer_names(graph: Graph, texts: Mapping[str, str] | None = None) -> Graph:
    """Return a graph whose nodes carry their layers' names; itself if they do already.

    Args:
        graph: A network that no pass has changed yet.
        texts: Names of layers in the file by location, where nodes are not called by them.
    """
    nodes = [n for n in graph.nodes if not isinstance(n.op, Constant | Param)]
    if not nodes or any(n.origin.layer for n in nodes):
        return graph
    names = _named_by_source(nodes, texts or {})
    rewriter = Rewriter(graph)
    for node in rewriter:
        if node in names:
            rewriter.keep(node, origin=replace(node.origin, layer=names[node]))
    return rewriter.finish()


def with_named_layers(module: GraphModule) -> GraphModule:
    """Return a module whose graph has :func:`with_layer_names`; itself if it is planned."""
    if module.plan is not None:
        return module
    graph = with_layer_names(module.graph)
    return module if graph is module.graph else replace(module, graph=graph)


def main_node(nodes: Sequence[Node]) -> Node:
    """Return the node after which a layer is called that all of them make up.

    It is an input, else the first node with weights, else the last that joins values or is not
    elementwise, else the last that computes, else the last.
    """
    for is_main in (_is_input, _has_weights):
        if (main := next(filter(is_main, nodes), None)) is not None:
            return main
    computing = [n for n in nodes if not n.op.traits.moves_only]
    return ([n for n in computing if not _is_function(n)] or computing or nodes)[-1]


def layer_key(node: Node) -> tuple[str, str]:
    """Return the key of the layer that a node is part of: its name and where it comes from."""
    return node.name or node.origin.layer, node.origin.location


def origins_of(node: Node) -> tuple[str, ...]:
    """Return the nodes of the model of which a node was made, its main one first.

    Each is a text such as ``net.onnx node 3 Conv '/conv1/Conv'``; in a network made by hand it is
    the name from its author.
    """
    return node.origin.places or tuple(filter(None, (node.name,)))


def shortest_names(layers: Sequence[SourceLayer]) -> list[str]:
    """Return a name for each layer: the rule itself, on the texts of a model file.

    A text is a chain of paths, separated by semicolons; segments of a path are separated by
    slashes. The name is the segment that the layer mentions in most of its paths, among those that
    tell it apart; else a pair or a triple of segments of one path, else the whole path.
    """
    paths = [_paths(layer.text) for layer in layers]
    mentions = [_mentions(path) for path in paths]
    everywhere = Counter(segment for shares in mentions for segment in shares)
    result, used = [""] * len(layers), _Used()
    words = cache(lambda i, size: _combinations(paths[i], size))
    for rank in sorted({layer.rank for layer in layers}):
        mine = [i for i, layer in enumerate(layers) if layer.rank == rank]
        rivals = mine if rank < _LAST_RANK else range(len(layers))
        best = _two_best(mentions[i] for i in rivals)
        waiting = []
        for i in mine:
            segments = _telling(mentions[i], best, everywhere)
            names = (segment.lstrip(_LAST) for segment in segments)
            name = next(filter(used.is_free, names), None)
            if name is None:
                waiting.append(i)
            else:
                result[i] = used.claim(name)
        for i, name in _several(waiting, rivals, words, used):
            result[i] = name
        for i in mine:
            result[i] = result[i] or used.claim(_fallback(layers[i], paths[i]))
    return result


_LAST_RANK: Final = 2


class _Used:
    """Names in use: two that differ in case or in punctuation are the same."""

    def __init__(self) -> None:
        self._keys: set[str] = set()
        self._counts: Counter[str] = Counter()

    def is_free(self, name: str) -> bool:
        """Whether no layer has a name."""
        return _key(name) not in self._keys

    def claim(self, name: str) -> str:
        """Return a name that no layer has, with a number appended on a clash, and reserve it."""
        base = key = _key(name)
        candidate, count = name, self._counts[base]
        while key in self._keys:
            count = max(count, 1) + 1
            suffix = f"_{count}"
            candidate = name[: COMMENT_LENGTH - len(suffix)] + suffix
            key = _key(candidate)
        self._counts[base] = count
        self._keys.add(key)
        return candidate


def _key(name: str) -> str:
    """Return the key that is the same for names that become one identifier, or one file."""
    return _NOT_WORD.sub("_", name.lower()).strip("_")


def _is_input(node: Node) -> bool:
    return isinstance(node.op, Input)


def _has_weights(node: Node) -> bool:
    """Return whether a node multiplies by a matrix of weights."""
    return type(node.op) in MACS and any(
        o.type.rank > 1 and _is_known(o.node) for o in node.operands[1:]
    )


def _is_known(node: Node) -> bool:
    """Return whether a node is a constant or a parameter, or made of such in one step."""
    sources = node, *(o.node for o in node.operands)
    return all(isinstance(n.op, Constant | Param) for n in sources[1:] or sources)


def _is_function(node: Node) -> bool:
    """Return whether a node makes one value of another of its shape."""
    computed = {o for o in node.operands if not isinstance(o.node.op, Constant | Param)}
    return len(computed) <= 1 and all(o.type.shape == node.types[0].shape for o in computed)


def op_word(node: Node) -> str:
    """Return the op's name without its dialect."""
    return node.op.name.rpartition(".")[2]


def _with_op(name: str, node: Node) -> str:
    word = op_word(node)
    return f"{name[: COMMENT_LENGTH - len(word) - 1]}_{word}" if name else word


def _neighbour(node: Node, names: Mapping[Node, str]) -> str:
    """Return the name of the layer that a node reads, empty if it reads constants only."""
    return next((names[o.node] for o in node.operands if o.node in names), "")


def _named_by_source(nodes: Sequence[Node], texts: Mapping[str, str]) -> dict[Node, str]:
    """Return the names of nodes that come as a frontend or an author made them."""
    groups: dict[tuple[str, ...], list[Node]] = defaultdict(list)
    for node in nodes:
        groups[_source(node, texts)].append(node)
    mains = [main_node(group) for group in groups.values()]
    layers = [
        SourceLayer(key[0], op_word(main), 0 if _is_input(main) else 1 if _has_weights(main) else 2)
        for key, main in zip(groups, mains, strict=True)
    ]
    names, by_node = _Used(), {}
    for main, name in zip(mains, shortest_names(layers), strict=True):
        by_node[main] = names.claim(name)
    for group, main in zip(groups.values(), mains, strict=True):
        for node in group:
            if node is not main:
                by_node[node] = names.claim(_with_op(by_node[main], node))
    return {node: by_node[node] for node in nodes}


def _source(node: Node, texts: Mapping[str, str]) -> tuple[str, ...]:
    """Return the key that nodes of one layer of the model have in common, its name first."""
    text = texts.get(node.origin.location, "") or node.name
    return (text,) if text else ("", str(node.index))


def _paths(text: str) -> list[tuple[str, ...]]:
    """Return the paths of a name, each as segments that are valid in a name."""
    plain = text[:_MAX_TEXT].replace("\\", "/")
    if not _PLAIN.fullmatch(plain):
        plain = _NOT_NAME.sub("_", plain)
    return [segments for path in plain.split(";") if (segments := _segments(path))]


def _segments(path: str) -> tuple[str, ...]:
    """Return the segments of one path, the last of several marked."""
    segments: list[str] = []
    number = ""
    for word in (_RESULT.sub("", path) if ":" in path else path).split("/"):
        segment = word if word.isalnum() else word.strip("_.-:")
        if segment[:1].isalpha() or _LETTER.search(segment):
            segments.append(number + segment)
            number = ""
        elif segment:
            number = f"{number}{segment}/"  # a number alone names nothing: it belongs to the next
    if number:
        segments.append(number[:-1])
    if len(segments) > 1:
        segments[-1] = _LAST + segments[-1]
    return tuple(segments)


def _mentions(paths: Sequence[tuple[str, ...]]) -> dict[str, float]:
    """Return each segment that can be a name, and how often a path mentions it on average."""
    counts: dict[str, int] = {}
    for path in paths:
        for segment in path:
            counts[segment] = counts.get(segment, 0) + 1
    size = len(paths)
    return {
        s: n / size
        for s, n in counts.items()
        if len(s) <= MAX_PART and (s[0].isalpha() or _LETTER.search(s))
    }


def _is_name(path: str) -> bool:
    """Return whether a path can be a name."""
    return len(path) <= MAX_PART and _LETTER.search(path) is not None


def _two_best(mentions: Iterable[Mapping[str, float]]) -> dict[str, tuple[float, float]]:
    """Return the largest and the second largest share of each segment."""
    best: dict[str, tuple[float, float]] = {}
    for shares in mentions:
        for segment, share in shares.items():
            first, second = best.get(segment, _NOTHING)
            if share > first:
                best[segment] = share, first
            elif share > second:
                best[segment] = first, share
    return best


def _telling(
    mentions: Mapping[str, float],
    best: Mapping[str, tuple[float, float]],
    everywhere: Mapping[str, int],
) -> list[str]:
    """Return the segments that are of a layer alone, the best name first.

    That is the one that most of its paths mention; among several, one that is not an operation's,
    that few layers mention, that is short, and that comes late in the path.
    """
    segments = [
        (-share, segment[0] == _LAST, everywhere[segment], len(segment), -place, segment)
        for place, (segment, share) in enumerate(mentions.items())
        if share == best[segment][0] >= _MARGIN * best[segment][1]
    ]
    return [segment for *_, segment in sorted(segments)]


def _several(
    waiting: Sequence[int],
    rivals: Sequence[int],
    words: Callable[[int, int], set[tuple[str, ...]]],
    used: _Used,
) -> Iterator[tuple[int, str]]:
    """Yield the names of layers that have no segment of their own: pairs, then triples of them."""
    for size in range(2, _MAX_WORDS + 1):
        if not waiting:
            return
        counts = Counter(chain.from_iterable(words(i, size) for i in rivals))
        left = []
        for i in waiting:
            choices = [c for c in words(i, size) if counts[c] == 1]
            choices.sort(key=lambda c: (c[-1][0] == _LAST, sum(map(len, c)), c))
            texts = ("/".join(c).replace(_LAST, "") for c in choices)
            name = next((t for t in texts if len(t) <= MAX_PART and used.is_free(t)), None)
            if name is None:
                left.append(i)
            else:
                yield i, used.claim(name)
        waiting = left


def _combinations(paths: Sequence[tuple[str, ...]], size: int) -> set[tuple[str, ...]]:
    return {c for path in paths for c in combinations(path[-_MAX_SEGMENTS:], size)}


def _fallback(layer: SourceLayer, paths: Sequence[tuple[str, ...]]) -> str:
    """Return the first whole path of a layer, or its op, with the number that its name is."""
    path = "/".join(paths[0]).replace(_LAST, "") if paths else ""
    if _is_name(path):
        return path
    return f"{layer.op}_{path}" if path and len(path) <= MAX_PART // 2 else layer.op
