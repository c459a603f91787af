"""Networks as Verilog, and as cores of FuseSoC."""
