// Elements from tags, attributes and children. Text is always a text node, never markup.

const SVG = "http://www.w3.org/2000/svg";

export const $ = (id) => document.getElementById(id);

function dressed(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(name, value);
    // Custom properties go by the object model, for the page's policy knows no style attributes.
    else if (name.startsWith("--")) node.style.setProperty(name, value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

export const el = (tag, attributes = {}, ...children) => dressed(document.createElement(tag), attributes, children);
export const svg = (tag, attributes = {}, ...children) =>
  dressed(document.createElementNS(SVG, tag), attributes, children);

/** Terms and what they are, as the children of a dl; a third is the colour it has elsewhere. */
export const facts = (pairs) =>
  pairs.map(([term, value, key]) =>
    el("div", {}, el("dt", {}, key ? el("i", { class: `swatch ${key}` }) : null, term), el("dd", {}, value)),
  );

export const rounded = (value, digits = 3) => (Number.isFinite(value) ? value.toFixed(digits) : "–");

export const plural = (count, one, many = `${one}s`) => `${count} ${count === 1 ? one : many}`;

/** Put text on the clipboard, also where a page that came without TLS may not use its modern way. */
export async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = el("textarea", { class: "away", "aria-hidden": "true" });
  const before = document.activeElement;
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  before?.focus();
  if (!done) throw new Error("this browser does not let a page copy");
}
