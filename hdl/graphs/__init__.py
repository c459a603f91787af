"""Networks as graphs and as plans, with their routing and schedules. Pure Python, no Amaranth."""
