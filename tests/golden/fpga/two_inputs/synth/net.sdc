# net_top: its clock, 75 MHz, for tools that read SDC (Diamond, Radiant, Quartus).
create_clock -name clk_i -period 13.333 [get_ports clk_i]
