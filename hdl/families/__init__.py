"""The families of networks: each is a folder, or one file.

In a family's folder, `*_graph.py` is its description, without Amaranth; `*_router.py` is the
hardware of its own, or the gates of its routes; and `*_network.py` is the network with its entries
in the catalogue, `FAMILIES`.
"""
