// A memory compiler's macro in place of the memories that it fits, for
// `multicube export --memories external`; all others are flip-flops. `ram_64x36` stands for the macro:
// two ports, one of which reads within the cycle.
// One file holds both modules, whatever its name.
/* verilator lint_off DECLFILENAME */
module network_memory_1wr #(
  parameter WIDTH = 1,
  parameter DEPTH = 2,
  parameter ADDRESS = 1,
  parameter GRANULE = 1
) (
  input w_clk,
  input [WIDTH / GRANULE - 1:0] w0_en,
  input [ADDRESS - 1:0] w0_addr,
  input [WIDTH - 1:0] w0_data,
  input [ADDRESS - 1:0] r0_addr,
  output [WIDTH - 1:0] r0_data
);
  generate
    if (DEPTH == 64 && WIDTH == 36 && GRANULE == WIDTH) begin : macro
      ram_64x36 ram (
        .ck(w_clk), .we(w0_en[0]), .wa(w0_addr), .d(w0_data), .ra(r0_addr), .q(r0_data)
      );
    end else begin : registers
      reg [WIDTH - 1:0] rows [0:DEPTH - 1];
      integer part;
      always @(posedge w_clk)
        for (part = 0; part < WIDTH / GRANULE; part = part + 1)
          if (w0_en[part])
            rows[w0_addr][part * GRANULE +: GRANULE] <= w0_data[part * GRANULE +: GRANULE];
      assign r0_data = rows[r0_addr];
    end
  endgenerate
endmodule

// What the macro does: in a design, its own model and library take this place.
module ram_64x36 (
  input ck, input we, input [5:0] wa, input [35:0] d, input [5:0] ra, output [35:0] q
);
  reg [35:0] rows [0:63];
  always @(posedge ck) if (we) rows[wa] <= d;
  assign q = rows[ra];
endmodule
/* verilator lint_on DECLFILENAME */
