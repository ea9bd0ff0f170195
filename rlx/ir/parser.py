"""The text form of graphs: reading. ``rlx.ir.printer`` describes it.

A recursive descent over tokens. Nothing is evaluated; op classes come by name,
attribute classes from the annotations of the op.

Tests: tests/unit/ir/test_text.py
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from rlx.ir.dims import Dim
from rlx.ir.graph import Constant, Graph, Source, Value
from rlx.ir.lookup import op_class
from rlx.ir.origin import Origin
from rlx.ir.payload import MAX_SEEDED, from_bytes, from_numbers, seeded
from rlx.ir.plain import Plain, PlainError, PlainRecord, decode_record, decode_source
from rlx.ir.regions import MAX_DEPTH as MAX_REGIONS
from rlx.ir.text_reader import TextReader
from rlx.ir.tokens import HINT
from rlx.ir.types import DType, QuantParams, Shape, TensorType
from rlx.support.errors import ShapeError

if TYPE_CHECKING:
    from rlx.ir.op import Op
    from rlx.ir.tokens import Token
    from rlx.ir.types import Array

MAX_DEPTH = 32
"""Deepest nesting of lists and records."""

_WORDS: dict[str, Plain] = {
    "true": True,
    "false": False,
    "none": None,
    "inf": float("inf"),
    "nan": float("nan"),
}


def parse_graph(text: str) -> Graph:
    """Return the graph that ``text`` describes; the inverse of ``format_graph``.

    Every node is checked by its op's ``infer``, and the written types must be the inferred ones.

    Raises:
        TextFormError: The text is malformed, with line and column.
    """
    return _Parser(text).graph()


def parse_op(text: str) -> Op:
    """Return the op that ``text`` describes, such as ``q.clamp {low=0, high=127}``.

    The inverse of ``format_op``. Inputs, parameters and constants are not ops without a type.

    Raises:
        TextFormError: The text is malformed.
    """
    parser = _Parser(text)
    name = parser.expect("word", "the name of an op")
    attributes = parser.attributes()
    parser.expect("end", "the end of the text")
    try:
        return parser.op(name, attributes, ())
    except PlainError as e:
        parser.fail(str(e), name)


def parse_type(text: str) -> TensorType:
    """Return the type that ``text`` describes, such as ``i8[1, 4] q(0.5, -3)``.

    Raises:
        TextFormError: The text is malformed.
    """
    parser = _Parser(text)
    type_ = parser.type()
    parser.expect("end", "the end of the text")
    return type_


@dataclass(frozen=True, slots=True)
class _Dense:
    """Elements of a constant, before their type is known."""

    content: tuple[bool | int | float, ...] | bytes
    repeated: bool = False
    seed: int | None = None

    def array(self, type_: TensorType) -> Array:
        """Return the elements as an array of ``type_``."""
        if self.seed is not None:
            return seeded(self.seed, type_)
        if self.repeated:
            if not type_.is_static or type_.size > MAX_SEEDED:
                raise ValueError(f"at most {MAX_SEEDED} elements can be written as one: {type_}")
            return from_numbers(self.content[:1] * type_.size, type_)
        if isinstance(self.content, bytes):
            return from_bytes(self.content, type_)
        return from_numbers(self.content, type_)


class _Parser(TextReader):
    """Reads one text; each method reads the part in its name."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._names: dict[str, tuple[Value, ...]] = {}
        self._regions = 0
        self._depth = 0

    def graph(self) -> Graph:
        """Read a whole graph."""
        self.mark("graph")
        graph = self.body()
        self.expect("end", "the end of the text")
        return graph

    def body(self) -> Graph:
        """Read a graph after its first word."""
        graph = Graph(self.string("the graph's name"))
        self.mark("{")
        if self.at("..."):
            self.abbreviated()
        while self._next.kind == "value":
            self.node(graph)
        self.mark("return")
        for value, name in self.list("}", self.output):
            graph.output(value, names=(name,))
        return graph

    def region(self, word: Token, depth: int) -> Graph:
        """Read a graph among attributes; values around it are not known in it."""
        if self._regions == MAX_REGIONS:
            self.fail(f"regions are nested deeper than {MAX_REGIONS}", word)
        around = self._names, self._regions, self._depth
        self._names, self._regions, self._depth = {}, self._regions + 1, depth
        graph = self.body()
        self._names, self._regions, self._depth = around
        return graph

    def output(self) -> tuple[Value, str]:
        """Read an output: a value and its name."""
        return self.value_reference(), self.string("the output's name")

    def node(self, graph: Graph) -> None:
        """Read one line: a node."""
        name = self.expect("value", "a value")
        if name.text in self._names:
            self.fail(f"{name.text} is defined twice", name)
        count = self.count() if self.accept(":") else 1
        self.mark("=")
        op_token = self.expect("word", "the name of an op")
        self.mark("(")
        operands = tuple(self.list(")", self.value_reference))
        attributes = self.attributes()
        self.mark(":")
        types = self.types(count)
        label = self.string("a name") if self.accept("name") else ""
        origin = self.origin()
        try:
            op = self.op(op_token, attributes, types)
            node = graph.restore(op, operands, types, name=label, origin=origin)
        except (ShapeError, PlainError) as e:
            self.fail(str(e).partition("\n")[0], op_token)
        self._names[name.text] = node.results

    def count(self) -> int:
        """Read a number of results."""
        token = self._next
        count = self.integer()
        if not 0 <= count <= len(self._text):
            self.fail(f"a node cannot have {count} results", token)
        return count

    def types(self, count: int) -> tuple[TensorType, ...]:
        """Read ``count`` types with commas between them."""
        found: list[TensorType] = []
        while len(found) < count:
            if found:
                self.mark(",")
            found.append(self.type())
        return tuple(found)

    def op(self, token: Token, attributes: dict[str, Plain | _Dense], types: tuple[TensorType, ...]
           ) -> Op:  # fmt: skip
        """Return the op called ``token`` with ``attributes``."""
        try:
            cls = op_class(token.text)
        except PlainError as e:
            self.fail(e.message, token, hint=e.hint or HINT)
        dense = {k: v for k, v in attributes.items() if isinstance(v, _Dense)}
        plain = {k: v for k, v in attributes.items() if not isinstance(v, _Dense)}
        if issubclass(cls, Source):
            return self.source(cls, dense, plain, types)
        if dense:
            raise PlainError(f"{cls.name}: {next(iter(dense))} cannot hold a constant")
        try:
            op: Op = decode_record(cls, plain)
        except PlainError as e:
            raise PlainError(f"{cls.name}: {e}") from e
        return op

    def source(
        self,
        cls: type[Source],
        dense: dict[str, _Dense],
        plain: dict[str, Plain],
        types: tuple[TensorType, ...],
    ) -> Op:
        """Return an input, parameter or constant; its type is that of its result."""
        if len(types) != 1:
            raise PlainError(f"{cls.name} has one result")
        if cls is not Constant and not dense:
            return decode_source(cls, plain, types[0])
        if cls is not Constant or plain or set(dense) != {"value"}:
            takes = "value=dense<...>" if cls is Constant else "no constant"
            raise PlainError(f"{cls.name} takes {takes} only")
        try:
            array = dense["value"].array(types[0])
        except ValueError as e:
            raise PlainError(f"{cls.name}: {e}") from e
        array.flags.writeable = False
        return Constant(type=types[0], value=array)

    def attributes(self) -> dict[str, Plain | _Dense]:
        """Read attributes in braces, or nothing."""
        found: dict[str, Plain | _Dense] = {}
        if self.accept("{"):
            for token, value in self.list("}", self.attribute):
                if token.text in found:
                    self.fail(f"{token.text} is given twice", token)
                found[token.text] = value
        return found

    def attribute(self) -> tuple[Token, Plain | _Dense]:
        """Read ``name=value``."""
        name = self.expect("word", "the name of an attribute")
        self.mark("=")
        return name, self.dense() if self.at("dense") else self.plain(self._depth)

    def plain(self, depth: int) -> Plain:
        """Read a value; an operator before or after it makes it a dimension."""
        token = self._next
        if self.at("-"):
            return _as_plain(self.sum(self.factor(), token))
        value = self.operand(depth)
        if not self.at_operator():
            return value
        return _as_plain(self.sum(self.first(value, token), token))

    def first(self, value: Plain, token: Token) -> int | Dim:
        """Return a value that was read as the first factor of a sum of products."""
        if isinstance(value, PlainRecord) and not value.fields:
            return Dim(value.name)
        if isinstance(value, str):
            return Dim(value)
        if type(value) is not int:
            self.fail(f"expected an integer or a symbol as a dimension, got {token}", token)
        return self.bounded(value, token)

    def operand(self, depth: int) -> Plain:
        """Read a value up to an operator."""
        if depth > MAX_DEPTH:
            self.fail(f"values are nested deeper than {MAX_DEPTH}")
        if self._next.kind == "string":
            return self.string("a string")
        if self._next.kind == "number":
            return self.number()
        if self.accept("["):
            return tuple(self.list("]", lambda: self.item(depth)))
        token = self.expect("word", "a value")
        if token.text in _WORDS:
            return _WORDS[token.text]
        if token.text == "graph" and self._next.kind == "string":
            return self.region(token, depth)
        return self.record(token, depth)

    def item(self, depth: int) -> Plain:
        """Read an item of a list."""
        if self.at("..."):
            self.abbreviated()
        return self.plain(depth + 1)

    def record(self, name: Token, depth: int) -> PlainRecord:
        """Read the rest of a record or symbol."""
        fields: dict[str, Plain] = {}
        if self.accept("("):
            for token, value in self.list(")", lambda: self.field(depth)):
                if token.text in fields:
                    self.fail(f"{token.text} is given twice", token)
                fields[token.text] = value
        return PlainRecord(name.text, fields)

    def field(self, depth: int) -> tuple[Token, Plain]:
        """Read ``name=value`` of a record."""
        name = self.expect("word", "the name of a field")
        self.mark("=")
        return name, self.plain(depth + 1)

    def dense(self) -> _Dense:
        """Read the elements of a constant."""
        self.mark("dense")
        self.mark("<")
        if self.at("..."):
            self.abbreviated()
        for word in ("all", "seed"):
            if self.accept(word):
                elements = self.short(word)
                self.mark(">")
                return elements
        if self._next.kind == "string":
            content: tuple[bool | int | float, ...] | bytes = self.base64()
        else:
            self.mark("[")
            content = tuple(self.list("]", self.element))
        self.mark(">")
        return _Dense(content)

    def short(self, word: str) -> _Dense:
        """Read the element that all are equal to, or the seed that they are made of."""
        if word == "all":
            return _Dense((self.element(),), repeated=True)
        token = self._next
        seed = self.integer()
        if not 0 <= seed < 1 << 31:
            self.fail(f"expected a seed in [0, {1 << 31}), got {seed}", token)
        return _Dense((), seed=seed)

    def base64(self) -> bytes:
        """Read bytes."""
        token = self._next
        text = self.string("base64")
        try:
            return base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError) as e:
            self.fail(f"expected base64: {e}", token)

    def element(self) -> bool | int | float:
        """Read an element of a constant."""
        for word, value in (("true", True), ("false", False)):
            if self.accept(word):
                return value
        return self.number()

    def abbreviated(self) -> NoReturn:
        """Refuse a text that leaves something out."""
        self.fail(
            "the text is abbreviated and cannot be read back",
            hint="write it with format_graph(graph), not with str(graph)",
        )

    def type(self) -> TensorType:
        """Read a type."""
        token = self.expect("word", "an element type")
        known = {d.value: d for d in DType}
        if token.text not in known:
            self.fail(f"no element type is called {token.text!r}; known: {', '.join(known)}", token)
        self.mark("[")
        shape: Shape = tuple(self.list("]", self.dimension))
        return TensorType(shape, known[token.text], self.quant() if self.at("q") else None)

    def quant(self) -> QuantParams:
        """Read quantization parameters."""
        token = self.mark("q")
        self.mark("(")
        axis = None
        if self.accept("axis"):
            self.mark("=")
            axis = self.integer()
            self.mark(",")
            pairs = self.list(")", self.scale_of_channel)
        else:
            scale = self.real()
            self.mark(",")
            pairs = [(scale, self.integer())]
            self.mark(")")
        try:
            return QuantParams(tuple(s for s, _ in pairs), tuple(z for _, z in pairs), axis)
        except ValueError as e:
            self.fail(str(e), token)

    def scale_of_channel(self) -> tuple[float, int]:
        """Read ``scale:zero_point``."""
        if self.at("..."):
            self.abbreviated()
        scale = self.real()
        self.mark(":")
        return scale, self.integer()

    def origin(self) -> Origin:
        """Read the origin, or nothing."""
        source = self.string("a file name") if self.accept("from") else ""
        location = self.string("a place") if self.accept("at") else ""
        passes = self.strings("the name of a pass") if self.accept("by") else ()
        layer = self.string("the name of a layer") if self.accept("layer") else ""
        joined = self.strings("a place") if self.accept("with") else ()
        return Origin(source, location, passes, layer, joined)

    def strings(self, what: str) -> tuple[str, ...]:
        """Read strings with commas between them."""
        strings = [self.string(what)]
        while self.accept(","):
            strings.append(self.string(what))
        return tuple(strings)

    def value_reference(self) -> Value:
        """Read a value that is already defined."""
        token = self.expect("value", "a value")
        results = self._names.get(token.text)
        if results is None:
            self.fail(f"{token.text} is not defined above", token)
        index = self.integer() if self.accept(":") else 0
        if not 0 <= index < len(results):
            self.fail(f"{token.text} has {len(results)} results, got the index {index}", token)
        return results[index]


def _as_plain(dim: int | Dim) -> Plain:
    """Return a dimension as the plain value of an attribute."""
    return dim if isinstance(dim, int) else PlainRecord(Dim.__name__, dim.to_plain())
