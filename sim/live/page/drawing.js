"use strict";
// The drawing: lines, nodes, queues and packets on a canvas.

const ACTIVITY = 8, BLOCKED = 5;

/** Milliseconds in which a box is set, where they are set one after the other. */
const SETTING = 600;

/** Of the ways to write a label, the one with the largest letters in a box, and their height. */
function fitted(splits, width, height) {
  let best = [[], 0];
  for (const [lines, longest] of splits) {
    const letter = Math.min(13, height * Math.min(0.55, 0.72 / lines.length), width / longest * 1.7);
    // Of those that are as large, the fewest lines, and of these the most equal ones.
    if (letter > best[1] || letter === best[1] && lines.length === best[0].length) best = [lines, letter];
  }
  return best;
}

class Drawing extends View {
  constructor(canvas, about, queues) {
    super(canvas, about, queues);
    this.marked = []; // channels that another page marks, such as a cycle of dependencies
    this.trees = []; // channels of trees, each with the name of its colour
    this.boxes = new Map(); // what a lesson sets boxes to: by node, pairs of input and output
    this.boxesSince = -Infinity;
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
    this.paintBoxes();
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
    c.font = `${Math.max(9, Math.min(this.letter, gap * every * 0.8))}px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace`;
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

  /** How many boxes have been set by now. */
  get boxesSet() {
    const set = this.still ? Infinity : (performance.now() - this.boxesSince) / SETTING;
    return Math.min(this.boxes.size, Math.floor(set));
  }

  /** What boxes are set to; packets of a box that want the same output are in conflict. */
  paintBoxes() {
    const { context: c, colours } = this, set = this.boxesSet;
    this.settled = new Set([...this.boxes.keys()].slice(0, set));
    for (const index of this.settled) {
      const [x, y, w, h] = this.box(this.nodes[index]), pairs = this.boxes.get(index);
      const count = 1 + Math.max(1, ...pairs.flat()), at = (port) => y + h * (port + 0.5) / count;
      const exits = pairs.map(([, exit]) => exit), conflict = new Set(exits).size < exits.length;
      c.fillStyle = colours.box;
      c.fillRect(x + 2, y + 2, w - 4, h - 4);
      c.beginPath();
      for (const [entry, exit] of pairs) {
        c.moveTo(x + 2, at(entry));
        c.lineTo(x + w * 0.2, at(entry));
        c.lineTo(x + w * 0.8, at(exit));
        c.lineTo(x + w - 2, at(exit));
      }
      c.strokeStyle = conflict ? colours.dead : colours.ink;
      c.lineWidth = conflict ? 3 : 2;
      c.stroke();
    }
    if (set && set < this.boxes.size) { // the one that has been set last
      const [x, y, w, h] = this.box(this.nodes[[...this.settled].at(-1)]);
      c.beginPath();
      c.roundRect(x - 3, y - 3, w + 6, h + 6, 7);
      c.strokeStyle = colours.follow;
      c.lineWidth = 3;
      c.stroke();
    }
  }

  paintNames() {
    const { context: c, colours } = this;
    if (this.size < 14) return;
    c.textAlign = "center";
    c.textBaseline = "middle";
    c.fillStyle = colours.ink;
    for (const node of this.nodes) {
      if (!node.label || node.slots || this.settled.has(node.index)) continue;
      const [x, y, w, h] = this.box(node);
      const [lines, letter] = fitted(node.splits, w - 4, h);
      if (letter < 6) continue;
      c.font = `${letter}px system-ui, sans-serif`;
      lines.forEach((line, row) => c.fillText(
        line, x + w / 2, y + h / 2 + (row - (lines.length - 1) / 2) * 1.2 * letter,
      ));
    }
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
    for (const [holds, name] of this.trees) this.paintHeld({ holds }, colours[name]);
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
