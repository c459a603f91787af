"""Parallel computers: RISC-V cores with memory of their own at the terminals of a network."""
