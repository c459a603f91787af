"""Checks a certificate of `multicube prove` against the Verilog that it is about.

    python check_certificate.py cert.json net.v

It reads the wires of the top and the rows of routing tables in the Verilog. The contracts of
modules are taken as given, with how they were proved; all that is concluded from them is computed
again. The status is 0 if the certificate holds, and 1 if not.
"""

import hashlib
import json
import re
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from certified_verilog import Netlist, Void, need

# What has to be proved of a switch in stages, of others by where their queues are, and of memory.
_CLAIMS = {"stages": {"stages", "queues"}, "input": {"crossing", "queues"}}
_CLAIMS |= {"output": {"output queues"}, "box": {"places", "values"}, "memory": {"words"}}


def begin(cert, verilog, form):
    """The netlist, and the contract of each cell: of this text, and proved or a condition."""
    need(cert["format"] == form, "the format is unknown")
    need(cert["sha256"] == hashlib.sha256(verilog.encode()).hexdigest(), "it is another file")
    netlist, open_ = Netlist(verilog, cert["top"]), set()
    for module in set(netlist.cells.values()):
        about = cert["contracts"].get(module)
        need(about is not None, f"module {module} has no contract")
        need(about["sha256"] == netlist.digest(module), f"{module} is not what was proved")
        proved = {one["claims"] for one in about["proofs"] if one["cycles"] == "for ever"}
        kind = "stages" if about.get("stages") else about.get("queue", about["kind"])
        if kind != "table" and not proved >= _CLAIMS.get(kind, {"none"}):
            open_.add(module)
    need(cert["conditions"] == sorted(open_), f"the conditions are {sorted(open_)}")
    return netlist, {cell: cert["contracts"][module] for cell, module in netlist.cells.items()}


class Checker:
    def __init__(self, cert, verilog):
        self.net, self.kind = begin(cert, verilog, "multicube certificate 1")
        self.cert, (self.sources, self.sinks) = cert, cert["terminals"]
        for side, count in (("i", self.sources), ("o", self.sinks)):
            names = {port for port in self.net.ports if re.fullmatch(f"{side}__.*__valid", port)}
            same = len(names) == count and names == {f"{side}__{t}__valid" for t in range(count)}
            need(same, "other terminals")
        self.check_wires()

    def stream(self, cell, port):
        """The cell and output behind an input stream; its three wires must go together."""
        other, name = self.net.source(cell, f"{port}__valid") or (None, "")
        name = name.removesuffix("__valid")
        need(name, f"{cell} {port} is not driven")
        payload = self.net.source(cell, f"{port}__payload")
        need(payload == (other, f"{name}__payload"), f"{cell} {port}: payload and valid differ")
        back = self.net.source(other, f"{name}__ready")
        need(back == (cell, f"{port}__ready"), f"{other} {name}: another ready")
        need((other, name) not in self.behind, f"{other} {name} goes to two inputs")
        return other, name

    def check_wires(self):
        """Each stream goes whole from one output to one input; what is beside it goes with it."""
        self.behind, self.rows, self.tables, self.choices = {}, {}, {}, {}
        for cell, about in self.kind.items():
            for i in range(about.get("inputs", 0)):
                self.behind[self.stream(cell, f"i__{i}")] = cell, i
        for t in range(self.sinks):
            self.behind[self.stream(None, f"o__{t}")] = None, t
        for cell, about in self.kind.items():
            if about["kind"] == "table":
                self.rows[cell] = self.net.table(self.net.cells[cell])
            for port, (what, side, number) in about.get("ports", {}).items():
                if side == "o":
                    peer, i = self.behind[cell, f"o__{number}"]
                    from_, name = self.net.source(cell, port) or (None, None)
                    other = self.kind[peer]["ports"].get(name) if from_ == peer else None
                    need(other == [what, "i", i], f"{cell} {port} has another's {what}")
                    need(self.kind[peer]["depth"] == about["depth"], f"{cell} has others behind")
            if about["kind"] == "switch" and about["route"]["by"] == "table":
                table, _ = self.net.source(cell, "exits__0")
                for i in range(about["inputs"]):
                    exits = self.net.source(cell, f"exits__{i}")
                    need(exits == (table, f"exits__{i}"), f"{cell} has exits of another input")
                    tag = self.net.source(table, f"tag__{i}")
                    need(tag == (cell, f"tag__{i}"), f"{table} has the tag of another input")
                self.tables[cell] = table

    def outputs(self, cell, i, tag):
        """The outputs that a header may take, and its tag behind them."""
        route, width = self.kind[cell]["route"], self.cert["tag"]
        if route["by"] == "table":
            row = self.rows[self.tables[cell]][i][tag]
            return [j for j in range(row.bit_length()) if row >> j & 1], tag
        if route["by"] == "gates":
            rows = self.cert["rows"][self.net.cells[cell]]
            address = int(self.net.pins.get((cell, "address"), "1'd0").partition("'d")[2])
            return rows["exits"][ord(rows["of"][i][(address << width) + tag]) - 48], tag
        digit = tag >> (width - route["bits"])
        turned = (tag << route["bits"] | digit) & ((1 << width) - 1)
        port, inputs = route["inputs"][i], [one["inputs"] for one in self.kind[cell]["outputs"]]
        others = {"xor": digit ^ port, "difference": (digit + port) % route["outputs"]}
        named = others.get(route["routing"], digit)
        return [j for j, n in enumerate(route["digits"]) if n == named and i in inputs[j]], turned

    def step(self, cell, i, tag):
        """The channels that a header may take next, each with where it comes and its tag."""
        need(self.kind[cell]["kind"] == "switch", f"{cell} is no switch")
        exits, tag = self.outputs(cell, i, tag)
        about, found = self.kind[cell], []
        need(exits and (about["choice"] or len(exits) == 1), f"{cell}: a header has exits {exits}")
        kinds = self.choices[cell] = self.choices.get(cell, set()) | {frozenset(exits)}
        apart = not about["equal"] or sum(map(len, kinds)) == len(frozenset().union(*kinds))
        need(apart, f"{cell}: headers have some of their exits {exits} in common")
        for j in exits:
            inputs, ends = (about["outputs"][j][what] for what in ("inputs", "terminal"))
            need(i in inputs and not (ends and exits[1:]), f"{cell} has no turn from {i} to {j}")
            there = self.behind[cell, f"o__{j}"]
            while there[0] is not None and self.kind[there[0]]["kind"] == "link":
                there = self.behind[there[0], f"o__{there[1]}"]
            found.append((f"{cell}.o.{j}", there, tag))
        return found

    def check_routes(self):
        """All routes end where they should, waits go up in the order, and parts share nothing."""
        order, tags = self.cert["order"], self.cert["tags"]
        place = {channel: n for n, channel in enumerate(order)}
        need(len(place) == len(order), "a channel is twice in the order")
        self.escapes = {*order} if self.cert["escapes"] is None else {*self.cert["escapes"]}
        self.nexts, self.rivals, self.used, self.last, self.ways = {}, {}, {}, set(), []
        for to in range(self.sinks):
            seen, starts = {}, {}
            for s in range(self.sources):
                tag = tags[s][to] if isinstance(tags[0], list) else tags[to]
                starts[s] = stack = self.step(*self.behind[None, f"i__{s}"], tag)
                self.follow(s, stack)
                stack = [*stack]
                while stack:
                    channel, (there, n), tag = stack.pop()
                    if (channel, tag) in seen:
                        continue
                    if there is None:
                        need(n == to, f"a packet for {to} from {s} ends at terminal {n}")
                        self.last.add(channel)
                    seen[channel, tag] = [] if there is None else self.step(there, n, tag)
                    self.follow(channel, seen[channel, tag])
                    stack += seen[channel, tag]
            self.check_waits(seen, place)
            self.check_ends(starts, seen, to)
        for one, other in self.cert["partitions"]:
            need({*one, *other} == {*range(self.sources)}, "a partition is not whole")
            a, b = ({c for s in p for d in p for c in self.used[s, d]} for p in (one, other))
            need(a.isdisjoint(b), f"two halves share {min(a & b, default='')}")

    def follow(self, before, nexts):
        for after, _, _ in nexts:
            self.nexts.setdefault(before, set()).add(after)
            self.rivals.setdefault(after, set()).add(before)

    def check_waits(self, seen, place):
        """A header that has a channel waits for later ones: escape channels, if there are some."""
        escapes = self.escapes
        for (channel, _), nexts in seen.items():
            need(not nexts or any(a in escapes for a, _, _ in nexts), f"{channel} has no escape")
            passed, stack = set(), [*nexts] if channel in escapes else []
            while stack:
                after, _, tag = stack.pop()
                if after in escapes:
                    need(place[after] > place[channel], f"{channel} waits for {after} before it")
                elif (after, tag) not in passed:
                    passed.add((after, tag))
                    stack += seen[after, tag]

    def check_ends(self, starts, seen, to):
        """No packet goes on for ever: its ways have no circle. Their channels, by source."""
        firsts = {s: [(a, t) for a, _, t in nexts] for s, nexts in starts.items()}
        graph = {at: [(a, t) for a, _, t in nexts] for at, nexts in seen.items()}
        try:
            ways = [(at, graph[at]) for at in TopologicalSorter(graph).static_order()]
        except CycleError:
            raise Void(f"packets for {to} go in a circle") from None
        self.ways.append((firsts, ways))
        for s, own in firsts.items():
            stack, found = [*own], set()
            while stack:
                if (at := stack.pop()) not in found:
                    found.add(at)
                    stack += graph[at]
            self.used[s, to] = [channel for channel, _ in found]

    def most(self, spent):
        """By source and destination, the most that is spent in channels on a way between them."""
        found = {}
        for to, (firsts, ways) in enumerate(self.ways):
            left = {}
            for at, nexts in ways:
                left[at] = spent[at[0]] + max((left[after] for after in nexts), default=0)
            found |= {(s, to): max(left[at] for at in own) for s, own in firsts.items()}
        return found

    def tries(self, channel):
        """Most cycles in which a header with a choice could take a channel and does not."""
        cell, _, j = channel.split(".")
        about, found = self.kind[cell], [0]
        others = [len(output["inputs"]) - 1 for output in about["outputs"]]
        for exits in self.choices[cell]:
            if about["choice"] and int(j) in exits and not (about["equal"] and len(exits) == 1):
                found.append(about["tries"] + sum(others[k] for k in exits))
        return max(found)

    def check_bounds(self):
        """The turns of queues, from the last channel to the first, and the cycles of all pairs."""
        bounds, (fewest, most) = self.cert["bounds"], self.cert["lengths"]
        longest = max(self.most(dict.fromkeys(self.cert["order"], 1)).values())
        need(bounds["hops"] == longest, "the longest path is another one")
        cells = {channel: self.kind[channel.split(".")[0]] for channel in self.cert["order"]}
        outputs = {c: one["outputs"][int(c.split(".")[2])] for c, one in cells.items()}
        ((queue, depth, stages),) = {(x["queue"], x["depth"], x["stages"]) for x in cells.values()}
        rivals = {c: o["inputs"] for c, o in outputs.items()} if queue == "output" else self.rivals
        flits = (most > 1) * 2 * max(o["wires"] for o in outputs.values()) * (most + longest)
        fits = depth if most == 1 else 1 + (1 + (depth - 2) // fewest if depth > 1 else 0)
        touched, turn, end = 1 - (1 - most) // fewest, {}, int(queue == "output")

        def waits(nexts):
            own = self.escapes & nexts
            holds = {c: touched * turn[c] + (flits or outputs[c]["wires"]) for c in own}
            return max(self.tries(c) + len(rivals[c]) * hold for c, hold in holds.items())

        for channel, told in reversed([*zip(self.cert["order"], bounds["turns"], strict=True)]):
            turn[channel] = end if channel in self.last else waits(self.nexts[channel])
            need(turn[channel] == told, f"the turn of {channel} is {turn[channel]}, not {told}")
        entries = [waits(self.nexts[s]) for s in range(self.sources)]
        need(entries == bounds["entries"], f"the turns of terminals are {entries}")
        spent = {c: stages + (one and 1 + fits * one) for c, one in turn.items()}
        for (s, d), cycles in self.most(spent).items():
            cycles += 0 if queue == "output" else 1 + fits * entries[s]
            need(bounds["pairs"][s][d] == cycles, f"from {s} to {d} it is {cycles} cycles")
        need(bounds["most"] == max(map(max, bounds["pairs"])), "the most cycles are others")


def check(cert, verilog):
    checker = Checker(cert, verilog)
    checker.check_routes()
    cells = [one for one in cert["contracts"].values() if one["kind"] != "table"]
    fair = all(one["kind"] == "link" or one["fair"] for one in cells)
    need(not cert["delivers"] or fair, "it is not fair")
    if cert["bounds"] is not None:
        timed = all(one.get("timed") and one["stages"] * cert["lengths"][1] < 2 for one in cells)
        timed = timed and (cert["lengths"][1] == 1 or {*cert["order"]} == checker.escapes)
        need(cert["delivers"] and timed, "there is no bound")
        checker.check_bounds()


def verdict(cert, verilog, check=check):
    """Why a certificate is void, or None."""
    try:
        return check(cert, verilog)
    except Exception as error:
        return str(error) if isinstance(error, Void) else f"it can't be understood: {error!r}"


def main(check=check, what=None):
    try:
        cert, net = sys.argv[1:]
        verilog, found = Path(net).read_text("utf-8"), json.loads(Path(cert).read_text("utf-8"))
    except (OSError, RecursionError, ValueError) as error:
        sys.exit(f"void: cert.json and net.v can't be read: {error}")
    if why := verdict(found, verilog, check):
        sys.exit(f"void: {why}")
    most = f"within {b['most']} cycles" if (b := found.get("bounds")) else "without a bound"
    own = f"each packet is delivered {most}" if found.get("delivers") else "no deadlock"
    print(f"holds: {what or own}")
    for module in found["conditions"]:
        print(f"if {module} does as it should: {found['contracts'][module].get('unproved')}")


if __name__ == "__main__":
    main()
