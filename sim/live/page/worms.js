"use strict";
// Worms: packets of several flits, where they lie, what they hold, and for whom they wait.

/**
 * The worms in the network at one moment. It takes the paths of the network (`paths`), the queues
 * that channels lead to, and the headers that the entries have kept.
 */
class Worms {
  constructor(about, drawing, moment) {
    this.about = about;
    this.drawing = drawing;
    this.byKey = new Map();
    this.rows = new Map(); // by channel: the flits in the queue that it leads to
    const offered = new Map(moment.flits.map((flit) => [flit.channel, flit]));
    for (const { key, queue, slot, layout, words } of moment.stored) {
      const channel = drawing.channelInto(queue);
      const header = moment.headers.get(key);
      if (channel === undefined || !header) continue;
      if (!this.byKey.has(key)) this.byKey.set(key, this.begun(key, header));
      const flit = { key, queue, slot, channel, last: !layout.last || bitsOf(words, ...layout.last) === 1 };
      this.byKey.get(key).flits.push(flit);
      if (!this.rows.has(channel)) this.rows.set(channel, []);
      this.rows.get(channel)[slot] = flit;
    }
    this.holders = new Map();
    for (const worm of this.byKey.values()) this.lay(worm, offered);
    for (const worm of this.byKey.values()) worm.waits = this.waitOf(worm, offered);
    this.cycle = this.cycleOf();
  }

  begun(key, { tag, sent, packet }) {
    const source = this.about.bench.source_addresses.indexOf(Math.floor(key / 2 ** 32));
    const to = destinationOf(this.about, { ...packet, tag }, 0);
    return { key, source, to, sent, path: this.about.bench.paths[source]?.[to] ?? null, flits: [], holds: [], waits: null };
  }

  /** The channels from behind the tail to the head. */
  lay(worm, offered) {
    const { path, flits } = worm;
    if (!path) return;
    const at = ({ channel }) => path.indexOf(channel);
    flits.sort((a, b) => at(b) - at(a) || a.slot - b.slot); // from the head on
    worm.arrived = worm.sent > flits.length; // the header has been delivered
    worm.entire = flits.at(-1).last; // the tail has entered
    const far = at(flits[0]);
    const claimed = far + 1 < path.length && offered.get(path[far + 1])?.key === worm.key;
    const first = worm.entire ? at(flits.at(-1)) + 1 : 0;
    worm.holds = path.slice(first, worm.arrived ? path.length : far + 1 + (claimed ? 1 : 0));
    for (const channel of worm.holds) this.holders.set(channel, worm.key);
  }

  /** Whom the head waits for: one that is before it in its queue, or holds its next channel, or fills
      the queue behind that. */
  waitOf({ key, path, flits }, offered) {
    if (!path) return null;
    const [head] = flits;
    const before = (this.rows.get(head.channel) ?? []).slice(0, head.slot).reverse().find((flit) => flit && flit.key !== key);
    if (before) return { key: before.key, channel: head.channel, why: "queue" };
    const channel = path[path.indexOf(head.channel) + 1];
    if (channel === undefined) return null;
    const flit = offered.get(channel);
    if (flit?.key === key) {
      if (flit.crosses) return null;
      const last = this.rows.get(channel)?.at(-1);
      return last && last.key !== key ? { key: last.key, channel, why: "room" } : null;
    }
    const holder = this.holders.get(channel);
    return holder !== undefined && holder !== key ? { key: holder, channel, why: "link" } : null;
  }

  /** Worms that wait for each other in a cycle; empty if there are none. */
  cycleOf() {
    const checked = new Set();
    for (const start of this.byKey.keys()) {
      const seen = [];
      let key = start;
      while (key !== undefined && !checked.has(key) && this.byKey.has(key)) {
        checked.add(key);
        seen.push(key);
        key = this.byKey.get(key).waits?.key;
      }
      if (seen.includes(key)) return seen.slice(seen.indexOf(key)).map((each) => this.byKey.get(each));
    }
    return [];
  }

  name({ source, to }) { return `packet ${source} → ${to}`; }
}
