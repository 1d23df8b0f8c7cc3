// How holes are measured and filled: one form, of which only what is set is sent.

import { $, el, facts } from "./dom.js";
import { search } from "./method.js";

const whole = (name, label, hint, min = 1) => ({ name, label, hint, kind: "number", min, step: 1 });
const yesOrNo = (name, label, hint) => ({ name, label, hint, kind: "choice", options: { true: "yes", false: "no" } });

export const FIELDS = [
  {
    name: "search",
    label: "search",
    hint: "how lengths are found",
    kind: "choice",
    options: { climb: "climb", exhaustive: "exhaustive" },
  },
  whole("init", "init", "length a climb starts at"),
  whole("patience", "patience", "lengths without a new best that end it"),
  whole("step", "step", "distance between lengths tried"),
  whole("max_length", "max_length", "longest hole tried"),
  { name: "temperature", label: "temperature", hint: "0: the most probable token", kind: "number", min: 0, step: 0.1 },
  { name: "top_p", label: "top_p", hint: "draw from this mass", kind: "number", min: 0, max: 1, step: 0.05 },
  whole("seed", "seed", "of what is drawn", 0),
  whole("tokens_per_step", "tokens_per_step", "tokens committed a step"),
  yesOrNo("empty", "empty", "allow that nothing belongs in a hole"),
  yesOrNo("trim_echo", "trim_echo", "cut what repeats the text after a hole"),
  whole("within_ms", "within_ms", "time; then the best known is given"),
  { name: "marker", label: "marker", hint: "what marks a hole in the text", kind: "text" },
];
const NAMES = { HillClimb: "climb", Exhaustive: "exhaustive", Regression: "regression", Fixed: "fixed" };
const inputs = new Map();

/** Make the form; `changed` is called at every change. */
export function build(changed) {
  for (const field of FIELDS) {
    const id = `set-${field.name}`;
    const input =
      field.kind === "choice"
        ? el("select", { id, "aria-describedby": `${id}-hint` }, el("option", { value: "" }, "as served"), ...options(field))
        : el("input", {
            id,
            type: field.kind,
            min: field.min,
            max: field.max,
            step: field.step,
            autocomplete: "off",
            spellcheck: "false",
            "aria-describedby": `${id}-hint`,
          });
    input.addEventListener("input", changed);
    inputs.set(field.name, input);
    const hint = el("small", { id: `${id}-hint` }, field.hint);
    $("fields").append(el("div", {}, el("label", { for: id }, field.label), input, hint));
  }
  $("reset").addEventListener("click", () => {
    write({});
    changed();
  });
}

const options = (field) => Object.entries(field.options).map(([value, shown]) => el("option", { value }, shown));

/** What is set, as a request says it. */
export function read() {
  const settings = {};
  for (const { name, kind, options } of FIELDS) {
    const { value, disabled } = inputs.get(name);
    if (value === "" || disabled) continue;
    if (kind === "number") settings[name] = Number(value);
    else settings[name] = options && "true" in options ? value === "true" : value;
  }
  return settings;
}

/** Set these, and nothing else. */
export function write(settings) {
  for (const { name } of FIELDS) inputs.get(name).value = settings[name] === undefined ? "" : String(settings[name]);
}

/** Show what the server does where nothing is set, and close what the search at hand does not take. */
export function show(props) {
  const settings = read();
  const used = search(props, settings);
  const decoder = props.decoder ?? {};
  const served = {
    ...used,
    search: NAMES[props.search.name] ?? props.search.name,
    max_length: props.max_length,
    temperature: decoder.temperature,
    top_p: decoder.top_p,
    tokens_per_step: decoder.tokens_per_step ?? (decoder.name === "Denoise" ? 1 : undefined),
    seed: 0,
    within_ms: props.within_ms ?? "no limit",
    marker: "<hole>",
    empty: props.made_with.empty === "None" ? "no" : "yes",
    trim_echo: props.made_with.trim_echo ? "yes" : "no",
  };
  for (const { name, kind } of FIELDS) {
    const input = inputs.get(name);
    const value = served[name] === undefined || served[name] === null ? "" : String(served[name]);
    if (kind === "choice") input.options[0].textContent = `as served: ${value}`;
    else input.placeholder = value;
  }
  for (const name of ["init", "patience"]) inputs.get(name).disabled = used.name !== "HillClimb";
  inputs.get("step").disabled = !["HillClimb", "Exhaustive"].includes(used.name);
  const changed = Object.entries(settings).map(([name, value]) => `${name} ${value}`);
  $("method-sum").textContent = changed.length ? changed.join(" · ") : "as served";
}

/** Say what is served. */
export function describe(props) {
  const made = props.made_with;
  const texts = [
    ["model", `${made.model} (${made.revision})`],
    ["device", made.device],
    ["context", `${made.context} tokens`],
    ["bias", `${made.bias}: ${made.bias_coefficients.map((one) => Number(one.toPrecision(3))).join(", ")}`],
    ["search", made.search],
    ["decoder", made.decoder],
    ["version", `calipers ${made.calipers}`],
  ];
  $("served").replaceChildren(...facts(texts));
  $("model").textContent = `${made.model} · ${made.device} · bias ${made.bias}`;
}
