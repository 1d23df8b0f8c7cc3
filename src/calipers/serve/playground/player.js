// The filled text, and the way there: canvases shown one by one, how sure each token was as its shade.

import { $, el } from "./dom.js";

const MASK = "░";
const PACE = 380; // ms a step

export class Player {
  constructor() {
    this.looked = 0; // the hole to keep in sight
    this.forget([]);
    $("back").addEventListener("click", () => this.go(this.at - 1));
    $("on").addEventListener("click", () => this.go(this.at + 1));
    $("play").addEventListener("click", () => (this.timer ? this.pause() : this.play()));
    $("scrub").addEventListener("input", () => this.go($("scrub").valueAsNumber));
  }

  /** texts around the holes, nothing filled yet */
  forget(texts) {
    this.pause();
    this.load({ texts, frames: [], answer: null });
  }

  /** A fill: the texts around its holes, the canvases so far, and the answer once there is one. Its end is shown. */
  load(fill) {
    this.pause();
    this.fill = fill;
    this.at = fill.frames.length - 1;
    this.draw();
  }

  go(at) {
    this.pause();
    this.at = Math.max(0, Math.min(this.fill.frames.length - 1, at));
    this.draw();
  }

  play() {
    if (this.at >= this.fill.frames.length - 1) this.at = -1;
    const next = () => {
      this.at += 1;
      if (this.at >= this.fill.frames.length - 1) this.pause();
      this.draw();
    };
    this.timer = setInterval(next, PACE);
    next();
  }

  pause() {
    clearInterval(this.timer);
    this.timer = 0;
  }

  draw() {
    const { texts, frames, answer } = this.fill;
    const last = frames.length - 1;
    const nodes = texts.flatMap((text, hole) => (hole ? [this.hole(hole - 1), text] : [text]));
    $("result").replaceChildren(...nodes);
    $("result").classList.toggle("done", answer !== null && this.at === last);
    for (const id of ["back", "play", "on", "scrub"]) $(id).disabled = last < 1;
    $("scrub").max = Math.max(0, last);
    $("scrub").value = this.at;
    $("play").textContent = this.timer ? "❚❚" : "▶";
    $("play").setAttribute("aria-label", this.timer ? "Pause the denoising" : "Play the denoising");
    const step = last < 0 ? "no steps yet" : `step ${this.at} of ${last}`;
    $("step").textContent = step;
    $("scrub").setAttribute("aria-valuetext", step);
    this.reveal();
  }

  /** The hole looked at in sight, whatever lies before it. */
  reveal() {
    const pane = $("result");
    const mark = pane.querySelectorAll("mark")[this.looked];
    if (!mark) return;
    const above = mark.offsetTop - pane.scrollTop; // the pane is what it is positioned by
    if (above < 0 || above > pane.clientHeight - 40) pane.scrollTop += above - pane.clientHeight / 3;
  }

  hole(hole) {
    const frame = this.fill.frames[this.at];
    const given = this.fill.answer && this.at === this.fill.frames.length - 1 ? this.fill.answer.texts[hole] : null;
    if (!frame) return el("mark", { class: "open" }, given ?? "");
    // What is new is set off on the way, not in the end.
    const before = given === null ? (this.fill.frames[this.at - 1]?.tokens[hole] ?? []) : [];
    const cells = pieces(frame.tokens[hole], frame.confidence[hole], given ?? frame.texts[hole]);
    const kind = cells.length === 0 ? "hole none" : "hole";
    return el("mark", { class: kind, "data-hole": hole }, ...cells.map((cell) => shaded(cell, before)));
  }
}

/** The canvas before the first that is told, where the search's last probe was the first step already: all masks. */
export function blank(frame) {
  const masks = frame.tokens.map((hole) => hole.map(() => null));
  return { ...frame, tokens: masks, texts: masks.map((hole) => MASK.repeat(hole.length)) };
}

/** A hole's tokens as shown. Where single tokens are no characters, or were cut, the text itself is right. */
function pieces(tokens, confidence, text) {
  const cells = tokens.map((token, at) => ({ at, text: token ?? MASK, masked: token === null, sure: confidence[at] }));
  const joined = cells.map((cell) => cell.text).join("");
  if (joined === text) return cells;
  if (!joined.startsWith(text)) return text ? [{ at: 0, text, masked: false, sure: null }] : [];
  let left = text.length;
  return cells.flatMap((cell) => {
    const kept = cell.text.slice(0, left);
    left -= kept.length;
    return kept ? [{ ...cell, text: kept }] : [];
  });
}

function shaded({ at, text, masked, sure }, before) {
  const fresh = !masked && before[at] === null ? " fresh" : "";
  const known = sure === null || sure === undefined;
  const title = known ? null : `${masked ? "best guess" : "probability"} ${sure.toFixed(3)}`;
  return el("span", { class: (masked ? "mask" : "token") + fresh, title, "--sure": known ? 0.5 : sure }, text);
}
