"use strict";
// Bits of packets, and the random seeds of the sources as numpy draws them.

/** Bits of a value that is given as words of 32 bits, low word first; a BigInt where a number would be rounded. */
function bitsOf(words, at, width) {
  if (width > 53) return exact((BigInt(bitsOf(words, at + 32, width - 32)) << 32n) + BigInt(bitsOf(words, at, 32)));
  let value = 0, got = 0;
  while (got < width) {
    const bit = (at + got) % 32;
    const count = Math.min(32 - bit, width - got);
    const part = (words[(at + got) >>> 5] >>> bit) & (count === 32 ? -1 : (1 << count) - 1);
    value += (part >>> 0) * 2 ** got;
    got += count;
  }
  return value;
}

/** A BigInt as a number, unless it would be rounded. */
function exact(value) { return value <= Number.MAX_SAFE_INTEGER ? Number(value) : value; }

/** What was typed, as a number of so many bits: 0 if it is none, the greatest if it is too large. */
function natural(text, width) {
  const value = /^\d+$/.test(text) ? BigInt(text) : BigInt(Math.max(0, Math.floor(Number(text)) || 0)), most = 2n ** BigInt(width) - 1n;
  return exact(value < most ? value : most);
}

/** The fields of a layout by name; a packet inside a larger record has its plain names too. */
function fieldsOf(layout) {
  const found = {};
  for (const [name, at, width] of layout) {
    found[name] = [at, width];
    const inner = name.slice(name.indexOf(".") + 1);
    if (!(inner in found)) found[inner] = [at, width];
  }
  return found;
}

function decoded(fields, words) {
  const found = {};
  for (const [name, [at, width]] of Object.entries(fields)) found[name] = bitsOf(words, at, width);
  return found;
}

const times = Math.imul;

/** numpy.random.SeedSequence(seed, spawn_key=(key,)).generate_state(2, uint64), as words of 32 bits. */
function seedWords(seed, key) {
  const entropy = [seed >>> 0, 0, 0, 0, key >>> 0];
  let constant = 0x43b0d7e5;
  const hashed = (value) => {
    value ^= constant;
    constant = times(constant, 0x931e8875);
    value = times(value, constant);
    return (value ^ (value >>> 16)) >>> 0;
  };
  const mixed = (x, y) => {
    const value = times(x, 0xca01f9dd) - times(y, 0x4973f715);
    return (value ^ (value >>> 16)) >>> 0;
  };
  const pool = [0, 1, 2, 3].map((n) => hashed(entropy[n]));
  for (let from = 0; from < 4; from++)
    for (let to = 0; to < 4; to++)
      if (from !== to) pool[to] = mixed(pool[to], hashed(pool[from]));
  for (let to = 0; to < 4; to++) pool[to] = mixed(pool[to], hashed(entropy[4]));
  constant = 0x8b51f9dd;
  const words = pool.map((word) => {
    let value = word ^ constant;
    constant = times(constant, 0x58f38ded);
    value = times(value, constant);
    return (value ^ (value >>> 16)) >>> 0;
  });
  return words.some((word) => word) ? words : [1, 0, 0, 0];
}

/** Rounded to an integer, halves to the even one, as Python does. */
function roundEven(value) {
  const low = Math.floor(value), rest = value - low;
  if (rest !== 0.5) return Math.round(value);
  return low % 2 === 0 ? low : low + 1;
}

/** The pattern of a setting; the first one in a page that does not offer it, such as one side by side with another. */
function patternOf(about, setting) {
  return about.patterns.find((each) => each.name === setting.pattern) ?? about.patterns[0];
}

/** The load at which the busiest terminal sends in every cycle (while it is on), to a hundredth. */
function highestLoad(pattern) { return Math.floor(100 / (Math.max(1, ...pattern.rates) * pattern.hurry)) / 100; }

/** The straps that a pattern writes to the source of a terminal at a load, words by port. */
function sourceStraps(about, setting, terminal) {
  const pattern = patternOf(about, setting);
  const straps = {};
  for (const [port, value] of Object.entries(pattern.straps))
    straps[port] = [Array.isArray(value) ? value[terminal] : value];
  const rate = pattern.rates.length ? pattern.rates[terminal] : 1;
  if (pattern.paced) {
    const chance = Math.min(setting.load * rate * pattern.hurry, 1);
    straps.load = [roundEven(chance * 2 ** about.bench.load_bits)];
  }
  if (pattern.hot) {
    straps.bias = [roundEven(setting.share * 2 ** about.bench.bias_bits)];
    straps.favourite = [about.bench.addresses[setting.target]];
  }
  straps.seed = seedWords(setting.seed, terminal);
  return straps;
}

/** All queues of the cells of the drawing and of the sources: group, position and description. */
function queueList(about, places) {
  const found = [];
  const cells = [...about.diagram.nodes.flatMap((node) => node.cells), ...about.bench.sources];
  for (const cell of cells) {
    const [number, place] = places.get(cell);
    for (const queue of about.kinds[number].queues) found.push([number, place, queue, cell]);
  }
  return found;
}

/** The layouts of links, by name of field. */
function layoutsOf(about) { return about.fieldsOfLayouts ??= about.bench.layouts.map(fieldsOf); }

/** What tells packets apart: source and birth, or the name of a request, or of the message that it is. */
function keyOf(layout, words) {
  const field = (name) => bitsOf(words, ...layout[name]);
  if (layout["payload.birth"]) return field("payload.source") * 2 ** 32 + field("payload.birth");
  if (layout["payload.sender"]) return `message ${field("payload.identity")} of ${field("payload.sender")}`;
  if (!layout.identity) return `word ${[...words].join(" ")}`;
  return layout.address ? `request ${field("identity")} for ${field("address")}` : `reply ${field("identity")}`;
}
