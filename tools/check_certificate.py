#!/usr/bin/env python3
"""Checks a certificate of `multicube prove` against the Verilog that it is about.

    python check_certificate.py cert.json net.v

It reads the wires of the top module, the ports in `net.v.json` and the rows of routing tables in
the Verilog, and nothing else of the library. Of the certificate it takes the contracts of modules
as given (with how they were proved); all that is concluded from them is computed again. The
status is 0 if the certificate holds, and 1 if not.
"""

import hashlib
import json
import re
import sys
from graphlib import CycleError, TopologicalSorter


class Void(Exception):
    """The certificate does not hold."""


def need(condition, why):
    if not condition:
        raise Void(why)


class Netlist:
    """The modules of a Verilog file, and the wires of its top."""

    def __init__(self, text, top):
        pattern = r"^module (\w+) \(.*?^endmodule$"
        self.blocks = {m[1]: m[0] for m in re.finditer(pattern, text, re.M | re.S)}
        need(top in self.blocks, f"there is no module {top}")
        body = self.blocks[top]
        self.cells, self.pins, self.driver = {}, {}, {}
        for module, cell, pins in re.findall(r"^  (\w+) (\w+) \(\n(.*?)\n  \);", body, re.M | re.S):
            need(module in self.blocks and cell not in self.cells, f"cell {cell} is unclear")
            self.cells[cell] = module
            outputs = set(re.findall(r"^  output (?:reg )?(?:\[\d+:0\] )?(\w+),?$", self.blocks[module], re.M))
            for port, net in re.findall(r"\.(\w+)\(([^()]*)\)", pins):
                self.pins[cell, port] = net
                if net and port in outputs:
                    need(net not in self.driver, f"net {net} has two drivers")
                    self.driver[net] = cell, port
        head, _, rest = body.partition(");\n")
        for port in re.findall(r"^  input (?:\[\d+:0\] )?(\w+),?$", head, re.M):
            self.driver[port] = None, port
        for port, net in re.findall(r"^  assign (\w+) = (\w+);$", rest, re.M):
            need((None, port) not in self.pins, f"{port} is assigned twice")
            self.pins[None, port] = net
        known = r"^  \w+ \w+ \(\n(?:    \.\w+\([\w']*\),?\n)+  \);|^  wire .*;|^  assign \w+ = \w+;|^endmodule"
        need(not re.sub(known, "", rest, flags=re.M).strip(), "the top has something else in it")
        for (cell, port), net in self.pins.items():
            need(port not in ("clk", "rst") or net == port, f"{cell} has another {port}")

    def source(self, cell, port):
        """What drives a port, as cell and port; None for a constant or nothing."""
        return self.driver.get(self.pins.get((cell, port)))

    def digest(self, module):
        inside = sorted(set(re.findall(r"^  (\w+_multiplexer_\w+) ", self.blocks[module], re.M)))
        texts = "\n".join(self.blocks[one] for one in (module, *inside))
        return hashlib.sha256(texts.encode()).hexdigest()

    def table(self, module):
        """For each input of a routing table, the rows that it reads."""
        text = self.blocks[module]
        memories = {}
        for memory, row, value in re.findall(r"^    (\w+)\[(\d+)\] = \d+'h([0-9a-f]+);$", text, re.M):
            memories.setdefault(memory, {})[int(row)] = int(value, 16)
        found = {}
        for i, memory, tag in re.findall(r"assign exits__(\d+) = (\w+)\[tag__(\d+)\];", text):
            need(i == tag and memory in memories, f"table {module} is not plain")
            found[int(i)] = memories[memory]
        rest = re.sub(r"(?s)initial begin.*?end\n", "", text).count("assign")
        need(rest == len(found), f"table {module} does more than to look up")
        return found


class Checker:
    def __init__(self, cert, netlist, ports):
        self.cert, self.net, self.contracts = cert, netlist, cert["contracts"]
        self.sources, self.sinks = cert["terminals"]
        self.kind = {c: self.contracts.get(m) for c, m in netlist.cells.items()}
        self.tables = {}
        names = {port["name"] for port in ports}
        for t in range(self.sources):
            need(f"i__{t}__valid" in names, f"there is no input of terminal {t}")
        for t in range(self.sinks):
            need(f"o__{t}__valid" in names, f"there is no output of terminal {t}")
        need(f"i__{self.sources}__valid" not in names, "there are more terminals")
        need(f"o__{self.sinks}__valid" not in names, "there are more terminals")

    def check_cells(self):
        """Each cell has a contract, which is that of its module's very text."""
        need(self.net.cells, "there are no cells")
        for module in set(self.net.cells.values()):
            about = self.contracts.get(module)
            need(about is not None, f"module {module} has no contract")
            need(about["sha256"] == self.net.digest(module), f"module {module} is not the proved one")
            proved = {one["claims"] for one in about["proofs"] if one["cycles"] == "for ever"}
            open_ = about["kind"] != "table" and proved < set(about.get("claims", ["none"]))
            need(not open_ or module in self.cert["conditions"], f"{module}: an unproved condition")

    def stream(self, cell, port):
        """The cell and output behind an input stream; its three wires must go together."""
        ends = [self.net.source(cell, f"{port}__{leaf}") for leaf in ("valid", "payload")]
        need(None not in ends, f"{cell} {port} is not driven")
        other, name = ends[0][0], ends[0][1].removesuffix("__valid")
        need(ends[1] == (other, f"{name}__payload"), f"{cell} {port}: valid and payload differ")
        back = self.net.source(other, f"{name}__ready")
        need(back == (cell, f"{port}__ready"), f"ready of {other} {name} is not that of {cell} {port}")
        return other, name

    def check_wires(self):
        """Each stream goes whole from one output to one input; what is beside it goes with it."""
        self.behind, before = {}, {}
        for cell, about in self.kind.items():
            if about["kind"] == "table":
                continue
            for i in range(about["inputs"]):
                end = self.stream(cell, f"i__{i}")
                need(end not in self.behind, f"{end} goes to two inputs")
                self.behind[end], before[cell, i] = (cell, i), end
        for t in range(self.sinks):
            end = self.stream(None, f"o__{t}")
            need(end not in self.behind, f"{end} goes to two inputs")
            self.behind[end] = None, t
        for cell, about in self.kind.items():
            for port, (what, side, number) in about.get("ports", {}).items():
                if side == "o" and what != "none":
                    self.check_side(cell, port, what, number)
            if about["kind"] == "switch" and about["route"]["by"] == "table":
                self.check_table(cell, about["inputs"])
            if about["kind"] == "switch" and about["route"]["by"] == "gates":
                need(self.net.pins.get((cell, "address"), "'d0").partition("'d")[2].isdigit(),
                     f"{cell} has no constant address")

    def check_side(self, cell, port, what, number):
        peer, i = self.behind.get((cell, f"o__{number}"), (None, None))
        from_, name = self.net.source(cell, port) or (None, None)
        need(peer is not None and from_ == peer, f"{cell} {port} is not driven by {peer}")
        need(self.kind[peer]["ports"].get(name) == [what, "i", i], f"{cell} {port} has another's {what}")

    def check_table(self, cell, inputs):
        owner = self.net.source(cell, "exits__0")
        need(owner and self.kind.get(owner[0], {}).get("kind") == "table", f"{cell} has no table")
        for i in range(inputs):
            there = owner[0], f"exits__{i}"
            need(self.net.source(cell, f"exits__{i}") == there, f"{cell} exits {i} of another input")
            need(self.net.source(owner[0], f"tag__{i}") == (cell, f"tag__{i}"), f"{cell} tag {i}")
        self.tables[cell] = self.net.table(self.net.cells[owner[0]])

    # The routes.

    def outputs(self, cell, i, tag, to):
        """The outputs that a header may take, and its tag behind them."""
        route = self.kind[cell]["route"]
        if route["by"] == "table":
            row = self.tables[cell][i].get(tag, 0)
            found = [j for j in range(len(self.kind[cell]["outputs"])) if row >> j & 1]
            return found, tag
        if route["by"] == "gates":
            address = int(self.net.pins.get((cell, "address"), "'d0").partition("'d")[2])
            rows = self.cert["rows"][self.net.cells[cell]]
            code = ord(rows["of"][i][(address << self.cert["tag"]) + tag]) - 48
            return rows["exits"][code], tag
        bits, width = route["bits"], self.cert["tag"]
        digit = tag >> (width - bits)
        if route["routing"] == "xor":
            j = digit ^ i
        else:
            j = digit if route["routing"] == "destination" else (digit + i) % route["outputs"]
        return [j], (tag << bits | digit) & ((1 << width) - 1)

    def step(self, cell, i, tag, to):
        """The channels that a header may take next, each with where it comes and its tag."""
        exits, tag = self.outputs(cell, i, tag, to)
        about = self.kind[cell]
        need(about["choice"] or len(exits) == 1, f"{cell}: a header for {to} has {len(exits)} exits")
        need(exits, f"{cell}: a header for {to} has no exit")
        found = []
        for j in exits:
            need(j < len(about["outputs"]) and i in about["outputs"][j]["inputs"],
                 f"{cell}: input {i} has no turn to output {j}")
            there = self.behind.get((cell, f"o__{j}"))
            need(there is not None, f"{cell} output {j} leads nowhere")
            while there[0] is not None and self.kind[there[0]]["kind"] == "link":
                there = self.behind[there[0], f"o__{there[1]}"]
            found.append((f"{cell}.o.{j}", there, tag))
        return found

    def check_routes(self):
        """All routes end at their destination; waits go up in the order."""
        order = self.cert["order"]
        place = {channel: n for n, channel in enumerate(order)}
        need(len(place) == len(order), "a channel is twice in the order")
        escapes = None if self.cert["escapes"] is None else set(self.cert["escapes"])
        self.nexts, self.used, self.longest = {}, {}, 0
        self.last, self.rivals, self.firsts = set(), {}, {}
        for to in range(self.sinks):
            seen, starts = {}, {}
            for s in range(self.sources):
                cell, i = self.behind[None, f"i__{s}"]
                tag = self.tag(s, to)
                starts[s] = self.step(cell, i, tag, to)
                self.firsts.setdefault(s, set()).update(c for c, _, _ in starts[s])
                for channel, _, _ in starts[s]:
                    self.rivals.setdefault(channel, set()).add(s)
                stack = [one for one in starts[s] if (one[0], one[2]) not in seen]
                while stack:
                    channel, (there, n), tag = stack.pop()
                    if (channel, tag) in seen:
                        continue
                    need(channel in place, f"{channel} is not in the order")
                    if there is None:
                        need(n == to, f"a packet for {to} from {s} ends at terminal {n}")
                        seen[channel, tag] = []
                        self.last.add(channel)
                        continue
                    seen[channel, tag] = self.step(there, n, tag, to)
                    for after, _, _ in seen[channel, tag]:
                        self.nexts.setdefault(channel, set()).add(after)
                        self.rivals.setdefault(after, set()).add(channel)
                    stack += seen[channel, tag]
            self.check_waits(seen, place, escapes)
            self.check_ends(starts, seen, to)

    def tag(self, s, to):
        tags = self.cert["tags"]
        return tags[s][to] if isinstance(tags[0], list) else tags[to]

    def check_waits(self, seen, place, escapes):
        """A header that has a channel waits for later ones: of escape channels, if there are some."""
        for (channel, _), nexts in seen.items():
            if escapes is None:
                waits = [after for after, _, _ in nexts]
            else:
                need(not nexts or any(a in escapes for a, _, _ in nexts), f"{channel}: no escape")
                if channel not in escapes:
                    continue
                waits, passed, stack = [], set(), list(nexts)
                while stack:
                    after, _, tag = stack.pop()
                    if after in escapes:
                        waits.append(after)
                    elif (after, tag) not in passed:
                        passed.add((after, tag))
                        stack += seen[after, tag]
            for after in waits:
                need(place[after] > place[channel], f"{channel} waits for {after}, which is before it")

    def check_ends(self, starts, seen, to):
        """No packet goes on for ever: its ways have no circle. Their channels, by source."""
        longest = {}
        graph = {at: [(a, t) for a, _, t in nexts] for at, nexts in seen.items()}
        try:
            for at in TopologicalSorter(graph).static_order():
                longest[at] = 1 + max((longest[after] for after in graph[at]), default=0)
        except CycleError:
            raise Void(f"packets for {to} go in a circle") from None
        for s, nexts in starts.items():
            stack, found = list(nexts), {}
            while stack:
                channel, _, tag = stack.pop()
                if channel not in found:
                    found[channel] = None
                    stack += seen[channel, tag]
            self.used[s, to] = tuple(found)
            self.longest = max(self.longest, *(longest[c, t] for c, _, t in nexts))

    # What is concluded.

    def check_partitions(self):
        for halves in self.cert["partitions"]:
            need(sorted(sum(halves, [])) == list(range(self.sources)), "a partition is not whole")
            users = [{c for s in half for d in half for c in self.used[s, d]} for half in halves]
            shared = set.intersection(*users) if len(users) > 1 else {"no halves"}
            need(not shared, f"two halves of a partition share {min(shared, default='')}")

    def check_bounds(self):
        """The turns of queues, from the last channel to the first, and the cycles of all pairs."""
        bounds, (fewest, most) = self.cert["bounds"], self.cert["lengths"]
        need(bounds["hops"] == self.longest, "the longest path is another one")
        about = {}
        for channel in self.cert["order"]:
            cell, _, j = channel.rsplit(".", 2)
            about[channel] = self.kind[cell], self.kind[cell]["outputs"][int(j)]
        wires = max(output["wires"] for _, output in about.values())
        turn = {}

        def waits(nexts):
            need(nexts, "a channel leads nowhere")
            return max(len(self.rivals[c]) * hold(about[c][1], turn[c]) for c in nexts)

        def hold(output, turns):
            if most == 1:
                return turns + output["wires"]
            return (1 - (1 - most) // fewest) * turns + 2 * wires * (most + self.longest)

        def fits(depth):
            return depth if most == 1 else 1 + (1 + (depth - 2) // fewest if depth > 1 else 0)

        for channel, told in reversed(list(zip(self.cert["order"], bounds["turns"]))):
            at_output = about[channel][0]["queue"] == "output"
            turn[channel] = int(at_output) if channel in self.last else waits(self.nexts[channel])
            need(turn[channel] == told, f"the turn of {channel} is {turn[channel]}, not {told}")
        kinds = {(one["queue"], one["depth"]) for one, _ in about.values()}
        need(len(kinds) == 1, "queues differ")
        queue, depth = kinds.pop()
        spent = {c: 1 + fits(depth) * turn[c] if turn[c] else 0 for c in about}
        for s in range(self.sources):
            entry = waits(self.firsts[s])
            need(entry == bounds["entries"][s], f"the turn of terminal {s} is {entry}")
            start = 0 if queue == "output" else 1 + fits(depth) * entry
            for d in range(self.sinks):
                cycles = start + sum(spent[c] for c in self.used[s, d])
                need(bounds["pairs"][s][d] == cycles, f"from {s} to {d} it is {cycles} cycles")
        need(bounds["most"] == max(map(max, bounds["pairs"])), "the most cycles are others")


def check(cert, verilog, ports):
    need(cert["format"] == "multicube certificate 1", "the format is unknown")
    need(cert["sha256"] == hashlib.sha256(verilog.encode()).hexdigest(), "the Verilog is another one")
    checker = Checker(cert, Netlist(verilog, cert["top"]), ports)
    checker.check_cells()
    checker.check_wires()
    checker.check_routes()
    checker.check_partitions()
    kinds = [one for one in checker.contracts.values() if one["kind"] == "switch"]
    need(not cert["delivers"] or all(one["fair"] for one in kinds), "an arbiter is not fair")
    if cert["bounds"] is not None:
        timed = all(one.get("timed", one["kind"] == "table") for one in checker.contracts.values())
        need(cert["delivers"] and timed and cert["escapes"] is None, "there is no bound")
        checker.check_bounds()


def verdict(cert, verilog, ports):
    """Why a certificate is void, or None."""
    try:
        check(cert, verilog, ports)
    except Void as error:
        return str(error)
    except (AttributeError, KeyError, IndexError, TypeError, ValueError) as error:
        return f"it can't be understood: {error!r}"
    return None


def main():
    texts = [open(path).read() for path in (*sys.argv[1:3], f"{sys.argv[2]}.json")]
    found = json.loads(texts[0])
    if why := verdict(found, texts[1], json.loads(texts[2])["ports"]):
        print(f"void: {why}")
        return 1
    most = f"within {found['bounds']['most']} cycles" if found["bounds"] else "without a bound"
    print("holds: " + (f"each packet is delivered {most}" if found["delivers"] else "no deadlock"))
    for module in found["conditions"]:
        print(f"if {module} does as it should: {found['contracts'][module]['unproved']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
