# Yosys, started by FuseSoC: ecp5-85k.ys as it is.
yosys script synth/ecp5-85k.ys
