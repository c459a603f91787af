"""The links between cells: their signatures and payloads."""
