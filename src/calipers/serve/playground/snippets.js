// The same call elsewhere: for a shell, and for Python.

import { decoder, search } from "./method.js";

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/** The call for a POSIX shell. The key stays out of it: it is read from the environment. */
export function curl(body, origin, keyed) {
  const lines = [`curl -s ${origin}/v1/fill`, "-H 'Content-Type: application/json'"];
  if (keyed) lines.push('-H "Authorization: Bearer $CALIPERS_API_KEY"');
  return [...lines, `-d ${quoted(JSON.stringify(body))}`].join(" \\\n  ");
}

/** A value as Python writes it. JSON's strings are Python's too. */
function literal(value) {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "object") return called(value);
  return JSON.stringify(value);
}

/** A search or decoder as it is made: {name, fields}. None is every such field's default. */
function called({ name, ...fields }) {
  const given = Object.entries(fields).filter(([, value]) => value !== null);
  return `calipers.${name}(${given.map(([key, value]) => `${key}=${literal(value)}`).join(", ")})`;
}

/** A text as Python, a line of it a line. */
function text(value) {
  const lines = value.split(/(?<=\n)/);
  if (lines.length < 2) return literal(value);
  return `(\n${lines.map((line) => `    ${literal(line)}\n`).join("")})`;
}

function known(bias, coefficients) {
  if (["paper", "none"].includes(bias)) return literal(bias);
  return `calipers.Bias(${coefficients.map(literal).join(", ")}, name=${literal(bias)})`;
}

/** A program that does the same in this process, without the server. */
export function python(body, props) {
  const made = props.made_with;
  const within = body.within_ms ?? props.within_ms;
  const options = [
    `search=${called(search(props, body))}`,
    `decoder=${called(decoder(props, body))}`,
    `bias=${known(made.bias, made.bias_coefficients)}`,
  ];
  if (body.empty ?? made.empty !== "None") options.push("empty=True");
  if (body.trim_echo ?? made.trim_echo) options.push("trim_echo=True");
  if (made.passes !== 3) options.push(`passes=${made.passes}`);
  options.push(`context=${made.context}`, `seed=${body.seed ?? 0}`);
  const lengths = (body.lengths ?? []).map((length) => called({ name: "Fixed", length }));
  const searches = lengths.length ? `search=[${lengths.join(", ")}]` : null;
  const marker = body.marker === undefined ? "" : `, marker=${literal(body.marker)}`;
  return [
    "import calipers",
    ...(within ? ["from calipers.deadline import Deadline", "from calipers.drive import drive"] : []),
    "",
    "infiller = calipers.Infiller(",
    ...[literal(made.model), ...options].map((one) => `    ${one},`),
    ")",
    `text = ${text(body.text)}`,
    `template = calipers.Template.parse(text${marker})`,
    ...filled(within, searches),
    "print(fill.whole)",
    "",
  ].join("\n");
}

function filled(within, searches) {
  const more = searches ? [searches] : [];
  if (!within) return [`fill = infiller.fill(${["template", ...more].join(", ")})`];
  const given = ["template", ...more, `deadline=Deadline(${within / 1000})`].join(", ");
  return [`filling = infiller.begin(${given})`, "*_, (_, done) = drive(infiller.model, [filling.run()])", "fill = done.result"];
}
