"""Public designs of other authors, from PyPI: processors, USB, buses, arithmetic."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Elaboratable

_INSIDE = {
    "minerva": ("pythondata_cpu_minerva", "sources"),
    "amaranth_soc": ("luna_soc", "gateware/vendor"),
    "amaranth_stdio": ("luna_soc", "gateware/vendor"),
}
"""Packages inside other packages: where."""

USB = {"clocks": {"usb": 1e-6}}
SUPER_SPEED = {"clocks": {"ss": 1e-6}}


def _found(path: str) -> Any:
    """A class by its module and name; the test is skipped if it is not installed."""
    module, _, name = path.rpartition(".")
    package = module.partition(".")[0]
    for needed in (package, "amaranth_soc") if package in ("minerva", "luna_soc") else (package,):
        owner, folder = _INSIDE.get(needed, (needed, ""))
        if find_spec(owner) is None:
            pytest.skip(f"{owner} is not installed")
        place = str(Path(find_spec(owner).submodule_search_locations[0]) / folder)
        if folder and place not in sys.path:
            sys.path.append(place)
    return getattr(import_module(module), name)


def utmi() -> Any:
    """The pins of a USB transceiver."""
    return _found("luna.gateware.interface.utmi.UTMIInterface")()


def hyperbus() -> Any:
    """The pins of a memory."""
    return _found("luna.gateware.interface.psram.HyperBusPHY")()


def made(path: str, *values: Any, **options: Any) -> Callable[[], Elaboratable]:
    """Makes a design; arguments that are functions are called for it."""

    def make() -> Elaboratable:
        given = {name: each() if callable(each) else each for name, each in options.items()}
        return _found(path)(*values, **given)

    return make


CACHES = {
    "with_icache": True,
    "icache_nlines": 8,
    "icache_limit": 0x8000,
    "with_dcache": True,
    "dcache_nlines": 8,
    "dcache_limit": 0x8000,
    "with_muldiv": True,
}

PACKET = "luna.gateware.usb.usb2.packet"
STREAM = "luna.gateware.usb.usb2.endpoints.stream"

DESIGNS: dict[str, tuple[Callable[[], Elaboratable], Mapping[str, Any]]] = {
    "Minerva": (made("minerva.core.Minerva"), {}),
    "Minerva with caches": (made("minerva.core.Minerva", **CACHES), {}),
    "Sentinel": (made("sentinel_cpu.top.Top"), {}),
    "pipelined multiplier": (made("smolarith.mul.PipelinedMul", 16), {}),
    "multiplier": (made("smolarith.mul.MulticycleMul", 16), {}),
    "divider": (made("smolarith.div.MulticycleDiv", 16), {}),
    "long divider": (made("smolarith.div.LongDivider", 12), {}),
    "complex multiplier": (made("maia_hdl.cmult.Cmult", 16, 16), {}),
    "packer": (made("maia_hdl.packer.Pack12IQto32"), {}),
    "FFT": (made("maia_hdl.fft.FFT", 12, 4, 2), {}),
    "FIR filter": (made("maia_hdl.fir.FIR4DSP"), {}),
    "floating point": (made("maia_hdl.floating_point.IQToFloatingPoint", 16, 10), {}),
    "common edge of two clocks": (
        made("maia_hdl.clknx.ClkNxCommonEdge", "sync", "fast", 2),
        {"clocks": {"sync": 1e-6, "fast": 0.5e-6}},
    ),
    "serial port": (made("amaranth_stdio.serial.AsyncSerial", divisor=6), {}),
    "GPIO": (made("amaranth_soc.gpio.Peripheral", pin_count=5, addr_width=4, data_width=8), {}),
    "Wishbone SRAM": (
        made("amaranth_soc.wishbone.sram.WishboneSRAM", size=64, data_width=32, granularity=8),
        {},
    ),
    "timer": (made("luna_soc.gateware.core.timer.Peripheral", width=16), {}),
    "UART": (made("luna_soc.gateware.core.uart.Peripheral", divisor=10), {}),
    "SPI device": (made("luna.gateware.interface.spi.SPIDeviceInterface"), {}),
    "SPI commands": (made("luna.gateware.interface.spi.SPICommandInterface"), {}),
    "SPI registers": (made("luna.gateware.interface.spi.SPIRegisterInterface"), {}),
    "UART transmitter": (
        made("luna.gateware.interface.uart.UARTMultibyteTransmitter", byte_width=3, divisor=4),
        {},
    ),
    "HyperRAM": (made("luna.gateware.interface.psram.HyperRAMInterface", phy=hyperbus), {}),
    "ULPI registers": (made("luna.gateware.interface.ulpi.ULPIRegisterWindow"), USB),
    "transactional queue": (
        made("luna.gateware.memory.TransactionalizedFIFO", width=8, depth=6),
        {},
    ),
    "USB tokens": (made(f"{PACKET}.USBTokenDetector", utmi=utmi), USB),
    "USB receiver": (made(f"{PACKET}.USBDataPacketReceiver", utmi=utmi, standalone=True), USB),
    "USB generator": (made(f"{PACKET}.USBDataPacketGenerator", standalone=True), USB),
    "USB transfers": (made("luna.gateware.usb.usb2.transfer.USBInTransferManager", 16), USB),
    "USB reset": (made("luna.gateware.usb.usb2.reset.USBResetSequencer"), USB),
    "USB control": (
        made("luna.gateware.usb.usb2.control.USBControlEndpoint", utmi=utmi, standalone=True),
        USB,
    ),
    "USB stream": (
        made(f"{STREAM}.USBStreamOutEndpoint", endpoint_number=1, max_packet_size=16),
        USB,
    ),
    "USB device": (
        made("luna.gateware.usb.usb2.device.USBDevice", bus=utmi, handle_clocking=False),
        USB,
    ),
    "USB 3 CRC": (made("luna.gateware.usb.usb3.link.crc.HeaderPacketCRC"), SUPER_SPEED),
    "USB 3 scrambler": (made("luna.gateware.usb.usb3.physical.scrambling.Scrambler"), SUPER_SPEED),
    "USB 3 link": (
        made("luna.gateware.usb.usb3.link.ltssm.LTSSMController", ss_clock_frequency=125e6),
        SUPER_SPEED,
    ),
}
"""How each is made, and how it is driven (`simulator_pairs.trace`)."""
