// net_top: AXI4-Stream ports around net_core.
//
// A frame is one tensor in row-major order (NHWC), one beat after the other without gaps or
// markers. Element 0 of a beat is in the lowest bits of tdata; elements are two's complement.
//   s0_axis: int8[1, 4, 3, 6], 3 elements per beat, 24 beats per frame
//   s1_axis: int8[1, 4, 3, 6], 3 elements per beat, 24 beats per frame
//   m_axis: int8[1, 4, 3, 12], 3 elements per beat, 48 beats per frame
// The core counts beats itself: tlast of an input is ignored, tlast of an output marks the last
// beat of each frame. One clock; the reset is synchronous and active low and drops all frames
// inside. tvalid of an output never depends on its tready.

`default_nettype none

module net_top (
  input  wire logic clk_i,
  input  wire logic rst_ni,

  input  wire logic [23:0] s0_axis_tdata,
  input  wire logic s0_axis_tvalid,
  output wire logic s0_axis_tready,
  input  wire logic s0_axis_tlast,

  input  wire logic [23:0] s1_axis_tdata,
  input  wire logic s1_axis_tvalid,
  output wire logic s1_axis_tready,
  input  wire logic s1_axis_tlast,

  output wire logic [23:0] m_axis_tdata,
  output wire logic m_axis_tvalid,
  input  wire logic m_axis_tready,
  output wire logic m_axis_tlast
);

  net_core u_core (
    .clk(clk_i),
    .rst(!rst_ni),
    .in0_data(s0_axis_tdata),
    .in0_valid(s0_axis_tvalid),
    .in0_ready(s0_axis_tready),
    .in1_data(s1_axis_tdata),
    .in1_valid(s1_axis_tvalid),
    .in1_ready(s1_axis_tready),
    .out_data(m_axis_tdata),
    .out_valid(m_axis_tvalid),
    .out_ready(m_axis_tready)
  );

  // Beats of m_axis sent in this frame.
  logic [5:0] m_axis_beat_q;

  assign m_axis_tlast = m_axis_tvalid && m_axis_beat_q == 6'd47;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      m_axis_beat_q <= '0;
    end else if (m_axis_tvalid && m_axis_tready) begin
      m_axis_beat_q <= m_axis_tlast ? '0 : m_axis_beat_q + 6'd1;
    end
  end

  // verilator lint_off UNUSEDSIGNAL
  wire logic unused_s0_axis_tlast = s0_axis_tlast;
  wire logic unused_s1_axis_tlast = s1_axis_tlast;
  // verilator lint_on UNUSEDSIGNAL

endmodule

`default_nettype wire
