// The page put together: what is asked, what is shown, and the keys.

import { filling, get, hasKey, keysComeFrom, Refused } from "./api.js";
import { $, copy } from "./dom.js";
import { paint, putHole } from "./editor.js";
import { EXAMPLES } from "./examples.js";
import { Fills } from "./fills.js";
import { askForKey } from "./key.js";
import { Landscape } from "./landscape.js";
import * as link from "./link.js";
import { bias } from "./method.js";
import { blank, Player } from "./player.js";
import * as settings from "./settings.js";
import { curl, python } from "./snippets.js";
import * as view from "./view.js";

const MARKER = "<hole>";
const NEIGHBOURS = [-2, -1, 1, 2];
const player = new Player();
const landscape = new Landscape((length) => choose(length));
let props = null;
let fills = null; // what was asked last
let hole = 0; // the one whose landscape is shown
let task = null; // what aborts the request under way

const marker = () => settings.read().marker ?? MARKER;

function asked() {
  const { marker: mark, ...rest } = settings.read();
  return { text: $("text").value, ...(mark === undefined ? {} : { marker: mark }), ...rest };
}

const isStale = () => fills !== null && JSON.stringify(asked()) !== JSON.stringify(fills.body);

// -- what is done

/** Do what asks the server: one at a time, its errors shown, its end announced. */
async function attempt(work) {
  task?.abort();
  const mine = new AbortController();
  task = mine;
  view.failed(null);
  view.busy(true);
  try {
    await work(mine.signal);
  } catch (failure) {
    const cancelled = mine.signal.aborted;
    mine.abort(); // whatever else it had begun
    if (task !== mine) return; // another took its place
    view.say(cancelled ? "Cancelled." : "");
    if (!cancelled) view.failed(failure instanceof Refused ? failure.message : `This page failed: ${failure.message}`);
  } finally {
    if (task === mine) {
      task = null;
      view.busy(false);
      if (fills) fills.wanted = null;
      const shown = fills?.shown ? fills.at(fills.shown) : null;
      if (shown && player.fill !== shown) player.load(shown); // what was cancelled is not what is shown
      draw();
    }
  }
}

/** Measure every hole, and fill them. */
async function fill(signal) {
  const body = asked();
  if (body.text.split(marker()).length < 2) throw new Refused(`The text has no hole: put ${marker()} where something is missing.`);
  await served(signal);
  fills = new Fills(body, body.text.split(marker()));
  hole = Math.max(0, Math.min(hole, fills.holes - 1));
  player.forget(fills.texts);
  draw();
  view.say("Measuring…");
  const mine = fills;
  const looked = hole;
  mine.measured(await streamed(body, mine, signal, true));
  hole = looked;
  address();
  view.say(`Filled: ${view.lengths(mine.found)}, ${view.effort(mine.answer)}.`);
}

/** Another length for the hole at hand. */
const choose = (length) => attempt((signal) => fillAt(fills.with(hole, length), signal));

/** The fill at given lengths; asked for once. */
async function fillAt(lengths, signal) {
  const mine = fills;
  if (!mine.at(lengths)) {
    mine.wanted = lengths;
    view.say(`Filling at ${view.lengths(lengths)}…`);
    const fixed = await streamed({ ...mine.body, lengths }, mine, signal, true);
    mine.keep(lengths, fixed);
  }
  mine.shown = lengths;
  player.load(mine.at(lengths));
  address();
  view.say(`Shown: ${view.lengths(lengths)}${lengths.join() === mine.found.join() ? ", as found" : ""}.`);
}

/** Lengths near the one shown, side by side: the server answers them together. */
async function neighbours(signal) {
  const mine = fills;
  const shown = mine.shown;
  const near = NEIGHBOURS.map((by) => shown[hole] + by).filter((length) => length >= 1 && length <= props.max_length);
  const wanted = near.map((length) => mine.with(hole, length)).filter((lengths) => !mine.at(lengths));
  view.say(`Filling at ${near.join(", ")} tokens…`);
  const one = async (lengths) => {
    mine.known.set(lengths.join(), await streamed({ ...mine.body, lengths }, mine, signal, false));
    draw();
  };
  await Promise.all(wanted.map(one));
  view.say(`Filled at ${near.join(", ")} tokens too.`);
}

/** A fill as it comes; shown on the way if it is the one looked at. */
async function streamed(body, mine, signal, looked) {
  const fresh = { texts: mine.texts, frames: [], answer: null };
  for await (const [kind, data] of filling(body, signal)) {
    if (kind === "probe") {
      mine.probed(data);
      if (looked) look(data.hole); // the one at work
    } else if (kind === "canvas") {
      const begun = fresh.frames.length || data.tokens.flat().every((token) => token === null);
      fresh.frames.push(...(begun ? [] : [blank(data)]), data);
      if (looked) player.load(fresh);
      if (looked) view.say(`Denoising ${view.lengths(data.lengths)}…`);
    } else fresh.answer = data;
  }
  if (looked) player.load(fresh);
  return fresh;
}

// -- what is shown

function draw() {
  const body = asked();
  if (props) settings.show(props);
  paint(marker());
  view.stale(isStale());
  const call = fills !== null && !isStale() ? fills.call : body;
  $("curl").textContent = curl(call, location.origin, hasKey());
  $("python").textContent = props ? python(call, props) : "";
  player.looked = hole;
  view.tabs(fills, hole, look);
  landscape.show({
    probes: fills?.probes(hole) ?? [],
    chosen: fills?.found?.[hole] ?? null,
    length: (fills?.wanted ?? fills?.shown)?.[hole] ?? null,
    limit: props?.max_length ?? 64,
    bias: props ? (length) => bias(props, length) : null,
    hole,
  });
  view.others(fills, hole, choose);
  view.result(fills?.shown ? fills.at(fills.shown).answer : null);
}

function look(at) {
  hole = at;
  draw();
}

// -- the link

function state() {
  const measured = fills?.found != null && !isStale();
  const moved = measured && fills.call.lengths;
  return {
    text: $("text").value,
    settings: settings.read(),
    ...(measured ? { filled: true, hole } : {}),
    ...(moved ? { lengths: fills.shown } : {}),
  };
}

/** Keep the state in the address, if it fits; whether it did. */
function address() {
  const fragment = link.written(state());
  history.replaceState(null, "", fragment ?? location.pathname);
  return fragment !== null;
}

function restore(wanted) {
  $("text").value = wanted.text;
  settings.write(wanted.settings);
  $("examples").value = "";
  hole = wanted.hole;
  draw();
}

/** What the address says: its text and settings, and what was filled there filled again. */
async function follow(signal) {
  let wanted = null;
  try {
    wanted = link.read(location.hash);
    if (wanted !== null) restore(wanted);
  } finally {
    await served(signal); // a damaged link is no reason not to
  }
  if (!wanted?.filled) return;
  await fill(signal);
  if (wanted.lengths?.length === fills.holes) await fillAt(wanted.lengths, signal);
}

// -- keys and buttons

function listen() {
  $("fill").addEventListener("click", () => attempt(fill));
  $("cancel").addEventListener("click", () => task?.abort());
  $("hole").addEventListener("click", () => putHole(marker()));
  $("neighbours").addEventListener("click", () => attempt(neighbours));
  $("text").addEventListener("input", () => {
    $("examples").value = "";
    draw();
  });
  $("examples").addEventListener("change", () => {
    const example = EXAMPLES[$("examples").value];
    if (!example) return;
    $("text").value = example.text;
    draw();
  });
  $("copy").addEventListener("click", () => copied($("copy"), fills.at(fills.shown).answer.whole));
  $("link").addEventListener("click", () => {
    if (address()) copied($("link"), location.href);
    else view.failed("This text is too long for a link; copy the text itself, or the call.");
  });
  for (const button of document.querySelectorAll("[data-copy]"))
    button.addEventListener("click", () => copied(button, $(button.dataset.copy).textContent));
  addEventListener("hashchange", () => attempt(follow));
  addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) attempt(fill);
    else if (event.key === "m" && event.ctrlKey && !event.altKey) putHole(marker());
    else if (event.key === "Escape" && task && !$("key-dialog").open) task.abort();
    else return;
    event.preventDefault();
  });
}

async function copied(button, text) {
  try {
    await copy(text);
    view.say("Copied.");
    view.flash(button, "Copied");
  } catch (failure) {
    view.failed(`Nothing was copied: ${failure.message}. Select the text and copy it.`);
  }
}

/** The server's properties, waited for while its model loads. */
async function served(signal) {
  if (props !== null) return;
  props = await view.patiently(() => get("/props", signal));
  settings.describe(props);
}

keysComeFrom(askForKey);
settings.build(draw);
view.examples(EXAMPLES);
view.themes();
$("text").value = EXAMPLES[0].text;
listen();
draw();
attempt(follow);
