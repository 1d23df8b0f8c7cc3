// A link that reproduces the state: all of it after the #, which is never sent to a server.

import { Refused } from "./api.js";
import { FIELDS } from "./settings.js";

const MOST = 64_000; // characters every browser takes, and a message may hold

/** The state as a URL's fragment; null if it is too long for one. */
export function written(state) {
  const bytes = new TextEncoder().encode(JSON.stringify({ v: 1, ...state }));
  const binary = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  const packed = btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
  return packed.length > MOST ? null : `#${packed}`;
}

/** The state a fragment holds, only what is known of it; null for none. What is no state is an error. */
export function read(fragment) {
  const packed = fragment.replace(/^#/, "");
  if (packed === "" || document.getElementById(packed)) return null;
  try {
    const binary = atob(packed.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(binary, (one) => one.charCodeAt(0));
    const state = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    if (state.v !== 1 || typeof state.text !== "string") throw new Error("another form");
    return {
      text: state.text,
      settings: known(state.settings ?? {}),
      lengths: lengths(state.lengths),
      hole: Number.isInteger(state.hole) ? state.hole : 0,
      filled: state.filled === true,
    };
  } catch {
    throw new Refused("This link is damaged: what follows its # cannot be read. Ask for it again.");
  }
}

function known(settings) {
  const kept = {};
  for (const { name } of FIELDS) {
    if (["string", "number", "boolean"].includes(typeof settings[name])) kept[name] = settings[name];
  }
  return kept;
}

function lengths(given) {
  const fine = Array.isArray(given) && given.every((one) => Number.isInteger(one) && one >= 0);
  return fine ? given : null;
}
