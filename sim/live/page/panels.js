"use strict";
// The panels: numbers of the present, plots, and what is inside the selected packet, box or link.

const byId = (id) => document.getElementById(id);

function element(name, attributes = {}, ...children) {
  const found = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) found.addEventListener(key.slice(2), value);
    else if (value !== null) found.setAttribute(key, value);
  }
  found.append(...children);
  return found;
}

const round = (value, digits = 3) => value === null || value === undefined || Number.isNaN(value)
  ? "–" : value.toFixed(digits);

/** What the counters say since the last change of traffic, and over the last cycles. */
class Statistics {
  constructor(about) {
    this.about = about;
    this.clear();
  }

  clear() {
    this.samples = [];
    this.base = null;
    this.histogram = null;
  }

  /** The traffic or the links have changed: count from here. */
  restart() {
    this.samples = this.samples.slice(-1);
    this.base = null;
  }

  add(frame) {
    if (frame.cycle < this.samples.at(-1)?.cycle) this.clear(); // it was restarted
    const last = this.samples.at(-1);
    if (!last || frame.cycle > last.cycle) this.samples.push({ cycle: frame.cycle, ...frame.counters });
    const now = this.samples.at(-1);
    const window = Math.max(128, Math.min(400, 6 * (this.latency ?? 10)));
    while (this.samples.length > 2 && this.samples[1].cycle <= now.cycle - window) this.samples.shift();
    if (frame.histogram) {
      this.base ??= frame.histogram;
      this.histogram = frame.histogram.map((count, bin) => count - this.base[bin]);
    }
    const first = this.samples[0], cycles = now.cycle - first.cycle;
    const per = (port, count) => cycles ? (now[port] - first[port]) / cycles / count : null;
    const arrived = now.delivered - first.delivered;
    this.cycles = cycles;
    this.offered = per("generated", this.about.sources);
    this.delivered = per("delivered", this.about.sources); // as `sim` has it
    this.latency = arrived ? (now.latency_sum - first.latency_sum) / arrived : null;
    this.inside = now.inside;
    this.waiting = now.generated - now.rejected - now.injected;
    const combined = Object.keys(now).find((name) => /^meter combined/.test(name));
    const referred = Object.keys(now).find((name) => /^meter referred/.test(name));
    const extra = "meter dropped" in now ? "meter dropped" : combined ?? referred ?? "rejected";
    this.extra = [extra === "rejected" ? "turned away" : extra.slice(6), now[extra]];
  }

  show() {
    byId("now-span").textContent = this.cycles ? `per terminal and cycle, last ${this.cycles} cycles` : "";
    byId("t-offered").textContent = round(this.offered);
    byId("t-delivered").textContent = round(this.delivered);
    byId("t-latency").textContent = round(this.latency, 1);
    byId("t-inside").textContent = this.inside;
    byId("t-waiting").textContent = this.waiting;
    byId("extra-name").textContent = this.extra[0];
    byId("t-extra").textContent = this.extra[1];
  }

  spoken(cycle) {
    return `Cycle ${cycle}: ${round(this.delivered)} packets delivered per terminal per cycle, ` +
      `mean latency ${round(this.latency, 1)} cycles, ${this.inside} packets in the network.`;
  }
}

/** A share of a histogram's counts: the least bin up to which so many are. */
function percentile(histogram, share) {
  const total = histogram.reduce((sum, count) => sum + count, 0);
  let sum = 0;
  for (let bin = 0; bin < histogram.length; bin++) {
    sum += histogram[bin];
    if (total && sum >= share * total) return bin;
  }
  return null;
}

/** The same as a text: all that is longer than the histogram is in its last bin. */
function percentileText(histogram, share) {
  const bin = percentile(histogram, share);
  return bin === null ? "–" : bin === histogram.length - 1 ? `${bin} or more` : String(bin);
}

// Plots

function surface(canvas) {
  const ratio = Math.min(window.devicePixelRatio || 1, 2);
  const { width, height } = canvas.getBoundingClientRect();
  if (canvas.width !== Math.round(width * ratio)) canvas.width = Math.round(width * ratio);
  if (canvas.height !== Math.round(height * ratio)) canvas.height = Math.round(height * ratio);
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = "11px system-ui, sans-serif";
  return { context, width, height };
}

function paintHistogram(canvas, statistics, theory, colours) {
  const { context: c, width, height } = surface(canvas);
  const counts = statistics.histogram;
  const total = counts ? counts.reduce((sum, count) => sum + count, 0) : 0;
  const text = byId("histogram-text");
  c.fillStyle = colours.soft;
  if (!total) {
    c.textAlign = "center";
    c.fillText("No packet has arrived since the last change", width / 2, height / 2);
    text.textContent = "";
    return;
  }
  const last = Math.max(12, percentile(counts, 0.995) * 1.15 + 2);
  const bars = Math.min(Math.ceil(last), 88), per = Math.ceil(last / bars);
  const sums = Array.from({ length: Math.ceil(last / per) }, (_, bar) => {
    let sum = 0;
    for (let bin = bar * per; bin < Math.min((bar + 1) * per, counts.length); bin++) sum += counts[bin];
    return sum;
  });
  const most = Math.max(...sums), base = height - 18, left = 2;
  const step = (width - left - 4) / sums.length;
  c.fillStyle = colours.queue;
  sums.forEach((sum, bar) => {
    const high = sum / most * (base - 14);
    c.fillRect(left + bar * step + 0.5, base - high, Math.max(1, step - 1), high);
  });
  c.strokeStyle = colours.faint;
  c.beginPath(); c.moveTo(left, base + 0.5); c.lineTo(width, base + 0.5); c.stroke();
  c.fillStyle = colours.soft;
  c.textAlign = "center";
  const tick = niceStep(sums.length * per / 5);
  for (let value = 0; value < sums.length * per; value += tick)
    c.fillText(value, Math.max(6, left + (value / per + 0.5) * step), height - 4);
  const mean = counts.reduce((sum, count, bin) => sum + count * bin, 0) / total;
  const mark = (value, colour, name, row) => {
    const x = left + (value / per + 0.5) * step;
    if (value === null || x > width) return;
    c.strokeStyle = c.fillStyle = colour;
    c.lineWidth = 1.6;
    c.setLineDash(row ? [4, 3] : []);
    c.beginPath(); c.moveTo(x, 10 + row * 12); c.lineTo(x, base); c.stroke();
    c.setLineDash([]);
    c.textAlign = x > width * 0.7 ? "right" : "left";
    c.fillText(name, x + (x > width * 0.7 ? -5 : 5), 10 + row * 12);
    c.lineWidth = 1;
  };
  mark(mean, colours.ink, `mean ${mean.toFixed(1)}`, 0);
  if (theory !== null) mark(theory, colours.old, `formula ${theory.toFixed(1)}`, 1);
  const [half, high] = [0.5, 0.99].map((share) => percentileText(counts, share));
  text.textContent = `${total} packets since the last change: half within ${half} cycles, 99 % within ${high}.`;
  canvas.setAttribute("aria-label", `Histogram of latencies. Mean ${mean.toFixed(1)} cycles. ${text.textContent}`);
}

function niceStep(rough) {
  const power = 10 ** Math.floor(Math.log10(Math.max(rough, 1)));
  return [1, 2, 5, 10].map((n) => n * power).find((step) => step >= rough) ?? rough;
}

function paintCurve(canvas, { which, theory, points, live, colours, uniform }) {
  const { context: c, width, height } = surface(canvas);
  const [left, right, top, base] = [34, width - 8, 10, height - 22];
  const values = theory[which].filter((value) => value !== null && uniform);
  const seen = points.map((point) => point[which]).filter((value) => value !== null);
  const minimum = seen.length ? Math.min(...seen) : values.length ? Math.min(...values) : live ?? 4;
  let most = which === "throughput" ? 1
    : Math.max(12, Math.min(Math.max(...seen, ...values, live?.[1] ?? 0), 6 * Math.max(minimum, 4))) * 1.1;
  if (!Number.isFinite(most)) most = 12;
  const x = (load) => left + load * (right - left), y = (value) => base - Math.min(6, value / most) * (base - top);
  c.strokeStyle = colours.faint;
  c.fillStyle = colours.soft;
  c.lineWidth = 1;
  c.textAlign = "right";
  const step = which === "throughput" ? 0.25 : niceStep(most / 4);
  for (let value = 0; value <= most; value += step) {
    c.globalAlpha = 0.6;
    c.beginPath(); c.moveTo(left, y(value) + 0.5); c.lineTo(right, y(value) + 0.5); c.stroke();
    c.globalAlpha = 1;
    c.fillText(which === "throughput" ? value.toFixed(2) : value, left - 6, y(value) + 4);
  }
  c.textAlign = "center";
  for (const load of [0, 0.25, 0.5, 0.75, 1]) c.fillText(load, x(load), height - 6);
  c.save();
  c.beginPath(); c.rect(left, top - 4, right - left + 6, base - top + 6); c.clip();
  if (which === "throughput") {
    c.setLineDash([2, 4]);
    c.strokeStyle = colours.soft;
    c.beginPath(); c.moveTo(x(0), y(0)); c.lineTo(x(1), y(1)); c.stroke();
    c.setLineDash([]);
  }
  if (uniform) {
    c.strokeStyle = colours.old;
    c.lineWidth = 2;
    c.setLineDash([5, 3]);
    c.beginPath();
    let open = false;
    theory.load.forEach((load, n) => {
      const value = theory[which][n];
      if (value === null) { open = false; return; }
      if (open) c.lineTo(x(load), y(value)); else c.moveTo(x(load), y(value));
      open = true;
    });
    c.stroke();
    c.setLineDash([]);
  }
  const shown = points.filter((point) => point[which] !== null);
  c.strokeStyle = c.fillStyle = colours.use;
  c.lineWidth = 2;
  c.beginPath();
  shown.forEach((point, n) => c[n ? "lineTo" : "moveTo"](x(point.load), y(point[which])));
  c.stroke();
  for (const point of shown) { c.beginPath(); c.arc(x(point.load), y(point[which]), 3, 0, 7); c.fill(); }
  if (live && live[1] !== null) {
    c.beginPath(); c.arc(x(live[0]), y(live[1]), 5.5, 0, 7);
    c.fillStyle = colours.follow; c.fill();
    c.lineWidth = 2; c.strokeStyle = colours.ink; c.stroke();
  }
  c.restore();
}

// Tags

/** The digits of a tag from the top, which is the first to be used. */
function tagDigits(about, value) {
  const found = [];
  for (const width of about.tags.widths) {
    found.unshift(value % 2 ** width);
    value = Math.floor(value / 2 ** width);
  }
  return found;
}

/** The tag as it was at the source, of a packet that has passed some boxes. */
function tagAtSource(about, value, hop) {
  const widths = [...about.tags.widths].reverse(); // by stage
  const total = widths.reduce((sum, width) => sum + width, 0);
  for (let n = hop - 1; n >= 0; n--) {
    const width = widths[n % widths.length];
    const low = value % 2 ** width;
    value = Math.floor(value / 2 ** width) + low * 2 ** (total - width);
  }
  return value;
}

/** The terminal that a packet goes to, or null if its tag does not tell. */
function destinationOf(about, packet, hop) {
  if ("payload.destination" in packet) return about.bench.addresses.indexOf(packet["payload.destination"]);
  const scheme = about.tags;
  if (!scheme || packet.tag === undefined || "mask" in packet) return null;
  if (!scheme.rotates) return scheme.routing === "destination" ? about.bench.addresses.indexOf(packet.tag) : null;
  if (hop < 0 || "operand" in packet || "value" in packet) return null;
  const digits = tagDigits(about, tagAtSource(about, packet.tag, hop));
  let address = 0;
  const source = packet["payload.source"] ?? 0;
  scheme.destination_digits.forEach((to, stage) => {
    let digit = digits[stage];
    if (scheme.routing !== "destination") {
      const from = scheme.source_digits[stage];
      const own = Math.floor(source / 2 ** scheme.source_code.places[from]) % 2 ** scheme.source_code.widths[from];
      digit = scheme.routing === "xor" ? digit ^ own
        : (digit + own) % [...scheme.radices].reverse()[stage];
    }
    address += digit * 2 ** scheme.code.places[to];
  });
  const found = about.bench.addresses.indexOf(address);
  return found < 0 ? null : found;
}

function tagElement(about, value, hop) {
  const digits = tagDigits(about, about.tags.rotates && hop > 0 ? tagAtSource(about, value, hop) : value);
  return element("span", { class: "tag", role: "img",
    "aria-label": `Tag ${digits.join(" ")}${about.tags.rotates && hop < digits.length && hop >= 0 ? `, next digit ${digits[hop]}` : ""}` },
  ...digits.map((digit, n) => element("span", {
    class: !about.tags.rotates || hop < 0 ? "" : n < hop ? "done" : n === hop ? "next" : "",
  }, String(digit))));
}
