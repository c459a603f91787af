"""The foundation: cells and wires, parameters, errors."""
