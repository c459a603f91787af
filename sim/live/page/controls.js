"use strict";
// What the user does: buttons, fields, mouse, fingers and keys.

class Controls {
  constructor(page) {
    this.page = page;
    this.drawing = page.drawing;
  }

  connect() {
    const { page } = this, { laboratory, lessons } = page;
    const on = (id, event, act) => byId(id).addEventListener(event, act);
    on("run", "click", () => page.running ? page.pause() : page.run());
    on("step", "click", () => page.step());
    on("reset", "click", () => { page.pause(); page.restart(); });
    on("speed", "input", (event) => page.setSpeed(Number(event.target.value)));
    on("load", "input", (event) => page.change({ load: Number(event.target.value) }));
    on("pattern", "change", (event) => page.change({ pattern: event.target.value }));
    on("share", "input", (event) => page.change({ share: Number(event.target.value) }));
    const number = (event, most) => Math.max(0, Math.min(most, Math.floor(Number(event.target.value)) || 0));
    on("target", "change", (event) => page.change({ target: number(event, ABOUT.sinks - 1) }));
    on("seed", "change", (event) => page.change({ seed: number(event, 2 ** 32 - 1) }));
    on("mend", "click", () => page.mend());
    on("measure", "click", () => {
      if (laboratory.remote) laboratory.stop();
      else laboratory.measure([0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95]);
    });
    on("measure-one", "click", () => laboratory.measure([page.setting.load]));
    on("theme", "click", () => page.setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
    on("help", "click", () => byId("keys").showModal());
    for (const which of ["latency", "throughput"])
      on(`tab-${which}`, "click", () => {
        laboratory.which = which;
        for (const each of ["latency", "throughput"]) byId(`tab-${each}`).setAttribute("aria-selected", String(each === which));
        laboratory.showCurve();
      });
    on("lesson", "change", (event) => lessons.open(event.target.value));
    on("lesson-next", "click", () => lessons.show(lessons.current.at + 1));
    on("lesson-back", "click", () => lessons.show(lessons.current.at - 1));
    on("larger", "click", () => this.drawing.zoom(1.3, this.drawing.wide / 2, this.drawing.high / 2));
    on("smaller", "click", () => this.drawing.zoom(1 / 1.3, this.drawing.wide / 2, this.drawing.high / 2));
    on("whole", "click", () => this.drawing.fit());
    new ResizeObserver(() => { this.drawing.resize(); page.dirty = true; }).observe(byId("canvas"));
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
    if (found?.what === "packet") this.page.follow(found.dot.flit);
    else this.page.select(found);
  }

  key(event) {
    const { page } = this;
    if (event.ctrlKey || event.metaKey || event.altKey || byId("keys").open) return;
    const { target } = event;
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName);
    const pressed = event.key;
    const { selected } = this.drawing;
    const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    if (target.id === "canvas" && arrows[pressed]) {
      const index = this.drawing.neighbour(selected?.what === "node" ? selected.index : null, ...arrows[pressed]);
      page.select({ what: "node", index });
      page.say(`${this.drawing.nodes[index].name} selected.`);
    } else if (target.id === "canvas" && pressed === "Enter" && !byId("inspector").hidden) {
      byId("inspect-close").focus();
    } else if (typing && !(target.type === "range" && /^[a-z.[\]=\- ]$/.test(pressed))) return;
    else if (pressed === " " && target.tagName !== "BUTTON") { if (page.running) page.pause(); else page.run(); }
    else if (pressed === ".") page.step();
    else if (pressed === "r") { page.pause(); page.restart(); }
    else if (pressed === "[") page.setSpeed(page.speedIndex - 1);
    else if (pressed === "]") page.setSpeed(page.speedIndex + 1);
    else if (pressed === "-") page.change({ load: Math.max(0, Math.round(page.setting.load * 20 - 1) / 20) });
    else if (pressed === "=" || pressed === "+") page.change({ load: Math.min(1, Math.round(page.setting.load * 20 + 1) / 20) });
    else if (pressed === "f") page.followAny();
    else if (pressed === "b" && selected) {
      if (selected.what === "node") page.breakNode(selected.index, !this.drawing.isDeadNode(this.drawing.nodes[selected.index]));
      else page.breakLine(selected.index, !this.drawing.isDead(this.drawing.lines[selected.index]));
    } else if (pressed === "Escape") { page.followNothing(); page.select(null); }
    else if (pressed === "0") this.drawing.fit();
    else if (pressed === "t") page.setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
    else return;
    event.preventDefault();
  }
}
