// What the rater is doing: the pair shown, and what comes next. Nothing here waits for the server.
import { agree } from "../consent.js";
import { _, decimal, ngettext } from "../../kpdemo/language.js";
import { random } from "../parts.js";
import { Form } from "./form.js";
import { Keys } from "./keys.js";
import { Tabs } from "./tabs.js";
import { Training, trainingResult } from "./training.js";

const AHEAD = 2;
const RECENT = 20;
const UNDO_TIME = 5000;

// The text to agree to before the next pair. Until then nothing is graded, and what was filled in is kept.
class Consent {
  constructor(session) { Object.assign(this, { session, asked: null }); }

  get isAsked() { return this.asked !== null; }

  // Whether the server asks for it in place of a pair.
  take({ consent = null }) {
    if (consent === null && !this.isAsked) return false;
    this.asked = consent;
    this.session.show(true);
    return this.isAsked;
  }

  // Whether it is over and the rater had stopped: the stop is then done again.
  async agree(section) {
    const { session } = this;
    const { sender } = session;
    const { sha256 } = this.asked;
    const answer = sender.post(`projects/${sender.project}/consent`, { sha256 });
    const status = await agree(section, answer, sender.lost);
    if (status === 200) {
      this.take({});
      session.say(_("You can go on."));
      sender.release();
      session.look();
    } else if (status === 428) sender.askQueue();  // also for who has stopped: that gives out no pair
    return status === 200 && session.isResting;
  }
}

export class Session {
  constructor({ store, scale, step, mayRevise, hasGuidelines, changed, say, opened, loadHistory }) {
    Object.assign(this, { store, scale, step, mayRevise, hasGuidelines, changed, say, opened, loadHistory });
    this.hasRead = store.read("read") === true;  // the guidelines, in this browser
    this.sender = this.channel = this.progress = null;
    this.isSynced = this.isWaiting = this.isShareGraded = false;
    this.problem = "";
    this.completion = null;  // what is told who came by a shared link, once nothing is left for them
    this.ready = [];    // what the server has given out, the pair to grade first
    this.history = null;  // own answers, newest first, once they are known
    this.isHistoryOld = false;  // another tab took over some of them
    this.isHistoryAsked = false;  // it is on its way
    this.answers = [];  // those of this page
    this.earlier = this.form = this.last = null;
    this.keys = new Keys(this);
    this.notices = [];
    this.tabs = new Tabs(this);
    Object.assign(this, { training: new Training(), consent: new Consent(this) });
    Object.assign(this, { isResting: false, isReturned: null });  // stopped for today; null until the pairs are given back, or cannot be
  }

  // Before the first training pair, or the first pair of a project with guidelines, these stand in its place.
  get isGated() {
    if (this.hasRead) return false;
    if (this.training.isOn) return this.training.isNew;
    return this.hasGuidelines && this.ready.length > 0 && this.progress !== null && this.rated === 0;
  }
  get pair() { return this.consent.isAsked || this.isGated ? null : this.earlier ?? this.ready[0] ?? null; }
  get isReadOnly() { return this.training.isHeld || this.#isKept; }
  get isLocked() { return this.keys.isHeld || this.isReadOnly; }
  get #isKept() { return this.earlier !== null && (this.problem !== "" || (this.earlier.grade !== null && !this.mayRevise)); }
  get phase() {
    if (this.consent.isAsked) return "consent";
    if (this.isResting) return "resting";
    if (this.isGated) return "guidelines";
    if (this.pair) return "pair";
    if (this.problem) return "problem";
    if (!this.isSynced) return "loading";
    if (this.training.phase) return this.training.phase;
    if (this.sender.pending().size) return "dry";
    return this.isShareGraded ? "share" : this.isWaiting ? "waiting" : "done";
  }
  get rated() {
    return (this.progress?.rated ?? 0) + this.sender.outbox.filter((entry) => entry.isNew).length;
  }
  get recent() {
    const own = new Set(this.answers.map((pair) => pair.id));
    return [...this.answers, ...(this.history ?? []).filter((pair) => !own.has(pair.id))].slice(0, RECENT);
  }

  // What the rater does

  choose(steps) {
    if (!this.form || this.isLocked) return;
    this.form.choose(steps);
    this.changed();
  }

  move(steps, size = this.step) {
    if (!this.form || this.isLocked) return;
    if (this.form.grade === null) this.say(_("Choose a grade from {lowest} to {highest} first.", this.scale.ends));
    else this.choose(this.form.grade + steps * size);
  }

  // To the point below (-1) or above (1), as the arrows of a group of radio buttons go.
  movePoint(direction) {
    if (!this.form || this.isLocked) return;
    this.choose(this.scale.pointBeside(this.form.grade, direction));
  }

  write(comment, isFlagged) {
    this.form?.write(comment, isFlagged);
    this.changed();
  }

  keepComment() {
    const { form } = this;
    if (!form?.isCommentNew) return;
    this.sender.add(...form.commentEntries());
    Object.assign(form.pair, { comment: form.comment, flagged: form.isFlagged });
    form.keep();
    this.changed();
  }

  submit() {
    const { form } = this;
    if (this.training.feedback) {
      this.#showTrainingPairs(this.training.goOn(), true);
      return;
    }
    if (!form || form.grade === null || this.isLocked) return;
    this.#dropPassingNotices();
    if (form.pair.training) {
      this.training.asked = form.pair.id;
      this.sender.add(form.ratingEntry());
      this.changed();
      return;
    }
    const answer = form.answer();
    this.#leavePair(answer, [form.ratingEntry(), ...form.commentEntries()], _("Last pair: {grade}.", { grade: decimal(answer.grade) }));
  }

  skip(reason, note) {
    const { form } = this;
    if (!form || this.earlier || this.training.isOn) return;
    this.#dropPassingNotices();
    this.#leavePair(form.answer(null), [...form.commentEntries(), form.skipEntry(reason, note)], _("Skipped."));
  }

  #leavePair(answer, entries, said) {
    const { id } = answer;
    this.answers = [answer, ...this.answers.filter((pair) => pair.id !== id)].slice(0, RECENT);
    this.last = { pair: answer, said, until: Date.now() + UNDO_TIME };
    setTimeout(() => this.changed(), UNDO_TIME + 20);
    this.store.dropDraft(id);
    Object.assign(this, { form: null, earlier: null, ready: this.ready.filter((pair) => pair.id !== id) });
    this.channel?.postMessage({ answered: id });
    this.sender.add(...entries);
    this.show(true);
    this.say(this.pair ? `${said} ${_("Next pair.")}` : said);
  }

  // What was typed is kept; a pair that the answers on their way bring along is given back with the others.
  rest() {
    this.form?.keep();
    this.form?.pause();
    Object.assign(this, { isResting: true, isReturned: null, earlier: null, last: null, ready: [], form: null });
    this.changed();
  }

  // The guidelines have been read.
  begin() {
    this.hasRead = true;
    this.store.write("read", true);
    this.show(true);
  }

  // With what the server said where the pairs at hand could not be given back.
  returned(isDone, error) {
    this.isReturned = isDone;
    if (!isDone) this.notify(`${error ?? _("There is no connection.")} ${_("The pairs that you had open will go to others in a while.")}`);
    this.changed();
  }

  resume() {
    Object.assign(this, { isResting: false, isSynced: false });
    this.changed();
    this.sender.askQueue();
  }

  back() {
    const at = this.earlier ? this.recent.findIndex((pair) => pair.id === this.earlier.id) + 1 : 0;
    const pair = this.recent[at];
    if (pair) this.open(pair);
    else if (at) this.say(ngettext("Only your last {count} answer can be opened.", "Only your last {count} answers can be opened.", this.recent.length));
    else this.say(this.history && !this.isHistoryOld ? _("There is no earlier answer.") : _("Your earlier answers are on their way."));
  }

  open(pair, isOwn = true) {
    this.earlier = pair;
    this.last = null;
    this.show(isOwn);
  }

  // A grade that was not submitted is forgotten then; a comment is not.
  close() {
    if (!this.earlier) return;
    if (!this.isReadOnly) this.form.grade = this.form.saved;
    this.earlier = null;
    this.show(true);
  }

  // What the server says

  received(answer, entry) {
    this.problem = "";
    if (!entry && this.consent.take(answer)) return;
    if (entry?.isNew || entry?.kind === "skip") this.channel?.postMessage({ saved: entry.pair });
    if ((!entry && this.isHistoryOld) || !(this.history || this.isHistoryAsked)) this.loadHistory();
    if (answer.ended) this.sender.askQueue();
    if (answer.pairs) this.completion = answer.completion ?? null;
    if (answer.progress) this.progress = answer.progress;
    if (answer.training) {
      this.#takeTraining(answer, entry);
      return;
    }
    if (answer.project) {
      this.training.end();
      this.step = this.scale.steps(answer.project.step);
      this.mayRevise = answer.project.may_revise;
    }
    if (answer.pairs) this.#take(answer, Boolean(answer.project) || Boolean(answer.share_graded));
  }

  #takeTraining(answer, entry) {
    if (answer.feedback) this.#settleTraining(entry.pair);
    const pairs = this.training.take(answer, entry, this.pair, (text) => this.notify(text, { isLasting: true }));
    this.isSynced = true;
    if (pairs) this.#showTrainingPairs(pairs);
    else if (answer.feedback) {
      this.say(`${trainingResult(answer.feedback)} ${answer.feedback.explanation}`);
    }
  }

  // The next attempt shows the pair again, under the same id: no draft of it may be left.
  #settleTraining(id) {
    if (this.form?.pair.id === id) this.form.saved = this.form.grade;
    this.store.dropDraft(id);
  }

  #showTrainingPairs(pairs, isOwn = false) {
    Object.assign(this, { ready: pairs, earlier: null, isWaiting: false });
    this.show(isOwn);
  }

  // With `isAll` the rater holds no pair besides these.
  #take({ pairs, waiting, share_graded: isShareGraded }, isAll) {
    if (this.isResting) return;
    const pending = this.sender.pending();
    const given = pairs.filter((pair) => !pending.has(pair.id) && !this.tabs.isOnItsWay(pair.id));
    const [first] = this.ready;
    const wasShown = first && !this.earlier;
    const isGone = isAll && first && !given.some((pair) => pair.id === first.id) && !this.store.draft(first.id);
    // The pair that is being looked at stays where it is, whatever the server would give out first.
    this.ready = first && !isGone ? [first, ...given.filter((pair) => pair.id !== first.id)].slice(0, AHEAD) : given;
    Object.assign(this, { isWaiting: Boolean(waiting), isShareGraded: Boolean(isShareGraded), isSynced: true });
    this.show();
    if (isGone && wasShown) this.notify(_("The pair that was shown here is no longer yours to grade."));
  }

  refused(entry, sentence) {
    if (!entry) {  // nobody grades here: what is filled in stays as a draft
      if (!this.earlier && this.form?.isCommentNew) this.notify(_("Your comment was not sent."), { copy: this.form.comment });
      Object.assign(this, { problem: sentence, ready: [] });
      this.show();
      return;
    }
    if (entry.kind === "training") this.training.asked = null;
    const isComment = entry.kind === "comment";
    const taken = isComment ? [entry] : [entry, ...this.sender.withdraw(entry.pair)];
    const comment = taken.find((other) => other.kind === "comment")?.body.text ?? "";
    const { about } = entry, grade = decimal(entry.body.grade ?? 0);
    const what = {
      rating: () => _("Your grade {grade} for “{about}” was refused.", { grade, about }),
      training: () => _("Your grade {grade} for “{about}” was refused.", { grade, about }),
      skip: () => _("Your skip for “{about}” was refused.", { about }),
      comment: () => _("Your comment for “{about}” was refused.", { about }),
    }[entry.kind]();
    for (const other of taken.toReversed()) if (other.kind === "comment") this.#takeBack(other);
    this.notify(`${what} ${sentence}`, { copy: comment, isLasting: true });
    if (isComment) return;
    this.answers = this.answers.filter((pair) => pair.id !== entry.pair);
    if (this.last?.pair.id === entry.pair) this.last = null;
    this.isHistoryOld = true;  // what was saved of it before stands
    this.askAnew();
  }

  // Pairs have their earlier comment again; what is typed into the form stays, as something to save.
  #takeBack({ id, pair: of, was, body }) {
    const later = this.sender.outbox.find((entry) => entry.kind === "comment" && entry.pair === of && entry.id !== id);
    if (later) later.was = was;
    for (const pair of new Set([this.earlier, ...this.ready, ...this.answers, ...(this.history ?? [])])) {
      const isIt = pair?.id === of && (pair.comment ?? "") === body.text && Boolean(pair.flagged) === body.flagged;
      if (isIt) Object.assign(pair, was);
    }
    if (this.form?.pair.id === of) this.form.keep();
  }

  // Whether there is something new; asking claims pairs, so that who has stopped does not.
  look() { if (!this.isResting) this.sender.askQueue(); }

  askAnew() {
    if (!this.ready.length) this.isSynced = false;
    this.look();
  }

  // What was answered while the list was on its way may not be in it.
  takeHistory(pairs, askedAt) {
    const pending = this.sender.pending();
    this.answers = this.answers.filter((pair) => pending.has(pair.id) || Date.parse(pair.rated_at) >= askedAt);
    Object.assign(this, { history: pairs, isHistoryOld: false });
    this.changed();
  }

  // A passing one goes with the next answer, or the next that says the same; a comment to be copied stays.
  notify(text, { copy = "", isLasting = copy !== "" } = {}) {
    const others = this.notices.filter((notice) => notice.isLasting || notice.text !== text);
    this.notices = [...others, { id: random(), text, copy, isLasting }];
    this.changed();
  }

  #dropPassingNotices() { this.notices = this.notices.filter((notice) => notice.isLasting); }

  dismiss(id) {
    this.notices = this.notices.filter((notice) => notice.id !== id);
    this.changed();
  }

  // A pair that goes without the rater's doing (not `isOwn`) takes the keys that were meant for it along.
  show(isOwn = false) {
    const { pair, form } = this;
    if (form?.pair.id !== pair?.id || form?.isEarlier !== Boolean(this.earlier)) {
      form?.pause();
      this.form = pair && new Form(pair, Boolean(this.earlier), this.store, this.scale);
      this.keys.turn();
      if (form && !isOwn) this.keys.hold();
    }
    this.changed();
  }
}
