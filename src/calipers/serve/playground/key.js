// The question for a key.

import { $ } from "./dom.js";

/** Ask; resolves to the key, or to null if there is none. `wrong` says that the last one was refused. */
export function askForKey(wrong) {
  const dialog = $("key-dialog");
  $("key-why").textContent = wrong
    ? "The server refused that key. Try another."
    : "It is kept in this tab until you close it, and nowhere else.";
  $("key").value = "";
  return new Promise((resolve) => {
    let given = null;
    $("key-form").onsubmit = (event) => {
      event.preventDefault();
      given = $("key").value.trim() || null;
      dialog.close();
    };
    $("key-not").onclick = () => dialog.close();
    dialog.onclose = () => resolve(given);
    if (!dialog.open) dialog.showModal();
    $("key").focus();
  });
}
