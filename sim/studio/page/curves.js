"use strict";
// Curves: latency and throughput against load, which grow while the sweeps run, beside formulas.

const SERIES = [["#0072b2", "circle"], ["#d55e00", "square"], ["#009e73", "diamond"], ["#cc79a7", "triangle"], ["#e69f00", "circle"], ["#56b4e9", "square"]];
const PLOT = { width: 420, height: 270, left: 46, right: 10, top: 12, bottom: 40 };

/** A round step, of which about `count` make up the whole. */
function stepOf(whole, count) {
  const power = 10 ** Math.floor(Math.log10(whole / count));
  return [1, 2, 5, 10].map((n) => n * power).find((step) => step >= whole / count);
}

function marker(shape, [x, y], colour, size = 4) {
  const path = {
    circle: `M${x - size},${y}a${size},${size} 0 1 0 ${2 * size},0a${size},${size} 0 1 0 ${-2 * size},0`,
    square: `M${x - size},${y - size}h${2 * size}v${2 * size}h${-2 * size}z`,
    diamond: `M${x},${y - size - 1}l${size + 1},${size + 1}l${-size - 1},${size + 1}l${-size - 1},${-size - 1}z`,
    triangle: `M${x},${y - size}l${size},${2 * size}h${-2 * size}z`,
  }[shape];
  return drawn("path", { d: path, fill: colour, class: "point" });
}

class Curves {
  constructor(work) {
    this.work = work;
    this.curves = [];
    this.begun = 0;
  }

  /** Sweep a network: its curve takes the place of an earlier one of the same network and traffic. */
  async sweep(network, request) {
    const { traffic } = request.options, name = traffic ? `${network}, ${traffic}` : network;
    const before = this.curves.findIndex((curve) => curve.name === name);
    const number = before < 0 ? this.begun++ : this.curves[before].number;
    const [colour, shape] = SERIES[number % SERIES.length];
    const curve = { name, network, number, colour, shape, points: [], state: "", task: null, what: `sweep ${name}`,
      options: Object.entries(request.options).map(([option, value]) => `${quoted(`--${option}=${value}`)} `).join("") };
    if (before < 0) this.curves.push(curve);
    else {
      this.work.stopAll(curve.what);
      this.curves[before] = curve;
    }
    this.show();
    try {
      const seen = (task) => {
        if (task.points.length !== curve.points.length || task.state !== curve.state) {
          Object.assign(curve, { points: task.points, state: task.state, task });
          this.show();
        }
        Object.assign(curve, { far: farness({ ...task, words: "loads" }) });
        this.tell(curve);
      };
      await this.work.run("sweep", request, { what: curve.what, words: "loads", seen });
    } catch (error) {
      curve.state = "failed";
      this.show();
      throw error;
    }
  }

  remove(curve) {
    this.work.stopAll(curve.what);
    this.curves = this.curves.filter((each) => each !== curve);
    this.show();
  }

  show() {
    byId("swept").hidden = !this.curves.length;
    byId("legend").replaceChildren(...this.curves.map((curve) => this.entry(curve)));
    byId("plots").replaceChildren(this.plot("latency", "mean latency, cycles"), this.plot("throughput", "packets delivered per terminal and cycle"));
    byId("numbers").replaceChildren(...this.curves.flatMap(({ name, points }) => points.map(({ load, throughput, latency, predicted, saturated }) =>
      element("tr", { "data-network": name }, ...[name, load, throughput, predicted.throughput ?? "", latency, predicted.latency ?? "", { true: "saturated", false: "", null: "undecided" }[saturated]]
        .map((value) => element("td", {}, typeof value === "number" ? String(Number(value.toPrecision(5))) : value ?? "–"))))));
    const kept = this.curves.filter(({ state }) => state !== "failed");
    const names = kept.map(({ network }) => quoted(network)), options = new Set(kept.map(({ options }) => options));
    byId("compare").hidden = names.length < 2 || options.size > 1;
    byId("compare-command").textContent = `multicube compare ${names.join(" ")} ${[...options].join("")}-o all.svg`;
  }

  tell({ number, far, state }) {
    const text = document.querySelector(`#legend [data-number="${number}"] .far`);
    if (text) text.textContent = state === "waiting" || state === "running" ? far : "";
  }

  entry(curve) {
    const { name, number, colour, shape, state, task } = curve, ended = { done: "", failed: "failed", cancelled: "stopped" }[state];
    const links = (task?.files ?? []).filter((file) => file.startsWith("sweep.")).map((file) =>
      element("a", { href: `tasks/${task.key}/files/${file}?download`, download: file, title: task.command }, file.slice(6).toUpperCase()));
    return element("li", { "data-number": number }, drawn("svg", { width: 16, height: 14, "aria-hidden": "true" }, marker(shape, [8, 7], colour)),
      element("b", {}, name), element("span", { class: "soft" }, [curve.points.length ? `${curve.points.length} loads` : "", ended ?? ""].filter(Boolean).join(", ")),
      element("span", { class: "far soft" }), ...links,
      element("button", { type: "button", onclick: () => this.remove(curve), "aria-label": `Remove the curve of ${name}` }, "Remove"));
  }

  plot(which, title) {
    const { width, height, left, right, top, bottom } = PLOT;
    const values = this.curves.flatMap(({ points }) => points.map((point) => point[which]).filter((value) => value !== null));
    const least = Math.min(...values, Infinity);
    const most = which === "throughput" ? Math.max(0.1, ...values) * 1.08 : Number.isFinite(least) ? Math.min(Math.max(...values), 8 * Math.max(least, 2)) * 1.08 : 10;
    const far = Math.max(0.1, ...this.curves.flatMap(({ points }) => points.map(({ load }) => load)));
    const x = (load) => left + load / far * (width - left - right), y = (value) => height - bottom - value / most * (height - top - bottom);
    const parts = [], text = (content, at, anchor) => drawn("text", { x: at[0], y: at[1], "text-anchor": anchor }, content);
    for (let value = 0, step = stepOf(most, 5); value <= most; value += step)
      parts.push(drawn("path", { class: "grid", d: `M${left},${y(value)}H${width - right}` }), text(String(Number(value.toPrecision(3))), [left - 6, y(value) + 4], "end"));
    for (let value = 0, step = stepOf(far, 5); value <= far + 1e-9; value += step)
      parts.push(text(String(Number(value.toPrecision(3))), [x(value), height - bottom + 16], "middle"));
    parts.push(text("offered load", [(left + width - right) / 2, height - 6], "middle"));
    const inside = drawn("svg", { x: 0, y: 0, width, height: height - bottom + 5, viewBox: `0 0 ${width} ${height - bottom + 5}`, overflow: "hidden" });
    const line = (points) => points.map((point, n) => `${n ? "L" : "M"}${point.map((value) => value.toFixed(1)).join(",")}`).join("");
    for (const { name, points, colour, shape } of this.curves) {
      const measured = points.filter((point) => point[which] !== null).map((point) => [x(point.load), y(point[which])]);
      const formula = points.filter(({ predicted }) => predicted[which] !== null).map(({ load, predicted }) => [x(load), y(predicted[which])]);
      inside.append(drawn("path", { class: "curve", d: line(measured), stroke: colour, "data-network": name }), ...measured.map((at) => marker(shape, at, colour)),
        drawn("path", { class: "formula", d: line(formula), "data-network": name }));
    }
    const said = this.curves.map(({ name, points }) => `${name}: ${points.length} loads`).join("; ");
    return element("figure", {}, element("figcaption", {}, title), drawn("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "data-which": which, "aria-label": `${title} against load. ${said}` }, ...parts, inside));
  }
}
