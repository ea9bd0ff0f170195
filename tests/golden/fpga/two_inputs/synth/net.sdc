# net_top: one clock. 10 ns is an example; set what your board has.
create_clock -name clk_i -period 10.0 [get_ports clk_i]
