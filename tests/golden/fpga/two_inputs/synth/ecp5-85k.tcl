# Yosys in FuseSoC: runs ecp5-85k.ys unchanged.
yosys script synth/ecp5-85k.ys
