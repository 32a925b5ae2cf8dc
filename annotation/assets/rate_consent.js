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

    async agree() {
      const { session } = this;
      const { sender } = session;
      const { sha256 } = this.asked;
      const answer = sender.post(`projects/${sender.project}/consent`, { sha256 });
      const status = await agree(answer, (text) => session.notify(text), sender.lost);
      if (status === 200) {
        this.take({});
        sender.release();
      }
      if (status === 200 || status === 428) session.look();
    }
  }

  const show = (root, { consent, ready, sender }) => {
    showConsent(root.querySelector("#rate-consent"), consent.asked, ready.length + sender.outbox.length > 0);
  };

  Object.assign(parts, { Consent, showConsent: show });
})();
