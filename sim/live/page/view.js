"use strict";
// The view: how the scene lies on its canvas, and what is at a place there.

/** Width of a letter of a label, by its height. */
const LETTER = 0.61;

class View extends Scene {
  constructor(canvas, about, queues) {
    super(about, queues);
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.back = document.createElement("canvas");
    this.view = null;
    this.selected = null;
  }

  resize() {
    const box = this.canvas.getBoundingClientRect();
    this.ratio = Math.min(window.devicePixelRatio || 1, 2);
    this.wide = box.width;
    this.high = box.height;
    for (const canvas of [this.canvas, this.back]) {
      canvas.width = Math.max(1, Math.round(box.width * this.ratio));
      canvas.height = Math.max(1, Math.round(box.height * this.ratio));
    }
    if (!this.view || !this.moved) this.fit();
    this.stale = true;
  }

  fit() {
    const [left, top, right, bottom] = this.bounds();
    const beside = this.terminals.filter((each) => each.label && (each.side === "left" || each.side === "right"));
    const letters = Math.max(0, ...beside.map((each) => each.label.length)), above = 22;
    // Room for labels with letters of 12, or on a narrow page of 9.
    this.letter = Math.max(9, Math.min(12, (this.wide * 0.14 - 8) / LETTER / Math.max(1, letters)));
    const needed = Math.min(letters * this.letter * LETTER + 8, this.wide * 0.2);
    const side = letters ? Math.max(Math.min(90, this.wide * 0.1), needed) : 26;
    const scale = Math.min((this.wide - 2 * side) / Math.max(right - left, 1e-3),
      (this.high - 2 * above) / Math.max(bottom - top, 1e-3));
    // A drawing may be stretched somewhat to use the whole window.
    const stretch = (room, size) => Math.min(room / Math.max(size, 1e-3), scale * this.stretch());
    const sx = stretch(this.wide - 2 * side, right - left), sy = stretch(this.high - 2 * above, bottom - top);
    this.view = {
      sx, sy,
      x: this.wide / 2 - (left + right) / 2 * sx,
      y: this.high / 2 - (top + bottom) / 2 * sy,
    };
    this.whole = this.view.sx;
    this.moved = false;
    this.stale = true;
    this.canvas.classList.remove("moved");
  }

  /** How much one axis may be longer than the other: columns may be, grids may not. */
  stretch() {
    return this.nodes.some((node) => Object.keys(node.ports).length) ? 3.5 : 1.25;
  }

  zoom(factor, x, y) {
    const { view } = this;
    if (view.sx * factor <= this.whole) return this.fit(); // the whole is the smallest
    view.x = x - (x - view.x) * factor;
    view.y = y - (y - view.y) * factor;
    view.sx *= factor;
    view.sy *= factor;
    this.moved = this.stale = true;
    this.canvas.classList.add("moved");
  }

  pan(dx, dy) {
    this.view.x += dx;
    this.view.y += dy;
    this.moved = this.stale = true;
  }

  at([x, y]) {
    return [x * this.view.sx + this.view.x, y * this.view.sy + this.view.y];
  }

  get size() {
    return Math.min(this.view.sx, this.view.sy);
  }

  /** The least distance of labels beside each other, in pixels. */
  terminalGap() {
    this.gap ??= leastGap(this.terminals);
    return this.gap * this.view.sy;
  }

  box(node) {
    const [x, y] = this.at([node.x - node.width / 2, node.y - node.height / 2]);
    return [x, y, node.width * this.view.sx, node.height * this.view.sy];
  }

  /** The flits of a moment, and where they are: what has moved takes its link, and then its box. */
  places(moment, phase, amid) {
    const start = (flit) => this.point(flit.line, 0);
    if (phase >= 1 || !moment.previous)
      return moment.flits.map((flit) => [flit, this.point(flit.line, amid && flit.crosses ? 0.5 : 0)]);
    const between = ([ax, ay], [bx, by], part) => [ax + (bx - ax) * part, ay + (by - ay) * part];
    return [
      ...moment.resting.map((flit) => [flit, start(flit)]),
      ...moment.moves.map(({ flit, next }) => [flit, phase < 0.75 || !next ? this.point(flit.line, Math.min(1, phase / 0.75))
        : between(flit.line.points.at(-1), start(next), (phase - 0.75) / 0.25)]),
    ];
  }

  /** Where the item of a queue is: in its slot, or at the end of the channel that leads there. */
  slotAt(number, slot) {
    const node = this.nodes[this.nodeOfQueue[number]];
    const found = this.size > 9 && node.slots?.find(({ queue }) => queue.number === number);
    if (found) return [found.x + found.step * slot, found.y];
    const channel = this.into[number];
    if (channel === undefined) return [node.x, node.y];
    const line = this.lines[this.lineOf[channel]], lane = line.channels.indexOf(channel) / line.channels.length;
    const far = Math.min(node.width, node.height) * (0.3 + 0.3 * slot + 0.1 * lane); // before the node's edge
    return this.point(line, Math.max(0.1, 1 - far / line.length));
  }

  /** Where a place is that a record names: a link, a slot, a node or a terminal. */
  placeOf(at) {
    switch (at?.what) {
      case "link": return this.point(this.lines[this.lineOf[at.channel]], 0);
      case "slot": return this.slotAt(at.queue, at.slot);
      case "node": return [this.nodes[at.index].x, this.nodes[at.index].y];
      case "terminal": return [this.terminals[at.index].x, this.terminals[at.index].y];
      default: return null;
    }
  }

  /** What is at a place of the canvas: a packet, a node or a line. */
  hit(x, y) {
    let best = null, least = 13;
    for (const dot of this.dots ?? []) {
      const far = Math.hypot(dot.place[0] - x, dot.place[1] - y);
      if (far < least) { least = far; best = { what: "packet", dot }; }
    }
    if (best && least < 9) return best;
    for (const node of this.nodes) {
      const [left, top, w, h] = this.box(node);
      if (x >= left - 2 && x <= left + w + 2 && y >= top - 2 && y <= top + h + 2) return { what: "node", index: node.index };
    }
    if (best) return best;
    least = 7;
    for (const line of this.lines) {
      const far = this.distance(line, x, y);
      if (far < least) { least = far; best = { what: "line", index: line.index }; }
    }
    return best;
  }

  distance(line, x, y) {
    let least = Infinity;
    for (let n = 1; n < line.points.length; n++) {
      if (n === line.cut) continue;
      const [[ax, ay], [bx, by]] = [this.at(line.points[n - 1]), this.at(line.points[n])];
      const span = (bx - ax) ** 2 + (by - ay) ** 2 || 1;
      const part = Math.max(0, Math.min(1, ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / span));
      least = Math.min(least, Math.hypot(ax + (bx - ax) * part - x, ay + (by - ay) * part - y));
    }
    return least;
  }

  /** The next node in a direction, for the arrow keys. */
  neighbour(index, dx, dy) {
    if (index === null) return 0;
    const here = this.nodes[index];
    let best = index, least = Infinity;
    for (const node of this.nodes) {
      const [x, y] = [(node.x - here.x) * this.view.sx, (node.y - here.y) * this.view.sy];
      const along = x * dx + y * dy, aside = Math.abs(x * dy) + Math.abs(y * dx);
      if (along <= 1 || aside > 2.5 * along) continue;
      const far = along + 2 * aside;
      if (far < least) { least = far; best = node.index; }
    }
    return best;
  }
}
