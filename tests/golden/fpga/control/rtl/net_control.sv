// net_control: AXI4-Lite registers of net_top.
//
//   0x00 RO  ID         0x524C5801: identifies the core and the version of this map
//   0x04 RO  VERSION    version of rlx: major << 16, minor << 8, patch
//   0x08 RO  MODEL_LO   hash of the network, lowest 32 bits
//   0x0C RO  MODEL_HI   hash of the network, next 32 bits
//   0x10 RW  CONTROL    controls the core
//   0x14 RO  STATUS     state of the core
//   0x18 RW  IRQ_ENABLE interrupts that raise irq_o
//   0x1C W1C IRQ_STATUS pending interrupts
//   0x20 RO  FRAMES_IN  complete frames received, modulo 2^32
//   0x24 RO  FRAMES_OUT complete frames sent, modulo 2^32
//   0x28 RO  CYCLES_LO  clock cycles, lower 32 bits; reading latches CYCLES_HI
//   0x2C RO  CYCLES_HI  clock cycles, upper 32 bits at the last read of CYCLES_LO
//   0x30 RO  LATENCY    cycles from the first input beat to the last output beat of the last timed frame (one that begins while no other is being timed)
//   0x34 RO  INTERVAL   initiation interval: cycles between the ends of the last two frames
//   0x38 RO  STALL_IN   cycles in which a beat waited at an input
//   0x3C RO  STALL_OUT  cycles in which a beat waited at an output
//
// Every response is OKAY; other addresses read 0 and ignore writes. All outputs of the port are
// registers or depend on registers only. A soft reset does not affect the port itself.

`default_nettype none

module net_control #(
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

  output wire logic enable_o,       // inputs are accepted
  output wire logic reset_o,        // soft reset of the core
  input  wire logic frame_begin_i,  // the first beat of a frame is accepted
  input  wire logic frame_in_i,     // the last beat of a frame is accepted
  input  wire logic frame_out_i,    // the last beat of a frame is sent
  input  wire logic stall_in_i,     // a beat at an input waits
  input  wire logic stall_out_i     // a beat at an output waits
);

  localparam int AddressBits = 7;
  localparam int ResetCycles = 15;
  typedef logic [AddressBits-1:2] word_t;
  localparam word_t WordId = 5'd0;
  localparam word_t WordVersion = 5'd1;
  localparam word_t WordModelLo = 5'd2;
  localparam word_t WordModelHi = 5'd3;
  localparam word_t WordControl = 5'd4;
  localparam word_t WordStatus = 5'd5;
  localparam word_t WordIrqEnable = 5'd6;
  localparam word_t WordIrqStatus = 5'd7;
  localparam word_t WordFramesIn = 5'd8;
  localparam word_t WordFramesOut = 5'd9;
  localparam word_t WordCyclesLo = 5'd10;
  localparam word_t WordCyclesHi = 5'd11;
  localparam word_t WordLatency = 5'd12;
  localparam word_t WordInterval = 5'd13;
  localparam word_t WordStallIn = 5'd14;
  localparam word_t WordStallOut = 5'd15;

  // Write: address and data arrive in any order; the write happens once both have arrived.
  logic write_address_full_q, write_data_full_q, write_done_q;
  word_t write_word_q;
  logic [1:0] write_bits_q;
  logic write_strobe_q;

  wire logic write = write_address_full_q && write_data_full_q && (!write_done_q || s_axil_bready);
  wire logic write_byte = write && write_strobe_q;

  assign s_axil_awready = !write_address_full_q;
  assign s_axil_wready = !write_data_full_q;
  assign s_axil_bvalid = write_done_q;
  assign s_axil_bresp = 2'b00;

  always_ff @(posedge clk_i) begin
    if (s_axil_awvalid && s_axil_awready) begin
      write_address_full_q <= 1'b1;
      write_word_q <= s_axil_awaddr[AddressBits-1:2];
    end
    if (s_axil_wvalid && s_axil_wready) begin
      write_data_full_q <= 1'b1;
      write_bits_q <= s_axil_wdata[1:0];
      write_strobe_q <= s_axil_wstrb[0];
    end
    if (s_axil_bready) write_done_q <= 1'b0;
    if (write) begin
      write_done_q <= 1'b1;
      write_address_full_q <= 1'b0;
      write_data_full_q <= 1'b0;
    end
    if (!rst_ni) begin
      write_address_full_q <= 1'b0;
      write_data_full_q <= 1'b0;
      write_done_q <= 1'b0;
    end
  end

  // Set by software.
  logic enable_q, irq_enable_q, frame_done_q;
  logic [$clog2(ResetCycles+1)-1:0] reset_q;

  assign enable_o = enable_q && !reset_o;
  assign reset_o = reset_q != '0;
  assign irq_o = frame_done_q && irq_enable_q;

  always_ff @(posedge clk_i) begin
    if (reset_o) reset_q <= reset_q - 1'b1;
    if (write_byte && write_word_q == WordControl) begin
      enable_q <= write_bits_q[0];
      if (write_bits_q[1]) reset_q <= ResetCycles[$bits(reset_q)-1:0];
    end
    if (write_byte && write_word_q == WordIrqEnable) irq_enable_q <= write_bits_q[0];
    if (write_byte && write_word_q == WordIrqStatus && write_bits_q[0]) frame_done_q <= 1'b0;
    if (frame_out_i) frame_done_q <= 1'b1;
    if (reset_o) frame_done_q <= 1'b0;
    if (!rst_ni) begin
      enable_q <= EnabledAtReset;
      irq_enable_q <= 1'b0;
      frame_done_q <= 1'b0;
      reset_q <= '0;
    end
  end

  // Counters and state of the core.
  logic [63:0] cycles_q;
  logic [31:0] frames_begun_q, frames_in_q, frames_out_q;
  logic [31:0] stall_in_q, stall_out_q;
  logic [31:0] latency_q, interval_q;
  logic [31:0] timed_since_q, timed_frame_q, last_out_q;
  logic timed_q;

  wire logic busy = frames_begun_q != frames_out_q;
  wire logic [31:0] now = cycles_q[31:0];

  always_ff @(posedge clk_i) begin
    cycles_q <= cycles_q + 64'd1;
    if (frame_begin_i) frames_begun_q <= frames_begun_q + 32'd1;
    if (frame_in_i) frames_in_q <= frames_in_q + 32'd1;
    if (stall_in_i) stall_in_q <= stall_in_q + 32'd1;
    if (stall_out_i) stall_out_q <= stall_out_q + 32'd1;
    if (frame_begin_i && !timed_q) begin
      timed_q <= 1'b1;
      timed_since_q <= now;
      timed_frame_q <= frames_begun_q;
    end
    if (frame_out_i) begin
      frames_out_q <= frames_out_q + 32'd1;
      last_out_q <= now;
      if (frames_out_q != '0) interval_q <= now - last_out_q;
      if (timed_q && timed_frame_q == frames_out_q) begin
        timed_q <= 1'b0;
        latency_q <= now - timed_since_q;
      end
    end
    if (!rst_ni || reset_o) begin
      cycles_q <= '0;
      frames_begun_q <= '0;
      frames_in_q <= '0;
      frames_out_q <= '0;
      stall_in_q <= '0;
      stall_out_q <= '0;
      latency_q <= '0;
      interval_q <= '0;
      timed_q <= 1'b0;
    end
  end

  // Read.
  logic read_done_q;
  logic [31:0] read_data_q, read_data, cycles_hi_q;
  wire word_t read_word = s_axil_araddr[AddressBits-1:2];

  assign s_axil_arready = !read_done_q;
  assign s_axil_rvalid = read_done_q;
  assign s_axil_rdata = read_data_q;
  assign s_axil_rresp = 2'b00;

  always_comb begin
    case (read_word)
      WordId: read_data = 32'h524C5801;
      WordVersion: read_data = 32'h00011622;
      WordModelLo: read_data = 32'h89ABCDEF;
      WordModelHi: read_data = 32'h01234567;
      WordControl: read_data = {30'd0, reset_o, enable_q};
      WordStatus: read_data = {31'd0, busy};
      WordIrqEnable: read_data = {31'd0, irq_enable_q};
      WordIrqStatus: read_data = {31'd0, frame_done_q};
      WordFramesIn: read_data = frames_in_q;
      WordFramesOut: read_data = frames_out_q;
      WordCyclesLo: read_data = now;
      WordCyclesHi: read_data = cycles_hi_q;
      WordLatency: read_data = latency_q;
      WordInterval: read_data = interval_q;
      WordStallIn: read_data = stall_in_q;
      WordStallOut: read_data = stall_out_q;
      default: read_data = '0;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (s_axil_rready) read_done_q <= 1'b0;
    if (s_axil_arvalid && s_axil_arready) begin
      read_done_q <= 1'b1;
      read_data_q <= read_data;
      if (read_word == WordCyclesLo) cycles_hi_q <= cycles_q[63:32];
    end
    if (!rst_ni) begin
      read_done_q <= 1'b0;
      cycles_hi_q <= '0;
    end
  end

  // verilator lint_off UNUSEDSIGNAL
  wire logic unused_axil = ^{s_axil_awaddr[1:0], s_axil_araddr[1:0], s_axil_awprot, s_axil_arprot,
                             s_axil_wdata[31:2], s_axil_wstrb[3:1]};
  // verilator lint_on UNUSEDSIGNAL

endmodule

`default_nettype wire
