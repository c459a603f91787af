"use strict";
// The inspector: what is inside the selected node, what a link has carried, and where a packet is.

const inCycles = (count) => `${count} cycle${count === 1 ? "" : "s"}`;

class Inspector {
  constructor(page) {
    this.page = page;
    this.drawing = page.drawing;
    this.shown = "";
  }

  show() {
    const { page } = this;
    const card = byId("inspector"), { selected } = this.drawing;
    const key = page.followed ? "follow" : selected ? `${selected.what} ${selected.index}` : "";
    if (!key) { card.hidden = true; card.replaceChildren(); this.shown = ""; return; }
    const focus = card.contains(document.activeElement) ? document.activeElement.id : null;
    card.hidden = false;
    const close = element("button", { type: "button", class: "close", id: "inspect-close", "aria-label": "Close",
      onclick: () => { page.followNothing(); page.select(null); byId("canvas").focus(); } }, "✕");
    const parts = page.followed ? this.followParts(page.followed, page.moment) : selected.what === "node" ? this.nodeParts(selected.index) : this.lineParts(selected.index);
    card.replaceChildren(close, ...parts);
    if (focus) byId(focus)?.focus();
    if (this.shown !== key) { card.parentElement.scrollTop = 0; this.shown = key; }
  }

  endName([what, index]) {
    return what === "node" ? this.drawing.nodes[index].name : `${this.drawing.terminals[index].kind} ${this.drawing.terminals[index].number}`;
  }

  followParts(followed, moment) {
    const { page } = this, { packet, to, worm } = followed;
    const from = packet["payload.source"] === undefined ? undefined : ABOUT.bench.source_addresses.indexOf(packet["payload.source"]);
    const title = from !== undefined ? to !== null && to !== undefined ? `Packet ${from} → ${to}` : `Packet from ${from}`
      : typeof followed.key === "number" ? "Packet" : followed.key[0].toUpperCase() + followed.key.slice(1);
    const parts = [element("h2", { id: "follow-title" }, title)];
    if (followed.exit?.what === "node") {
      const name = this.drawing.nodes[followed.exit.index].name, combined = !this.drawing.endsAt(this.lastFlit(followed));
      parts.push(element("p", { class: "soft small", id: "follow-end" }, `${combined ? "Combined with another request in" : "Taken by"} ${name} in cycle ${followed.done}.`));
    }
    const birth = packet["payload.birth"];
    if (birth !== undefined)
      parts.push(element("p", { class: "soft small", id: "follow-age" }, followed.done !== undefined
        ? `Born in cycle ${birth}, delivered in cycle ${followed.done}: a latency of ${inCycles(followed.done - birth)}.`
        : `Born in cycle ${birth}, ${inCycles(moment.cycle - birth)} ago.`));
    if (ABOUT.tags && packet.tag !== undefined) {
      parts.push(element("h3", {}, ABOUT.tags.rotates ? `Routing tag (${ABOUT.tags.routing}): a digit for each stage` : "Routing tag: the destination, digit by digit"));
      parts.push(tagElement(ABOUT, packet.tag, followed.hop));
    }
    if ("operand" in packet) parts.push(element("p", { class: "small" }, `${ABOUT.operations[packet.operation]} on row ${packet.address}, operand ${packet.operand}`));
    if ("value" in packet) parts.push(element("p", { class: "small" }, `value ${packet.value}`));
    if (worm && followed.done === undefined) parts.push(...this.wormParts(worm));
    const list = element("ol", { class: "way", id: "way" }, ...followed.way.map((step) => {
      const line = this.drawing.lines[step.line];
      const waited = (step.crossed ?? moment.cycle) - step.since;
      const text = step.crossed === null ? `offered by ${this.endName(line.source)} to ${this.endName(line.target)}${waited ? ` for ${inCycles(waited)}` : ""}`
        : `cycle ${step.crossed}: ${this.endName(line.source)} → ${this.endName(line.target)}${waited ? `, after ${inCycles(waited)} of waiting` : ""}`;
      return element("li", {}, text);
    }));
    parts.push(element("h3", {}, "Way"), list);
    parts.push(element("div", { class: "row" }, element("button", { type: "button", id: "follow-other",
      onclick: () => page.followAny() }, "Follow another")));
    setTimeout(() => { list.scrollTop = list.scrollHeight; });
    return parts;
  }

  lastFlit({ way }) {
    const { channel, line } = way.at(-1);
    return { channel, line: this.drawing.lines[line] };
  }

  /** The followed packet and its tag in one line, beside the drawing on a small screen. */
  stripParts() {
    const { followed } = this.page;
    if (!followed) return [];
    const from = ABOUT.bench.source_addresses.indexOf(followed.packet["payload.source"]);
    const parts = [element("b", {}, from < 0 ? followed.key : `${from} → ${followed.to ?? "?"}`)];
    if (ABOUT.tags && followed.packet.tag !== undefined) parts.push(tagElement(ABOUT, followed.packet.tag, followed.hop));
    if (followed.done !== undefined) parts.push(element("span", {}, "delivered"));
    return parts;
  }

  /** The flits of a worm, the channels that it holds, and for whom it waits. */
  wormParts(worm) {
    const { page, drawing } = this, nodes = new Map();
    for (const { queue } of worm.flits) {
      const name = drawing.nodes[drawing.nodeOfQueue[queue]].name;
      nodes.set(name, (nodes.get(name) ?? 0) + 1);
    }
    const where = [...nodes].map(([name, count]) => `${count} at ${name}`);
    if (worm.arrived) where.unshift(`${worm.sent - worm.flits.length} delivered`);
    if (!worm.entire) where.push("the tail is still in its source");
    const parts = [element("h3", {}, "Flits, from the head on"), element("p", { class: "small", id: "worm-flits" }, where.join(", "))];
    if (worm.holds.length)
      parts.push(element("h3", {}, "Holds"), element("ol", { class: "way", id: "worm-holds" }, ...worm.holds.map((channel) => element("li", {}, this.channelName(channel)))));
    const { waits } = worm;
    if (waits) {
      const why = { queue: "which is before it in the queue behind", link: "which holds", room: "which fills the queue behind" }[waits.why];
      const other = page.worms.byKey.get(waits.key);
      parts.push(element("p", { class: "small", id: "worm-waits" }, "Waits for ", this.wormButton(other), `, ${why} ${this.channelName(waits.channel)}.`));
    }
    return parts;
  }

  wormButton(worm) {
    return element("button", { type: "button", class: "link", onclick: () => this.page.followWorm(worm) }, this.page.worms.name(worm));
  }

  /** The worms that wait for each other, each for the next one. */
  deadlockParts(cycle) {
    return [element("h2", {}, `Deadlock: ${cycle.length} worms wait for each other`),
      element("ol", { class: "way" }, ...cycle.map((worm) => element("li", {}, this.wormButton(worm),
        ` waits for ${this.channelName(worm.waits.channel)}`)))];
  }

  channelName(channel) {
    const line = this.drawing.lines[this.drawing.lineOf[channel]];
    const lane = line.channels.length > 1 ? `, channel ${line.channels.indexOf(channel)}` : "";
    return `${this.endName(line.source)} → ${this.endName(line.target)}${lane}`;
  }

  /** Which inputs of a node were connected with which outputs in the last cycle. */
  connections(index) {
    const found = [];
    for (const { flit, next } of this.page.moment.moves)
      if (next && flit.line.target[1] === index) found.push([flit.channel, next.channel]);
    return found.map(([entry, exit]) => [this.portNumber(index, entry, "in"), this.portNumber(index, exit, "out")]);
  }

  portNumber(index, channel, side) {
    if (side === "out") return Number(ABOUT.bench.channels.port[channel].split(".").find((part) => /^\d+$/.test(part)) ?? 0);
    const lines = this.drawing.linesOf(this.drawing.nodes[index]).filter((line) => line.target[0] === "node" && line.target[1] === index);
    return lines.findIndex((line) => line.channels.includes(channel));
  }

  nodeParts(index) {
    const { page } = this, node = this.drawing.nodes[index], { look } = page;
    const parts = [element("h2", {}, node.name)];
    const kind = ABOUT.kinds[page.places.get(page.cellOf(node))[0]];
    parts.push(element("p", { class: "soft small" }, kind.about));
    const dead = this.drawing.isDeadNode(node);
    if (look && look.cell === page.cellOf(node)) {
      const names = ["straight", "lower broadcast", "upper broadcast", "exchange"];
      const pairs = this.connections(index);
      const single = Boolean(page.moment.previous);
      if (single && node.ports && ABOUT.kinds[page.places.get(look.cell)[0]].queues.length)
        parts.push(element("p", { id: "box-state" }, pairs.length
          ? `${stateOf(pairs)}: ${pairs.map(([i, o]) => `${i} → ${o}`).join(", ")}` : "nothing has passed in the last cycle"));
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
          bitsOf(arbiter.granted, n, 1) ? "●" : bitsOf(arbiter.request, n, 1) ? "○" : "·").join(" ");
        parts.push(element("div", { class: "queue" }, element("span", {}, arbiter.name.replaceAll("_", " ")), element("span", { class: "bits" }, shown)));
      }
      for (const memory of look.memories) {
        parts.push(element("h3", {}, "First words"), element("p", { class: "bits", id: "words-of-memory" }, memory.rows.join("  ")));
      }
    }
    if (page.gated(this.drawing.linesOf(node).flatMap((line) => line.channels)).length)
      parts.push(element("div", { class: "row" }, element("button", { type: "button", id: "break",
        onclick: () => page.breakNode(index, !dead) }, dead ? "Mend" : "Break it")));
    return parts;
  }

  slotsElement(about, queue) {
    const slots = element("div", { class: "slots" });
    const names = fieldsOf(about.fields);
    for (let n = 0; n < about.depth; n++) {
      const words = queue.items[n];
      if (!words) { slots.append(element("span", {}, "·")); continue; }
      const told = about.fields.map(([name, at, width]) => `${name} ${bitsOf(words, at, width)}`).join(", ");
      slots.append(element("button", { type: "button", title: told }, this.itemText(names, words)));
    }
    return slots;
  }

  /** An item of a queue: where it comes from, what it asks for, or what is kept of it. */
  itemText(names, words) {
    const field = (name) => bitsOf(words, ...names[name]);
    const source = names["payload.source"] ?? names.source;
    if (source) return `from ${ABOUT.bench.source_addresses.indexOf(bitsOf(words, ...source))}`;
    if (names["for.identity"]) return `${operationName(field("operation"))} ${field("operand")} kept`;
    if (names.operand) return `${operationName(field("operation"))}(${field("address")}, ${field("operand")})${names.merged && field("merged") ? " sum" : ""}`;
    return names.address ? `word ${field("address")}` : "•";
  }

  lineParts(index) {
    const line = this.drawing.lines[index], dead = this.drawing.isDead(line), { page, page: { moment } } = this;
    const sum = (counts) => line.channels.reduce((total, channel) => total + counts[channel], 0);
    const parts = [element("h2", {}, `${this.endName(line.source)} → ${this.endName(line.target)}`)];
    if (line.link) parts.push(element("p", { class: "soft small" }, line.link));
    if (line.channels.length) {
      parts.push(element("p", { class: "small", id: "line-counts" },
        `${sum(moment.crossed)} crossings in ${inCycles(moment.cycle)}; ${sum(moment.refused)} refusals.`));
      if (page.gated(line.channels).length) parts.push(element("div", { class: "row" }, element("button", { type: "button", id: "break",
        onclick: () => page.breakLine(index, !dead) }, dead ? "Mend" : "Break it")));
    }
    return parts;
  }
}

/** A short name of an operation, as papers have it: F&A for fetch-and-add. */
function operationName(code) {
  const name = ABOUT.operations[code] ?? `operation ${code}`;
  return name.replace(/^fetch-and-(.)(.*)$/, (_, first, rest) => `F&${first.toUpperCase()}${first === "a" && rest === "dd" ? "" : rest}`);
}

/** The state of a box by what it connects, as Siegel et al. name it. */
function stateOf(pairs) {
  const inputs = new Set(pairs.map(([i]) => i)), outputs = new Set(pairs.map(([, o]) => o));
  if (inputs.size < outputs.size) return pairs[0][0] === 0 ? "upper broadcast" : "lower broadcast";
  if (pairs.every(([i, o]) => i === o)) return "straight";
  return pairs.every(([i, o]) => i + o === 1) ? "exchange" : "connected";
}
