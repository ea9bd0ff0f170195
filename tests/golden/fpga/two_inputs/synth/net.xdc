# net_top: one clock. 75 MHz is an example; set what your board has.
create_clock -name clk_i -period 13.333 [get_ports clk_i]
