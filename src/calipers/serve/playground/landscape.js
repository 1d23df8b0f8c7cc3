// A hole's landscape on one ruler: Φ/B, what it is made of, the search's path, and the jaw that is the length.

import { $, el, plural, rounded, svg } from "./dom.js";

const LEFT = 40;
const RIGHT = 18;
const TALL = { calibrated: 132, parts: 72, ruler: 42 };
const GAP = 26;
const LEAST = 16; // lengths the ruler has at least
const THUMB = 28; // px, as in parts.css
const REST = 220; // ms a length must be held before it is filled

export class Landscape {
  /** settled   called with a length once the jaw rests there */
  constructor(settled) {
    this.settled = settled;
    this.held = false; // the jaw is where the user put it, and not yet where the fill shown is
    this.timer = 0;
    this.state = { probes: [], chosen: null, length: null, limit: LEAST, bias: null, hole: 0 };
    const range = $("length");
    range.addEventListener("input", () => this.move(range.valueAsNumber));
    range.addEventListener("change", () => this.rest());
    const exact = $("exact");
    exact.addEventListener("change", () => {
      if (!exact.checkValidity() || exact.value === "") return exact.reportValidity();
      this.move(exact.valueAsNumber);
      return this.rest();
    });
    this.listenToPointers($("plot"));
    new ResizeObserver(() => this.draw()).observe($("chart"));
  }

  /** The plot above the ruler drags the jaw too. */
  listenToPointers(plot) {
    const go = (event) => {
      const at = event.clientX - plot.getBoundingClientRect().left - LEFT;
      const length = Math.round((at / this.width) * this.longest);
      this.move(Math.max(0, Math.min(this.longest, length)));
    };
    plot.addEventListener("pointerdown", (event) => {
      if ($("length").disabled || event.button !== 0) return;
      plot.setPointerCapture(event.pointerId);
      $("length").focus({ preventScroll: true });
      event.preventDefault();
      go(event);
    });
    plot.addEventListener("pointermove", (event) => plot.hasPointerCapture(event.pointerId) && go(event));
    plot.addEventListener("lostpointercapture", () => this.rest());
  }

  move(length) {
    clearTimeout(this.timer);
    this.held = true;
    this.state.length = length;
    this.draw();
  }

  rest() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.held = false;
      this.settled(this.state.length);
    }, REST);
  }

  release() {
    clearTimeout(this.timer);
    this.held = false;
  }

  /** probes in visiting order; chosen L̂ or null; length shown or null; limit; bias a function or null; hole */
  show(state) {
    if (state.length === null) this.release();
    this.state = this.held ? { ...state, length: this.state.length } : state;
    this.reach = 0;
    this.draw();
    this.list();
  }

  /** The longest length on the ruler. It never shrinks under a jaw that is moving. */
  get longest() {
    const { probes, length, limit } = this.state;
    const probed = Math.max(0, ...probes.map((probe) => probe.length));
    this.reach = Math.max(this.reach ?? 0, Math.min(limit, Math.max(LEAST, probed + 2, (length ?? 0) + 2)));
    return this.reach;
  }

  get width() {
    return Math.max(120, $("chart").clientWidth - LEFT - RIGHT);
  }

  draw() {
    const { probes, length, chosen } = this.state;
    const longest = this.longest;
    const x = (value) => LEFT + (value / longest) * this.width;
    const tall = { ...TALL, path: Math.min(66, Math.max(14, probes.length * 5)) };
    const top = { calibrated: 24 };
    top.parts = top.calibrated + tall.calibrated + GAP;
    top.path = top.parts + tall.parts + GAP;
    top.ruler = top.path + tall.path + 14;
    const height = top.ruler + tall.ruler;
    const plot = $("plot");
    plot.setAttribute("viewBox", `0 0 ${this.width + LEFT + RIGHT} ${height}`);
    plot.setAttribute("height", height);
    plot.setAttribute("aria-label", this.told());
    plot.replaceChildren(
      ...(length === null ? [] : [svg("rect", { class: "span", x: x(0), y: 6, width: x(length) - x(0), height: top.ruler - 6 })]),
      ...this.calibrated(x, top.calibrated, tall.calibrated),
      ...this.parts(x, top.parts, tall.parts),
      ...path(probes, x, top.path, tall.path, chosen),
      ...ruler(x, longest, top.ruler, this.width),
      ...(length === null ? [] : jaws(x, length, top.ruler)),
    );
    this.place(x, longest, top.ruler);
  }

  calibrated(x, top, tall) {
    const { probes, chosen } = this.state;
    const scores = probes.map((probe) => probe.calibrated);
    const most = Math.max(0.001, ...scores) * 1.1;
    // Not from 0: a landscape's height above it says little, its shape all.
    const least = scores.length ? Math.min(...scores) * 0.6 : 0;
    const y = (value) => top + tall * (1 - (value - least) / (most - least));
    const peak = probes.find((probe) => probe.length === chosen);
    return [
      ...scale("Φ/B", top, tall, probes.length ? nice(least, most) : [], y, this.width),
      svg("polyline", { class: "line calibrated", points: points(probes, x, y, "calibrated") }),
      ...probes.map((probe, at) =>
        svg("rect", {
          class: at === probes.length - 1 && chosen === null ? "dot calibrated last" : "dot calibrated",
          "data-length": probe.length,
          x: x(probe.length) - 2.5,
          y: y(probe.calibrated) - 2.5,
          width: 5,
          height: 5,
        }),
      ),
      ...(peak ? choice(x(chosen), y(peak.calibrated), chosen, this.width) : []),
    ];
  }

  parts(x, top, tall) {
    const { probes, bias } = this.state;
    const y = (value) => top + tall * (1 - value / 1.05);
    const curve = bias
      ? Array.from({ length: this.longest * 2 - 1 }, (_, at) => 1 + at / 2).map((at) => `${x(at)},${y(Math.min(1.05, bias(at)))}`)
      : [points(probes, x, y, "bias")];
    return [
      ...scale("Φ, B", top, tall, [0, 0.5, 1], y, this.width),
      svg("polyline", { class: "line bias", points: curve.join(" ") }),
      svg("polyline", { class: "line confidence", points: points(probes, x, y, "confidence") }),
      ...probes.map((probe) => svg("circle", { class: "dot confidence", cx: x(probe.length), cy: y(probe.confidence), r: 2.4 })),
    ];
  }

  /** The native slider lies on the ruler, its thumb where the jaw is. */
  place(x, longest, top) {
    const { length, limit } = this.state;
    const [range, exact] = [$("length"), $("exact")];
    range.style.setProperty("left", `${x(0) - THUMB / 2}px`);
    range.style.setProperty("width", `${x(longest) - x(0) + THUMB}px`);
    range.style.setProperty("top", `${top - 6}px`);
    range.max = longest;
    exact.max = limit;
    range.disabled = exact.disabled = length === null;
    $("reading").textContent = this.reading();
    if (length === null) return;
    range.value = length;
    range.setAttribute("aria-valuetext", `${plural(length, "token")}. ${this.reading()}`);
    if (exact !== document.activeElement || exact.valueAsNumber !== length) exact.value = length;
  }

  reading() {
    const { probes, length, bias, chosen } = this.state;
    if (length === null) return probes.length ? `${plural(probes.length, "length")} probed so far` : "";
    const probe = probes.find((one) => one.length === length);
    const mark = length === chosen ? " · L̂, the length found" : "";
    if (probe)
      return `Φ ${rounded(probe.confidence)} · B ${rounded(probe.bias)} · Φ/B ${rounded(probe.calibrated)}${mark}`;
    return length && bias ? `B ${rounded(bias(length))} · not probed${mark}` : `not probed${mark}`;
  }

  told() {
    const { probes, chosen, hole } = this.state;
    if (!probes.length) return chosen === null ? "Nothing is measured yet." : "This length was given, not measured.";
    const lengths = probes.map((probe) => probe.length);
    const range = `from ${Math.min(...lengths)} to ${Math.max(...lengths)}`;
    const end = chosen === null ? "" : ` The length found is ${chosen}.`;
    return `Landscape of hole ${hole + 1}: ${plural(lengths.length, "length")} probed, ${range}.${end} “Numbers” has them all.`;
  }

  /** The same as a table. */
  list() {
    const { probes, chosen } = this.state;
    const row = (probe, at) =>
      el(
        "tr",
        { class: probe.length === chosen ? "chosen" : false },
        ...[at + 1, probe.length, ...["confidence", "bias", "calibrated"].map((name) => rounded(probe[name]))].map((cell) =>
          el("td", {}, String(cell)),
        ),
      );
    $("numbers").tBodies[0].replaceChildren(...probes.map(row));
  }
}

const points = (probes, x, y, name) =>
  [...probes]
    .sort((a, b) => a.length - b.length)
    .map((probe) => `${x(probe.length)},${y(probe[name])}`)
    .join(" ");

/** A few round numbers between two. */
function nice(least, most) {
  const rough = (most - least) / 2.5;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((one) => one * unit).filter((one) => one <= rough).pop() ?? unit;
  const first = Math.ceil(least / step);
  return Array.from({ length: Math.floor(most / step) - first + 1 }, (_, at) => (first + at) * step);
}

const scale = (name, top, tall, ticks, y, width) => [
  svg("text", { class: "axis-name", x: LEFT + 7, y: top - 5 }, name),
  ...ticks.flatMap((tick) => [
    svg("line", { class: "grid", x1: LEFT, x2: LEFT + width, y1: y(tick), y2: y(tick) }),
    svg("text", { class: "tick", x: LEFT - 7, y: y(tick) + 3.5, "text-anchor": "end" }, String(Number(tick.toPrecision(3)))),
  ]),
  ...(ticks.length ? [] : [svg("line", { class: "grid", x1: LEFT, x2: LEFT + width, y1: top + tall, y2: top + tall })]),
];

function choice(x, y, chosen, width) {
  const late = x > LEFT + width - 56;
  const label = { class: "choice-name", x: late ? x - 11 : x + 11, y: y - 6, "text-anchor": late ? "end" : "start" };
  return [svg("circle", { class: "choice", cx: x, cy: y, r: 7 }), svg("text", label, `L̂ = ${chosen}`)];
}

/** Where the search went, time running down. */
function path(probes, x, top, tall, chosen) {
  const y = (visit) => top + (probes.length < 2 ? tall / 2 : (tall * visit) / (probes.length - 1));
  const trace = probes.map((probe, visit) => `${x(probe.length)},${y(visit)}`);
  return [
    svg("text", { class: "axis-name", x: LEFT + 7, y: top - 8 }, probes.length ? "search" : ""),
    svg("polyline", { class: "line visits", points: trace.join(" ") }),
    ...probes.map((probe, visit) => {
      const kind = visit === 0 ? "visit first" : probe.length === chosen ? "visit found" : "visit";
      return svg("circle", { class: kind, cx: x(probe.length), cy: y(visit), r: visit === 0 || kind === "visit found" ? 3.4 : 1.9 });
    }),
  ];
}

function ruler(x, longest, top, width) {
  const room = width / longest;
  const named = [1, 2, 5, 10, 20, 50, 100].find((step) => step * room >= 26) ?? 200;
  const fine = [1, 2, 5, 10, 20, 50].find((step) => step * room >= 4) ?? 100;
  const marks = [svg("line", { class: "edge", x1: x(0), x2: x(longest), y1: top, y2: top })];
  for (let length = 0; length <= longest; length += fine) {
    const large = length % named === 0;
    marks.push(svg("line", { class: "mark", x1: x(length), x2: x(length), y1: top, y2: top + (large ? 9 : length % 5 ? 4 : 6) }));
    if (large) marks.push(svg("text", { class: "tick", x: x(length), y: top + 22, "text-anchor": "middle" }, String(length)));
  }
  return [...marks, svg("text", { class: "axis-name", x: x(longest), y: top + 39, "text-anchor": "end" }, "length L, tokens")];
}

const jaws = (x, length, top) => [
  svg("line", { class: "jaw", x1: x(0), x2: x(0), y1: 6, y2: top }),
  svg("line", { class: "jaw", x1: x(length), x2: x(length), y1: 6, y2: top }),
  svg("path", { class: "handle", d: `M${x(length)} ${top - 7} l9 8 v25 h-18 v-25 z` }),
  svg("text", { class: "handle-name", x: x(length), y: top + 17, "text-anchor": "middle" }, String(length)),
];
