"""FPGA tops of the networks on boards, and the host's end of their serial line."""
