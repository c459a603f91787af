"use strict";
// The scene: the nodes, lines, terminals and queues of a network, where they are, and which are dead.

/** The ways to write a label in lines, each with the length of its longest: first in one line. */
function splitsOf(label) {
  const words = label.split(" "), found = [];
  let lines = [];
  for (let most = label.length; lines.length < words.length; most--) {
    lines = [];
    for (const word of words)
      if (lines.length && lines.at(-1).length + word.length < most)
        lines.push(`${lines.pop()} ${word}`);
      else lines.push(word);
    const longest = Math.max(1, ...lines.map((line) => line.length));
    if (longest !== found.at(-1)?.[1]) found.push([lines, longest]);
  }
  return found;
}

class Scene {
  constructor(about, queues) {
    this.about = about;
    this.queues = queues;
    const { nodes, lines, terminals } = about.diagram;
    this.nodes = nodes.map((node, index) => {
      const [x, y, width, height] = node.at;
      const label = node.label || (about.design ? node.name : "");
      return { ...node, label, splits: splitsOf(label), index, x, y: -y, width, height, queues: [] };
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
    this.stale = true; // it must be painted anew
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

  point(line, share) {
    const goal = share * line.length;
    let n = 1;
    while (n < line.lengths.length - 1 && line.lengths[n] < goal) n++;
    const [a, b] = [line.points[n - 1], line.points[n] ?? line.points[n - 1]];
    const span = line.lengths[n] - line.lengths[n - 1] || 1;
    const part = Math.max(0, Math.min(1, (goal - line.lengths[n - 1]) / span));
    return [a[0] + (b[0] - a[0]) * part, a[1] + (b[1] - a[1]) * part];
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

