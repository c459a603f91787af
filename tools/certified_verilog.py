"""Reads the Verilog that a certificate is about: its modules, the wires of its top, its tables.

What is not understood is refused, so that there is nothing in the file that is not checked.
"""

import hashlib
import re

# What a file has: modules, and comments between them; a module's ports; and all that a top may
# have: wires, cells, and assignments to its ports; and a routing table: memories, rows and reads.
_MODULE = r"^module (\w+) \(\n.*?^endmodule$"
_COMMENT = r"^//[^\n]*$|^/\* verilator lint_\w+ \w+ \*/$|^\(\* keep_hierarchy \*\)$"
_PORT = r"  (input|output) (?:reg )?(?:\[(\d+):0\] )?(\w+),?"
_WIRE = r"^  wire (?:\[(\d+):0\] )?(\w+);$"
_CELL = r"^  (\w+) (\w+) \(\n((?:    \.\w+\([\w']*\),?\n)+)  \);$"
_ASSIGN = r"^  assign (\w+) = (\w+);$"
_MEMORY = r"^  reg (?:\[(\d+):0\] )?(\w+) \[(\d+):0\];$"
_ROW = r"^    (\w+)\[(\d+)\] = (\d+)'h(\w+);$"
_READ = r"^  assign exits__(\d+) = (\w+)\[tag__(\d+)\];$"


class Void(Exception):
    """The certificate does not hold."""


def need(condition, why):
    if not condition:
        raise Void(why)


def rest(text, *parts):
    """What a text has beside some parts."""
    return re.sub("|".join(f"(?:{part})" for part in parts), "", text, flags=re.M | re.S).strip()


class Netlist:
    """The modules of a Verilog file, and the wires of its top."""

    def __init__(self, text, top):
        found = [*re.finditer(_MODULE, text, re.M | re.S)]
        self.blocks = {module[1]: module[0] for module in found}
        need(len(found) == len(self.blocks), "a module is there twice")
        need(not rest(text, _MODULE, _COMMENT), "the file has something beside modules")
        self.ports, body = self.ports_of(top)
        need(not rest(body, _WIRE, _CELL, _ASSIGN), "the top has something else in it")
        self.bits = {wire: int(high or 0) + 1 for high, wire in re.findall(_WIRE, body, re.M)}
        self.bits |= {port: bits for port, (_, bits) in self.ports.items()}
        inputs = [port for port, (way, _) in self.ports.items() if way == "input"]
        self.cells, self.pins, self.driver = {}, {}, {port: (None, port) for port in inputs}
        for module, cell, pins in re.findall(_CELL, body, re.M):
            need(cell not in self.cells, f"cell {cell} is there twice")
            self.cells[cell] = module
            ports, _ = self.ports_of(module)
            nets = re.findall(r"\.(\w+)\((.*)\)", pins)
            need(sorted(ports) == sorted(port for port, _ in nets), f"{cell} has other ports")
            for port, net in nets:
                self.pins[cell, port] = net
                own = port not in ("clk", "rst") or self.driver.get(net) == (None, port)
                need(own, f"{cell} has another {port}")
                self.check_bits(f"{cell} {port}", net, *ports[port])
                if net and ports[port][0] == "output":
                    need(net not in self.driver, f"net {net} has two drivers")
                    self.driver[net] = cell, port
        for port, net in re.findall(_ASSIGN, body, re.M):
            need((None, port) not in self.pins, f"{port} is assigned twice")
            need(port not in self.driver, f"net {port} has two drivers")
            self.check_bits(port, net, *self.ports[port])
            self.pins[None, port] = net

    def ports_of(self, module):
        """The direction and bits of each port of a module, and what follows them."""
        head, _, body = self.blocks[module].partition("\n);\n")
        ports = [re.fullmatch(_PORT, line) for line in head.split("\n")[1:]]
        need(all(ports), f"{module} has ports of another kind")
        body = body.removesuffix("endmodule")
        return {port[3]: (port[1], int(port[2] or 0) + 1) for port in ports}, body

    def check_bits(self, where, net, way, bits):
        """What is at a port has its width; an input is not open."""
        size, is_constant, value = net.partition("'d")
        if is_constant:
            fits = way == "input" and int(size) == bits and int(value) < 1 << bits
        else:
            fits = self.bits[net] == bits if net else way == "output"
        need(fits, f"{where} has another width")

    def source(self, cell, port):
        """What drives a port, as cell and port; None for a constant or nothing."""
        return self.driver.get(self.pins.get((cell, port)))

    def digest(self, module):
        inside = set(re.findall(r"^  (\w+_multiplexer_\w+) ", self.blocks[module], re.M))
        texts = "\n".join(self.blocks[one] for one in (module, *sorted(inside)))
        return hashlib.sha256(texts.encode()).hexdigest()

    def table(self, module):
        """For each input of a routing table, the rows that it reads."""
        (ports, body), rows = self.ports_of(module), {}
        other = rest(body, _MEMORY, _ROW, _READ, "^  initial begin$", "^  end$")
        need(not other, f"{module} does more")
        sizes = {name: (high, int(last)) for high, name, last in re.findall(_MEMORY, body, re.M)}
        for memory, row, size, value in re.findall(_ROW, body, re.M):
            need(int(row) <= sizes[memory][1], f"{module} has no row {row}")
            rows.setdefault(memory, {})[int(row)] = int(value, 16)
            need(int(value, 16) < 1 << int(size), f"{module} has a row that is cut off")
        for i, memory, tag in re.findall(_READ, body, re.M):
            same = int(sizes[memory][0] or 0) + 1 == ports[f"exits__{i}"][1]
            need(tag == i and same, f"{module} reads another row")
        return {int(i): rows[memory] for i, memory, _ in re.findall(_READ, body, re.M)}
