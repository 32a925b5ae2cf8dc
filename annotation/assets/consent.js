// The text to agree to, which stands in place of the work on the pages of raters and writers.
(() => {
  "use strict";
  const { watchWidths } = window.kpdemoParts;

  // Put it into its section; null for nothing to agree to. The style sheet hides the work meanwhile.
  const showConsent = (section, consent, hasBegun) => {
    section.hidden = !consent;
    if (!consent || section.dataset.sha256 === consent.sha256) return;
    section.dataset.sha256 = consent.sha256;
    section.querySelector("h2").textContent = consent.changed ? "This text has changed: please read it again" : "Please read this first";
    section.querySelector(".small").textContent = `${hasBegun || consent.changed ? "You go on" : "You begin"} once you agree.`
      + (hasBegun ? " What you have filled in is kept." : "");
    section.querySelector(".rate-guidelines").innerHTML = consent.html;  // made by the server, which trusts no markup in the text
    watchWidths(section);
    section.scrollIntoView({ block: "nearest" });
  };

  // The status of what the server answers to “I agree”: 200, or 428 where the text is another one by now.
  const agree = async (answer, notify, lost) => {
    const { status, body } = await answer;
    if (status === 401) lost();
    else if (status !== 200) notify(body.error ?? "There is no connection: press again in a moment.");
    return status;
  };

  Object.assign(window.kpdemoParts, { showConsent, agree });
})();
