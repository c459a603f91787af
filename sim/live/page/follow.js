"use strict";
// The packet that is followed: where it has been, and where it is.

class Followed {
  constructor(about, drawing, moment, flit) {
    this.start(about, drawing, flit.key);
    this.rest = this.digitsLeft(flit);
    this.pass(flit, moment.cycle);
    this.see(moment);
  }

  /** A worm that lies in the network, wherever its flits are. */
  static of(about, drawing, moment, { key, to }) {
    const followed = Object.create(Followed.prototype);
    followed.start(about, drawing, key);
    followed.packet = { ...moment.headers.get(key).packet };
    followed.to = to;
    followed.node = drawing.nodeOfQueue[moment.worms.byKey.get(key).flits[0].queue];
    followed.see(moment);
    return followed;
  }

  start(about, drawing, key) {
    this.about = about;
    this.drawing = drawing;
    this.key = key;
    this.way = []; // the channels: since when it is offered there, and the cycle in which it crossed
    this.node = null; // the node that it has entered last
    this.done = undefined; // the cycle in which it was delivered
  }

  /** What a flit tells of its packet. Only the first one has the tag. */
  learn(flit) {
    const hop = this.about.bench.channels.hop[flit.channel];
    const { tag } = this.packet ?? {};
    this.packet = { ...flit.fields };
    if (tag !== undefined) this.packet.tag = tag;
    else if (this.about.bench.entries.length || this.about.memory && hop > 0) delete this.packet.tag;
    else if (this.about.tags?.rotates && hop > 0 && "tag" in this.packet) this.packet.tag = tagAtSource(this.about, this.packet.tag, hop);
    this.to = destinationOf(this.about, this.packet, 0);
  }

  /** The tag of a packet of several flits: that of the one that enters, or that the entry kept. */
  learnTag({ headers, flits }) {
    const entering = flits.find(({ key, line }) => key === this.key && line.source[0] === "terminal");
    const header = headers.get(this.key) ?? entering?.fields;
    if (header) this.packet.tag = header.tag;
    this.to = destinationOf(this.about, this.packet, 0);
  }

  /** Go on to a moment. */
  see(moment) {
    if (this.done !== undefined) return;
    if (moment.headers) this.learnTag(moment);
    for (const flit of this.own(moment.arrived)) {
      const step = this.pass(flit, moment.previous.cycle);
      if (step.crossed === null && step.since <= moment.previous.cycle) {
        step.crossed = moment.previous.cycle;
        this.node = this.nodeAfter(flit.line);
      }
      if (flit.last && this.drawing.endsAt(flit)) this.end(moment.previous.cycle, flit.line.target);
    }
    this.flits = this.own(moment.flits);
    for (const flit of this.flits) this.pass(flit, moment.cycle);
    const { hop } = this.about.bench.channels, when = ({ crossed }) => crossed ?? Infinity;
    this.way.sort((a, b) => when(a) === when(b) ? hop[a.channel] - hop[b.channel] : when(a) - when(b));
    this.place(moment);
  }

  /** It has reached a terminal, or a memory; or a box has combined it with another one. */
  end(cycle, [what, index]) {
    this.done ??= cycle;
    this.exit ??= { what, index };
  }

  /** The step of the way that a flit is on; a new one if it has not been there. */
  pass(flit, cycle) {
    const known = this.way.find(({ channel }) => channel === flit.channel);
    if (known) return known;
    this.learn(flit);
    this.way.push({ channel: flit.channel, line: flit.line.index, since: cycle, crossed: null });
    return this.way.at(-1);
  }

  /**
   * Its flits on the way, in their order: where it has been before, or offered by a node on the way.
   * (Requests of different processors to one module may still have one name.)
   */
  own(flits) {
    const named = flits.filter((flit) => this.names(flit)), found = [];
    const nodes = new Set([this.node, ...this.way.map(({ line }) => this.nodeAfter(this.drawing.lines[line]))]);
    const next = ({ channel, line }) => this.way.some((step) => step.channel === channel)
      || line.source[0] === "node" && nodes.has(line.source[1]);
    for (let at = named.findIndex(next); at >= 0; at = named.findIndex(next)) {
      const [flit] = named.splice(at, 1);
      found.push(flit);
      nodes.add(this.nodeAfter(flit.line));
    }
    return found;
  }

  names(flit) {
    if (flit.key !== this.key || typeof this.key === "number" || !this.rest) return flit.key === this.key;
    const left = this.digitsLeft(flit), read = this.rest.length - left.length;
    const port = this.about.bench.channels.port[flit.channel].split(".").find((part) => /^\d+$/.test(part));
    return left.every((digit, n) => digit === this.rest[read + n]) && (read < 1 || Number(port) === this.rest[read - 1]);
  }

  /** The digits of a request that are still to be read; the others say where it has come from. */
  digitsLeft({ fields: { tag }, channel }) {
    if (!this.about.tags?.rotates || tag === undefined) return [];
    return tagDigits(this.about, tag).slice(0, this.about.tags.widths.length - this.about.bench.channels.hop[channel]);
  }

  nodeAfter({ target: [what, index] }) { return what === "node" ? index : null; }

  /** Where it is: offered on a link, in a slot of a queue, in a node, or at its terminal. */
  place(moment) {
    const here = (queue) => typeof this.key === "number" || this.drawing.nodeOfQueue[queue] === this.node;
    this.slots = moment.stored.filter(({ key, queue }) => key === this.key && here(queue));
    this.worm = moment.worms?.byKey.get(this.key) ?? null;
    const { hop } = this.about.bench.channels;
    const [flit, slot] = this.head();
    if (typeof this.key !== "number" && this.node !== null && !this.flits.length && !this.slots.length && moment.contents)
      this.end(moment.cycle - 1, ["node", this.node]);
    if (this.done !== undefined) {
      this.at = this.exit;
      this.hop = this.about.tags ? this.about.tags.widths.length : 0;
    } else if (flit) {
      this.at = { what: "link", channel: flit.channel };
      this.hop = hop[flit.channel];
    } else if (slot) {
      const node = this.drawing.nodeOfQueue[slot.queue], out = /^o/.test(this.drawing.queues[slot.queue][2].port ?? "i");
      this.node = node;
      this.at = { what: "slot", queue: slot.queue, slot: slot.slot };
      this.hop = this.hopInside() + (out ? 1 : 0);
    } else if (this.node !== null) {
      this.at = { what: "node", index: this.node };
      this.hop = this.hopInside();
    } else this.at = null;
  }

  /** How many boxes it had passed when it came to the node where it is. */
  hopInside() {
    const last = this.way.findLast(({ crossed }) => crossed !== null);
    return last ? this.about.bench.channels.hop[last.channel] : this.drawing.hopOf(this.node);
  }

  /** Where its first flit is offered, or else stored. What passes a node at once is offered twice. */
  head() {
    const order = (flit) => this.way.findIndex(({ channel }) => channel === flit.channel);
    const flits = [...this.flits].sort((a, b) => order(a) - order(b));
    const flit = flits.at(this.about.bench.entries.length ? -1 : 0) ?? null;
    if (!this.worm?.flits.length) {
      // Of several flits the first one may be in the node that was entered last, and others come behind.
      const leaves = flit?.line.source[0] === "node" && flit.line.source[1] === this.node;
      const behind = flit && this.about.bench.entries.length && this.node !== null && !leaves;
      return behind ? [null, this.slots.find((slot) => this.drawing.nodeOfQueue[slot.queue] === this.node)] : [flit, this.slots[0]];
    }
    const [{ queue, slot, channel }] = this.worm.flits, { path } = this.worm;
    const ahead = flit && path && path.indexOf(flit.channel) > path.indexOf(channel);
    return [ahead || this.worm.arrived && flit ? flit : null, { queue, slot }];
  }
}
