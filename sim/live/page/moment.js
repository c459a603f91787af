"use strict";
// One moment: all that a frame shows is derived from the state after so many clock edges.

const ACTIVITY_CYCLES = 24;

/** A flit that is offered on a link: `crosses` says whether it will cross at the next edge. */
class Flit {
  constructor(about, channel, line, crosses, words) {
    this.about = about;
    this.channel = channel;
    this.line = line;
    this.crosses = crosses;
    this.words = words;
  }

  get layout() { return layoutsOf(this.about)[this.about.bench.channels.layout[this.channel]]; }

  /** What tells packets apart. */
  get key() { return this.known ??= keyOf(this.layout, this.words); }

  field(name) { return name in this.layout ? bitsOf(this.words, ...this.layout[name]) : undefined; }

  /** Whether it is the last of its packet. */
  get last() { return (this.field("last") ?? 1) === 1; }

  get fields() {
    if (this.decoded) return this.decoded;
    this.decoded = decoded(this.layout, this.words);
    const { tags } = this.about; // inside an interface of its own, a network may use other tags
    if (tags && this.layout.tag?.[1] !== tags.widths.reduce((sum, width) => sum + width, 0)) delete this.decoded.tag;
    return this.decoded;
  }

  is(other) { return other.channel === this.channel && other.key === this.key; }
}

/**
 * The state after `cycle` clock edges: cycles 0 to `cycle` - 1 are over. `previous` are the flits and
 * levels one cycle before, if they are known: where what is seen now has come from.
 */
class Moment {
  constructor(drawing, frame, before) {
    Object.assign(this, frame);
    const cycles = before ? frame.cycle - before.cycle : -1;
    if (cycles === 0) this.previous = before.previous;
    else this.previous = cycles === 1 ? { flits: before.flits, levels: before.levels, cycle: before.cycle } : null;
    this.flits = [];
    for (let channel = 0; channel < frame.state.length; channel++) {
      if (!(frame.state[channel] & 1)) continue;
      const words = frame.payload.subarray(channel * frame.width, (channel + 1) * frame.width);
      const line = drawing.lines[drawing.lineOf[channel]];
      this.flits.push(new Flit(drawing.about, channel, line, frame.state[channel] === 3, words));
    }
    this.countUse(drawing.lines, before, cycles);
  }

  /** How far each line is used and blocked: averages over some tens of cycles. */
  countUse(lines, before, cycles) {
    if (cycles === 0) { this.use = before.use; this.wait = before.wait; return; }
    this.use = new Float32Array(lines.length);
    this.wait = new Float32Array(lines.length);
    if (cycles < 0) return;
    const keep = Math.exp(-cycles / ACTIVITY_CYCLES);
    for (const { index, channels } of lines) {
      let crossed = 0, refused = 0;
      for (const channel of channels) {
        crossed += this.crossed[channel] - before.crossed[channel];
        refused += this.refused[channel] - before.refused[channel];
      }
      this.use[index] = before.use[index] * keep + (1 - keep) * Math.min(1, crossed / cycles);
      this.wait[index] = before.wait[index] * keep + (1 - keep) * Math.min(1, refused / cycles / Math.max(1, channels.length));
    }
  }

  /** The flits that crossed at the last edge. */
  get arrived() { return this.previous ? this.previous.flits.filter((flit) => flit.crosses) : []; }

  /** What moved in the last cycle: each flit, and where it is offered now, if it is; copies at several
      places. */
  get moves() {
    if (this.moved) return this.moved;
    const at = new Map();
    for (const flit of this.flits) {
      const [what, index] = flit.line.source, place = `${index} ${flit.key}`;
      if (what === "node") at.set(place, [...at.get(place) ?? [], flit]);
    }
    this.moved = this.arrived.flatMap((flit) => {
      const [what, index] = flit.line.target, all = what === "node" ? at.get(`${index} ${flit.key}`) ?? [] : [];
      const copied = flit.field("mask") || flit.field("kind") === 1; // as `Kind.MULTICAST`
      const nexts = copied ? all : all.slice(-1);
      return (nexts.length ? nexts : [null]).map((next) => ({ flit, next }));
    });
    return this.moved;
  }

  /** The flits that are where they were one cycle before. */
  get resting() {
    if (this.rested) return this.rested;
    const before = new Set((this.previous?.flits ?? []).filter((flit) => !flit.crosses)
      .map((flit) => `${flit.channel} ${flit.key}`));
    this.rested = this.flits.filter((flit) => before.has(`${flit.channel} ${flit.key}`));
    return this.rested;
  }

  /** What is stored in the nodes: key, number of the queue, and place behind its head. */
  get stored() {
    if (this.kept || !this.contents) return this.kept ?? [];
    this.kept = [];
    for (const [queue, layout, items] of this.contents)
      items.forEach((words, slot) => this.kept.push({ key: keyOf(layout, words), queue, slot, layout, words }));
    return this.kept;
  }
}
