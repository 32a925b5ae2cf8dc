// What was filled in for one pair, kept as a draft until it is sent, and the time that it took.
import { Stopwatch } from "../parts.js";

const ABOUT = 60;

// How a sentence names a pair: the beginning of its smaller item.
const about = ({ right }) => (right.length > ABOUT ? `${right.slice(0, ABOUT)}…` : right);

export class Form {
  constructor(pair, isEarlier, store, scale) {
    const draft = store.draft(pair.id);
    Object.assign(this, { pair, isEarlier, store, scale });
    this.saved = pair.grade === null ? null : scale.steps(pair.grade);
    this.grade = draft ? draft.grade : this.saved;
    this.comment = draft?.comment ?? pair.comment ?? "";
    this.isFlagged = draft?.isFlagged ?? Boolean(pair.flagged);
    this.watch = new Stopwatch(draft?.seconds);
  }

  get isCommentNew() {
    return this.comment !== (this.pair.comment ?? "") || this.isFlagged !== Boolean(this.pair.flagged);
  }
  get isNew() { return this.isCommentNew || this.grade !== this.saved; }

  choose(steps) {
    this.grade = this.scale.within(steps);
    this.keep();
  }

  write(comment, isFlagged) {
    Object.assign(this, { comment, isFlagged });
    this.keep();
  }

  keep() {
    const { pair, grade, comment, isFlagged } = this;
    if (this.isNew) this.store.keepDraft(pair.id, { grade, comment, isFlagged, seconds: this.watch.seconds });
    else this.store.dropDraft(pair.id);
  }

  resume() { this.watch.resume(); }
  pause() {
    this.watch.pause();
    this.keep();
  }

  ratingEntry() {
    const body = { grade: this.scale.grade(this.grade), seconds: this.watch.seconds };
    const isNew = this.saved === null;
    if (this.pair.training) return { kind: "training", training: this.pair.training, isNew, ...this.#named(), body };
    return { kind: "rating", isNew, ...this.#named(), body };
  }
  commentEntries() {
    const body = { text: this.comment, flagged: this.isFlagged };
    const was = { comment: this.pair.comment ?? "", flagged: Boolean(this.pair.flagged) };  // again, if it is refused
    return this.isCommentNew ? [{ kind: "comment", ...this.#named(), was, body }] : [];
  }
  skipEntry(reason, note) { return { kind: "skip", ...this.#named(), body: { reason, note } }; }
  #named() { return { pair: this.pair.id, about: about(this.pair) }; }

  // The pair as it will be once all is sent; a skipped one has no grade.
  answer(grade = this.grade) {
    const { comment, isFlagged } = this;
    const given = { grade: grade === null ? null : this.scale.grade(grade), rated_at: new Date().toISOString() };
    return { ...this.pair, ...given, comment, flagged: isFlagged };
  }
}
