"""Hypercubes of wormhole routers."""
