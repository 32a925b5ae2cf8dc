// What other tabs of the same rater do to the session of this one.
import { _ } from "../../kpdemo/language.js";

const ELSEWHERE = 60_000;

export class Tabs {
  constructor(session) {
    this.session = session;
    this.answeredAt = new Map();
  }

  // One has answered this pair.
  answered(id) {
    const { session } = this;
    this.answeredAt.set(id, Date.now());
    if (!session.ready.some((pair) => pair.id === id)) return;
    const isShown = session.ready[0].id === id && !session.earlier;
    const comment = isShown && session.form.isCommentNew ? session.form.comment : "";
    session.ready = session.ready.filter((pair) => pair.id !== id);
    if (isShown) {
      session.form = null;  // nothing of it is a draft any more
      session.keys.hold();
    }
    session.askAnew();
    session.show();
    if (isShown) session.notify(_("The pair that was shown here was answered in another tab."), { copy: comment });
  }

  // And the server has it: the count of answers is a newer one.
  saved() { this.session.look(); }

  // The server may not have it yet from the other tab, and give the pair out once more.
  isOnItsWay(id) { return Date.now() - (this.answeredAt.get(id) ?? 0) < ELSEWHERE; }

  // One sends these now, or has answered their pairs again: what was answered here no longer counts.
  took(entries) {
    const { session } = this;
    const pending = session.sender.pending();
    const gone = new Set(entries.map((entry) => entry.pair).filter((pair) => !pending.has(pair)));
    const isLeft = (pair) => !gone.has(pair.id);
    session.answers = session.answers.filter(isLeft);
    session.history = session.history?.filter(isLeft) ?? null;
    session.isHistoryOld = true;
    if (session.last && !isLeft(session.last.pair)) session.last = null;
    if (gone.has(session.training.asked)) session.training.asked = null;  // that tab shows what was expected
    if (session.earlier && !isLeft(session.earlier)) this.#leaveEarlier();
    session.changed();
  }

  #leaveEarlier() {
    const { session } = this;
    const { comment, isCommentNew, pair } = session.form;
    Object.assign(session, { form: null, earlier: null });
    session.store.dropDraft(pair.id);
    session.keys.hold();
    session.show();
    const text = _("The answer that was shown here was changed in another tab: go back to see what is saved.");
    session.notify(text, { copy: isCommentNew ? comment : "" });
  }
}
