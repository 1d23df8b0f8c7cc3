// The text and its holes: a plain textarea, with the markers set off by what lies behind it.

import { $, el, plural } from "./dom.js";

const area = $("text");

/** The hole marker is put where the cursor is, or in place of what is selected; undo takes it back. */
export function putHole(marker) {
  area.focus();
  // The only way that the browser's own undo knows of.
  if (!document.execCommand("insertText", false, marker)) {
    area.setRangeText(marker, area.selectionStart, area.selectionEnd, "end");
    area.dispatchEvent(new Event("input", { bubbles: true }));
  }
}

/** Show the markers. */
export function paint(marker) {
  const pieces = area.value.split(marker);
  const nodes = pieces.flatMap((piece, at) => (at ? [el("mark", {}, marker), piece] : [piece]));
  $("behind").replaceChildren(...nodes, "\n");
  follow();
  const holes = pieces.length - 1;
  const hint = holes ? `${plural(holes, "hole")}.` : "No hole yet: put one where something is missing.";
  $("text-hint").textContent = `${hint} A hole is written ${marker}, any number of times.`;
}

function follow() {
  $("behind").scrollTop = area.scrollTop;
  $("behind").scrollLeft = area.scrollLeft;
}

area.addEventListener("scroll", follow);
