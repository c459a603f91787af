"use strict";
// The drawing: lines, nodes, queues and packets on a canvas.

const ACTIVITY = 8, BLOCKED = 5;

class Drawing {
  constructor(canvas, about, queues) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.back = document.createElement("canvas");
    this.about = about;
    this.queues = queues;
    const { nodes, lines, terminals } = about.diagram;
    this.nodes = nodes.map((node, index) => {
      const [x, y, width, height] = node.at;
      return { ...node, label: node.label || (about.design ? node.name : ""), index, x, y: -y, width, height, queues: [] };
    });
    this.terminals = terminals.map((terminal, index) => {
      const [x, y] = terminal.at;
      return { ...terminal, index, x, y: -y };
    });
    const opposite = new Set(lines.map((line) => `${line.source} ${line.target}`));
    const least = this.nodes.reduce((size, node) => Math.min(size, node.width, node.height), Infinity);
    this.lines = lines.map((line, index) =>
      this.prepared(line, index, opposite.has(`${line.target} ${line.source}`) ? 0.09 * least : 0));
    this.lineOf = new Int32Array(about.bench.channels.name.length);
    for (const line of this.lines) for (const channel of line.channels) this.lineOf[channel] = line.index;
    const owner = new Map(this.nodes.flatMap((node) => node.cells.map((cell) => [cell, node])));
    this.nodeOfQueue = queues.map(([, , , cell]) => owner.get(cell)?.index);
    const into = new Map(about.bench.channels.receiver.map((pin, channel) => [pin, channel]));
    this.into = queues.map(([, , { port }, cell]) => into.get(`${cell}.${port}`));
    const source = new Map(about.bench.sources.map((cell, terminal) => [cell, terminal]));
    this.backlog = new Map();
    queues.forEach(([, , queue, cell], number) => {
      const node = owner.get(cell);
      if (node) node.queues.push({ ...queue, number, cell });
      else if (source.has(cell)) this.backlog.set(source.get(cell), { ...queue, number });
    });
    for (const node of this.nodes) this.placeQueues(node);
    this.dead = new Set();
    this.deadNodes = new Set();
    this.view = null;
    this.selected = null;
    this.marked = []; // channels that another page marks, such as a cycle of dependencies
  }

  /** A line as it is drawn: beside the one in the other direction, if there is one. */
  prepared(line, index, aside) {
    const plain = line.points.map(([x, y]) => [x, -y]);
    const normal = (n) => {
      const [[ax, ay], [bx, by]] = [plain[n], plain[n + 1]], far = Math.hypot(bx - ax, by - ay) || 1;
      return [-(by - ay) / far, (bx - ax) / far];
    };
    const points = plain.map(([x, y], n) => {
      const before = n > 0 && n !== line.cut ? normal(n - 1) : null;
      const after = n + 1 < plain.length && n + 1 !== line.cut ? normal(n) : null;
      const [ux, uy] = before ?? after ?? [0, 0], [vx, vy] = after ?? before ?? [0, 0];
      const share = aside / Math.max(0.3, 1 + ux * vx + uy * vy); // where both shifted segments meet
      return [x + (ux + vx) * share, y + (uy + vy) * share];
    });
    if (aside) { // the ends of a shifted line still lie in its nodes, which cover them
      const longer = (end, [ux, uy], sign) => { points[end] = [points[end][0] + sign * uy * aside * 2, points[end][1] - sign * ux * aside * 2]; };
      if (line.source[0] === "node") longer(0, normal(0), -1);
      if (line.target[0] === "node") longer(points.length - 1, normal(points.length - 2), 1);
    }
    const lengths = [0];
    for (let n = 1; n < points.length; n++) {
      const gap = line.cut && n === line.cut;
      const [[ax, ay], [bx, by]] = [points[n - 1], points[n]];
      lengths.push(lengths[n - 1] + (gap ? 0 : Math.hypot(bx - ax, by - ay)));
    }
    return { ...line, index, points, lengths, length: lengths.at(-1) || 1e-6 };
  }

  /** Slots of queues at their ports, where the node shows its ports; otherwise one bar. */
  placeQueues(node) {
    const sized = node.queues.filter((queue) => queue.depth <= 16);
    const placed = Object.keys(node.ports).length > 0 && sized.every((queue) => queue.port);
    node.capacity = node.queues.reduce((sum, queue) => sum + queue.depth, 0);
    node.slots = placed && sized.length === node.queues.length && sized.length > 0 ? [] : null;
    if (!node.slots) return;
    for (const queue of node.queues) {
      const port = node.ports[`${queue.cell}.${queue.port}`];
      if (!port) { node.slots = null; return; }
      const out = port[0] > node.x ? 1 : -1;
      const side = Math.min(node.height / (2 * Math.max(1, node.queues.length / 2)) * 0.5, node.width / (queue.depth + 2));
      node.slots.push({ queue, x: port[0] - out * side * 0.9, y: -port[1], step: -out * side, side: side * 0.8 });
    }
  }

  // View

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

  bounds() {
    const xs = [], ys = [];
    for (const node of this.nodes) {
      xs.push(node.x - node.width / 2, node.x + node.width / 2);
      ys.push(node.y - node.height / 2, node.y + node.height / 2);
    }
    for (const each of [...this.terminals]) { xs.push(each.x); ys.push(each.y); }
    for (const line of this.lines) for (const [x, y] of line.points) { xs.push(x); ys.push(y); }
    for (const [, x, y] of this.about.diagram.captions) { xs.push(x); ys.push(-y); }
    const least = (all) => all.reduce((a, b) => Math.min(a, b), Infinity);
    const most = (all) => all.reduce((a, b) => Math.max(a, b), -Infinity);
    return [least(xs), least(ys), most(xs), most(ys)];
  }

  fit() {
    const [left, top, right, bottom] = this.bounds();
    const labels = this.terminals.some((each) => each.label && (each.side === "left" || each.side === "right"));
    const side = labels ? Math.min(90, this.wide * 0.1) : 26, above = 22;
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

  theme() {
    const style = getComputedStyle(document.documentElement);
    const names = ["paper", "ink", "soft", "faint", "line", "box", "edge", "use", "wait", "packet",
      "aged", "old", "hot", "follow", "queue", "dead"];
    this.colours = Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
    const { line, use, aged, wait } = this.colours;
    this.palette = [];
    for (let b = 0; b < BLOCKED; b++)
      for (let a = 0; a < ACTIVITY; a++) {
        const hue = between(use, aged, wait, b / (BLOCKED - 1));
        this.palette.push(blend(line, hue, a ? 0.2 + (0.45 + 0.35 * b / (BLOCKED - 1)) * a / (ACTIVITY - 1) : 0));
      }
    this.ages = ["packet", "packet", "aged", "old"].map((name) => this.colours[name]);
    this.stale = true;
  }

  /** The channel that leads to a queue, if one does. */
  channelInto(queue) { return this.into[queue]; }

  /** The memory module that a request comes to: each box takes the output that the next digit says. */
  moduleOf(flit) {
    const { tags, bench: { channels } } = this.about;
    if (!tags?.rotates || tags.routing !== "destination") return null;
    let { line } = flit;
    for (const digit of tagDigits(this.about, flit.field("tag")).slice(0, tags.widths.length - channels.hop[flit.channel])) {
      const next = this.linesOf(this.nodes[line.target[1]]).find((each) => each.source[0] === "node" && each.source[1] === line.target[1]
        && each.channels.some((channel) => channels.layout[channel] === channels.layout[flit.channel] && channels.port[channel].split(".")[1] === String(digit)));
      if (!next) return null;
      line = next;
    }
    const number = line.target[0] === "node" ? /\d+$/.exec(this.nodes[line.target[1]].name) : null;
    return number && Number(number[0]);
  }

  /** Whether what crosses a link goes no further: to a terminal, or a request to a memory. */
  endsAt({ channel, line: { target: [what, index] } }) {
    if (what === "terminal") return true;
    const asks = (each) => Boolean(layoutsOf(this.about)[this.about.bench.channels.layout[each]].address);
    return asks(channel) && !this.linesOf(this.nodes[index]).some(({ source, channels }) =>
      source[0] === "node" && source[1] === index && channels.some(asks));
  }

  /** How many boxes a packet has passed before it comes to a node. */
  hopOf(index) {
    const line = this.linesOf(this.nodes[index]).find(({ target: [what, n], channels }) => what === "node" && n === index && channels.length);
    return line ? this.about.bench.channels.hop[line.channels[0]] : -1;
  }

  // Painting

  /**
   * Paint a moment. A phase below 1 is on the way there from the moment one cycle before; `amid` is in
   * the middle of the next cycle, as a run is seen that is too fast for the eye.
   */
  paint(moment, phase, style, followed, amid) {
    if (this.moment !== moment) {
      this.moment = moment;
      this.stale ||= this.lines.length < 3000 || !(this.skipped = ((this.skipped ?? 0) + 1) % 8);
    }
    if (this.stale) { this.paintBack(); this.stale = false; }
    const { context: c } = this;
    c.setTransform(1, 0, 0, 1, 0, 0);
    c.drawImage(this.back, 0, 0);
    c.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    if (!moment) return;
    const levels = phase < 1 && moment.previous ? moment.previous.levels : moment.levels;
    this.paintQueues(levels);
    this.paintNames();
    this.paintBacklog(levels);
    this.paintPackets(moment, phase, style, followed, amid);
    this.paintSelection();
  }

  trace(c, line) {
    line.points.forEach((point, n) => {
      const [x, y] = this.at(point);
      if (n === 0 || n === line.cut) c.moveTo(x, y); else c.lineTo(x, y);
    });
  }

  paintBack() {
    const c = this.back.getContext("2d"), { colours, size } = this;
    c.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    c.fillStyle = colours.paper;
    c.fillRect(0, 0, this.wide, this.high);
    const buckets = new Map();
    for (const line of this.lines) {
      if (this.isDead(line)) continue;
      const used = this.moment?.use[line.index] ?? 0, waits = this.moment?.wait[line.index] ?? 0;
      const activity = Math.min(1, Math.sqrt(Math.max(used, waits)));
      const a = Math.round(activity * (ACTIVITY - 1));
      const b = Math.round(Math.min(1, waits / Math.max(used + waits, 0.02)) * (BLOCKED - 1));
      const bucket = a ? b * ACTIVITY + a : 0;
      if (!buckets.has(bucket)) buckets.set(bucket, []);
      buckets.get(bucket).push(line);
    }
    const base = Math.max(0.35, Math.min(1.4, size / 26));
    c.lineCap = c.lineJoin = "round";
    for (const bucket of [...buckets.keys()].sort((x, y) => x % ACTIVITY - y % ACTIVITY)) {
      c.beginPath();
      for (const line of buckets.get(bucket)) this.trace(c, line);
      c.strokeStyle = this.palette[bucket];
      c.lineWidth = base * (1 + 1.6 * (bucket % ACTIVITY) / (ACTIVITY - 1));
      c.stroke();
    }
    c.strokeStyle = colours.dead;
    c.lineWidth = base * 1.6;
    c.setLineDash([4, 4]);
    c.beginPath();
    for (const line of this.lines) if (this.isDead(line)) this.trace(c, line);
    c.stroke();
    c.setLineDash([]);
    for (const line of this.lines) if (this.isDead(line)) this.cross(c, line);
    c.lineWidth = Math.max(0.5, Math.min(1.3, size / 30));
    c.fillStyle = colours.box;
    for (const dead of [false, true]) {
      c.beginPath();
      for (const node of this.nodes) {
        if (this.deadNodes.has(node.index) !== dead) continue;
        const [x, y, w, h] = this.box(node);
        if (w < 12) c.rect(x, y, w, h);
        else c.roundRect(x, y, w, h, Math.min(6, w * 0.14, h * 0.14));
      }
      c.strokeStyle = dead ? colours.dead : colours.edge;
      c.fill();
      c.stroke();
    }
    this.paintLabels(c);
  }

  paintLabels(c) {
    const { colours } = this;
    c.fillStyle = colours.soft;
    c.textBaseline = "middle";
    // Where labels would be too small, only some are written: every second, fourth, ...
    const gap = this.terminalGap(), every = gap >= 8 ? 1 : 2 ** Math.ceil(Math.log2(11 / Math.max(gap, 0.1)));
    if (gap * every < 60) {
      c.font = `${Math.max(9, Math.min(12, gap * every * 0.8))}px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace`;
      for (const each of this.terminals) {
        if (!each.label || each.number % every) continue;
        const [x, y] = this.at([each.x, each.y]);
        if (each.side === "below" || each.side === "above") {
          c.textAlign = "center";
          c.fillText(each.label, x, y + (each.side === "below" ? 8 : -8));
          continue;
        }
        c.textAlign = each.side === "left" ? "right" : "left";
        c.fillText(each.label, x + (each.side === "left" ? -6 : 6), y);
      }
    }
    c.textAlign = "center";
    if (this.size > 12) {
      c.font = "10px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace";
      for (const line of this.lines) {
        if (!line.cut || !line.label) continue;
        for (const n of [line.cut - 1, line.cut]) {
          const [x, y] = this.at(line.points[n]);
          c.fillText(line.label, x, y - 7);
        }
      }
    }
    c.font = "12px system-ui, sans-serif";
    c.textBaseline = "alphabetic";
    c.fillStyle = colours.soft;
    const apart = captionGap(this.about.diagram.captions) * this.view.sx;
    if (apart > 50)
      for (const [text, x, y] of this.about.diagram.captions) {
        const [px, py] = this.at([x, -y]);
        c.fillText(apart < 115 ? text.replace(/ \(.*/, "") : text, px, py);
      }
  }

  paintNames() {
    const { context: c, colours } = this;
    if (this.size < 14) return;
    c.textAlign = "center";
    c.textBaseline = "middle";
    c.fillStyle = colours.ink;
    for (const node of this.nodes) {
      if (!node.label || node.slots) continue;
      const [x, y, w, h] = this.box(node);
      const letter = Math.min(13, h * 0.55, (w - 4) / Math.max(1, node.label.length) * 1.7);
      if (letter < 6) continue;
      c.font = `${letter}px system-ui, sans-serif`;
      c.fillText(node.label, x + w / 2, y + h / 2);
    }
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

  isDead(line) {
    return line.channels.length > 0 && line.channels.every((channel) => this.dead.has(channel));
  }

  isDeadNode(node) { return this.deadNodes.has(node.index); }

  /** Links have been broken or mended: a node is dead if all its links are. */
  setDead(channels, dead) {
    for (const channel of channels) this.dead[dead ? "add" : "delete"](channel);
    this.deadNodes.clear();
    for (const node of this.dead.size ? this.nodes : []) {
      const own = this.linesOf(node).filter((line) => line.channels.length);
      if (own.length > 0 && own.every((line) => this.isDead(line))) this.deadNodes.add(node.index);
    }
    this.stale = true;
  }

  linesOf(node) {
    if (!this.linesAt) {
      this.linesAt = this.nodes.map(() => []);
      for (const line of this.lines)
        for (const [what, index] of [line.source, line.target])
          if (what === "node" && !this.linesAt[index].includes(line)) this.linesAt[index].push(line);
    }
    return this.linesAt[node.index];
  }

  cross(c, line) {
    const [x, y] = this.at(this.point(line, 0.5));
    const r = Math.max(3, Math.min(6, this.size * 0.12));
    c.beginPath();
    c.moveTo(x - r, y - r); c.lineTo(x + r, y + r);
    c.moveTo(x + r, y - r); c.lineTo(x - r, y + r);
    c.lineWidth = 2;
    c.stroke();
  }

  paintQueues(levels) {
    const { context: c, colours } = this;
    const full = [], some = [];
    for (const node of this.nodes) {
      if (node.slots && this.size > 9) {
        for (const { queue, x, y, step, side } of node.slots) {
          const level = Math.min(levels[queue.number], queue.depth);
          const [w, h] = [Math.max(1, side * this.view.sx), Math.max(1, Math.min(side * this.view.sy, side * this.view.sx * 2))];
          for (let slot = 0; slot < queue.depth; slot++) {
            const [px, py] = this.at([x + step * slot, y]);
            (slot < level ? (level === queue.depth ? full : some) : null)?.push([px - w / 2, py - h / 2, w, h]);
            if (slot >= level && this.size > 16) this.emptySlot(c, px - w / 2, py - h / 2, w, h);
          }
        }
        continue;
      }
      if (!node.capacity) continue;
      let level = 0;
      for (const queue of node.queues) level += levels[queue.number];
      if (!level) continue;
      const share = Math.min(1, level / node.capacity);
      const [x, y, w, h] = this.box(node);
      const inner = Math.max(1, (h - 2) * share);
      (share > 0.75 ? full : some).push([x + 1, y + h - 1 - inner, Math.max(1, w - 2), inner]);
    }
    for (const [list, colour] of [[some, colours.queue], [full, colours.old]]) {
      c.fillStyle = colour;
      c.globalAlpha = 0.8;
      for (const [x, y, w, h] of list) c.fillRect(x, y, w, h);
    }
    c.globalAlpha = 1;
  }

  emptySlot(c, x, y, w, h) {
    c.strokeStyle = this.colours.faint;
    c.lineWidth = 0.6;
    c.strokeRect(x, y, w, h);
  }

  /** Packets that wait in front of the network, as a bar beside each terminal. */
  paintBacklog(levels) {
    const { context: c } = this;
    c.fillStyle = this.colours.old;
    const gap = this.terminalGap(), thick = Math.max(1.5, Math.min(4, gap * 0.16));
    c.globalAlpha = 0.85;
    for (const terminal of this.terminals) {
      const queue = terminal.sends ? this.backlog.get(terminal.number) : null;
      const level = queue ? levels[queue.number] : 0;
      if (level < 2) continue;
      const [x, y] = this.at([terminal.x, terminal.y]);
      const long = 6 * Math.log2(level);
      if (terminal.side === "below") c.fillRect(x - thick / 2, y + 2, thick, long / 2);
      else if (terminal.side === "above") c.fillRect(x - thick / 2, y - 2 - long / 2, thick, long / 2);
      else c.fillRect(terminal.side === "left" ? x - 6 - long : x + 6, y + gap * 0.32, long, thick);
    }
    c.globalAlpha = 1;
  }

  point(line, share) {
    const goal = share * line.length;
    let n = 1;
    while (n < line.lengths.length - 1 && line.lengths[n] < goal) n++;
    const [a, b] = [line.points[n - 1], line.points[n] ?? line.points[n - 1]];
    const span = line.lengths[n] - line.lengths[n - 1] || 1;
    const part = Math.max(0, Math.min(1, (goal - line.lengths[n - 1]) / span));
    return [a[0] + (b[0] - a[0]) * part, a[1] + (b[1] - a[1]) * part];
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

  paintPackets(moment, phase, style, followed, amid) {
    const { context: c, colours } = this;
    this.smallest ??= this.nodes.reduce(([w, h], node) => [Math.min(w, node.width), Math.min(h, node.height)], [9, 9]);
    const [wide, high] = [this.smallest[0] * this.view.sx, this.smallest[1] * this.view.sy];
    const radius = Math.max(1.3, Math.min(6.5, this.view.sx * 0.13, this.view.sy * 0.26, Math.max(wide, high) * 0.13));
    const groups = new Map(), many = moment.state.length > 4000 && this.size < 12;
    this.dots = [];
    let moving = null;
    for (const [flit, point] of this.places(moment, phase, amid)) {
      if (many && !flit.crosses) continue;
      const dot = { flit, place: this.at(point) };
      this.dots.push(dot);
      if (phase < 1 && followed?.key === flit.key && moment.moves.some((move) => move.flit === flit)) moving = dot.place;
      const colour = style(flit);
      if (!groups.has(colour)) groups.set(colour, []);
      groups.get(colour).push(dot);
    }
    this.paintHeld({ holds: this.marked }, colours.dead);
    for (const worm of moment.worms?.cycle ?? []) this.paintHeld(worm, colours.dead);
    if (followed?.worm) this.paintHeld(followed.worm, colours.follow);
    for (const [colour, dots] of groups) {
      c.beginPath();
      if (radius < 2) for (const { place: [x, y] } of dots) c.rect(x - radius, y - radius, 2 * radius, 2 * radius);
      else for (const { place: [x, y] } of dots) { c.moveTo(x + radius, y); c.arc(x, y, radius, 0, 7); }
      c.fillStyle = colour;
      c.fill();
      if (radius > 1.6) { c.strokeStyle = colours.paper; c.lineWidth = radius > 2.4 ? 1.2 : 0.7; c.stroke(); }
    }
    if (followed) this.paintFollowed(followed, moving, radius);
  }

  /** The channels that a worm holds. */
  paintHeld({ holds }, colour) {
    const { context: c } = this;
    c.beginPath();
    for (const channel of holds) this.trace(c, this.lines[this.lineOf[channel]]);
    c.strokeStyle = colour;
    c.lineWidth = 5;
    c.globalAlpha = 0.55;
    c.stroke();
    c.globalAlpha = 1;
  }

  /** The body of the followed packet, and a ring around its head. */
  paintFollowed(followed, moving, radius) {
    const { context: c, colours } = this;
    for (const { queue, slot } of followed.slots) {
      const [x, y] = this.at(this.slotAt(queue, slot));
      c.beginPath();
      c.arc(x, y, Math.max(2.5, radius * 0.8), 0, 7);
      c.fillStyle = colours.follow;
      c.fill();
      c.lineWidth = 1.2;
      c.strokeStyle = colours.ink;
      c.stroke();
    }
    const place = moving ?? (followed.at && this.at(this.placeOf(followed.at)));
    if (place) this.ring(place, radius);
  }

  ring([x, y], radius) {
    const { context: c, colours } = this;
    c.beginPath();
    c.arc(x, y, radius + 1.5, 0, 7);
    c.fillStyle = colours.follow;
    c.fill();
    c.lineWidth = 2;
    c.strokeStyle = colours.ink;
    c.stroke();
    c.beginPath();
    c.arc(x, y, radius + 8, 0, 7);
    c.strokeStyle = colours.follow;
    c.lineWidth = 2.5;
    c.stroke();
  }

  paintSelection() {
    if (!this.selected) return;
    const { context: c, colours } = this;
    const { what, index } = this.selected;
    c.strokeStyle = colours.ink;
    c.lineWidth = 2;
    c.beginPath();
    if (what === "node") {
      const [x, y, w, h] = this.box(this.nodes[index]);
      c.roundRect(x - 3, y - 3, w + 6, h + 6, 7);
    } else this.trace(c, this.lines[index]);
    c.stroke();
  }

  // Finding

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

function captionGap(captions) {
  const xs = [...new Set(captions.map(([, x]) => x))].sort((a, b) => a - b);
  return xs.slice(1).reduce((least, x, n) => Math.min(least, x - xs[n]), 10);
}

/** The least vertical distance of terminals in a column; large if they are apart otherwise. */
function leastGap(terminals) {
  const columns = new Map();
  for (const { x, y } of terminals) {
    const column = Math.round(x * 4);
    if (!columns.has(column)) columns.set(column, []);
    columns.get(column).push(y);
  }
  let least = 1;
  for (const ys of columns.values()) {
    ys.sort((a, b) => a - b);
    for (let n = 1; n < ys.length; n++) if (ys[n] > ys[n - 1]) least = Math.min(least, ys[n] - ys[n - 1]);
  }
  return least;
}

/** A colour from the first by way of the second to the third: blue and orange alone mix to grey. */
function between(first, second, third, share) {
  return share < 0.5 ? blend(first, second, 2 * share) : blend(second, third, 2 * share - 1);
}

/** A colour between two of the form #rrggbb. */
function blend(from, to, share) {
  const part = (text, n) => parseInt(text.slice(1 + 2 * n, 3 + 2 * n), 16);
  const mixed = [0, 1, 2].map((n) => Math.round(part(from, n) + (part(to, n) - part(from, n)) * share));
  return `#${mixed.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
}
