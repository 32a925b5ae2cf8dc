// The text to agree to before the next pair. Until then nothing is graded, and what was filled in is kept.
(() => {
  "use strict";
  const parts = (window.kpdemoRate ??= {});
  const { agree, showConsent } = window.kpdemoParts;

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
        session.say("You can go on.");
        sender.release();
        session.look();
      } else if (status === 428) sender.askQueue();  // also for who has stopped: that gives out no pair
      return status === 200 && session.isResting;
    }
  }

  const show = (root, { consent, ready, sender, isResting, say }) => {
    const work = { hasBegun: ready.length + sender.outbox.length > 0, isStopping: isResting };
    showConsent(root.querySelector("#rate-consent"), consent.asked, work, say);
  };

  Object.assign(parts, { Consent, showConsent: show });
})();
