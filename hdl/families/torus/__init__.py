"""Tori, meshes and rings of wormhole routers."""
