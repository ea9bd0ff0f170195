// Techmap for Yosys: constants that ECP5 cells need on wires, generated next to each cell.
//
// If a cell has no parameter for a constant input, nextpnr routes it from one of two LUTs, one for
// all zeros and one for all ones of the device. On a large device these are thousands of long wires,
// which its router handles last and slowly.

// A memory of fewer than sixteen words has constant address bits. Here they are driven by another
// address bit: the words move, but reads and writes still agree.
(* techmap_celltype = "TRELLIS_DPR16X4" *)
module rlx_near_memory (
    input [3:0] DI,
    input [3:0] WAD,
    input WRE,
    input WCK,
    input [3:0] RAD,
    output [3:0] DO
);
  parameter WCKMUX = "WCK";
  parameter WREMUX = "WRE";
  parameter INITVAL = 64'h0;

  parameter _TECHMAP_CONSTMSK_WAD_ = 4'b0;
  parameter _TECHMAP_CONSTVAL_WAD_ = 4'b0;
  parameter _TECHMAP_CONSTMSK_RAD_ = 4'b0;
  parameter _TECHMAP_CONSTVAL_RAD_ = 4'b0;

  localparam [3:0] Constant = _TECHMAP_CONSTMSK_WAD_ & _TECHMAP_CONSTMSK_RAD_
      & ~(_TECHMAP_CONSTVAL_WAD_ ^ _TECHMAP_CONSTVAL_RAD_);
  localparam [3:0] Driven = ~(_TECHMAP_CONSTMSK_WAD_ | _TECHMAP_CONSTMSK_RAD_);
  localparam integer Source = Driven[0] ? 0 : Driven[1] ? 1 : Driven[2] ? 2 : 3;

  wire _TECHMAP_FAIL_ = Constant == 0 || Driven == 0 || INITVAL != 0;

  wire [3:0] write_address, read_address;
  genvar k;
  generate
    for (k = 0; k < 4; k = k + 1) begin : bits
      assign write_address[k] = Constant[k] ? WAD[Source] : WAD[k];
      assign read_address[k] = Constant[k] ? RAD[Source] : RAD[k];
    end
  endgenerate

  TRELLIS_DPR16X4 #(
      .WCKMUX(WCKMUX), .WREMUX(WREMUX), .INITVAL(INITVAL)
  ) _TECHMAP_REPLACE_ (
      .DI(DI), .WAD(write_address), .WRE(WRE), .WCK(WCK), .RAD(read_address), .DO(DO)
  );
endmodule

// The sign, source, enable and reset inputs of multipliers are constant here.
(* techmap_celltype = "MULT18X18D" *)
module rlx_near_multiplier (
    input CLK0, CE0, RST0, SIGNEDA, SIGNEDB, SOURCEA, SOURCEB,
    input A0, B0, C0,
    input A1, B1, C1,
    input A2, B2, C2,
    input A3, B3, C3,
    input A4, B4, C4,
    input A5, B5, C5,
    input A6, B6, C6,
    input A7, B7, C7,
    input A8, B8, C8,
    input A9, B9, C9,
    input A10, B10, C10,
    input A11, B11, C11,
    input A12, B12, C12,
    input A13, B13, C13,
    input A14, B14, C14,
    input A15, B15, C15,
    input A16, B16, C16,
    input A17, B17, C17,
    output P0,
    output P1,
    output P2,
    output P3,
    output P4,
    output P5,
    output P6,
    output P7,
    output P8,
    output P9,
    output P10,
    output P11,
    output P12,
    output P13,
    output P14,
    output P15,
    output P16,
    output P17,
    output P18,
    output P19,
    output P20,
    output P21,
    output P22,
    output P23,
    output P24,
    output P25,
    output P26,
    output P27,
    output P28,
    output P29,
    output P30,
    output P31,
    output P32,
    output P33,
    output P34,
    output P35
);
  parameter REG_INPUTA_CLK = "NONE";
  parameter REG_INPUTB_CLK = "NONE";
  parameter REG_PIPELINE_CLK = "NONE";
  parameter REG_OUTPUT_CLK = "NONE";

  parameter _TECHMAP_CONSTMSK_CE0_ = 1'b0;
  parameter _TECHMAP_CONSTVAL_CE0_ = 1'b0;
  parameter _TECHMAP_CONSTMSK_RST0_ = 1'b0;
  parameter _TECHMAP_CONSTVAL_RST0_ = 1'b0;
  parameter _TECHMAP_CONSTMSK_SIGNEDA_ = 1'b0;
  parameter _TECHMAP_CONSTVAL_SIGNEDA_ = 1'b0;
  parameter _TECHMAP_CONSTMSK_SIGNEDB_ = 1'b0;
  parameter _TECHMAP_CONSTVAL_SIGNEDB_ = 1'b0;
  parameter _TECHMAP_CONSTMSK_SOURCEA_ = 1'b0;
  parameter _TECHMAP_CONSTVAL_SOURCEA_ = 1'b0;
  parameter _TECHMAP_CONSTMSK_SOURCEB_ = 1'b0;
  parameter _TECHMAP_CONSTVAL_SOURCEB_ = 1'b0;

  wire _TECHMAP_FAIL_ = !(_TECHMAP_CONSTMSK_CE0_ && _TECHMAP_CONSTMSK_RST0_ && _TECHMAP_CONSTMSK_SIGNEDA_ && _TECHMAP_CONSTMSK_SIGNEDB_ && _TECHMAP_CONSTMSK_SOURCEA_ && _TECHMAP_CONSTMSK_SOURCEB_);
  wire zero, one;

  (* keep *) LUT4 #(.INIT(16'h0000)) near_zero (.A(1'b0), .B(1'b0), .C(1'b0), .D(1'b0), .Z(zero));
  (* keep *) LUT4 #(.INIT(16'hffff)) near_one (.A(1'b0), .B(1'b0), .C(1'b0), .D(1'b0), .Z(one));

  MULT18X18D #(
      .REG_INPUTA_CLK(REG_INPUTA_CLK),
      .REG_INPUTB_CLK(REG_INPUTB_CLK),
      .REG_PIPELINE_CLK(REG_PIPELINE_CLK),
      .REG_OUTPUT_CLK(REG_OUTPUT_CLK)
  ) _TECHMAP_REPLACE_ (
      .CLK0(CLK0),
      .CE0(_TECHMAP_CONSTVAL_CE0_ ? one : zero),
      .RST0(_TECHMAP_CONSTVAL_RST0_ ? one : zero),
      .SIGNEDA(_TECHMAP_CONSTVAL_SIGNEDA_ ? one : zero),
      .SIGNEDB(_TECHMAP_CONSTVAL_SIGNEDB_ ? one : zero),
      .SOURCEA(_TECHMAP_CONSTVAL_SOURCEA_ ? one : zero),
      .SOURCEB(_TECHMAP_CONSTVAL_SOURCEB_ ? one : zero),
      .A0(A0), .B0(B0), .C0(C0),
      .A1(A1), .B1(B1), .C1(C1),
      .A2(A2), .B2(B2), .C2(C2),
      .A3(A3), .B3(B3), .C3(C3),
      .A4(A4), .B4(B4), .C4(C4),
      .A5(A5), .B5(B5), .C5(C5),
      .A6(A6), .B6(B6), .C6(C6),
      .A7(A7), .B7(B7), .C7(C7),
      .A8(A8), .B8(B8), .C8(C8),
      .A9(A9), .B9(B9), .C9(C9),
      .A10(A10), .B10(B10), .C10(C10),
      .A11(A11), .B11(B11), .C11(C11),
      .A12(A12), .B12(B12), .C12(C12),
      .A13(A13), .B13(B13), .C13(C13),
      .A14(A14), .B14(B14), .C14(C14),
      .A15(A15), .B15(B15), .C15(C15),
      .A16(A16), .B16(B16), .C16(C16),
      .A17(A17), .B17(B17), .C17(C17),
      .P0(P0),
      .P1(P1),
      .P2(P2),
      .P3(P3),
      .P4(P4),
      .P5(P5),
      .P6(P6),
      .P7(P7),
      .P8(P8),
      .P9(P9),
      .P10(P10),
      .P11(P11),
      .P12(P12),
      .P13(P13),
      .P14(P14),
      .P15(P15),
      .P16(P16),
      .P17(P17),
      .P18(P18),
      .P19(P19),
      .P20(P20),
      .P21(P21),
      .P22(P22),
      .P23(P23),
      .P24(P24),
      .P25(P25),
      .P26(P26),
      .P27(P27),
      .P28(P28),
      .P29(P29),
      .P30(P30),
      .P31(P31),
      .P32(P32),
      .P33(P33),
      .P34(P34),
      .P35(P35)
  );
endmodule
