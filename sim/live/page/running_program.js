"use strict";
// A program on the cores of a parallel computer, as the worker sees it: where each core is, and what
// it has printed.

class RunningProgram {
  constructor(machine, about) {
    this.machine = machine;
    this.about = about;
    this.rows = about.console_rows;
    this.cores = about.cores.map((cell) => machine.places.get(cell));
    const [number] = this.cores[0];
    this.console = machine.engine.groups[number].memories.findIndex(({ name }) => name === "console");
    this.restart();
  }

  restart() {
    this.seen = this.cores.map(() => 0);
    this.fresh = [];
    this.over = false;
  }

  /** The values of an output of all cores. */
  read(port) {
    const now = this.machine.code.wires() / 4;
    return this.about.cores.map((cell) => {
      const [wire, width] = this.machine.wireOf(cell, port);
      return width === 1 ? this.machine.words[now + wire] & 1 : this.machine.words[now + wire];
    });
  }

  /** Where each core is. An instruction outside of the program has no place: the jump to it has. */
  at() {
    const last = this.read("last_pc"), [begin, end] = this.about.range;
    return this.read("pc").map((pc, core) => begin <= pc && pc < end ? pc : last[core]);
  }

  /** The line at which a core is; 0 in code of others. */
  line(core) { return this.lineOf(this.at()[core]); }

  lineOf(address) {
    const { places } = this.about;
    let low = 0, high = places.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (places[middle][0] <= address) low = middle + 1; else high = middle;
    }
    return low ? places[low - 1][1] : 0;
  }

  /** See what has been printed, and whether all cores have ended. */
  look() {
    this.machine.code.settle_all();
    this.read("printed").forEach((printed, core) => {
      for (let at = this.seen[core]; at < printed; at++) {
        const [value, more] = this.machine.row(...this.cores[core], this.console, at % this.rows);
        this.fresh.push([core, more >>> 1, more & 1 ? String(value | 0) : String.fromCharCode(value & 255)]);
      }
      this.seen[core] = printed;
    });
    this.over = this.read("done").every((done) => done) || this.read("trapped").some((trapped) => trapped);
  }

  /** What has changed since the last frame, and where the cores are. */
  frame() {
    const printed = this.fresh;
    this.fresh = [];
    const found = { printed, over: this.over };
    for (const port of ["done", "trapped", "ended", "result", "fault", "instructions"]) found[port] = this.read(port);
    found.pc = this.at();
    found.lines = found.pc.map((address) => this.lineOf(address));
    return found;
  }
}
