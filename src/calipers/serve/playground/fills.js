// What was asked for once: the measurement, and a fill for each choice of lengths looked at.

/** One request under way or answered. */
export class Fills {
  /** body   the request without lengths or stream; texts   around its holes */
  constructor(body, texts) {
    this.body = body;
    this.texts = texts;
    this.live = texts.slice(1).map(() => []); // probes of each hole as they came
    this.turn = null;
    this.found = null; // the lengths the search found
    this.answer = null; // its answer
    this.known = new Map(); // lengths -> {texts, frames, answer}
    this.shown = null; // lengths
    this.wanted = null; // lengths asked for and not yet there
  }

  get holes() {
    return this.texts.length - 1;
  }

  /** A length was scored. A hole measured anew, because the others changed, begins anew. */
  probed({ hole, ...probe }) {
    if (this.turn !== hole) this.live[hole] = [];
    this.turn = hole;
    this.live[hole].push(probe);
  }

  /** The search's own answer. */
  measured(fill) {
    this.answer = fill.answer;
    this.found = fill.answer.landscapes.map((landscape) => landscape.length);
    this.keep(this.found, fill);
  }

  keep(lengths, fill) {
    this.known.set(lengths.join(), fill);
    this.shown = lengths;
  }

  at(lengths) {
    return this.known.get(lengths.join());
  }

  /** Probes of a hole, in visiting order once the search has ended. */
  probes(hole) {
    return this.answer?.landscapes[hole]?.probes ?? this.live[hole] ?? [];
  }

  /** The shown lengths with one hole's changed. */
  with(hole, length) {
    return this.shown.map((one, at) => (at === hole ? length : one));
  }

  /** Fills that differ from the shown one in this hole only, the shortest first. */
  beside(hole) {
    const same = (key) => key.split(",").every((length, at) => at === hole || Number(length) === this.shown[at]);
    return [...this.known]
      .filter(([key]) => same(key))
      .map(([key, fill]) => ({ length: Number(key.split(",")[hole]), fill }))
      .sort((a, b) => a.length - b.length);
  }

  /** The request whose answer is shown; one that was measured says no lengths. */
  get call() {
    const measured = this.shown === null || this.shown.join() === this.found?.join();
    return measured ? this.body : { ...this.body, lengths: this.shown };
  }
}
