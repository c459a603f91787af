"use strict";
// The page: runs the network in a worker, shows it, and turns what the user does into requests.

const SPEEDS = [1, 2, 4, 8, 16, 30, 60, 180, 600, 2000, 6000, 20000, Infinity];
const EMBEDDED = window.parent !== window;
const ABOUT = JSON.parse(byId("about").textContent);
/** What the address asks for, as in "page.html#run&plain". */
const ASKED = new Set(location.hash.slice(1).split("&"));

class Page {
  async start() {
    document.documentElement.toggleAttribute("data-plain", ASKED.has("plain"));
    this.code = bytesOf("program");
    this.contents = await inflated(bytesOf("contents"));
    this.places = new Map();
    ABOUT.engine.groups.forEach((group, number) =>
      group.cells.forEach((cell, place) => cell && this.places.set(cell, [number, place])));
    this.drawing = new Drawing(byId("canvas"), ABOUT, queueList(ABOUT, this.places));
    this.inspector = new Inspector(this);
    this.statistics = new Statistics(ABOUT);
    const [{ name: pattern, hot }] = ABOUT.patterns;
    this.setting = {
      load: ABOUT.load, seed: ABOUT.seed, pattern,
      share: hot?.share ?? 0.1, target: hot?.target ?? 0, inputs: { ...ABOUT.given }, tables: null,
    };
    this.running = false;
    this.speed = 1;
    this.phase = 1;
    this.replies = [];
    this.queue = Promise.resolve();
    this.laboratory = new Laboratory(this);
    this.lessons = new Lessons(this);
    this.program = ABOUT.program ? new Program(this) : null;
    this.collective = ABOUT.collective ? new Collective(this) : null;
    this.fill();
    new Controls(this).connect();
    this.setTheme(storedTheme());
    followTheme(() => this.setTheme(storedTheme()));
    this.setSpeed(ABOUT.sources > 100 ? 5 : 3);
    this.showSetting();
    this.drawing.resize();
    this.remote = new Remote(this.code, this.contents);
    await this.remote.ready;
    await this.restart();
    if (ABOUT.lesson) await this.lessons.open(ABOUT.lesson);
    requestAnimationFrame((time) => this.tick(time));
    this.frames = 0;
    document.documentElement.dataset.ready = "true";
    if (ASKED.has("run") && !matchMedia("(prefers-reduced-motion: reduce)").matches) this.run();
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
    this.program?.clear();
    this.followNothing();
    this.worms = null;
    this.take(await this.ask("restart", this.setting));
    await this.refresh();
    this.phase = 1;
  }

  async advance(cycles, how = {}) {
    const frame = await this.ask("advance", { cycles, ...how, ...this.wanted() });
    this.take(frame);
    return frame;
  }

  wanted() {
    const now = performance.now();
    const histogram = !this.running || now - this.askedAt > 400;
    if (histogram) this.askedAt = now;
    const node = this.drawing.selected?.what === "node" ? this.drawing.nodes[this.drawing.selected.index] : null;
    const contents = Boolean(this.followed) || ABOUT.bench.entries.length > 0 && histogram;
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
    // The paths are those of the tables that the network was built with.
    if (frame.headers && ABOUT.bench.paths && !this.setting.tables) this.worms = new Worms(ABOUT, this.drawing, moment);
    moment.worms = this.worms;
    this.followed?.see(moment);
    this.noteReplies(moment);
    this.statistics.add(moment);
    if (frame.event) {
      this.running = false;
      this.say(`An assertion failed in cell ${frame.event.cell} at cycle ${frame.cycle}.`);
    }
    if (frame.look) this.look = frame.look;
    if (frame.program) this.program.take(frame.program);
    this.collective?.take(moment);
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
    this.paint(shown, this.running && !slow);
    if (this.dirty && shown === 1 && time - (this.shownAt ?? 0) > 100) { this.shownAt = time; this.show(); }
    if (this.running && time - (this.spokenAt ?? 0) > 5000) { this.spokenAt = time; this.say(this.statistics.spoken(this.moment.cycle)); }
  }

  /** Paint, unless all is as it was: many pages may be open. */
  paint(shown, amid) {
    const { drawing, moment, followed } = this;
    drawing.still = this.still;
    const now = [moment, shown, amid, followed, drawing.selected, drawing.marked, drawing.boxes, drawing.boxesSet];
    if (!drawing.stale && now.every((part, n) => part === this.painted?.[n])) return;
    this.painted = now;
    drawing.paint(moment, shown, (flit) => this.colourOf(flit), followed, amid);
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
    if (this.running) {
      this.phase = 1;
      this.running = false;
      this.refresh(); // some of what is shown is not asked for in each frame
    }
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
    this.setting.load = Math.min(this.setting.load, highestLoad(patternOf(ABOUT, this.setting)));
    this.showSetting();
    if (restart) return this.restart();
    await this.ask("apply", this.setting);
    await this.countFromHere();
  }

  async countFromHere() {
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
    await this.ask("break", [...channels], dead);
    await this.countFromHere();
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
      const worm = this.worms?.byKey.get(flit.key);
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
    if (this.collective) return Collective.colourOf(flit, colours);
    if (patternOf(ABOUT, this.setting).hot && this.setting.share > 0 && this.goesTo(flit) === this.setting.target) return colours.hot;
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
    this.program?.show();
    this.collective?.show();
    byId("cycle").textContent = moment.cycle;
    this.statistics.show();
    const theory = this.laboratory.theoryAt();
    paintHistogram(byId("histogram"), this.statistics, theory, drawing.colours);
    this.laboratory.showCurve();
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

  showRun() {
    byId("run").querySelector(".icon").textContent = this.running ? "❚❚" : "▶";
    byId("run").querySelector(".text").textContent = this.running ? "Pause" : "Run";
  }

  showSetting() {
    const { setting } = this;
    const pattern = patternOf(ABOUT, setting);
    byId("load").max = highestLoad(pattern);
    byId("load").value = setting.load;
    byId("load-text").textContent = setting.load.toFixed(2);
    byId("pattern").value = pattern.name;
    byId("hot").hidden = !pattern.hot;
    byId("share").value = setting.share;
    byId("share-text").textContent = `${(setting.share * 100).toFixed(1)} %`;
    byId("target").value = setting.target;
    byId("seed").value = setting.seed;
    byId("load").disabled = !pattern.paced;
    this.showLegend();
  }

  showLegend() {
    const { colours } = this.drawing;
    if (!colours) return;
    const entries = ABOUT.collective ? Collective.legend(colours) : ABOUT.design ? [[colours.queue, "flit"]] : ABOUT.memory ? [[colours.packet, "request"], [colours.queue, "reply"]]
      : [[colours.packet, "packet"], [colours.aged, "has waited"], [colours.old, "has waited long"]];
    if (patternOf(ABOUT, this.setting).hot) entries.push([colours.hot, ABOUT.memory ? "request for the hot word" : "packet to the hot spot"]);
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

  /** What the page is about, and what can be chosen. */
  fill() {
    byId("title").textContent = ABOUT.title;
    byId("words").textContent = ABOUT.words.slice(ABOUT.title.length + 1);
    byId("words").title = ABOUT.words;
    byId("pattern").append(...ABOUT.patterns.map(({ name, hot }) => element("option", { value: name }, hot ? `hot spot${hot.rest}` : name)));
    byId("target").max = ABOUT.sinks - 1;
    for (const card of document.querySelectorAll(".of-network")) card.hidden = Boolean(ABOUT.design);
    byId("design").hidden = !ABOUT.design || Boolean(ABOUT.program || ABOUT.collective);
    byId("inputs").append(...Object.entries(ABOUT.inputs ?? {}).map(([name, width]) => element("label", { class: "field" },
      element("span", {}, name), element("input", { type: "number", min: 0, max: 2n ** BigInt(width) - 1n, value: 0, id: `input-${name}`,
        onchange: (event) => this.input(name, natural(event.target.value, width)) }))));
    const lessons = Object.entries(ABOUT.lessons);
    byId("lesson-pick").hidden = !lessons.length;
    byId("lesson").append(element("option", { value: "" }, "none"), ...lessons.map(([name, { title }]) => element("option", { value: name }, title)));
  }

  setTheme(theme) {
    document.documentElement.dataset.theme = theme;
    this.drawing.theme();
    this.showLegend();
    this.dirty = true;
  }
}

const multicube = new Page();
window.multicube = multicube;
multicube.start().catch((error) => multicube.fail(error));
