"""FPGA tops of the networks on boards. None yet: see README.md."""
