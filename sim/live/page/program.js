"use strict";
// The program of a parallel computer: its lines with the cores that are there, and what they print.

/** An address, or an instruction. */
const hex = (value) => `0x${value.toString(16).padStart(8, "0")}`;

/** What was printed byte by byte, in UTF-8. */
const fromBytes = (text) => new TextDecoder().decode(Uint8Array.from(text, (byte) => byte.charCodeAt(0)));

class Program {
  constructor(page) {
    this.page = page;
    this.core = 0;
    const { cores, source } = ABOUT.program;
    byId("program-card").hidden = false;
    byId("step-line").hidden = false;
    byId("step-line").onclick = () => this.stepLine();
    byId("core").append(...cores.map((_, n) => element("option", { value: n }, `core ${n}`)));
    byId("core").onchange = (event) => { this.core = Number(event.target.value); this.show(); this.scroll(); };
    this.rows = source.map((text, n) => element("li", { id: `line-${n + 1}` },
      element("span", { class: "at" }), element("code", {}, text || " ")));
    byId("listing").replaceChildren(...this.rows);
    this.clear();
  }

  clear() {
    this.texts = [];
    this.frame = null;
    this.told = false;
    byId("console").replaceChildren();
  }

  /** What a frame tells; the page pauses when the program has ended. */
  take(frame) {
    this.frame = frame;
    for (const [core, cycle, text] of frame.printed) {
      const last = this.texts.findLast((each) => each.core === core && !each.ended);
      if (text === "\n") { (last ?? this.add(core, cycle)).ended = true; continue; }
      (last ?? this.add(core, cycle)).text += text;
    }
    if (frame.over && !this.told) {
      this.told = true;
      this.page.pause();
      this.page.say(this.verdict());
    }
  }

  add(core, cycle) {
    const line = { core, cycle, text: "", ended: false };
    this.texts.push(line);
    return line;
  }

  /** How the program has ended. */
  verdict() {
    const { trapped, done, ended, result } = this.frame;
    if (trapped.some((each) => each)) return this.fault();
    if (!done.every((each) => each)) return "";
    const wrong = result.findIndex((each) => each | 0);
    const cycles = 1 + Math.max(...ended);
    return wrong >= 0 ? `Core ${wrong} returned ${result[wrong] | 0}, after ${cycles} cycles.` : `All cores have ended, after ${cycles} cycles.`;
  }

  /** The first exception of any core, in the words of the command. */
  fault() {
    const { trapped, ended, result, fault, lines, pc } = this.frame;
    const cores = [...trapped.keys()].filter((each) => trapped[each]);
    const core = cores.reduce((first, each) => ended[each] < ended[first] ? each : first);
    const [, , , text] = ABOUT.program.causes.find(([cause, begin, end]) =>
      cause === result[core] && begin <= fault[core] && fault[core] < end) ?? [, , , `exception ${result[core]}`];
    const place = lines[core] ? `line ${lines[core]}` : `address ${hex(pc[core])}`;
    return `Core ${core}, cycle ${ended[core]}, ${place}: ${text.replace("{value}", hex(fault[core]))}.`;
  }

  /** Until the chosen core is at another line. */
  async stepLine() {
    this.page.pause();
    await this.page.advance(0, { core: this.core });
    this.page.phase = 1;
    this.page.show();
    this.scroll();
  }

  /** Until the chosen core is at a line, or the program has ended. */
  async goTo(line) {
    await this.page.advance(0, { core: this.core, line });
    this.show();
    this.scroll();
  }

  scroll() {
    const line = this.frame?.lines[this.core];
    const row = line ? this.rows[line - 1] : null;
    if (row) byId("listing").scrollTop = row.offsetTop - byId("listing").clientHeight / 2;
  }

  show() {
    if (!this.frame) return;
    const { lines, done, trapped, pc, instructions } = this.frame;
    const here = new Map();
    lines.forEach((line, core) => { if (line && !done[core] || trapped[core]) here.set(line, [...here.get(line) ?? [], core]); });
    this.rows.forEach((row, n) => {
      const cores = here.get(n + 1) ?? [];
      row.className = cores.length ? (cores.includes(this.core) ? "here chosen" : "here") : "";
      row.firstChild.textContent = cores.length > 4 ? `${cores.length} cores` : cores.join(" ");
      row.firstChild.title = cores.length ? `cores ${cores.join(", ")}` : "";
    });
    const state = trapped[this.core] ? "stopped by an exception" : done[this.core] ? "ended"
      : lines[this.core] ? `line ${lines[this.core]}` : "in the runtime";
    byId("core-state").textContent = `${state}, address ${hex(pc[this.core])}, ${instructions[this.core]} instructions`;
    byId("console").replaceChildren(...this.texts.slice(-200).map(({ core, cycle, text }) =>
      element("li", { title: `cycle ${cycle}` }, element("span", { class: "soft" }, `core ${core}: `), fromBytes(text))));
    byId("program-end").textContent = this.frame.over ? this.verdict() : "";
  }
}
