// A memory of latches, for `multicube export --memories external`: half of the area of flip-flops
// in many libraries. A row is written while the clock is 0, behind a register of what is written:
// so it is there at the next rising edge, as in the module that this one replaces.
// Latches are meant, and the file may have any name.
/* verilator lint_off LATCH */
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
  // Latches that are open while the clock is 0 hold what comes in at the rising edge.
  reg [WIDTH - 1:0] data;
  reg [WIDTH / GRANULE - 1:0] en;
  reg [ADDRESS - 1:0] addr;
  always @*
    if (!w_clk) begin
      data = w0_data;
      en = w0_en;
      addr = w0_addr;
    end
  // Rows are open while it is 1.
  wire [DEPTH * WIDTH - 1:0] rows;
  genvar row, part;
  generate
    for (row = 0; row < DEPTH; row = row + 1) begin : row_of
      reg [WIDTH - 1:0] value;
      for (part = 0; part < WIDTH / GRANULE; part = part + 1) begin : part_of
        wire open = w_clk && en[part] && addr == row;
        always @*
          if (open) value[part * GRANULE +: GRANULE] = data[part * GRANULE +: GRANULE];
      end
      assign rows[row * WIDTH +: WIDTH] = value;
    end
  endgenerate
  assign r0_data = rows[r0_addr * WIDTH +: WIDTH];
endmodule
/* verilator lint_on DECLFILENAME */
/* verilator lint_on LATCH */
