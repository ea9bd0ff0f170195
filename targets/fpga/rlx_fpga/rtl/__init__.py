"""Prints elaborated hardware as SystemVerilog that an engineer would have written.

Amaranth's own conversion to Verilog uses Yosys, which flattens expressions into anonymous wires.
Here its statements are printed unchanged: names, ``if`` and ``case``, operators; one module for
each distinct cell. The modules are

- ``values``: operands and slices of Amaranth's values;
- ``expressions``: operators with explicit widths and signs;
- ``statements``: assignments, conditions and their order;
- ``processes``: which ``assign``, ``always_comb`` and ``always_ff`` blocks a cell has;
- ``memories``: memories and their ports;
- ``hierarchy``: signals and ports of the parts of a design; ``liveness``: which signals matter;
- ``naming``: names of ports and signals; ``aliases``: signals with more names than one;
- ``layout``: lines; ``streams``: instances, with each stream in a line;
- ``comments``: the comment above a module;
- ``modules``: whole modules, equal ones once.

They read classes of ``amaranth.hdl`` that Amaranth does not document, so its version is bounded in
``pyproject.toml`` and tests compare every construct with Amaranth's own netlist.
"""
