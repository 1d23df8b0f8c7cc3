// What the server makes of a request's settings, told again for the Python that does the same.

/** The search used where a length is measured: the server's own, but for what the request says. */
export function search(props, settings) {
  const limit = props.max_length;
  const longest = Math.min(settings.max_length ?? limit, limit);
  let used = { ...props.search };
  if (settings.search === "exhaustive") used = { name: "Exhaustive", max_length: limit, step: 1 };
  else if (settings.search === "climb" && used.name !== "HillClimb")
    used = { name: "HillClimb", init: Math.min(8, limit), patience: 4, step: 1, max_length: limit };
  if (longest < limit) {
    if (used.name === "Fixed") used = { name: "Fixed", length: longest };
    else used.max_length = longest;
    if (used.name === "HillClimb") used.init = Math.min(used.init, longest);
  }
  const taken = { HillClimb: ["init", "patience", "step"], Exhaustive: ["step"] }[used.name] ?? [];
  for (const name of taken) if (settings[name] !== undefined) used[name] = settings[name];
  return used;
}

/** The decoder used. */
export function decoder(props, settings) {
  const used = { ...props.decoder };
  if (used.name !== "Denoise") return used;
  used.temperature = settings.temperature ?? 0;
  if (used.temperature > 0 && settings.top_p !== undefined) used.top_p = settings.top_p;
  if (settings.tokens_per_step !== undefined) Object.assign(used, { tokens_per_step: settings.tokens_per_step, steps: null });
  return used;
}

/** B(L), by its coefficients. */
export function bias(props, length) {
  const [a, b, c, d, e] = props.made_with.bias_coefficients;
  return a * Math.exp(-b * length) + c * Math.exp(-d * length) + e;
}
