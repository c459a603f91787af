"""Export of networks as Verilog, and as FuseSoC cores."""
