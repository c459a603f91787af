"use strict";
// The workbench: forms from the catalogue, and what the server does with a network.

class Studio {
  constructor() {
    this.work = new Work();
    this.curves = new Curves(this.work);
  }

  async start() {
    this.networks = (await asked("catalogue")).networks.filter(({ preset }) => !preset);
    byId("network").append(...this.networks.map(({ name }) => element("option", { value: name }, name)));
    const on = (id, kind, act) => byId(id).addEventListener(kind, act);
    on("network", "change", () => this.choose());
    on("form", "submit", (event) => { event.preventDefault(); this.show(); });
    on("sweep", "click", () => this.sweep());
    on("file", "change", ({ target }) => {
      const [file] = target.files;
      target.value = ""; // it may be chosen again
      this.take(file);
    });
    for (const kind of ["dragover", "drop"]) document.addEventListener(kind, (event) => event.preventDefault());
    document.addEventListener("drop", ({ dataTransfer }) => this.take(dataTransfer.files[0]));
    this.sketch = new Sketch((file) => this.take(file));
    on("draw", "click", () => {
      const open = byId("sketch").hidden;
      byId("sketch").hidden = !open;
      byId("draw").setAttribute("aria-expanded", String(open));
      if (open) byId("sketch-node").focus();
    });
    this.choose();
    history.replaceState(null, "", location.pathname); // the token is in a cookie now
    document.documentElement.dataset.ready = "true";
  }

  get chosen() { return this.networks.find(({ name }) => name === byId("network").value); }

  /** A field for each parameter, with its limits and meaning, as `multicube list` has them. */
  choose() {
    byId("about").textContent = this.chosen.description;
    byId("parameters").replaceChildren(...this.chosen.parameters.map(({ name, default: usual, least, most, choices, description }) => {
      const limits = [choices.join(", "), least === null ? "" : most === null ? `${least} or more` : `${least} to ${most}`].filter(Boolean).join("; ");
      return element("label", { class: "field" }, element("span", {}, name),
        element("input", { name, placeholder: usual === null ? "" : String(usual), autocomplete: "off", spellcheck: "false" }),
        element("small", {}, [limits, description].filter(Boolean).join(" · ")));
    }));
  }

  /** A graph of a file that is chosen, dropped or drawn by hand: it is a network of its own. */
  async take(given) {
    if (!given) return;
    this.fail(null);
    try {
      const { file } = await asked(`files?name=${encodeURIComponent(given.name)}`, { method: "POST", body: given });
      byId("network").value = "graph";
      this.choose();
      byId("parameters").querySelector("input[name=file]").value = file;
      await this.show();
    } catch (error) { this.fail(error); }
  }

  get request() {
    const parameters = {};
    for (const input of byId("parameters").querySelectorAll("input")) if (input.value.trim()) parameters[input.name] = input.value.trim();
    return { network: this.chosen.name, parameters };
  }

  /** The words of a network, as curves and the command have them. */
  nameOf({ network, parameters }) {
    return [network, ...Object.entries(parameters).map(([name, value]) => `${name}=${value}`)].join(" ");
  }

  tell(text) { byId("state").textContent = text; }

  fail(error) {
    byId("error").textContent = error ? error.message : "";
    if (!error) return;
    this.tell("");
    this.turnTo("form", "end");
  }

  /** On a small screen what is asked for is below the form. */
  turnTo(id, block = "start") { if (matchMedia("(max-width: 760px)").matches) byId(id).scrollIntoView({ block }); }

  address(task, name) { return `tasks/${task.key}/files/${name}`; }

  /** The drawing at once, the verdict, and then the page in which it runs. */
  async show() {
    this.work.stopAll("network");
    const { request, work } = this, shown = this.shown = { request };
    for (const id of ["verdict", "away"]) byId(id).hidden = true;
    this.fail(null);
    byId("picture").replaceChildren();
    byId("files").replaceChildren();
    const current = (task) => task !== null && this.shown === shown;
    const ask = (kind) => work.run(kind, request, { what: "network" });
    this.tell(`Showing ${this.nameOf(request)}.`);
    this.turnTo("main");
    try {
      const drawing = await ask("drawing");
      if (!current(drawing)) return this.stopped(shown);
      byId("picture").replaceChildren(element("img", { src: this.address(drawing, "network.svg"), alt: `Drawing of ${this.nameOf(request)}` }));
      this.offer(drawing, "network.svg", "SVG");
      const graph = request.parameters.file;
      if (drawing.files.includes(graph)) this.offer(drawing, graph, "graph file");
      byId("command").textContent = drawing.command;
      byId("away").hidden = false;
      const [page, cycle] = await Promise.all([ask("page"), this.check(ask, current)]);
      if (!current(page)) return this.stopped(shown);
      await this.embed(page, cycle);
      this.offer(page, "network.html", "page");
      byId("command").textContent = page.command;
      const verilog = await ask("verilog");
      if (!current(verilog)) return this.stopped(shown);
      this.offer(verilog, "network.v", "Verilog");
      this.offer(verilog, "network.v.json", "ports as JSON");
      shown.complete = true;
      this.tell(`${this.nameOf(request)} is complete.`);
    } catch (error) { if (this.shown === shown) this.fail(error); }
    return undefined;
  }

  /** Somebody has pressed Stop, or another network has been asked for. */
  stopped(shown) {
    if (this.shown !== shown) return;
    shown.stopped = true;
    this.work.stopAll("network");
    this.tell("Stopped.");
  }

  /** The verdict on deadlock; the cycle, if there is one. A network without routing has none. */
  async check(ask, current) {
    const verdict = byId("verdict");
    try {
      const task = await ask("deadlock");
      if (!current(task)) return [];
      const { free, cycle, channels } = JSON.parse(task.output);
      verdict.className = cycle ? "bad" : "";
      verdict.textContent = cycle ? `It can deadlock: ${cycle.length - 1} channels wait for each other in a cycle, which is marked.`
        : free ? `Free of deadlock: no cycle among ${channels} channels.` : "No cycle of channels; broadcasts were not examined.";
      verdict.hidden = false;
      return cycle ?? [];
    } catch (error) {
      verdict.className = "";
      verdict.textContent = error.message.replace(/^multicube: /, "");
      verdict.hidden = false;
      return [];
    }
  }

  async embed(page, cycle) {
    const frame = element("iframe", { src: this.address(page, "network.html"), title: "The network, running" });
    byId("picture").replaceChildren(frame);
    while (frame.isConnected && frame.contentDocument?.documentElement?.dataset.ready !== "true") await new Promise((done) => setTimeout(done, 50));
    if (!frame.isConnected) return;
    const { drawing } = frame.contentWindow.multicube, { name } = drawing.about.bench.channels;
    drawing.marked = cycle.map((pin) => name.indexOf(pin)).filter((channel) => channel >= 0);
  }

  offer(task, name, text) {
    byId("files").append(element("a", { href: `${this.address(task, name)}?download`, download: name, title: task.command }, text));
  }

  /** Sweep the network of the form; its curve grows beside those of others. */
  async sweep() {
    this.fail(null);
    const { request } = this, options = {};
    for (const input of byId("sweep-options").querySelectorAll("input")) if (input.value.trim()) options[input.name] = input.value.trim();
    const sweep = this.curves.sweep(this.nameOf(request), { ...request, options });
    this.turnTo("swept");
    try { await sweep; } catch (error) { this.fail(error); }
  }
}

window.studio = new Studio();
window.studio.start().catch((error) => window.studio.fail(error));
