"use strict";
// The page: runs the network in a worker, shows it, and turns what the user does into requests.

const SPEEDS = [1, 2, 4, 8, 16, 30, 60, 180, 600, 2000, 6000, 20000, Infinity];
const EMBEDDED = window.parent !== window;
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
    this.inspector = new Inspector(this);
    this.statistics = new Statistics(ABOUT);
    this.setting = {
      load: ABOUT.load, seed: ABOUT.seed, pattern: ABOUT.patterns[0].name,
      share: 0.1, target: 0, inputs: {},
    };
    this.running = false;
    this.speed = 1;
    this.phase = 1;
    this.points = [];
    this.replies = [];
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
    this.worms = null;
    this.take(await this.ask("restart", this.setting));
    await this.refresh();
    this.phase = 1;
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
    const contents = Boolean(this.followed) || ABOUT.bench.entries.length > 0 && (histogram || !this.running);
    return { histogram, contents, look: node ? this.cellOf(node) : null };
  }

  cellOf(node) { return node.cells[0]; }

  /** All that is known of the moment, without a cycle. */
  async refresh() {
    this.askedAt = 0;
    this.take(await this.ask("advance", { cycles: 0, ...this.wanted() }));
  }

  take(frame) {
    const before = this.moment;
    const moment = this.moment = new Moment(this.drawing, frame, frame.cycle >= (before?.cycle ?? 0) ? before : null);
    if (frame.headers && ABOUT.bench.paths) this.worms = new Worms(ABOUT, this.drawing, moment);
    moment.worms = this.worms;
    this.followed?.see(moment);
    this.noteReplies(moment);
    this.statistics.add(moment);
    if (frame.event) {
      this.running = false;
      this.say(`An assertion failed in cell ${frame.event.cell} at cycle ${frame.cycle}.`);
    }
    if (frame.look) this.look = frame.look;
    this.dirty = true;
  }

  /** The values that have reached processors in the last cycles, if each of these was seen. */
  noteReplies(moment) {
    if (!ABOUT.memory || moment.cycle === this.noted) return;
    this.noted = moment.cycle;
    if (!moment.previous) this.replies = [];
    const found = moment.arrived.filter((flit) => flit.line.target[0] === "terminal" && flit.field("value") !== undefined);
    for (const flit of found)
      this.replies.unshift({ cycle: moment.previous.cycle, to: this.drawing.terminals[flit.line.target[1]].number, value: flit.field("value") });
    this.replies.length = Math.min(this.replies.length, 24);
  }

  // Time

  tick(time) {
    requestAnimationFrame((next) => this.tick(next));
    this.frames++;
    const passed = Math.min(0.25, (time - (this.last ?? time)) / 1000);
    this.last = time;
    const speed = this.followed ? Math.min(this.speed, 30) : this.speed;
    const slow = speed <= 60;
    if (!this.running || slow) {
      this.phase += passed * (this.running ? speed : Math.max(2.5, Math.min(speed, 12)));
      if (this.phase >= 1 || this.still || !this.moment.previous) this.settle();
    }
    if (this.running && !this.asking) {
      if (slow) {
        // Where the page can't keep up, several cycles are one frame.
        const due = speed < 30 || this.followed ? 1 : Math.max(1, Math.floor(this.phase));
        if (this.phase >= 1) this.go({ cycles: due }, Math.min(0.9, this.phase - due));
      } else {
        this.owed = Math.min((this.owed ?? 0) + passed * speed, speed / 4);
        if (speed === Infinity) this.go({ budget: 12 }, 1);
        else if (this.owed >= 1) { const cycles = Math.floor(this.owed); this.owed -= cycles; this.go({ cycles, budget: 0 }, 1); }
      }
    }
    const shown = this.still ? 1 : Math.min(this.phase, 1);
    this.drawing.paint(this.moment, shown, (flit) => this.colourOf(flit), this.followed, this.running && !slow);
    if (this.dirty && shown === 1 && time - (this.shownAt ?? 0) > 100) { this.shownAt = time; this.show(); }
    if (this.running && time - (this.spokenAt ?? 0) > 5000) { this.spokenAt = time; this.say(this.statistics.spoken(this.moment.cycle)); }
  }

  get still() { return matchMedia("(prefers-reduced-motion: reduce)").matches; }

  async go(how, phase) {
    this.asking = true;
    try {
      this.take(await this.ask("advance", { ...how, ...this.wanted() }));
      this.phase = phase;
    } finally { this.asking = false; }
  }

  /** The moment is on the screen: say what it is, to those who wait for it too. */
  settle() {
    this.arrive?.();
    this.arrive = null;
    if (!this.running) this.phase = 1;
  }

  /** One cycle: the packets move to where they are after it. A press amid the way ends the one before. */
  step() {
    this.pause();
    this.settle();
    this.stepping = this.go({ cycles: 1 }, 0).then(() => {
      this.settle();
      this.phase = 0;
      return new Promise((done) => { this.arrive = done; });
    }).then(() => {
      this.show();
      this.say(this.statistics.spoken(this.moment.cycle));
    });
    return this.stepping;
  }

  run() {
    this.running = true;
    this.showRun();
  }

  pause() {
    if (this.running) this.phase = 1;
    this.running = false;
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
    await this.refresh();
    this.statistics.restart();
    await this.refresh();
  }

  /** Set an input of a design; it stays so, also after a reset. */
  async input(name, value) {
    byId(`input-${name}`).value = this.setting.inputs[name] = value;
    this.take(await this.ask("inputs", { [name]: value }));
    this.show();
  }

  /** Links that can be broken: most can. */
  gated(channels) { return channels.filter((channel) => ABOUT.bench.channels.gate[channel]); }

  async breakChannels(all, dead) {
    const channels = this.gated(all);
    this.drawing.setDead(channels, dead);
    this.take(await this.ask("break", [...channels], dead));
    this.showBroken();
    this.inspector.show();
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
    this.inspector.show();
    if (selected?.what === "node") this.refresh().then(() => this.inspector.show());
  }

  /** Follow the packet of a flit that is offered on a link now. */
  async follow(flit) {
    if (ABOUT.bench.paths) {
      await this.refresh();
      const worm = this.worms.byKey.get(flit.key);
      if (worm) return this.followWorm(worm);
    }
    this.drawing.selected = null;
    this.followed = new Followed(ABOUT, this.drawing, this.moment, flit);
    await this.refresh();
    this.show();
  }

  async followWorm(worm) {
    this.drawing.selected = null;
    this.followed = Followed.of(ABOUT, this.drawing, this.moment, worm);
    await this.refresh();
    this.show();
  }

  /** Follow a packet that enters the network. */
  followAny() {
    const { flits } = this.moment;
    const flit = flits.find(({ line, key }) => line.source[0] === "terminal" && key !== this.followed?.key) ?? flits[0];
    if (flit) return this.follow(flit);
    this.say("No packet is on a link in this cycle.");
    return Promise.resolve();
  }

  followNothing() {
    this.followed = null;
    this.inspector.show();
  }

  /** Colours tell how long a packet has been on its way, or that it goes to the hot spot. */
  colourOf(flit) {
    const { colours, ages } = this.drawing;
    if (this.setting.pattern === "hotspot" && this.setting.share > 0 && this.goesTo(flit) === this.setting.target) return colours.hot;
    const birth = flit.layout["payload.birth"];
    if (!birth) return flit.layout.address ? colours.packet : colours.queue;
    const size = 2 ** birth[1];
    const age = (this.moment.cycle - flit.field("payload.birth") + size) % size;
    const usual = Math.max(4, this.usual ??= this.zeroLoad());
    return ages[Math.max(0, Math.min(3, Math.floor(Math.log2(Math.max(age, 1) / usual) + 1)))];
  }

  /** The terminal that a flit goes to, if it tells. */
  goesTo(flit) {
    if (ABOUT.bench.entries.length) return this.worms?.byKey.get(flit.key)?.to ?? null;
    if (ABOUT.memory) return flit.field("address") === 0 ? this.drawing.moduleOf(flit) : null;
    return destinationOf(ABOUT, flit.fields, ABOUT.bench.channels.hop[flit.channel]);
  }

  /** The most boxes on a path, as far as they are counted. */
  zeroLoad() { return ABOUT.bench.channels.hop.reduce((most, hop) => Math.max(most, hop + 1), 0); }

  // What is shown

  show() {
    this.dirty = false;
    const { moment, drawing } = this;
    byId("cycle").textContent = moment.cycle;
    this.statistics.show();
    const theory = this.theoryAt();
    paintHistogram(byId("histogram"), this.statistics, theory, drawing.colours);
    this.showCurve();
    this.inspector.show();
    byId("signals").replaceChildren(...(moment.told ?? []).map(([name, value]) =>
      element("div", { class: "queue" }, element("span", {}, name), element("span", { class: "bits", "data-signal": name }, String(value)))));
    byId("replies").hidden = !this.replies.length;
    byId("reply-list").replaceChildren(...this.replies.map(({ cycle, to, value }) =>
      element("li", {}, `cycle ${cycle}: processor ${to} got ${value}`)));
    byId("strip").replaceChildren(...this.inspector.stripParts());
    const cycle = this.worms?.cycle ?? [];
    byId("deadlock").hidden = !cycle.length;
    byId("deadlock").replaceChildren(...cycle.length ? this.inspector.deadlockParts(cycle) : []);
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
    const entries = ABOUT.design ? [[colours.queue, "flit"]] : ABOUT.memory ? [[colours.packet, "request"], [colours.queue, "reply"]]
      : [[colours.packet, "packet"], [colours.aged, "has waited"], [colours.old, "has waited long"]];
    if (this.setting.pattern === "hotspot") entries.push([colours.hot, ABOUT.memory ? "request for the hot word" : "packet to the hot spot"]);
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
        this.points.push({ load, latency: result.latency, throughput: result.throughput, high: percentile(result.histogram, 0.99), untimed: result.untimed, saturated: result.saturated });
        this.showMeasured(setting, warmup, cycles);
        const [first] = found;
        if (loads.length > 1 && result.latency > 12 * first.latency && result.saturated) break;
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
      ...[point.load.toFixed(2), round(point.throughput, 4), round(point.latency, 2), point.high ?? "–", point.untimed ?? "–"]
        .map((text) => element("td", {}, String(text))))));
    const left = this.points.filter(({ untimed }) => untimed);
    byId("untimed").hidden = !left.length;
    const pattern = setting.pattern === "hotspot" ? `hotspot:${setting.share}:${setting.target}` : setting.pattern;
    const command = `multicube sim ${ABOUT.words} --traffic ${pattern} --load ${this.points.at(-1).load} --seed ${setting.seed} --warmup ${warmup} --cycles ${cycles}`;
    byId("command").replaceChildren(...unbroken(command));
    this.dirty = true;
  }

  // Lessons

  async openLesson(name) {
    const lesson = ABOUT.lessons[name];
    byId("lesson").value = lesson ? name : "";
    byId("lesson-card").hidden = !lesson;
    this.lesson = lesson ? { ...lesson, at: 0 } : null;
    if (lesson) { await this.mendAll(); this.showNext(lesson.next ?? []); await this.showLesson(0); }
  }

  /** Other lessons: those of this network are in this page, the others in the pages that `multicube
      view --lesson NAME` writes beside it. */
  showNext(names) {
    byId("lesson-next-ones").replaceChildren(...names.length ? ["See also: "] : [], ...names.flatMap((name, n) => [n ? ", " : "",
      element("a", { href: `${name}.html`, title: `multicube view --lesson ${name}`,
        onclick: (event) => { if (name in ABOUT.lessons) { event.preventDefault(); this.openLesson(name); } } }, ABOUT.titles[name])]));
  }

  async mendAll() { if (this.drawing.dead.size) await this.mend(); }

  async showLesson(at) {
    const { lesson } = this;
    lesson.at = Math.max(0, Math.min(lesson.steps.length - 1, at));
    const step = lesson.steps[lesson.at];
    byId("lesson-title").textContent = lesson.title;
    byId("lesson-text").replaceChildren(...step.text.map((text) => element("p", {},
      ...text.split("`").map((part, n) => n % 2 ? element("kbd", {}, ...unbroken(part)) : part))));
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
    if (step.tables) await this.ask("write", step.tables);
    if (step.mend) await this.mendAll();
    for (const name of step.break ?? []) {
      const node = this.drawing.nodes.findIndex((each) => each.name === name);
      if (node >= 0) await this.breakNode(node);
      const line = this.drawing.lines.findIndex((each) => each.link === name);
      if (line >= 0) await this.breakLine(line);
    }
    if (step.speed !== undefined) this.setSpeed(step.speed);
    if (step.cycles) await this.advance(step.cycles);
    const entering = () => this.moment.flits.some(({ line }) => line.source[0] === "terminal");
    if (step.follow) { for (let n = 0; n < 60 && !entering(); n++) await this.advance(1); await this.followAny(); }
    if (step.select) this.select({ what: "node", index: this.drawing.nodes.findIndex((node) => node.name === step.select) });
    this.phase = 1;
    this.show();
    if (step.run) this.run();
  }

  // Controls

  /** The theme that the address asks for, or that of the page around this one, or the system's. */
  storedTheme() {
    const found = /theme=(dark|light)/.exec(location.hash);
    return found?.[1] ?? this.themeAround() ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  }

  /** Whether the page around this one is dark, if it lets itself be seen. */
  themeAround() {
    if (!EMBEDDED) return null;
    try {
      const { document: around } = window.parent;
      for (const each of [around.body, around.documentElement]) {
        const [red, green, blue, alpha = 1] = window.parent.getComputedStyle(each).backgroundColor.match(/[\d.]+/g).map(Number);
        if (alpha > 0) return 0.3 * red + 0.59 * green + 0.11 * blue < 128 ? "dark" : "light";
      }
    } catch { /* it has another origin */ }
    return null;
  }

  followTheme() {
    const renew = () => this.setTheme(this.storedTheme());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", renew);
    if (!EMBEDDED) return;
    try {
      const { document: around } = window.parent, observer = new MutationObserver(renew);
      for (const each of [around.body, around.documentElement]) observer.observe(each, { attributes: true });
    } catch { /* it has another origin */ }
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
    for (const card of document.querySelectorAll(".of-network")) card.hidden = Boolean(ABOUT.design);
    byId("design").hidden = !ABOUT.design;
    byId("inputs").append(...Object.entries(ABOUT.inputs ?? {}).map(([name, width]) => element("label", { class: "field" },
      element("span", {}, name), element("input", { type: "number", min: 0, max: 2 ** width - 1, value: 0, id: `input-${name}`,
        onchange: (event) => this.input(name, Math.max(0, Math.min(2 ** width - 1, Math.floor(Number(event.target.value)) || 0))) }))));
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
    this.followTheme();
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
    canvas.addEventListener("pointerleave", () => { if (EMBEDDED && !fingers.size) canvas.blur(); });
    canvas.addEventListener("wheel", (event) => {
      // In a frame the wheel is that of the page around it, until the drawing has been clicked.
      if (EMBEDDED && !event.ctrlKey && !event.metaKey && document.activeElement !== canvas) return;
      event.preventDefault();
      const [x, y] = place(event);
      this.drawing.zoom(Math.exp(-event.deltaY * 0.0015), x, y);
    }, { passive: false });
  }

  click(x, y) {
    const found = this.drawing.hit(x, y);
    if (found?.what === "packet") this.follow(found.dot.flit);
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

/** The words of a command, which may be broken between them, but not at their hyphens. */
function unbroken(command) {
  return command.split(" ").flatMap((word, n) => [n ? " " : "", element("span", { class: "word" }, word)]);
}

function drawingDead(drawing) { return drawing.dead.size > 0; }

const multicube = new Page();
window.multicube = multicube;
multicube.start().catch((error) => multicube.fail(error));
