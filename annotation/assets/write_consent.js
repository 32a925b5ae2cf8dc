// The text to agree to before the next item. Until then nothing is written, and what was typed stays in its field.
(() => {
  "use strict";
  const parts = (window.kpdemoWrite ??= {});
  const { agree, showConsent } = window.kpdemoParts;
  let asked = null;

  // Whether the server asks for it in place of an item.
  parts.takeConsent = (root, { consent = null }, hasBegun) => {
    asked = consent;
    showConsent(root.querySelector("#write-consent"), asked, hasBegun);
    return asked !== null;
  };

  parts.isConsentAsked = () => asked !== null;

  parts.agree = async (root, ask, look) => {
    const answer = ask("POST", `projects/${root.dataset.project}/consent`, { sha256: asked.sha256 });
    const status = await agree(answer, (text) => parts.notify(root, text), window.kpdemoSignInAgain);
    if (status === 200 || status === 428) await look();
  };
})();
