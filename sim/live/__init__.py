"""Web pages in which a network runs: the compiled engine as WebAssembly, with a drawing."""

from ...hdl.support.lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)
