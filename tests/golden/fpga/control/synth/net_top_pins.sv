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

  localparam int InBits = 107;
  localparam int OutBits = 88;

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
    .s_axil_awaddr(in_q[6:0]),
    .s_axil_awprot(in_q[9:7]),
    .s_axil_awvalid(in_q[10:10]),
    .s_axil_wdata(in_q[42:11]),
    .s_axil_wstrb(in_q[46:43]),
    .s_axil_wvalid(in_q[47:47]),
    .s_axil_bready(in_q[48:48]),
    .s_axil_araddr(in_q[55:49]),
    .s_axil_arprot(in_q[58:56]),
    .s_axil_arvalid(in_q[59:59]),
    .s_axil_rready(in_q[60:60]),
    .s0_axis_tdata(in_q[92:61]),
    .s0_axis_tvalid(in_q[93:93]),
    .s0_axis_tlast(in_q[94:94]),
    .s1_axis_tdata(in_q[102:95]),
    .s1_axis_tvalid(in_q[103:103]),
    .s1_axis_tlast(in_q[104:104]),
    .m0_axis_tready(in_q[105:105]),
    .m1_axis_tready(in_q[106:106]),
    .s_axil_awready(out[0:0]),
    .s_axil_wready(out[1:1]),
    .s_axil_bresp(out[3:2]),
    .s_axil_bvalid(out[4:4]),
    .s_axil_arready(out[5:5]),
    .s_axil_rdata(out[37:6]),
    .s_axil_rresp(out[39:38]),
    .s_axil_rvalid(out[40:40]),
    .irq_o(out[41:41]),
    .s0_axis_tready(out[42:42]),
    .s1_axis_tready(out[43:43]),
    .m0_axis_tdata(out[75:44]),
    .m0_axis_tvalid(out[76:76]),
    .m0_axis_tlast(out[77:77]),
    .m1_axis_tdata(out[85:78]),
    .m1_axis_tvalid(out[86:86]),
    .m1_axis_tlast(out[87:87])
  );

endmodule

`default_nettype wire
