"""Checks a certificate of `multicube prove` of a network with memory, against its Verilog.

    python check_memory_certificate.py cert.json net.v

The contracts of boxes and memory modules are taken as given, with how they were proved. Checked is
that the serial orders of a word compose: requests and their replies take the same links; each box
leads to boxes as far from the memory; its strap `later` has the digits of tags that lead on, so
that requests for two words never combine; and each tag leads every processor to its module. The
status is 0 if the certificate holds, and 1 if not.
"""

from certified_verilog import need
from check_certificate import begin, main


class Checker:
    def __init__(self, cert, verilog):
        self.cert = cert
        self.net, self.kind = begin(cert, verilog, "multicube memory certificate 1")
        names = {port for port in self.net.ports if port.endswith("__request__valid")}
        own = {f"i__{p}__request__valid" for p in range(len(names))}
        need(names == own and cert["processors"] == len(own), "other processors")
        self.behind, self.depth = {}, {}
        for cell, about in self.kind.items():
            box = about["kind"] == "box"
            need(box or about["kind"] == "memory", f"{cell} is neither a box nor a memory")
            for port in [f"i__{i}" for i in range(about["ports"])] if box else ["i"]:
                before = self.link(cell, port)
                need(before not in self.behind, f"{before} leads to two inputs")
                self.behind[before] = cell, port

    def link(self, cell, port):
        """What is before an input; all six wires of requests and replies must go together."""
        other, name = self.net.source(cell, f"{port}__request__valid") or (None, "")
        name = name.removesuffix("__request__valid")
        need(name, f"{cell} {port} is not driven")
        for wire in ("request__payload", "reply__ready"):
            found = self.net.source(cell, f"{port}__{wire}")
            need(found == (other, f"{name}__{wire}"), f"{cell} {port}: another {wire}")
        for wire in ("request__ready", "reply__valid", "reply__payload"):
            found = self.net.source(other, f"{name}__{wire}")
            need(found == (cell, f"{port}__{wire}"), f"{other} {name}: another {wire}")
        return other, name

    def stages(self, cell, above=()):
        """How many boxes a request passes from a cell on."""
        need(cell not in above, f"{cell} is behind itself")
        if self.kind[cell]["kind"] == "memory":
            return 0
        if cell not in self.depth:
            outputs = range(self.kind[cell]["ports"])
            nexts = {self.behind[cell, f"o__{j}"][0] for j in outputs}
            found = {self.stages(after, (*above, cell)) for after in nexts}
            need(len(found) == 1, f"{cell} leads to several stages")
            self.depth[cell] = 1 + found.pop()
            self.check_strap(cell)
        return self.depth[cell]

    def check_strap(self, cell):
        """Requests that differ in the digits of later boxes have different words."""
        about = self.kind[cell]
        digit = (about["ports"] - 1).bit_length()
        rest = about["tag"] - digit * self.depth[cell]
        need(rest >= 0, f"{cell} has no digit left for the last stage")
        need(about["ports"] == 1 << digit, f"{cell} has digits without an output")
        if not about["combines"]:
            return
        later = (1 << digit * (self.depth[cell] - 1)) - 1 << rest
        strap = int(self.net.pins[cell, "later"].partition("'d")[2])
        need(strap & later == later, f"{cell} combines requests for different modules")

    def end(self, processor, tag):
        """The cell at which a request with a tag ends."""
        cell, port = self.behind[None, f"i__{processor}"]
        self.stages(cell)
        while self.kind[cell]["kind"] == "box":
            about = self.kind[cell]
            digit, width = (about["ports"] - 1).bit_length(), about["tag"]
            turned = tag << digit & (1 << width) - 1 | int(port.removeprefix("i__"))
            cell, port = self.behind[cell, f"o__{tag >> width - digit}"]
            tag = turned
        return cell


def check(cert, verilog):
    checker = Checker(cert, verilog)
    ends = set()
    for tags in cert["tags"]:
        cells = {checker.end(p, tag) for p in range(cert["processors"]) for tag in tags}
        need(len(cells) == 1, f"tags {tags} lead to several modules")
        ends |= cells
    memories = {cell for cell, about in checker.kind.items() if about["kind"] == "memory"}
    need(ends == memories and len(cert["tags"]) == len(ends), "two modules have the same tags")
    need(cert["serial"] is True, "it concludes something else")


if __name__ == "__main__":
    main(check, "each request is answered once, with the value of a serial order of its word")
