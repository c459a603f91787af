"use strict";
// The sketch: nodes and links that are drawn by hand. What comes out is a graph file.

const SKETCH = { width: 360, height: 260, node: 14, step: 10 };

class Sketch {
  constructor(done) {
    this.done = done;
    this.nodes = [];
    this.links = [];
    this.selected = null; // a node or a link
    this.from = null; // the node at which a link begins
    this.next = 0;
    this.canvas = byId("sketch-canvas");
    this.canvas.setAttribute("viewBox", `0 0 ${SKETCH.width} ${SKETCH.height}`);
    const on = (id, act) => byId(id).addEventListener("click", act);
    on("sketch-node", () => this.add());
    on("sketch-link", () => this.begin());
    on("sketch-more", () => this.terminals(1));
    on("sketch-less", () => this.terminals(-1));
    on("sketch-delete", () => this.remove());
    on("sketch-use", () => this.done(this.file()));
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    this.canvas.addEventListener("focusin", ({ target }) => {
      const what = this.at(target);
      if (what && what !== this.selected) this.pick(what);
    });
    this.canvas.addEventListener("pointerdown", (event) => this.press(event));
    this.show();
  }

  /** The graph file that it is. */
  file() {
    const nodes = this.nodes.map(({ name, x, y }) => ({ id: name, x: Math.round(x), y: Math.round(SKETCH.height - y) }));
    const graph = {
      nodes, links: this.links.map(({ ends }) => ends.map(({ name }) => name)),
      terminals: this.nodes.flatMap(({ name, terminals }) => Array(terminals).fill(name)),
    };
    return new File([`${JSON.stringify(graph, null, 1)}\n`], "drawn.json", { type: "application/json" });
  }

  say(text) { byId("sketch-says").textContent = text; }

  /** A node at a place, or where there is room. */
  add(x, y) {
    const { width, height } = SKETCH;
    if (x === undefined) {
      // Around an oval, in steps of the golden angle: no three are in a line.
      const oval = (n) => [width / 2 + 140 * Math.cos(2.4 * n - 2.5), height / 2 - 8 + 95 * Math.sin(2.4 * n - 2.5)];
      const free = (at) => this.nodes.every((node) => Math.hypot(node.x - at[0], node.y - at[1]) > 36);
      [x, y] = Array.from({ length: 40 }, (_, n) => oval(n)).find(free) ?? [Math.random() * (width - 40) + 20, Math.random() * (height - 50) + 20];
    }
    const node = { name: String(this.next++), x, y, terminals: 1 };
    this.nodes.push(node);
    this.pick(node);
    this.say(`Node ${node.name} is there, with one terminal.`);
  }

  pick(what, focus = this.canvas.contains(document.activeElement)) {
    this.selected = what;
    this.show();
    if (focus) (this.canvas.querySelector("[aria-pressed=true]") ?? this.canvas).focus();
  }

  /** A link from the selected node: the next node that is chosen is its other end. */
  begin() {
    const node = this.nodes.includes(this.selected) ? this.selected : null;
    this.from = this.from ? null : node;
    this.say(this.from ? `A link from node ${node.name}: choose the other node.` : "Choose the node at which the link begins.");
    this.pick(this.selected);
  }

  choose(what) {
    const { from } = this;
    if (from && this.nodes.includes(what) && what !== from) {
      this.from = null;
      if (this.links.some(({ ends }) => ends.includes(from) && ends.includes(what))) this.say(`Nodes ${from.name} and ${what.name} are linked already.`);
      else {
        this.links.push({ ends: [from, what] });
        this.say(`Nodes ${from.name} and ${what.name} are linked.`);
      }
    }
    this.pick(what);
  }

  terminals(more) {
    if (!this.nodes.includes(this.selected)) return this.say("Choose a node first.");
    const { selected } = this;
    selected.terminals = Math.max(0, Math.min(8, selected.terminals + more));
    this.say(`Node ${selected.name} has ${this.count(selected)}.`);
    return this.pick(selected);
  }

  remove() {
    const { selected } = this;
    if (!selected) return this.say("Choose a node or a link first.");
    this.nodes = this.nodes.filter((node) => node !== selected);
    this.links = this.links.filter((link) => link !== selected && !link.ends.includes(selected));
    this.from = null;
    this.say("It is deleted.");
    return this.pick(this.nodes.at(-1) ?? null);
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const act = { n: () => this.add(), l: () => this.begin(), "+": () => this.terminals(1), "=": () => this.terminals(1), "-": () => this.terminals(-1),
      Delete: () => this.remove(), Backspace: () => this.remove(), Escape: () => { this.from = null; this.pick(this.selected); },
      Enter: () => this.choose(this.at(event.target)), " ": () => this.choose(this.at(event.target)) }[event.key];
    if (act && (this.at(event.target) || !["Enter", " "].includes(event.key))) act();
    else if (arrows[event.key] && this.nodes.includes(this.at(event.target))) this.move(this.at(event.target), arrows[event.key].map((part) => part * SKETCH.step));
    else return;
    event.preventDefault();
  }

  /** The node or link that an element of the drawing is. */
  at(target) {
    const { what, index } = target.closest("[data-what]")?.dataset ?? {};
    return what ? this[what][index] : null;
  }

  move(node, [dx, dy]) {
    const { width, height, node: size } = SKETCH;
    node.x = Math.max(size, Math.min(width - size, node.x + dx));
    node.y = Math.max(size, Math.min(height - size, node.y + dy));
    this.pick(node);
  }

  /** A press selects, and drags a node; in an empty place it adds one. */
  press(event) {
    if (event.button) return;
    event.preventDefault();
    this.canvas.focus();
    const what = this.at(event.target), place = (at) => new DOMPoint(at.clientX, at.clientY).matrixTransform(this.canvas.getScreenCTM().inverse());
    let last = place(event);
    if (!what) return void this.add(last.x, last.y);
    this.choose(what);
    if (!this.nodes.includes(what)) return undefined;
    const follow = (moved) => {
      const now = place(moved);
      this.move(what, [now.x - last.x, now.y - last.y]);
      last = now;
    };
    const end = () => {
      removeEventListener("pointermove", follow);
      for (const kind of ["pointerup", "pointercancel"]) removeEventListener(kind, end);
    };
    addEventListener("pointermove", follow);
    for (const kind of ["pointerup", "pointercancel"]) addEventListener(kind, end);
    return undefined;
  }

  count({ terminals }) { return `${terminals} terminal${terminals === 1 ? "" : "s"}`; }

  show() {
    const part = (what, index, label, chosen, ...inside) => drawn("g", { class: what, "data-what": what, "data-index": index, tabindex: 0, role: "button",
      "aria-label": label, "aria-pressed": String(chosen) }, ...inside);
    const links = this.links.map((link, index) => {
      const [a, b] = link.ends, ends = { x1: a.x, y1: a.y, x2: b.x, y2: b.y };
      return part("links", index, `Link between nodes ${a.name} and ${b.name}`, link === this.selected, drawn("line", { ...ends, class: "wide" }), drawn("line", ends));
    });
    const nodes = this.nodes.map((node, index) => {
      const { x, y, name, terminals } = node, others = this.links.filter(({ ends }) => ends.includes(node)).map(({ ends }) => ends.find((end) => end !== node).name);
      const spikes = Array.from({ length: terminals }, (_, n) => drawn("rect", { class: "terminal", x: x - 4 * terminals + 8 * n + 1, y: y + SKETCH.node + 2, width: 6, height: 6 }));
      return part("nodes", index, `Node ${name}, ${this.count(node)}, ${others.length ? `linked to ${others.join(", ")}` : "without a link"}`, node === this.selected,
        drawn("circle", { cx: x, cy: y, r: SKETCH.node }), drawn("text", { x, y: y + 4, "text-anchor": "middle" }, name), ...spikes);
    });
    this.canvas.replaceChildren(...links, ...nodes);
    byId("sketch-link").setAttribute("aria-pressed", String(Boolean(this.from)));
    const isNode = this.nodes.includes(this.selected);
    for (const id of ["sketch-link", "sketch-more", "sketch-less"]) byId(id).disabled = !isNode;
    byId("sketch-delete").disabled = !this.selected;
    byId("sketch-use").disabled = !this.nodes.length;
  }
}
