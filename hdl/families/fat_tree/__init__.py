"""Fat trees of wormhole routers."""
