// net_tb: net_top with its golden vectors, in any simulator of SystemVerilog-2012.
//
// Run it in the parent folder, or define NET_FOLDER as its path with a trailing slash:
//
//   $ verilator --binary --timing -Wno-fatal --top-module net_tb rtl/net_core.sv rtl/net_top.sv tb/net_tb.sv
//   $ iverilog -g2012 -s net_tb -o net_tb.vvp (the same files) && vvp -n net_tb.vvp
//   $ vlog -sv (the same files) && vsim -c net_tb -do "run -all"
//   $ xvlog -sv (the same files) && xelab net_tb -R
//
// Frames are sent back to back, first without pauses, then, after a reset, with random pauses on all
// ports. Every output is compared. The last line begins with PASS or FAIL; a failure is $fatal.

`timescale 1ns / 1ps

`ifndef NET_FOLDER
`define NET_FOLDER "./"
`endif

// Sends the beats of a file, cyclically.
module net_tb_source #(
  parameter File = "",
  parameter Npy = 1,
  parameter Bytes = 1,
  parameter Beats = 1,
  parameter Frames = 1,
  parameter Seed = 1
) (
  input clk,
  input rst_n,
  input [7:0] stall,
  output reg [8*Bytes-1:0] data,
  output reg valid,
  input ready,
  output reg last,
  output done
);
  integer file, start, code, k, offered, taken;
  reg [31:0] random;
  reg [8*Bytes-1:0] beat;

  assign done = taken == Beats * Frames;

  integer major, length;
  initial begin
    file = $fopen({`NET_FOLDER, File}, "rb");
    if (file == 0) begin
      $display("FAIL: cannot open %0s", {`NET_FOLDER, File});
      $fatal(1);
    end
    start = 0;
    if (Npy != 0) begin
      // NumPy file: the header length is at byte 8, in 2 bytes or, from version 2 on, in 4.
      start = 6;
      go_to_start;
      major = $fgetc(file);
      start = 8;
      go_to_start;
      length = 0;
      for (k = 0; k < (major == 1 ? 2 : 4); k = k + 1) begin
        code = $fgetc(file);
        length = length + (code << (8 * k));
      end
      start = (major == 1 ? 10 : 12) + length;
    end
  end

  task go_to_start;
    if ($fseek(file, start, 0) != 0) begin
      $display("FAIL: cannot read %0s", File);
      $fatal(1);
    end
  endtask

  task next_beat;
    begin
      for (k = 0; k < Bytes; k = k + 1) begin
        code = $fgetc(file);
        if (code < 0) begin
          go_to_start;
          code = $fgetc(file);
        end
        beat[8*k +: 8] = code[7:0];
      end
    end
  endtask

  always @(posedge clk) begin
    random <= {random[30:0], random[31] ^ random[21] ^ random[1] ^ random[0]};
    if (!rst_n) begin
      random <= Seed;
      go_to_start;
      valid <= 0;
      last <= 0;
      data <= 0;
      offered <= 0;
      taken <= 0;
    end else begin
      if (valid && ready) taken <= taken + 1;
      if (!valid || ready) begin
        valid <= 0;
        if (offered < Beats * Frames && random[7:0] >= stall) begin
          next_beat;
          data <= beat;
          valid <= 1;
          last <= offered % Beats == Beats - 1;
          offered <= offered + 1;
        end
      end
    end
  end
endmodule

// Receives beats and compares them with those of a file.
module net_tb_sink #(
  parameter File = "",
  parameter Bytes = 1,
  parameter Beats = 1,
  parameter Frames = 1,
  parameter Seed = 1
) (
  input clk,
  input rst_n,
  input [7:0] stall,
  input [31:0] cycle,
  input [8*Bytes-1:0] data,
  input valid,
  output reg ready,
  input last,
  output done,
  output reg [31:0] errors,
  output reg [31:0] end_first,
  output reg [31:0] end_before,
  output reg [31:0] end_last
);
  localparam Npy = 1;
  integer file, start, code, k, taken;
  reg [31:0] random;
  reg [8*Bytes-1:0] beat, held_data;
  reg held;

  assign done = taken == Beats * Frames;

  integer major, length;
  initial begin
    file = $fopen({`NET_FOLDER, File}, "rb");
    if (file == 0) begin
      $display("FAIL: cannot open %0s", {`NET_FOLDER, File});
      $fatal(1);
    end
    start = 0;
    if (Npy != 0) begin
      // NumPy file: the header length is at byte 8, in 2 bytes or, from version 2 on, in 4.
      start = 6;
      go_to_start;
      major = $fgetc(file);
      start = 8;
      go_to_start;
      length = 0;
      for (k = 0; k < (major == 1 ? 2 : 4); k = k + 1) begin
        code = $fgetc(file);
        length = length + (code << (8 * k));
      end
      start = (major == 1 ? 10 : 12) + length;
    end
  end

  task go_to_start;
    if ($fseek(file, start, 0) != 0) begin
      $display("FAIL: cannot read %0s", File);
      $fatal(1);
    end
  endtask

  task next_beat;
    begin
      for (k = 0; k < Bytes; k = k + 1) begin
        code = $fgetc(file);
        if (code < 0) begin
          go_to_start;
          code = $fgetc(file);
        end
        beat[8*k +: 8] = code[7:0];
      end
    end
  endtask

  always @(posedge clk) begin
    random <= {random[30:0], random[31] ^ random[21] ^ random[1] ^ random[0]};
    if (!rst_n) begin
      random <= Seed;
      go_to_start;
      ready <= 0;
      taken <= 0;
      held <= 0;
      errors <= 0;
      end_first <= 0;
      end_before <= 0;
      end_last <= 0;
    end else begin
      ready <= random[7:0] >= stall;
      held <= valid && !ready;
      held_data <= data;
      if (held && (!valid || data !== held_data)) begin
        $display("cycle %0d: %0s: a beat changed or was withdrawn before it was accepted", cycle, File);
        errors <= errors + 1;
      end else if (valid === 1'bx) begin
        $display("cycle %0d: %0s: tvalid is unknown", cycle, File);
        errors <= errors + 1;
      end else if (valid && ready) begin
        next_beat;
        taken <= taken + 1;
        if (done || data !== beat || last !== (taken % Beats == Beats - 1)) begin
          errors <= errors + 1;
          if (errors < 10)
            $display("cycle %0d: %0s: beat %0d of frame %0d is %0h with tlast %0b, expected %0h",
                     cycle, File, taken % Beats, taken / Beats, data, last, beat);
        end
        if (taken % Beats == Beats - 1) begin
          if (taken < Beats) end_first <= cycle;
          end_before <= end_last;
          end_last <= cycle;
        end
      end
    end
  end
endmodule

module net_tb;
  parameter Frames = 16;
  parameter [31:0] IdleLimit = 100000;

  reg clk = 0;
  reg rst_n = 0;
  reg [7:0] stall_in = 0;
  reg [7:0] stall_out = 0;
  reg [31:0] cycle = 0;
  reg [31:0] idle = 0;
  reg [31:0] begin_cycle = 0;
  reg begun = 0;
  integer latency, interval;

  always #5 clk = !clk;

  // The argument +waves writes a waveform; Verilator needs --trace for it when it builds.
  initial begin
    if ($test$plusargs("waves")) begin
      $dumpfile("net_tb.vcd");
      $dumpvars(0, net_tb);
    end
  end

  wire [23:0] s0_axis_tdata;
  wire s0_axis_tvalid, s0_axis_tready, s0_axis_tlast, s0_axis_done;
  wire [23:0] s1_axis_tdata;
  wire s1_axis_tvalid, s1_axis_tready, s1_axis_tlast, s1_axis_done;
  wire [23:0] m_axis_tdata;
  wire m_axis_tvalid, m_axis_tready, m_axis_tlast, m_axis_done;
  wire [31:0] m_axis_errors, m_axis_first, m_axis_before, m_axis_last;

  wire done = s0_axis_done && s1_axis_done && m_axis_done;
  wire [31:0] errors = m_axis_errors;
  wire takes = (s0_axis_tvalid && s0_axis_tready) || (s1_axis_tvalid && s1_axis_tready);

  net_top dut (
    .clk_i(clk),
    .rst_ni(rst_n),
    .s0_axis_tdata(s0_axis_tdata),
    .s0_axis_tvalid(s0_axis_tvalid),
    .s0_axis_tready(s0_axis_tready),
    .s0_axis_tlast(s0_axis_tlast),
    .s1_axis_tdata(s1_axis_tdata),
    .s1_axis_tvalid(s1_axis_tvalid),
    .s1_axis_tready(s1_axis_tready),
    .s1_axis_tlast(s1_axis_tlast),
    .m_axis_tdata(m_axis_tdata),
    .m_axis_tvalid(m_axis_tvalid),
    .m_axis_tready(m_axis_tready),
    .m_axis_tlast(m_axis_tlast)
  );

  net_tb_source #(
    .File("golden/input_0.npy"), .Npy(1), .Bytes(3), .Beats(24), .Frames(Frames), .Seed(1000)
  ) s0_axis_source (
    .clk(clk), .rst_n(rst_n), .stall(stall_in), .data(s0_axis_tdata), .valid(s0_axis_tvalid),
    .ready(s0_axis_tready), .last(s0_axis_tlast), .done(s0_axis_done)
  );
  net_tb_source #(
    .File("golden/input_1.npy"), .Npy(1), .Bytes(3), .Beats(24), .Frames(Frames), .Seed(1001)
  ) s1_axis_source (
    .clk(clk), .rst_n(rst_n), .stall(stall_in), .data(s1_axis_tdata), .valid(s1_axis_tvalid),
    .ready(s1_axis_tready), .last(s1_axis_tlast), .done(s1_axis_done)
  );
  net_tb_sink #(
    .File("golden/output_0.npy"), .Bytes(3), .Beats(48), .Frames(Frames), .Seed(2000)
  ) m_axis_sink (
    .clk(clk), .rst_n(rst_n), .stall(stall_out), .cycle(cycle), .data(m_axis_tdata), .valid(m_axis_tvalid),
    .ready(m_axis_tready), .last(m_axis_tlast), .done(m_axis_done), .errors(m_axis_errors),
    .end_first(m_axis_first), .end_before(m_axis_before), .end_last(m_axis_last)
  );

  always @(posedge clk) begin
    cycle <= cycle + 1;
    idle <= (!rst_n || (s0_axis_tvalid && s0_axis_tready) || (s1_axis_tvalid && s1_axis_tready) || (m_axis_tvalid && m_axis_tready)) ? 0 : idle + 1;
    if (!rst_n) begin
      begun <= 0;
    end else if (takes && !begun) begin
      begun <= 1;
      begin_cycle <= cycle;
    end
  end

  // All frames after a reset; beats after the last one are an error too.
  task run(input [7:0] pauses_in, input [7:0] pauses_out);
    begin
      stall_in = pauses_in;
      stall_out = pauses_out;
      rst_n = 0;
      repeat (4) @(negedge clk);
      rst_n = 1;
      @(negedge clk);
      while (!done && idle < IdleLimit) @(negedge clk);
      if (!done) begin
        $display("FAIL: nothing moved for %0d cycles", IdleLimit);
        $fatal(1);
      end
      repeat (64) @(negedge clk);
      if (errors != 0) begin
        $display("FAIL: %0d beats are wrong", errors);
        $fatal(1);
      end
    end
  endtask

  reg [31:0] first, previous, final_end;
  initial begin
    run(0, 0);
    first = 0;
    if (m_axis_first > first) first = m_axis_first;
    previous = 0;
    if (m_axis_before > previous) previous = m_axis_before;
    final_end = 0;
    if (m_axis_last > final_end) final_end = m_axis_last;
latency = first - begin_cycle;
    interval = Frames > 1 ? final_end - previous : 0;
    run(77, 102);
    $display("PASS: %0d frames are equal, with pauses too; latency %0d, interval %0d",
             Frames, latency, interval);
    $finish;
  end
endmodule
