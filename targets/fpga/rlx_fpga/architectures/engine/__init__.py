"""A time-multiplexed engine that runs all layers in turn, for small devices.

- ``program.py``: instructions of the engine, and their constants;
- ``lower.py``: a rule for each op, and the program of a graph;
- ``loops.py``: loops over elements of tensors and windows of images;
- ``moves.py``: the rules of ops that only move values;
- ``sequencer.py``: loops and addresses of an instruction;
- ``array.py``: products, sums, maxima and tables;
- ``scale.py``: the exact requantizer of all results;
- ``timing.py``: cycles if the array must pause while results are written;
- ``loader.py``: weights that are loaded over a stream;
- ``architecture.py``: the interface of all architectures;
- ``choice.py``: the engine for a device and options;
- ``design.py``: memories, and the stream ports around them.
"""
