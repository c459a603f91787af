"use strict";
// The workbench: forms from the catalogue, and tasks of the server, each of which is a command.

const byId = (id) => document.getElementById(id);

function element(name, attributes = {}, ...children) {
  const found = document.createElement(name);
  for (const [key, value] of Object.entries(attributes))
    if (key.startsWith("on")) found.addEventListener(key.slice(2), value); else found.setAttribute(key, value);
  found.append(...children);
  return found;
}

async function asked(path, options) {
  const response = await fetch(path, options);
  const found = await response.json();
  if (!response.ok) throw new Error(found.error);
  return found;
}

class Studio {
  constructor() { this.running = new Set(); }

  async start() {
    this.networks = (await asked("catalogue")).networks.filter(({ preset }) => !preset);
    byId("network").append(...this.networks.map(({ name }) => element("option", { value: name }, name)));
    byId("network").addEventListener("change", () => this.choose());
    byId("form").addEventListener("submit", (event) => { event.preventDefault(); this.show(); });
    byId("stop").addEventListener("click", () => this.stop());
    byId("sweep").addEventListener("click", () => this.sweep());
    byId("file").addEventListener("change", ({ target }) => {
      const [file] = target.files;
      target.value = ""; // it may be chosen again
      this.take(file);
    });
    for (const kind of ["dragover", "drop"]) byId("form").addEventListener(kind, (event) => event.preventDefault());
    byId("form").addEventListener("drop", ({ dataTransfer }) => this.take(dataTransfer.files[0]));
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
        element("small", {}, [limits, description].filter(Boolean).join(": ")));
    }));
  }

  /** A graph of a file that is chosen or dropped: it is a network of its own. */
  async take(file) {
    if (!file) return;
    byId("error").textContent = "";
    try {
      const { path } = await asked(`files?name=${encodeURIComponent(file.name)}`, { method: "POST", body: file });
      byId("network").value = "graph";
      this.choose();
      byId("parameters").querySelector("input[name=file]").value = path;
      await this.show();
    } catch (error) { this.fail(error); }
  }

  get request() {
    const parameters = {};
    for (const input of byId("parameters").querySelectorAll("input")) if (input.value.trim()) parameters[input.name] = input.value.trim();
    return { network: this.chosen.name, parameters };
  }

  /** A task from its start to its end; null if it was cancelled. */
  async run(kind, request) {
    let task = await asked("tasks", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ kind, ...request }) });
    this.running.add(task.key);
    try {
      while (task.state === "waiting" || task.state === "running") {
        this.tell(`${task.command}: ${task.state}, ${task.seconds.toFixed(0)} s`);
        await new Promise((done) => setTimeout(done, 250));
        task = await asked(`tasks/${task.key}`);
      }
    } finally {
      this.running.delete(task.key);
      if (!this.running.size) this.tell("");
    }
    if (task.state === "failed") throw new Error(task.error);
    return task.state === "done" ? task : null;
  }

  tell(text) {
    byId("state").textContent = text;
    byId("stop").hidden = !text;
  }

  stop() { for (const key of this.running) asked(`tasks/${key}`, { method: "DELETE" }); }

  fail(error) { byId("error").textContent = error.message; }

  address(task, name) { return `tasks/${task.key}/files/${name}`; }

  /** The drawing at once, the verdict, and then the page in which it runs. */
  async show() {
    this.stop();
    const { request } = this, shown = this.shown = {};
    for (const id of ["verdict", "away", "swept"]) byId(id).hidden = true;
    byId("error").textContent = "";
    byId("picture").replaceChildren();
    byId("files").replaceChildren();
    const current = (task) => task !== null && this.shown === shown;
    try {
      const drawing = await this.run("drawing", request);
      if (!current(drawing)) return;
      byId("picture").replaceChildren(element("img", { src: this.address(drawing, "network.svg"), alt: `Drawing of ${drawing.command.split(" ").slice(2, -2).join(" ")}` }));
      this.offer(drawing, "network.svg", "SVG");
      byId("command").textContent = drawing.command;
      byId("away").hidden = false;
      const [page, cycle] = await Promise.all([this.run("page", request), this.check(request, current)]);
      if (!current(page)) return;
      await this.embed(page, cycle);
      this.offer(page, "network.html", "page");
      byId("command").textContent = page.command;
      const verilog = await this.run("verilog", request);
      if (!current(verilog)) return;
      this.offer(verilog, "network.v", "Verilog");
      this.offer(verilog, "network.v.json", "ports as JSON");
      shown.complete = true;
    } catch (error) { if (this.shown === shown) this.fail(error); }
  }

  /** The verdict on deadlock; the cycle, if there is one. A network without routing has none. */
  async check(request, current) {
    const verdict = byId("verdict");
    try {
      const task = await this.run("deadlock", request);
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
    while (frame.contentDocument?.documentElement?.dataset.ready !== "true") await new Promise((done) => setTimeout(done, 50));
    const { drawing } = frame.contentWindow.multicube, { name } = drawing.about.bench.channels;
    drawing.marked = cycle.map((pin) => name.indexOf(pin)).filter((channel) => channel >= 0);
  }

  offer(task, name, text) {
    byId("files").append(element("a", { href: `${this.address(task, name)}?download`, download: name, title: task.command }, text));
  }

  async sweep() {
    byId("error").textContent = "";
    try {
      const task = await this.run("sweep", this.request);
      if (!task) return;
      byId("swept").hidden = false;
      byId("curve").replaceChildren(element("img", { src: this.address(task, "sweep.svg"), alt: "Latency and throughput against load" }));
      byId("sweep-command").textContent = task.command;
    } catch (error) { this.fail(error); }
  }
}

window.studio = new Studio();
window.studio.start().catch((error) => window.studio.fail(error));
