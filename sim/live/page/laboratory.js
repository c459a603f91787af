"use strict";
// The laboratory: runs as `multicube sim` makes them, in a worker of their own, one load after the other;
// and the curve of what they have measured, beside the formula.

class Laboratory {
  constructor(page) {
    this.page = page;
    this.points = [];
    this.which = "latency";
  }

  get uniform() { return patternOf(ABOUT, this.page.setting).name === "uniform" && !this.page.drawing.dead.size; }

  theoryAt() {
    const { page } = this;
    if (!this.uniform) return null;
    const { load, latency } = ABOUT.theory;
    const n = load.findIndex((each) => each >= page.setting.load - 1e-9);
    if (n < 0 || latency[n] === null) return null;
    if (n === 0 || Math.abs(load[n] - page.setting.load) < 1e-9) return latency[n];
    if (latency[n - 1] === null) return null;
    const part = (page.setting.load - load[n - 1]) / (load[n] - load[n - 1]);
    return latency[n - 1] + part * (latency[n] - latency[n - 1]);
  }

  showCurve() {
    const { page } = this, { statistics } = page;
    const live = statistics[this.which === "latency" ? "latency" : "delivered"];
    paintCurve(byId("curve"), {
      which: this.which, theory: ABOUT.theory, points: this.points,
      live: statistics.cycles ? [page.setting.load, live] : null, colours: page.drawing.colours, uniform: this.uniform,
    });
    const formula = ABOUT.theory[this.which].some((value) => value !== null);
    const { colours } = page.drawing;
    const parts = [[colours.follow, "now"]];
    if (this.points.length) parts.push([colours.use, `measured: ${this.measured}`]);
    if (formula && this.uniform) parts.push([colours.old, "formula"]);
    const text = byId("curve-text");
    text.replaceChildren(...parts.flatMap(([colour, name]) => [
      element("i", { style: `display:inline-block;width:9px;height:9px;border-radius:50%;margin:0 5px 0 0;background:${colour}` }), `${name}   `]));
    if (!formula && this.uniform) text.append(element("br"), `No formula gives the ${this.which} of this network.`);
  }

  async measure(loads, { warmup = 1000, cycles = 2000 } = {}) {
    const { page } = this;
    this.remote?.close();
    const remote = this.remote = new Remote(page.code, page.contents);
    const setting = { ...page.setting }, dead = [...page.drawing.dead];
    this.points = [];
    // Links that are broken here, and tables that a lesson has written, are in no command line.
    const changes = [dead.length && "links broken", setting.tables && "tables changed"].filter(Boolean);
    // The traffic and the links may be changed while the curve stays.
    this.measured = [trafficWord(setting), ...changes].join(", ");
    const found = [];
    byId("measure").textContent = "Stop";
    byId("measured").hidden = false;
    try {
      await remote.ready;
      const pattern = patternOf(ABOUT, setting), most = highestLoad(pattern);
      // Traffic at intervals has no load that can be chosen.
      const own = pattern.paced ? loads.map((load) => Math.min(load, most)) : [setting.load];
      for (const load of new Set(own)) {
        const result = await remote.ask("measure", { setting: { ...setting, load }, warmup, cycles, dead });
        found.push(result);
        this.points.push({ load, latency: result.latency, throughput: result.throughput, high: percentileText(result.histogram, 0.99), untimed: result.untimed, saturated: result.saturated });
        this.show(setting, changes, warmup, cycles);
        const [first] = found;
        if (loads.length > 1 && result.latency > 12 * first.latency && result.saturated) break;
      }
    } catch (error) {
      if (this.remote === remote) page.fail(error);
    } finally {
      remote.close();
      if (this.remote === remote) { this.remote = null; byId("measure").textContent = "Measure the curve"; }
    }
    page.say(`Measured ${found.length} loads.`);
    return found;
  }

  stop() {
    this.remote?.close();
    this.remote = null;
    byId("measure").textContent = "Measure the curve";
  }

  show(setting, changes, warmup, cycles) {
    const { page } = this;
    byId("measured-rows").replaceChildren(...this.points.map((point) => element("tr", {},
      ...[point.load.toFixed(2), round(point.throughput, 4), round(point.latency, 2), point.high, point.untimed ?? "–"]
        .map((text) => element("td", {}, String(text))))));
    const left = this.points.filter(({ untimed }) => untimed);
    byId("untimed").hidden = !left.length;
    const load = patternOf(ABOUT, setting).paced ? ` --load ${this.points.at(-1).load}` : "";
    const command = `multicube sim ${ABOUT.words} --traffic ${trafficWord(setting)}${load} --seed ${setting.seed} --warmup ${warmup} --cycles ${cycles}`;
    const changed = changes.length > 0;
    byId("command-says").textContent = changed ? "The network is changed here, so that no command line has these numbers." : "The same numbers, on the command line:";
    byId("command").hidden = changed;
    byId("command").replaceChildren(...unbroken(command));
    page.dirty = true;
  }
}

/** The traffic, as the command calls it. */
function trafficWord(setting) {
  const { word, hot } = patternOf(ABOUT, setting);
  return hot ? `hotspot:${setting.share}:${setting.target}${hot.rest}` : word;
}

/** The words of a command, which may be broken between them, but not at their hyphens. */
function unbroken(command) {
  return command.split(" ").flatMap((word, n) => [n ? " " : "", element("span", { class: "word" }, word)]);
}
