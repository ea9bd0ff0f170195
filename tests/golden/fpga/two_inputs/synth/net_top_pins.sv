// net_top_pins: net_top with few pins, which shift registers connect to its ports.
//
// For out-of-context place and route: the streams of the core are meant for on-chip logic and may be
// wider than the device has pins. Every port of the core starts or ends at a register here:
// the reported clock is that of the core. It has no other use.

`default_nettype none

module net_top_pins (
  input  wire logic clk_i,
  input  wire logic rst_ni,
  input  wire logic serial_i,
  input  wire logic load_i,
  output wire logic serial_o
);

  localparam int InBits = 53;
  localparam int OutBits = 28;

  // Synchronizes a reset that comes from a button.
  logic [1:0] rst_nq;
  logic [InBits-1:0] in_q;
  logic [OutBits-1:0] out_q;
  wire logic [OutBits-1:0] out;

  assign serial_o = out_q[0];

  always_ff @(posedge clk_i) begin
    rst_nq <= {rst_nq[0], rst_ni};
    in_q <= {serial_i, in_q[InBits-1:1]};
    out_q <= load_i ? out : {1'b0, out_q[OutBits-1:1]};
  end

  net_top u_top (
    .clk_i(clk_i),
    .rst_ni(rst_nq[1]),
    .s0_axis_tdata(in_q[23:0]),
    .s0_axis_tvalid(in_q[24:24]),
    .s0_axis_tlast(in_q[25:25]),
    .s1_axis_tdata(in_q[49:26]),
    .s1_axis_tvalid(in_q[50:50]),
    .s1_axis_tlast(in_q[51:51]),
    .m_axis_tready(in_q[52:52]),
    .s0_axis_tready(out[0:0]),
    .s1_axis_tready(out[1:1]),
    .m_axis_tdata(out[25:2]),
    .m_axis_tvalid(out[26:26]),
    .m_axis_tlast(out[27:27])
  );

endmodule

`default_nettype wire
