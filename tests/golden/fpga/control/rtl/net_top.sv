// net_top: AXI4-Stream ports around net_core.
//
// A frame is one tensor in row-major order (NHWC), one beat after the other without gaps or
// markers. Element 0 of a beat is in the lowest bits of tdata; elements are two's complement.
//   s0_axis: int8[1, 4], 4 elements per beat, 1 beat per frame
//   s1_axis: int8[1, 4], 1 element per beat, 4 beats per frame
//   m0_axis: int8[1, 4], 4 elements per beat, 1 beat per frame
//   m1_axis: int8[1, 4], 1 element per beat, 4 beats per frame
// The core counts beats itself: tlast of an input is ignored, tlast of an output marks the last
// beat of each frame. One clock; the reset is synchronous and active low and drops all frames
// inside. tvalid of an output never depends on its tready.
//
// s_axil is an AXI4-Lite port with the registers of net_control.sv; irq_o is high
// while an interrupt is pending. EnabledAtReset = 0 keeps the inputs paused until software enables
// them. Only a reset withdraws a beat that was offered.

`default_nettype none

module net_top #(
  parameter bit EnabledAtReset = 1'b1
) (
  input  wire logic clk_i,
  input  wire logic rst_ni,

  input  wire logic [6:0] s_axil_awaddr,
  input  wire logic [2:0] s_axil_awprot,
  input  wire logic s_axil_awvalid,
  output wire logic s_axil_awready,
  input  wire logic [31:0] s_axil_wdata,
  input  wire logic [3:0] s_axil_wstrb,
  input  wire logic s_axil_wvalid,
  output wire logic s_axil_wready,
  output wire logic [1:0] s_axil_bresp,
  output wire logic s_axil_bvalid,
  input  wire logic s_axil_bready,
  input  wire logic [6:0] s_axil_araddr,
  input  wire logic [2:0] s_axil_arprot,
  input  wire logic s_axil_arvalid,
  output wire logic s_axil_arready,
  output wire logic [31:0] s_axil_rdata,
  output wire logic [1:0] s_axil_rresp,
  output wire logic s_axil_rvalid,
  input  wire logic s_axil_rready,
  output wire logic irq_o,

  input  wire logic [31:0] s0_axis_tdata,
  input  wire logic s0_axis_tvalid,
  output wire logic s0_axis_tready,
  input  wire logic s0_axis_tlast,

  input  wire logic [7:0] s1_axis_tdata,
  input  wire logic s1_axis_tvalid,
  output wire logic s1_axis_tready,
  input  wire logic s1_axis_tlast,

  output wire logic [31:0] m0_axis_tdata,
  output wire logic m0_axis_tvalid,
  input  wire logic m0_axis_tready,
  output wire logic m0_axis_tlast,

  output wire logic [7:0] m1_axis_tdata,
  output wire logic m1_axis_tvalid,
  input  wire logic m1_axis_tready,
  output wire logic m1_axis_tlast
);

  wire logic enable, soft_reset;
  wire logic run_n = rst_ni && !soft_reset;

  // A beat offered to the core stays offered, even if software pauses the inputs meanwhile.
  logic s0_axis_seen_q;
  wire logic s0_axis_open = enable || s0_axis_seen_q;
  wire logic s0_axis_ready;

  assign s0_axis_tready = s0_axis_ready && s0_axis_open;

  always_ff @(posedge clk_i) begin
    s0_axis_seen_q <= run_n && s0_axis_tvalid && s0_axis_open && !s0_axis_ready;
  end

  // A beat offered to the core stays offered, even if software pauses the inputs meanwhile.
  logic s1_axis_seen_q;
  wire logic s1_axis_open = enable || s1_axis_seen_q;
  wire logic s1_axis_ready;

  assign s1_axis_tready = s1_axis_ready && s1_axis_open;

  always_ff @(posedge clk_i) begin
    s1_axis_seen_q <= run_n && s1_axis_tvalid && s1_axis_open && !s1_axis_ready;
  end

  net_core u_core (
    .clk(clk_i),
    .rst(!run_n),
    .in0_data(s0_axis_tdata),
    .in0_valid(s0_axis_tvalid && s0_axis_open),
    .in0_ready(s0_axis_ready),
    .in1_data(s1_axis_tdata),
    .in1_valid(s1_axis_tvalid && s1_axis_open),
    .in1_ready(s1_axis_ready),
    .out0_data(m0_axis_tdata),
    .out0_valid(m0_axis_tvalid),
    .out0_ready(m0_axis_tready),
    .out1_data(m1_axis_tdata),
    .out1_valid(m1_axis_tvalid),
    .out1_ready(m1_axis_tready)
  );

  wire logic s0_axis_passes = s0_axis_tvalid && s0_axis_tready;

  wire logic s0_axis_end = s0_axis_passes;

  wire logic s1_axis_passes = s1_axis_tvalid && s1_axis_tready;

  // Beats of s1_axis accepted in this frame.
  logic [1:0] s1_axis_beat_q;

  wire logic s1_axis_end = s1_axis_passes && s1_axis_beat_q == 2'd3;

  always_ff @(posedge clk_i) begin
    if (!run_n) begin
      s1_axis_beat_q <= '0;
    end else if (s1_axis_passes) begin
      s1_axis_beat_q <= s1_axis_end ? '0 : s1_axis_beat_q + 2'd1;
    end
  end

  assign m0_axis_tlast = m0_axis_tvalid;

  // Beats of m1_axis sent in this frame.
  logic [1:0] m1_axis_beat_q;

  assign m1_axis_tlast = m1_axis_tvalid && m1_axis_beat_q == 2'd3;

  always_ff @(posedge clk_i) begin
    if (!run_n) begin
      m1_axis_beat_q <= '0;
    end else if (m1_axis_tvalid && m1_axis_tready) begin
      m1_axis_beat_q <= m1_axis_tlast ? '0 : m1_axis_beat_q + 2'd1;
    end
  end

  // Number of frames by which each input is ahead of the slowest.
  logic [7:0] s0_axis_ahead_q;
  wire logic s0_axis_whole = s0_axis_ahead_q != '0 || (s0_axis_end);
  logic [7:0] s1_axis_ahead_q;
  wire logic s1_axis_whole = s1_axis_ahead_q != '0 || (s1_axis_end);
  wire logic frame_in = s0_axis_whole && s1_axis_whole;

  always_ff @(posedge clk_i) begin
    s0_axis_ahead_q <= s0_axis_ahead_q + 8'(s0_axis_end) - 8'(frame_in);
    s1_axis_ahead_q <= s1_axis_ahead_q + 8'(s1_axis_end) - 8'(frame_in);
    if (!run_n) begin
      s0_axis_ahead_q <= '0;
      s1_axis_ahead_q <= '0;
    end
  end

  // Number of frames by which each output is ahead of the slowest.
  logic [7:0] m0_axis_ahead_q;
  wire logic m0_axis_whole = m0_axis_ahead_q != '0 || (m0_axis_tlast && m0_axis_tready);
  logic [7:0] m1_axis_ahead_q;
  wire logic m1_axis_whole = m1_axis_ahead_q != '0 || (m1_axis_tlast && m1_axis_tready);
  wire logic frame_out = m0_axis_whole && m1_axis_whole;

  always_ff @(posedge clk_i) begin
    m0_axis_ahead_q <= m0_axis_ahead_q + 8'(m0_axis_tlast && m0_axis_tready) - 8'(frame_out);
    m1_axis_ahead_q <= m1_axis_ahead_q + 8'(m1_axis_tlast && m1_axis_tready) - 8'(frame_out);
    if (!run_n) begin
      m0_axis_ahead_q <= '0;
      m1_axis_ahead_q <= '0;
    end
  end

  net_control #(
    .EnabledAtReset(EnabledAtReset)
  ) u_control (
    .clk_i(clk_i),
    .rst_ni(rst_ni),
    .s_axil_awaddr(s_axil_awaddr),
    .s_axil_awprot(s_axil_awprot),
    .s_axil_awvalid(s_axil_awvalid),
    .s_axil_awready(s_axil_awready),
    .s_axil_wdata(s_axil_wdata),
    .s_axil_wstrb(s_axil_wstrb),
    .s_axil_wvalid(s_axil_wvalid),
    .s_axil_wready(s_axil_wready),
    .s_axil_bresp(s_axil_bresp),
    .s_axil_bvalid(s_axil_bvalid),
    .s_axil_bready(s_axil_bready),
    .s_axil_araddr(s_axil_araddr),
    .s_axil_arprot(s_axil_arprot),
    .s_axil_arvalid(s_axil_arvalid),
    .s_axil_arready(s_axil_arready),
    .s_axil_rdata(s_axil_rdata),
    .s_axil_rresp(s_axil_rresp),
    .s_axil_rvalid(s_axil_rvalid),
    .s_axil_rready(s_axil_rready),
    .irq_o(irq_o),
    .enable_o(enable),
    .reset_o(soft_reset),
    .frame_begin_i(s0_axis_passes),
    .frame_in_i(frame_in),
    .frame_out_i(frame_out),
    .stall_in_i((s0_axis_tvalid && !s0_axis_tready) || (s1_axis_tvalid && !s1_axis_tready)),
    .stall_out_i((m0_axis_tvalid && !m0_axis_tready) || (m1_axis_tvalid && !m1_axis_tready))
  );

  // verilator lint_off UNUSEDSIGNAL
  wire logic unused_s0_axis_tlast = s0_axis_tlast;
  wire logic unused_s1_axis_tlast = s1_axis_tlast;
  // verilator lint_on UNUSEDSIGNAL

endmodule

`default_nettype wire
