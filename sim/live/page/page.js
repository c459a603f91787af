"use strict";
// The page: runs the network in a worker, shows it, and turns what the user does into requests.

const SPEEDS = [1, 2, 4, 8, 16, 30, 60, 180, 600, 2000, 6000, 20000, Infinity];
const ABOUT = JSON.parse(byId("about").textContent);

/** A worker of its own with a machine: answers requests in order. */
class Remote {
  constructor(program, contents) {
    const text = byId("worker").textContent.replaceAll("<\\/", "</");
    const address = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
    this.worker = new Worker(address);
    this.waiting = new Map();
    this.next = 0;
    this.worker.onmessage = ({ data: [id, result, error] }) => {
      const [resolve, reject] = this.waiting.get(id);
      this.waiting.delete(id);
      if (error) reject(new Error(error)); else resolve(result);
    };
    this.ready = this.ask("load", ABOUT, program, contents);
  }

  ask(name, ...args) {
    return new Promise((resolve, reject) => {
      this.waiting.set(this.next, [resolve, reject]);
      this.worker.postMessage([this.next++, name, args]);
    });
  }

  close() { this.worker.terminate(); }
}

function bytesOf(id) {
  const text = atob(byId(id).textContent.trim());
  const bytes = new Uint8Array(text.length);
  for (let n = 0; n < text.length; n++) bytes[n] = text.charCodeAt(n);
  return bytes;
}

async function inflated(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

class Page {
  async start() {
    this.program = bytesOf("program");
    this.contents = await inflated(bytesOf("contents"));
    this.places = new Map();
    ABOUT.engine.groups.forEach((group, number) =>
      group.cells.forEach((cell, place) => cell && this.places.set(cell, [number, place])));
    this.drawing = new Drawing(byId("canvas"), ABOUT, queueList(ABOUT, this.places));
    this.layouts = ABOUT.bench.layouts.map(fieldsOf);
    this.statistics = new Statistics(ABOUT);
    this.setting = {
      load: ABOUT.load, seed: ABOUT.seed, pattern: ABOUT.patterns[0].name,
      share: 0.1, target: 0,
    };
    this.running = false;
    this.speed = 1;
    this.phase = 0;
    this.points = [];
    this.which = "latency";
    this.queue = Promise.resolve();
    this.connect();
    this.setTheme(this.storedTheme());
    this.setSpeed(ABOUT.sources > 100 ? 5 : 3);
    this.showSetting();
    this.drawing.resize();
    this.remote = new Remote(this.program, this.contents);
    await this.remote.ready;
    await this.restart();
    this.lesson = null;
    if (ABOUT.lesson) await this.openLesson(ABOUT.lesson);
    requestAnimationFrame((time) => this.tick(time));
    this.frames = 0;
    document.documentElement.dataset.ready = "true";
  }

  // The engine

  /** Requests in order, one at a time, so that what is shown is what was asked for last. */
  ask(name, ...args) {
    const asked = this.queue.then(() => this.remote.ask(name, ...args));
    this.queue = asked.catch((error) => this.fail(error));
    return asked;
  }

  fail(error) {
    console.error(error);
    this.say(`The page has failed: ${error.message}`);
    this.running = false;
  }

  async restart() {
    this.statistics.clear();
    this.followNothing();
    this.take(await this.ask("restart", this.setting));
    await this.histogram();
    this.phase = 0;
  }

  async advance(cycles) {
    const frame = await this.ask("advance", { cycles, ...this.wanted() });
    this.take(frame);
    return frame;
  }

  wanted() {
    const now = performance.now();
    const histogram = !this.askedAt || now - this.askedAt > 400;
    if (histogram) this.askedAt = now;
    const node = this.drawing.selected?.what === "node" ? this.drawing.nodes[this.drawing.selected.index] : null;
    return { packets: true, histogram, look: node ? this.cellOf(node) : null };
  }

  cellOf(node) { return node.cells[0]; }

  /** The counters and the histogram now, without a cycle. */
  async histogram() {
    this.askedAt = 0;
    this.take(await this.ask("advance", { cycles: 0, ...this.wanted() }));
  }

  take(frame) {
    const before = this.frame;
    this.frame = frame;
    this.drawing.observe(frame, before);
    const single = before && frame.cycle === before.cycle + 1;
    if (!before || frame.cycle !== before.cycle) this.singleStep = single;
    this.drawing.follow(frame, (channel, words) => this.keyOf(channel, words), { single: single || frame.cycle === before?.cycle });
    this.statistics.add(frame);
    this.noteHeaders(frame, before);
    this.followPacket();
    if (frame.event) {
      this.running = false;
      this.say(`An assertion failed in cell ${frame.event.cell} at cycle ${frame.cycle}.`);
    }
    if (frame.look) this.look = frame.look;
    this.dirty = true;
  }

  /** What tells packets apart. */
  keyOf(channel, words) {
    const layout = this.layouts[ABOUT.bench.channels.layout[channel]];
    const field = (name) => bitsOf(words, ...layout[name]);
    if (layout["payload.birth"]) return field("payload.source") * 2 ** 32 + field("payload.birth");
    if (!layout.identity) return `word ${[...words].join(" ")}`;
    return layout.address ? `request ${field("identity")} for ${field("address")}` : `reply ${field("identity")}`;
  }

  /** Only the first flit of a packet has its tag: remember it as the packet enters the network. */
  noteHeaders(frame, before) {
    if (!this.flits) return;
    if (!before || frame.cycle === 0 || frame.cycle !== before.cycle + 1 && frame.cycle !== before.cycle) {
      this.headers = new Map();
      this.starts = new Map(); // by channel: whether the next flit is a header; unknown after a jump
      this.fresh = frame.cycle === 0;
    }
    if (before && frame.cycle === before.cycle && frame.cycle > 0) return;
    for (const { channel, line, key } of this.drawing.dots) {
      if (line.source[0] !== "terminal" || key === null) continue;
      const packet = this.packetAt(channel);
      if (this.starts.get(channel) ?? this.fresh) this.headers.set(key, packet.tag);
      if (frame.state[channel] === 3) this.starts.set(channel, packet.last === 1);
      else if (this.starts.get(channel) ?? this.fresh) this.starts.set(channel, true);
    }
    if (this.headers.size > 20000) this.headers.clear();
  }

  get flits() { return ABOUT.bench.layouts.some((layout) => layout.some(([name]) => name === "last")); }

  /** A packet on a link, as it is known: the tag of one of several flits is that of its header. */
  knownAt(channel, key) {
    const packet = this.packetAt(channel);
    if (!this.flits) return packet;
    if (this.headers?.has(key)) packet.tag = this.headers.get(key);
    else delete packet.tag;
    return packet;
  }

  packetAt(channel) {
    const { frame } = this;
    const words = frame.payload.subarray(channel * frame.width, (channel + 1) * frame.width);
    return decoded(ABOUT.bench.layouts[ABOUT.bench.channels.layout[channel]], words);
  }

  // Time

  tick(time) {
    requestAnimationFrame((next) => this.tick(next));
    this.frames++;
    const passed = Math.min(0.25, (time - (this.last ?? time)) / 1000);
    this.last = time;
    const speed = this.followed ? Math.min(this.speed, 30) : this.speed;
    if (this.moving) this.moveOn(passed, speed);
    else if (this.running && !this.asking) {
      if (speed <= 60) {
        this.phase += passed * speed;
        // Where the page can't keep up, several cycles are one frame.
        const due = speed < 30 || this.followed ? 1 : Math.max(1, Math.floor(this.phase));
        if (this.phase >= 1) this.go({ cycles: due }, Math.min(0.9, this.phase - due));
      } else {
        this.phase = 0.5;
        this.owed = Math.min((this.owed ?? 0) + passed * speed, speed / 4);
        if (speed === Infinity) this.go({ budget: 12 }, 0.5);
        else if (this.owed >= 1) { const cycles = Math.floor(this.owed); this.owed -= cycles; this.go({ cycles, budget: 0 }, 0.5); }
      }
    }
    this.drawing.paint(this.frame, this.still ? 0.5 : Math.min(this.phase, 1), (dot) => this.colourOf(dot));
    if (this.dirty && time - (this.shownAt ?? 0) > 100) { this.shownAt = time; this.dirty = false; this.show(); }
    if (this.running && time - (this.spokenAt ?? 0) > 5000) { this.spokenAt = time; this.say(this.statistics.spoken(this.frame.cycle)); }
  }

  get still() { return this.running && this.speed <= 60 && matchMedia("(prefers-reduced-motion: reduce)").matches; }

  async go(how, phase) {
    this.asking = true;
    try {
      this.take(await this.ask("advance", { ...how, ...this.wanted() }));
      this.phase = phase;
    } finally { this.asking = false; }
  }

  /** One cycle of a step: the packets move, and then the next cycle is shown. */
  moveOn(passed, speed) {
    this.phase += passed * Math.max(2.5, Math.min(speed, 12));
    if (this.phase < 1 || this.asking) return;
    const done = this.moving;
    this.moving = null;
    this.go({ cycles: 1 }, 0).then(done);
  }

  step() {
    this.pause();
    if (this.moving) return this.stepping;
    this.stepping = new Promise((done) => { this.moving = done; }).then(() => {
      this.show();
      this.say(this.statistics.spoken(this.frame.cycle));
    });
    return this.stepping;
  }

  run() {
    this.running = true;
    this.showRun();
  }

  pause() {
    this.running = false;
    if (this.speed > 60) this.phase = 0;
    this.showRun();
  }

  setSpeed(index) {
    this.speedIndex = Math.max(0, Math.min(SPEEDS.length - 1, index));
    this.speed = SPEEDS[this.speedIndex];
    byId("speed").value = this.speedIndex;
    const text = this.speed === Infinity ? "flat out" : `${this.speed} cycle${this.speed > 1 ? "s" : ""}/s`;
    byId("speed-text").textContent = text;
    byId("speed").setAttribute("aria-valuetext", text);
  }

  // Traffic

  async change(part) {
    const restart = "seed" in part && part.seed !== this.setting.seed;
    Object.assign(this.setting, part);
    this.showSetting();
    if (restart) return this.restart();
    await this.ask("apply", this.setting);
    await this.histogram();
    this.statistics.restart();
    await this.histogram();
  }

  /** Links that can be broken: most can. */
  gated(channels) { return channels.filter((channel) => ABOUT.bench.channels.gate[channel]); }

  async breakChannels(all, dead) {
    const channels = this.gated(all);
    this.drawing.setDead(channels, dead);
    this.take(await this.ask("break", [...channels], dead));
    this.showBroken();
    this.inspect();
  }

  breakLine(index, dead = true) { return this.breakChannels(this.drawing.lines[index].channels, dead); }

  breakNode(index, dead = true) {
    const lines = this.drawing.linesOf(this.drawing.nodes[index]);
    return this.breakChannels(lines.flatMap((line) => line.channels), dead);
  }

  mend() { return this.breakChannels([...this.drawing.dead], false); }

  // Selection

  select(selected) {
    this.drawing.selected = selected;
    if (selected) this.followNothing();
    this.look = null;
    this.inspect();
    if (selected?.what === "node") this.histogram().then(() => this.inspect());
  }

  /** Follow the packet that is on a link now. */
  follow(channel) {
    const words = this.frame.payload.subarray(channel * this.frame.width, (channel + 1) * this.frame.width);
    const packet = this.knownAt(channel, this.keyOf(channel, words));
    this.drawing.selected = null;
    this.followed = { key: this.keyOf(channel, words), packet, channel, way: [], node: null, hop: ABOUT.bench.channels.hop[channel] };
    this.followed.to = destinationOf(ABOUT, packet, this.followed.hop);
    this.drawing.followed = this.followed.key;
    this.drawing.follow(this.frame, (each, own) => this.keyOf(each, own), { single: true });
    this.followPacket();
    this.inspect();
    this.show();
  }

  /** Follow a packet that enters the network. */
  followAny() {
    const dots = this.drawing.dots;
    const entering = dots.filter((dot) => dot.line.source[0] === "terminal");
    const dot = entering.find((each) => this.headers?.has(each.key)) ?? entering[0] ?? dots[0];
    if (dot) this.follow(dot.channel);
    else this.say("No packet is on a link in this cycle.");
  }

  followNothing() {
    this.followed = null;
    this.drawing.followed = null;
    this.drawing.followedNode = null;
    this.inspect();
  }

  followPacket() {
    const { followed, frame } = this;
    if (!followed || followed.done) return;
    const found = this.drawing.dots.filter((dot) => dot.key === followed.key)
      .filter(({ line }) => typeof followed.key === "number" || line.index === followed.way.at(-1)?.line
        || (followed.node === null ? line.index === this.drawing.lineOf[followed.channel]
          : line.source[0] === "node" && line.source[1] === followed.node));
    const dot = found.find((each) => each.crosses) ?? found[0];
    const lastWay = followed.way.at(-1);
    if (!dot) return;
    const { line } = dot;
    if (lastWay?.line !== line.index) followed.way.push({ line: line.index, since: frame.cycle, crossed: null });
    const way = followed.way.at(-1);
    followed.packet = this.knownAt(dot.channel, followed.key);
    followed.hop = ABOUT.bench.channels.hop[dot.channel];
    followed.to ??= destinationOf(ABOUT, followed.packet, followed.hop);
    if (dot.crosses) {
      way.crossed ??= frame.cycle;
      if (line.target[0] === "node") {
        followed.node = this.drawing.followedNode = line.target[1];
      } else if (!this.flits || this.packetAt(dot.channel).last) {
        followed.done = frame.cycle;
        this.drawing.followedNode = null;
      }
    }
    this.dirty = true;
  }

  /** Colours tell how long a packet has been on its way, or that it goes to the hot spot. */
  colourOf(dot) {
    const { colours, ages } = this.drawing;
    const layout = this.layouts[ABOUT.bench.channels.layout[dot.channel]];
    const { frame } = this;
    const words = frame.payload.subarray(dot.channel * frame.width, (dot.channel + 1) * frame.width);
    if (this.setting.pattern === "hotspot" && this.setting.share > 0) {
      const packet = this.knownAt(dot.channel, dot.key);
      if (destinationOf(ABOUT, packet, ABOUT.bench.channels.hop[dot.channel]) === this.setting.target) return colours.hot;
    }
    const birth = layout["payload.birth"];
    if (!birth) return layout.address ? colours.packet : colours.queue;
    const size = 2 ** birth[1];
    const age = (frame.cycle - bitsOf(words, ...birth) + size) % size;
    const usual = Math.max(4, this.usual ??= this.zeroLoad());
    return ages[Math.max(0, Math.min(3, Math.floor(Math.log2(Math.max(age, 1) / usual) + 1)))];
  }

  /** The most boxes on a path, as far as they are counted. */
  zeroLoad() { return ABOUT.bench.channels.hop.reduce((most, hop) => Math.max(most, hop + 1), 0); }

  // What is shown

  show() {
    const { frame, drawing } = this;
    byId("cycle").textContent = frame.cycle;
    this.statistics.show();
    const theory = this.theoryAt();
    paintHistogram(byId("histogram"), this.statistics, theory, drawing.colours);
    this.showCurve();
    this.inspect();
  }

  get uniform() { return this.setting.pattern === "uniform" && !drawingDead(this.drawing); }

  theoryAt() {
    if (!this.uniform) return null;
    const { load, latency } = ABOUT.theory;
    const n = load.findIndex((each) => each >= this.setting.load - 1e-9);
    if (n < 0 || latency[n] === null) return null;
    if (n === 0 || Math.abs(load[n] - this.setting.load) < 1e-9) return latency[n];
    if (latency[n - 1] === null) return null;
    const part = (this.setting.load - load[n - 1]) / (load[n] - load[n - 1]);
    return latency[n - 1] + part * (latency[n] - latency[n - 1]);
  }

  showCurve() {
    const { statistics } = this;
    const live = statistics[this.which === "latency" ? "latency" : "delivered"];
    paintCurve(byId("curve"), {
      which: this.which, theory: ABOUT.theory, points: this.points,
      live: statistics.cycles ? [this.setting.load, live] : null, colours: this.drawing.colours, uniform: this.uniform,
    });
    const formula = ABOUT.theory[this.which].some((value) => value !== null);
    const { colours } = this.drawing;
    const parts = [[colours.follow, "now"]];
    if (this.points.length) parts.push([colours.use, "measured here"]);
    if (formula && this.uniform) parts.push([colours.old, "formula"]);
    const text = byId("curve-text");
    text.replaceChildren(...parts.flatMap(([colour, name]) => [
      element("i", { style: `display:inline-block;width:9px;height:9px;border-radius:50%;margin:0 5px 0 0;background:${colour}` }), `${name}   `]));
    if (!formula && this.uniform) text.append(`no formula gives the ${this.which} of this network`);
  }

  showRun() {
    byId("run").querySelector(".icon").textContent = this.running ? "❚❚" : "▶";
    byId("run").querySelector(".text").textContent = this.running ? "Pause" : "Run";
  }

  showSetting() {
    const { setting } = this;
    byId("load").value = setting.load;
    byId("load-text").textContent = setting.load.toFixed(2);
    byId("pattern").value = setting.pattern;
    byId("hot").hidden = setting.pattern !== "hotspot";
    byId("share").value = setting.share;
    byId("share-text").textContent = `${(setting.share * 100).toFixed(1)} %`;
    byId("target").value = setting.target;
    byId("seed").value = setting.seed;
    const pattern = ABOUT.patterns.find((each) => each.name === setting.pattern);
    byId("load").disabled = !pattern.paced;
    this.showLegend();
  }

  showLegend() {
    const { colours } = this.drawing;
    if (!colours) return;
    const entries = ABOUT.memory ? [[colours.packet, "request"], [colours.queue, "reply"]]
      : [[colours.packet, "packet"], [colours.aged, "has waited"], [colours.old, "has waited long"]];
    if (this.setting.pattern === "hotspot" && !ABOUT.memory) entries.push([colours.hot, "packet to the hot spot"]);
    const bars = [[colours.use, "link in use"], [colours.wait, "link blocked"]];
    byId("legend").replaceChildren(
      ...entries.map(([colour, text]) => element("li", {}, element("i", { class: "dot", style: `background:${colour}` }), text)),
      ...bars.map(([colour, text]) => element("li", {}, element("i", { class: "strip", style: `background:${colour}` }), text)),
    );
  }

  showBroken() {
    const count = this.drawing.lines.filter((line) => this.drawing.isDead(line)).length;
    byId("broken").hidden = !count;
    byId("broken-text").textContent = `${count} broken link${count > 1 ? "s" : ""}`;
  }

  say(text) { byId("status").textContent = text; }

  // The inside of what is selected

  inspect() {
    const card = byId("inspector"), { selected } = this.drawing;
    const key = this.followed ? "follow" : selected ? `${selected.what} ${selected.index}` : "";
    if (!key) { card.hidden = true; card.replaceChildren(); this.inspected = ""; return; }
    const focus = card.contains(document.activeElement) ? document.activeElement.id : null;
    card.hidden = false;
    const close = element("button", { type: "button", class: "close", id: "inspect-close", "aria-label": "Close",
      onclick: () => { this.followNothing(); this.select(null); byId("canvas").focus(); } }, "✕");
    const parts = this.followed ? this.followParts() : selected.what === "node" ? this.nodeParts(selected.index) : this.lineParts(selected.index);
    card.replaceChildren(close, ...parts);
    if (focus) byId(focus)?.focus();
    if (this.inspected !== key) { card.parentElement.scrollTop = 0; this.inspected = key; }
  }

  endName([what, index]) {
    return what === "node" ? this.drawing.nodes[index].name : `${this.drawing.terminals[index].kind} ${this.drawing.terminals[index].number}`;
  }

  followParts() {
    const { followed, frame } = this, { packet } = followed;
    const from = packet["payload.source"] === undefined ? undefined : ABOUT.bench.source_addresses.indexOf(packet["payload.source"]);
    const to = followed.to;
    const title = from !== undefined ? to !== null && to !== undefined ? `Packet ${from} → ${to}` : `Packet from ${from}`
      : typeof followed.key === "number" ? "Packet" : followed.key[0].toUpperCase() + followed.key.slice(1);
    const parts = [element("h2", { id: "follow-title" }, title)];
    const birth = packet["payload.birth"];
    if (birth !== undefined) {
      const age = followed.done !== undefined ? followed.done - birth : frame.cycle - birth;
      parts.push(element("p", { class: "soft small", id: "follow-age" }, followed.done !== undefined
        ? `Born in cycle ${birth}, delivered in cycle ${followed.done}: a latency of ${age} cycles.`
        : `Born in cycle ${birth}, ${age} cycles ago.`));
    }
    if (ABOUT.tags && packet.tag !== undefined) {
      parts.push(element("h3", {}, ABOUT.tags.rotates ? `Routing tag (${ABOUT.tags.routing}): a digit for each stage` : "Routing tag: the destination, digit by digit"));
      parts.push(tagElement(ABOUT, packet.tag, followed.hop));
    }
    if ("operand" in packet) parts.push(element("p", { class: "small" }, `operation ${packet.operation} on row ${packet.address}${packet.operand < 2 ** 53 ? `, operand ${packet.operand}` : ""}`));
    if ("value" in packet) parts.push(element("p", { class: "small" }, `value ${packet.value}`));
    const list = element("ol", { class: "way", id: "way" }, ...followed.way.map((step) => {
      const line = this.drawing.lines[step.line];
      const waited = (step.crossed ?? frame.cycle) - step.since;
      const text = step.crossed === null ? `waits at ${this.endName(line.source)}, ${waited} cycles`
        : `cycle ${step.crossed}: ${this.endName(line.source)} → ${this.endName(line.target)}${waited ? `, after ${waited} cycles of waiting` : ""}`;
      return element("li", {}, text);
    }));
    parts.push(element("h3", {}, "Way"), list);
    parts.push(element("div", { class: "row" }, element("button", { type: "button", id: "follow-other",
      onclick: () => this.followAny() }, "Follow another")));
    setTimeout(() => { list.scrollTop = list.scrollHeight; });
    return parts;
  }

  /** Which inputs of a node are connected with which outputs in this cycle. */
  connections(index) {
    const found = [];
    for (const dot of this.drawing.dots)
      if (dot.crosses && dot.line.source[0] === "node" && dot.line.source[1] === index && dot.entry !== undefined)
        found.push([ABOUT.bench.channels, dot.entry, dot.channel]);
    return found.map(([, entry, exit]) => [this.portNumber(index, entry, "in"), this.portNumber(index, exit, "out")]);
  }

  portNumber(index, channel, side) {
    if (side === "out") return Number(ABOUT.bench.channels.port[channel].split(".").find((part) => /^\d+$/.test(part)) ?? 0);
    const lines = this.drawing.linesOf(this.drawing.nodes[index]).filter((line) => line.target[0] === "node" && line.target[1] === index);
    return lines.findIndex((line) => line.channels.includes(channel));
  }

  nodeParts(index) {
    const node = this.drawing.nodes[index], { look } = this;
    const parts = [element("h2", {}, node.name)];
    const kind = ABOUT.kinds[this.places.get(this.cellOf(node))[0]];
    parts.push(element("p", { class: "soft small" }, kind.about));
    const dead = this.drawing.isDeadNode(node);
    if (look && look.cell === this.cellOf(node)) {
      const names = ["straight", "lower broadcast", "upper broadcast", "exchange"];
      const pairs = this.connections(index);
      const single = this.singleStep;
      if (single && node.ports && ABOUT.kinds[this.places.get(look.cell)[0]].queues.length)
        parts.push(element("p", { id: "box-state" }, pairs.length
          ? `${stateOf(pairs)}: ${pairs.map(([i, o]) => `${i} → ${o}`).join(", ")}` : "nothing passes in this cycle"));
      if (look.states.length && (pairs.length || !single))
        parts.push(element("p", { class: "soft small" }, `its control inputs say ${look.states.map((state) =>
          `${names[state.value]}${look.states.length > 1 ? ` (${state.name.replaceAll("_", " ")})` : ""}`).join(", ")}`));
      if (look.queues.length) parts.push(element("h3", {}, "Queues"));
      for (const queue of look.queues) {
        const about = kind.queues.find((each) => each.name === queue.name);
        parts.push(element("div", { class: "queue" }, element("span", {}, queue.name.replaceAll("_", " ") || "queue"),
          element("span", { class: "soft", "data-level": queue.name }, `${queue.level} of ${about.depth}`)));
        if (about.depth <= 24 && about.fields) parts.push(this.slotsElement(about, queue));
      }
      if (look.arbiters.length) parts.push(element("h3", {}, "Arbiters: who asks, who is granted"));
      for (const arbiter of look.arbiters) {
        const shown = Array.from({ length: arbiter.count }, (_, n) =>
          Math.floor(arbiter.granted / 2 ** n) % 2 ? "●" : Math.floor(arbiter.request / 2 ** n) % 2 ? "○" : "·").join(" ");
        parts.push(element("div", { class: "queue" }, element("span", {}, arbiter.name.replaceAll("_", " ")), element("span", { class: "bits" }, shown)));
      }
      for (const memory of look.memories) {
        parts.push(element("h3", {}, "First words"), element("p", { class: "bits" }, memory.rows.join("  ")));
      }
    }
    if (this.gated(this.drawing.linesOf(node).flatMap((line) => line.channels)).length)
      parts.push(element("div", { class: "row" }, element("button", { type: "button", id: "break",
        onclick: () => this.breakNode(index, !dead) }, dead ? "Mend" : "Break it")));
    return parts;
  }

  slotsElement(about, queue) {
    const slots = element("div", { class: "slots" });
    const names = fieldsOf(about.fields);
    for (let n = 0; n < about.depth; n++) {
      const words = queue.items[n];
      if (!words) { slots.append(element("span", {}, "·")); continue; }
      const source = names["payload.source"] ?? names["source"], address = names.address;
      const text = source ? `from ${ABOUT.bench.source_addresses.indexOf(bitsOf(words, ...source))}` : address ? `word ${bitsOf(words, ...address)}` : "•";
      const told = about.fields.map(([name, at, width]) => `${name} ${bitsOf(words, at, width)}`).join(", ");
      slots.append(element("button", { type: "button", title: told }, text));
    }
    return slots;
  }

  lineParts(index) {
    const line = this.drawing.lines[index], dead = this.drawing.isDead(line), { frame } = this;
    const sum = (counts) => line.channels.reduce((total, channel) => total + counts[channel], 0);
    const parts = [element("h2", {}, `${this.endName(line.source)} → ${this.endName(line.target)}`)];
    if (line.link) parts.push(element("p", { class: "soft small" }, line.link));
    if (line.channels.length) {
      parts.push(element("p", { class: "small", id: "line-counts" },
        `${sum(frame.crossed)} crossings in ${frame.cycle} cycles; ${sum(frame.refused)} refusals.`));
      if (this.gated(line.channels).length) parts.push(element("div", { class: "row" }, element("button", { type: "button", id: "break",
        onclick: () => this.breakLine(index, !dead) }, dead ? "Mend" : "Break it")));
    }
    return parts;
  }

  // Measuring

  async measureLoads(loads, { warmup = 1000, cycles = 2000 } = {}) {
    this.laboratory?.close();
    const laboratory = this.laboratory = new Remote(this.program, this.contents);
    const setting = { ...this.setting }, dead = [...this.drawing.dead];
    this.points = [];
    const found = [];
    byId("measure").textContent = "Stop";
    byId("measured").hidden = false;
    try {
      await laboratory.ready;
      for (const load of loads) {
        const result = await laboratory.ask("measure", { setting: { ...setting, load }, warmup, cycles, dead });
        found.push(result);
        this.points.push({ load, latency: result.latency, throughput: result.throughput, high: percentile(result.histogram, 0.99), complete: result.complete });
        this.showMeasured(setting, warmup, cycles);
        const [first] = found;
        if (loads.length > 1 && result.latency > 12 * first.latency && !result.complete) break;
      }
    } catch (error) {
      if (this.laboratory === laboratory) this.fail(error);
    } finally {
      laboratory.close();
      if (this.laboratory === laboratory) { this.laboratory = null; byId("measure").textContent = "Measure the curve"; }
    }
    this.say(`Measured ${found.length} loads.`);
    return found;
  }

  stopMeasuring() {
    this.laboratory?.close();
    this.laboratory = null;
    byId("measure").textContent = "Measure the curve";
  }

  showMeasured(setting, warmup, cycles) {
    byId("measured-rows").replaceChildren(...this.points.map((point) => element("tr", {},
      ...[point.load.toFixed(2), round(point.throughput, 4), `${round(point.latency, 2)}${point.complete ? "" : " +"}`, point.high ?? "–"]
        .map((text) => element("td", {}, String(text))))));
    const pattern = setting.pattern === "hotspot" ? `hotspot:${setting.share}:${setting.target}` : setting.pattern;
    byId("command").textContent = `multicube sim ${ABOUT.words} --traffic ${pattern} --load ${this.points.at(-1).load} --seed ${setting.seed} --warmup ${warmup} --cycles ${cycles}`;
    this.dirty = true;
  }

  // Lessons

  async openLesson(name) {
    const lesson = ABOUT.lessons[name];
    byId("lesson").value = lesson ? name : "";
    byId("lesson-card").hidden = !lesson;
    this.lesson = lesson ? { ...lesson, at: 0 } : null;
    if (lesson) { await this.mendAll(); await this.showLesson(0); }
  }

  async mendAll() { if (this.drawing.dead.size) await this.mend(); }

  async showLesson(at) {
    const { lesson } = this;
    lesson.at = Math.max(0, Math.min(lesson.steps.length - 1, at));
    const step = lesson.steps[lesson.at];
    byId("lesson-title").textContent = lesson.title;
    byId("lesson-text").replaceChildren(...step.text.map((text) => element("p", {},
      ...text.split("`").map((part, n) => n % 2 ? element("kbd", {}, part) : part))));
    byId("lesson-place").textContent = `${lesson.at + 1} of ${lesson.steps.length}`;
    byId("lesson-back").disabled = lesson.at === 0;
    byId("lesson-next").disabled = lesson.at === lesson.steps.length - 1;
    await this.act(step);
  }

  /** What a step of a lesson does before it lets the user watch. */
  async act(step) {
    this.pause();
    if (step.restart) {
      Object.assign(this.setting, step.setting);
      this.showSetting();
      await this.restart();
    } else if (step.setting) await this.change(step.setting);
    if (step.mend) await this.mendAll();
    for (const name of step.break ?? []) {
      const node = this.drawing.nodes.findIndex((each) => each.name === name);
      if (node >= 0) await this.breakNode(node);
      const line = this.drawing.lines.findIndex((each) => each.link === name);
      if (line >= 0) await this.breakLine(line);
    }
    if (step.speed !== undefined) this.setSpeed(step.speed);
    if (step.cycles) await this.advance(step.cycles);
    if (step.follow) { for (let n = 0; n < 60 && !this.drawing.dots.some((dot) => dot.line.source[0] === "terminal"); n++) await this.advance(1); this.followAny(); }
    if (step.select) this.select({ what: "node", index: this.drawing.nodes.findIndex((node) => node.name === step.select) });
    this.phase = 0;
    this.show();
    if (step.run) this.run();
  }

  // Controls

  storedTheme() {
    const found = /theme=(dark|light)/.exec(location.hash);
    return found ? found[1] : matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  }

  setTheme(theme) {
    document.documentElement.dataset.theme = theme;
    this.drawing.theme();
    this.showLegend();
    this.dirty = true;
  }

  connect() {
    byId("title").textContent = ABOUT.title;
    byId("words").textContent = ABOUT.words.split(" ").slice(1).join(" ");
    byId("words").title = ABOUT.words;
    byId("pattern").append(...ABOUT.patterns.map(({ name }) => element("option", { value: name }, name === "hotspot" ? "hot spot" : name)));
    byId("target").max = ABOUT.sinks - 1;
    const lessons = Object.entries(ABOUT.lessons);
    byId("lesson-pick").hidden = !lessons.length;
    byId("lesson").append(element("option", { value: "" }, "none"), ...lessons.map(([name, { title }]) => element("option", { value: name }, title)));
    const on = (id, event, act) => byId(id).addEventListener(event, act);
    on("run", "click", () => this.running ? this.pause() : this.run());
    on("step", "click", () => this.step());
    on("reset", "click", () => { this.pause(); this.restart(); });
    on("speed", "input", (event) => this.setSpeed(Number(event.target.value)));
    on("load", "input", (event) => this.change({ load: Number(event.target.value) }));
    on("pattern", "change", (event) => this.change({ pattern: event.target.value }));
    on("share", "input", (event) => this.change({ share: Number(event.target.value) }));
    const number = (event, most) => Math.max(0, Math.min(most, Math.floor(Number(event.target.value)) || 0));
    on("target", "change", (event) => this.change({ target: number(event, ABOUT.sinks - 1) }));
    on("seed", "change", (event) => this.change({ seed: number(event, 2 ** 32 - 1) }));
    on("mend", "click", () => this.mend());
    on("measure", "click", () => {
      if (this.laboratory) this.stopMeasuring();
      else this.measureLoads([0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95]);
    });
    on("measure-one", "click", () => this.measureLoads([this.setting.load]));
    on("theme", "click", () => this.setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
    on("help", "click", () => byId("keys").showModal());
    for (const which of ["latency", "throughput"])
      on(`tab-${which}`, "click", () => {
        this.which = which;
        for (const each of ["latency", "throughput"]) byId(`tab-${each}`).setAttribute("aria-selected", String(each === which));
        this.showCurve();
      });
    on("lesson", "change", (event) => this.openLesson(event.target.value));
    on("lesson-next", "click", () => this.showLesson(this.lesson.at + 1));
    on("lesson-back", "click", () => this.showLesson(this.lesson.at - 1));
    on("larger", "click", () => this.drawing.zoom(1.3, this.drawing.wide / 2, this.drawing.high / 2));
    on("smaller", "click", () => this.drawing.zoom(1 / 1.3, this.drawing.wide / 2, this.drawing.high / 2));
    on("whole", "click", () => this.drawing.fit());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.setTheme(this.storedTheme()));
    new ResizeObserver(() => { this.drawing.resize(); this.dirty = true; }).observe(byId("canvas"));
    this.connectCanvas(byId("canvas"));
    document.addEventListener("keydown", (event) => this.key(event));
  }

  connectCanvas(canvas) {
    const fingers = new Map();
    let moved = 0;
    const place = (event) => { const box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      fingers.set(event.pointerId, place(event));
      moved = fingers.size > 1 ? 99 : 0;
    });
    canvas.addEventListener("pointermove", (event) => {
      const [x, y] = place(event);
      if (!fingers.has(event.pointerId)) { canvas.classList.toggle("over", Boolean(this.drawing.hit(x, y))); return; }
      const [ox, oy] = fingers.get(event.pointerId);
      if (fingers.size === 2) {
        const [other] = [...fingers].filter(([id]) => id !== event.pointerId).map(([, at]) => at);
        const before = Math.hypot(ox - other[0], oy - other[1]), after = Math.hypot(x - other[0], y - other[1]);
        this.drawing.zoom(after / Math.max(before, 1), (x + other[0]) / 2, (y + other[1]) / 2);
      } else {
        moved += Math.abs(x - ox) + Math.abs(y - oy);
        if (moved > 5) this.drawing.pan(x - ox, y - oy);
      }
      fingers.set(event.pointerId, [x, y]);
    });
    const lift = (event) => {
      const [x, y] = place(event);
      if (fingers.delete(event.pointerId) && event.type === "pointerup" && moved <= 5) this.click(x, y);
    };
    canvas.addEventListener("pointerup", lift);
    canvas.addEventListener("pointercancel", lift);
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      const [x, y] = place(event);
      this.drawing.zoom(Math.exp(-event.deltaY * 0.0015), x, y);
    }, { passive: false });
  }

  click(x, y) {
    const found = this.drawing.hit(x, y);
    if (found?.what === "packet") this.follow(found.dot.channel);
    else this.select(found);
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || byId("keys").open) return;
    const { target } = event;
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName);
    const pressed = event.key;
    const { selected } = this.drawing;
    const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    if (target.id === "canvas" && arrows[pressed]) {
      const index = this.drawing.neighbour(selected?.what === "node" ? selected.index : null, ...arrows[pressed]);
      this.select({ what: "node", index });
      this.say(`${this.drawing.nodes[index].name} selected.`);
    } else if (target.id === "canvas" && pressed === "Enter" && !byId("inspector").hidden) {
      byId("inspect-close").focus();
    } else if (typing && !(target.type === "range" && /^[a-z.[\]=\- ]$/.test(pressed))) return;
    else if (pressed === " " && target.tagName !== "BUTTON") { if (this.running) this.pause(); else this.run(); }
    else if (pressed === ".") this.step();
    else if (pressed === "r") { this.pause(); this.restart(); }
    else if (pressed === "[") this.setSpeed(this.speedIndex - 1);
    else if (pressed === "]") this.setSpeed(this.speedIndex + 1);
    else if (pressed === "-") this.change({ load: Math.max(0, Math.round(this.setting.load * 20 - 1) / 20) });
    else if (pressed === "=" || pressed === "+") this.change({ load: Math.min(1, Math.round(this.setting.load * 20 + 1) / 20) });
    else if (pressed === "f") this.followAny();
    else if (pressed === "b" && selected) {
      if (selected.what === "node") this.breakNode(selected.index, !this.drawing.isDeadNode(this.drawing.nodes[selected.index]));
      else this.breakLine(selected.index, !this.drawing.isDead(this.drawing.lines[selected.index]));
    } else if (pressed === "Escape") { this.followNothing(); this.select(null); }
    else if (pressed === "0") this.drawing.fit();
    else if (pressed === "t") this.setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
    else return;
    event.preventDefault();
  }
}

function drawingDead(drawing) { return drawing.dead.size > 0; }

/** The state of a box by what it connects, as Siegel et al. name it. */
function stateOf(pairs) {
  const inputs = new Set(pairs.map(([i]) => i)), outputs = new Set(pairs.map(([, o]) => o));
  if (inputs.size < outputs.size) return pairs[0][0] === 0 ? "upper broadcast" : "lower broadcast";
  if (pairs.every(([i, o]) => i === o)) return "straight";
  return pairs.every(([i, o]) => i + o === 1) ? "exchange" : "connected";
}

const multicube = new Page();
window.multicube = multicube;
multicube.start().catch((error) => multicube.fail(error));
