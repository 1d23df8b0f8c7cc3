// The server, spoken to: its answers, its streams, its refusals in plain words, and the key it may ask for.

import { session } from "./store.js";

const KEY = "calipers-key";

export class Refused extends Error {
  constructor(message, status = 0, retryAfter = 0) {
    super(message);
    this.status = status;
    this.retryAfter = retryAfter;
  }
}

let askForKey = async () => null;

/** Who asks the user for a key: given whether one was refused, resolves to a key or null. */
export function keysComeFrom(ask) {
  askForKey = ask;
}

export const hasKey = () => session.get(KEY) !== null;

async function once(path, body, signal) {
  const key = session.get(KEY);
  const headers = key === null ? {} : { Authorization: `Bearer ${key}` };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const method = body === undefined ? "GET" : "POST";
  const plain = { credentials: "omit", redirect: "error", cache: "no-store" };
  try {
    return await fetch(path, { method, headers, signal, body: body && JSON.stringify(body), ...plain });
  } catch (failure) {
    if (signal?.aborted) throw failure;
    throw new Refused(`The server at ${location.host} does not answer. Is “calipers serve” still running?`);
  }
}

/** The answer, after a key was asked for if need be; a refusal is thrown in the server's own words. */
async function ask(path, body, signal) {
  let response = await once(path, body, signal);
  while (response.status === 401) {
    const key = await askForKey(hasKey());
    if (key === null) throw new Refused("This server asks for an API key; “Fill” asks you for it again.", 401);
    session.set(KEY, key);
    response = await once(path, body, signal);
  }
  if (!response.ok) throw await refusal(response);
  return response;
}

async function refusal(response) {
  const after = Number(response.headers.get("Retry-After")) || 0;
  try {
    return new Refused((await response.json()).error.message, response.status, after);
  } catch {
    return new Refused(`The server answered ${response.status} and did not say why.`, response.status, after);
  }
}

export const get = async (path, signal) => (await ask(path, undefined, signal)).json();

/** The events of a streamed fill, [kind, data], as they come; ends with `done`, or throws. */
export async function* filling(body, signal) {
  const response = await ask("/v1/fill", { ...body, stream: true }, signal);
  for await (const block of blocks(response.body, signal)) {
    const event = parsed(block);
    if (event.kind === "error") throw new Refused(event.data.error.message, event.data.error.code);
    yield [event.kind, event.data];
    if (event.kind === "done") return;
  }
  throw new Refused("The server hung up before the fill was done. Is “calipers serve” still running?");
}

async function* blocks(stream, signal) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    while (true) {
      const { value, done } = await reader.read();
      if (done) return;
      const parts = (rest + value).split("\n\n");
      rest = parts.pop();
      yield* parts;
    }
  } catch (failure) {
    if (signal?.aborted) throw failure;
    // A connection that breaks and one that ends say the same: there is no more.
  } finally {
    reader.cancel().catch(() => {});
  }
}

function parsed(block) {
  const event = { kind: "message", data: null };
  for (const line of block.split("\n")) {
    if (line.startsWith("event: ")) event.kind = line.slice(7);
    else if (line.startsWith("data: ")) event.data = JSON.parse(line.slice(6));
  }
  return event;
}
