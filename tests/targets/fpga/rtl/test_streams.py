"""Streams among names, and instances with a stream in each line."""

from __future__ import annotations

import pytest

from rlx_fpga.rtl.layout import MAX_LINE_LENGTH
from rlx_fpga.rtl.streams import instance, stream_of, streams


def test_a_stream_has_valid_and_ready():
    names = ["a_ready", "a_data", "a_valid", "b_data", "b_valid", "c_ready", "a_last"]
    assert [stream_of(name, names) for name in names] == ["a", "a", "a", None, None, None, None]
    assert streams(names) == [["a_data", "a_valid", "a_ready"]]


@pytest.mark.parametrize("extra", range(40))
def test_instances_keep_to_the_length_and_break_only_where_they_must(extra):
    """Connections are complete, in their order, in one line if that has space within a module."""
    connected = {"clk": "clk", "rst": "rst"}
    connected |= {f"in_{part}": f"from_{'x' * extra}_{part}" for part in ("data", "valid", "ready")}
    for ports in (connected, {"a": "b" * 2 * extra}, {f"p{k}": "q" * extra for k in range(9)}):
        lines = instance("net_cell", [], "u_cell", ports)
        texts = [f".{port}" if port == to else f".{port}({to})" for port, to in ports.items()]
        whole = f"net_cell u_cell ({', '.join(texts)});"
        assert (lines == [whole]) == (len(whole) + 2 <= MAX_LINE_LENGTH)
        assert all(len(line) + 2 <= MAX_LINE_LENGTH for line in lines)
        assert "".join("".join(lines).split()) == "".join(whole.split())
