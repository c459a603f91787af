"""The foundation: cells and wires, packets, parameters, errors."""
