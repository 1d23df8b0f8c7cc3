// What the page says: states, errors, tabs, lists. Nothing here asks the server.

import { Refused } from "./api.js";
import { $, el, facts, plural, rounded } from "./dom.js";
import { local } from "./store.js";

export const say = (text) => {
  if ($("status").textContent !== text) $("status").textContent = text;
};

/** An error in plain words; null takes it away. */
export function failed(message) {
  $("error").hidden = message === null;
  $("error").textContent = message ?? "";
}

export function busy(is) {
  $("cancel").disabled = !is;
  document.body.classList.toggle("busy", is);
}

export const stale = (is) => {
  $("stale").hidden = !is;
};

export const lengths = (all) => `length ${all.join(" + ")}`;

export const effort = (answer) =>
  `${plural(answer.probes, "probe")}, ${plural(answer.forwards, "forward")}, ${seconds(answer.timings.total)}`;

const seconds = (value) => (value < 1 ? `${Math.round(value * 1000)} ms` : `${value.toFixed(2)} s`);

export function flash(button, text) {
  button.dataset.said ??= button.textContent;
  button.textContent = text;
  setTimeout(() => {
    button.textContent = button.dataset.said;
  }, 1400);
}

/** Ask again while the server says it will be there in a while. */
export async function patiently(ask) {
  while (true) {
    try {
      const answer = await ask();
      say("");
      return answer;
    } catch (failure) {
      if (!(failure instanceof Refused) || failure.status !== 503 || !failure.retryAfter) throw failure;
      say(`${failure.message}; asking again…`);
      await new Promise((resolve) => setTimeout(resolve, failure.retryAfter * 1000));
    }
  }
}

export function examples(all) {
  const options = all.map(({ name }, at) => el("option", { value: at }, name));
  $("examples").replaceChildren(...options, el("option", { value: "", hidden: true }, "your own"));
}

/** One tab a hole, where there is more than one; arrow keys go from one to the next. */
export function tabs(fills, hole, look) {
  const bar = $("holes");
  const count = fills?.holes ?? 0;
  const had = bar.contains(document.activeElement);
  const named = (at) => `Hole ${at + 1}${fills.shown ? ` · ${fills.shown[at]}` : ""}`;
  const tab = (at) => {
    const chosen = at === hole;
    const attributes = { type: "button", role: "tab", "aria-controls": "landscape-panel", tabindex: chosen ? 0 : -1 };
    return el("button", { ...attributes, "aria-selected": String(chosen), click: () => look(at), keydown: (event) => turn(event, at) }, named(at));
  };
  const turn = (event, at) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    look((at + by + count) % count);
  };
  bar.replaceChildren(...(count > 1 ? Array.from({ length: count }, (_, at) => tab(at)) : []));
  if (had) bar.children[hole]?.focus();
  const panel = $("landscape-panel");
  if (count > 1) panel.setAttribute("role", "tabpanel");
  else panel.removeAttribute("role");
}

/** The fills at other lengths of this hole. */
export function others(fills, hole, pick) {
  const known = fills?.shown ? fills.beside(hole) : [];
  $("neighbours").disabled = !fills?.shown;
  const had = document.activeElement?.dataset?.length;
  $("others").replaceChildren(...known.map((one) => el("li", {}, other(one, fills, hole, pick))));
  if (had !== undefined) $("others").querySelector(`[data-length="${had}"]`)?.focus();
}

function other({ length, fill }, fills, hole, pick) {
  const probe = fills.probes(hole).find((one) => one.length === length);
  const text = fill.answer.texts[hole];
  return el(
    "button",
    { type: "button", "aria-pressed": String(length === fills.shown[hole]), "data-length": length, click: () => pick(length) },
    el("span", { class: "length" }, String(length), length === fills.found?.[hole] ? " L̂" : ""),
    el("span", { class: "score" }, probe ? `Φ/B ${rounded(probe.calibrated, 2)}` : "not probed"),
    el("code", {}, text === "" ? "(nothing)" : text.replaceAll("\n", "↵")),
  );
}

/** What is known of the fill shown. */
export function result(answer) {
  $("copy").disabled = !answer;
  const shown = answer ? timings(answer) : [];
  $("timings").replaceChildren(...facts(shown));
  const parts = answer ? ["encode", "search", "decode"].map((name) => [name, answer.timings[name] ?? 0]) : [];
  $("bar").replaceChildren(...parts.map(([name, value]) => el("i", { class: name, "--part": Math.max(value, 1e-6) })));
  const notes = answer ? [...answer.notes, ...(answer.cached ? ["Remembered from before."] : [])] : [];
  $("notes").replaceChildren(...notes.map((note) => el("li", {}, note)));
}

function timings(answer) {
  const took = answer.timings;
  const stops = answer.landscapes.map((landscape) => landscape.stop).join("; ");
  return [
    ["length", answer.lengths.join(" + ")],
    ["probes", String(answer.probes)],
    ["forwards", String(answer.forwards)],
    ["search", seconds(took.search ?? 0), "search"],
    ["denoising", seconds(took.decode ?? 0), "decode"],
    ["in all", seconds(took.total)],
    ["search ended", stops],
    ["model", `${answer.made_with.model}, ${answer.made_with.device}`],
  ];
}

/** Light, dark, or as the system is. */
export function themes() {
  const order = ["auto", "light", "dark"];
  const show = (theme) => {
    document.documentElement.dataset.theme = theme;
    $("theme").textContent = `Theme: ${theme}`;
  };
  const kept = local.get("calipers-theme");
  show(order.includes(kept) ? kept : "auto");
  $("theme").addEventListener("click", () => {
    const next = order[(order.indexOf(document.documentElement.dataset.theme) + 1) % order.length];
    local.set("calipers-theme", next);
    show(next);
  });
}
