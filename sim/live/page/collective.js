"use strict";
// A collective: the tree of its group, which routers copy and merge, and what terminals have heard.

const KIND = { copy: 1, reduce: 2, both: 3 }; // as `Kind` of `graphs.routing.group_tree`

class Collective {
  constructor(page) {
    this.page = page;
    const { root, members, copies, merges, senders } = ABOUT.collective;
    // Values are merged unless only the root sends, and copied unless only it hears.
    const used = [ABOUT.title !== "broadcast" && [merges, "hot"], ABOUT.title !== "reduce" && [copies, "packet"]];
    page.drawing.trees = used.filter(Boolean);
    this.joins = Collective.joins(page.drawing, merges);
    byId("collective-card").hidden = false;
    const { flits } = ABOUT.collective, words = flits === 1 ? "1 flit" : `${flits} flits`;
    byId("collective-text").textContent = `${members.length} members, root ${root}; ${senders.length > 1 ? "each" : "it"} sends ${words}.`;
  }

  /** Colours tell copies, and values that are still to be merged. */
  static colourOf(flit, colours) {
    return flit.field("kind") === KIND.copy ? colours.packet : colours.hot;
  }

  static legend(colours) {
    return [[colours.hot, "value to the root"], [colours.packet, "copy to all"]];
  }

  /** What a moment tells. The page pauses when all has been heard. */
  take(moment) {
    const told = new Map(moment.told), { listeners, flits } = ABOUT.collective;
    this.heard = listeners.map((cell) => told.get(`${cell}.heard`));
    const before = this.over;
    this.over = this.heard.every((count) => count === flits);
    this.cycles = 1 + Math.max(...listeners.map((cell) => told.get(`${cell}.latest`)));
    this.copying = this.nodes(moment, (flits) => flits.filter((flit) => flit.field("kind") === KIND.copy).length > 1);
    this.merging = this.merged(moment);
    if (this.over && !before) {
      this.page.pause();
      this.page.say(this.verdict());
    }
  }

  /** The names of the nodes for whose flits, those that they offer, something holds. */
  nodes(moment, holds) {
    const offered = new Map();
    for (const flit of moment.flits) {
      const [what, index] = flit.line.source;
      if (what === "node") offered.set(index, [...offered.get(index) ?? [], flit]);
    }
    return [...offered].filter(([, flits]) => holds(flits)).map(([index]) => this.page.drawing.nodes[index].name);
  }

  /** The names of the nodes to which values come on several links. */
  static joins(drawing, merges) {
    const into = new Map();
    for (const channel of merges) {
      const [what, index] = drawing.lines[drawing.lineOf[channel]].target;
      if (what === "node") into.set(index, (into.get(index) ?? 0) + 1);
    }
    return new Set([...into].filter(([, count]) => count > 1).map(([index]) => drawing.nodes[index].name));
  }

  /** The nodes whose values came on several links, and leave as one. */
  merged(moment) {
    const merging = this.nodes(moment, (flits) => flits.some((flit) => flit.field("kind") !== KIND.copy));
    return merging.filter((name) => this.joins.has(name));
  }

  verdict() { return `All has been heard, after ${this.cycles} cycles.`; }

  show() {
    const { listeners, flits } = ABOUT.collective;
    const done = this.heard.filter((count) => count === flits).length;
    byId("collective-heard").textContent = this.over ? this.verdict()
      : `${done} of ${listeners.length} terminals have heard all; ${this.heard.filter((count) => count).length} have heard some.`;
    const row = (id, names) => { byId(id).textContent = names.length ? names.join(", ") : "\u2013"; };
    row("collective-copies", this.copying);
    row("collective-merges", this.merging);
  }
}
