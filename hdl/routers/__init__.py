"""Nodes of direct networks: routers of wormhole networks, and the Connection Machine's node."""
