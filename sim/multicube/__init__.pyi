from .hdl.catalogue.catalogue import build as build
from .hdl.export.verilog import write_verilog as write_verilog
from .sim.live.page import LivePage as LivePage
from .sim.report.drawing import draw as draw
from .sim.run.comparing import compare as compare
from .sim.run.simulation import simulate as simulate
from .sim.run.sweeps import sweep as sweep
from .version import __version__ as __version__
