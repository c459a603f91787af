"""Descriptions of exported modules in IP-XACT (IEEE 1685-2014), for the tools that read it."""

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any
from xml.etree import ElementTree as ET

__all__ = ["ip_xact_text"]

_SPACE = "http://www.accellera.org/XMLSchema/IPXACT/1685-2014"
_INSTANCE = "http://www.w3.org/2001/XMLSchema-instance"


def ip_xact_text(
    name: str,
    files: Mapping[str, str],
    ports: Sequence[Mapping[str, Any]],
    parameters: Mapping[str, int],
    *,
    description: str,
) -> str:
    """A component `multicube:networks:NAME:VERSION`, with its ports and its files.

    The version is that of the library.

    Parameters
    ----------
    name : str
        The module.
    files : Mapping[str, str]
        The type of each file, by its name.
    ports : Sequence[Mapping[str, Any]]
        As `port_list`.
    parameters : Mapping[str, int]
        Those of the module, with their defaults.
    description : str
        One line.
    """
    ET.register_namespace("ipxact", _SPACE)
    root = ET.Element(
        f"{{{_SPACE}}}component", {f"{{{_INSTANCE}}}schemaLocation": f"{_SPACE} {_SPACE}/index.xsd"}
    )
    identity = {"vendor": "multicube", "library": "networks", "name": name}
    for tag, text in {**identity, "version": version("multicube")}.items():
        _add(root, tag, text)
    model = _add(root, "model")
    view = _add(_add(model, "views"), "view")
    _add(view, "name", "rtl")
    _add(view, "componentInstantiationRef", "verilog")
    instance = _add(_add(model, "instantiations"), "componentInstantiation")
    _add(instance, "name", "verilog")
    _add(instance, "language", "verilog")
    _add(instance, "moduleName", name)
    if parameters:
        listed = _add(instance, "moduleParameters")
        for parameter in parameters:
            _add_parameter(listed, "moduleParameter", parameter, parameter)
    _add(_add(instance, "fileSetRef"), "localName", "rtl")
    listed = _add(model, "ports")
    for port in ports:
        one = _add(listed, "port")
        _add(one, "name", port["name"])
        wire = _add(one, "wire")
        _add(wire, "direction", {"input": "in", "output": "out"}[port["direction"]])
        if port["width"] > 1:
            vector = _add(_add(wire, "vectors"), "vector")
            _add(vector, "left", str(port["width"] - 1))
            _add(vector, "right", "0")
    file_set = _add(_add(root, "fileSets"), "fileSet")
    _add(file_set, "name", "rtl")
    for file, type_ in files.items():
        one = _add(file_set, "file")
        _add(one, "name", file)
        known = type_ in ("verilogSource", "systemVerilogSource")
        if known:
            _add(one, "fileType", type_)
        else:
            _add(one, "fileType", "user").set("user", type_)
    _add(root, "description", description)
    if parameters:
        listed = _add(root, "parameters")
        for parameter, value in parameters.items():
            one = _add_parameter(listed, "parameter", parameter, str(value))
            one.set("parameterId", parameter)
            one.set("resolve", "user")
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _add_parameter(parent: ET.Element, tag: str, name: str, value: str) -> ET.Element:
    child = _add(parent, tag)
    child.set("type", "int")
    _add(child, "name", name)
    _add(child, "value", value)
    return child


def _add(parent: ET.Element, tag: str, text: str | None = None) -> ET.Element:
    child = ET.SubElement(parent, f"{{{_SPACE}}}{tag}")
    child.text = text
    return child
