"""What everything rests on: cells and wires, packets, parameters, errors."""
