// The text to agree to, which stands in place of the work on the pages of raters and writers.
import { _ } from "../kpdemo/language.js";
import { watchWidths } from "./parts.js";

const textsOf = ({ changed }, { hasBegun, isStopping }, isOther) => [
  changed || isOther ? _("This text has changed: please read it again") : _("Please read this first"),
  [
    isOther && _("It was changed while you read it, so you have not agreed yet."),
    isStopping
      ? _("Once you agree, your last answers are saved, and you are done for today.")
      : hasBegun || changed ? _("You can go on once you agree.") : _("You can begin once you agree."),
    !isStopping && hasBegun && _("What you have filled in is kept."),
  ].filter(Boolean).join(" "),
];

// Put it into its section, or take it away with null. The style sheet hides the work meanwhile. Whoever was at
// the work, or read another text here, is taken to the beginning of this one.
export const showConsent = (section, consent, work, say) => {
  const wasShown = !section.hidden;
  const { activeElement: before } = document;
  const form = section.parentElement;
  section.hidden = !consent;
  if (consent ? wasShown && section.dataset.sha256 === consent.sha256 : !wasShown) return;
  if (consent) {
    const [title, small] = textsOf(consent, work, wasShown);
    section.dataset.sha256 = consent.sha256;
    section.querySelector("h2").textContent = title;
    section.querySelector(".small").textContent = small;
    section.querySelector(".rate-guidelines").innerHTML = consent.html;  // made by the server, which trusts no markup in the text
    watchWidths(section);
    warn(section, "");
    for (const dialog of form.querySelectorAll("dialog[open]")) dialog.close();  // unseen, it would keep all keys and clicks
    if (before === document.body ? wasShown || work.hasBegun : form.contains(before)) section.focus({ preventScroll: true });
    say(`${title}. ${small}`);
  }
  if (form.getBoundingClientRect().top < 0) form.scrollIntoView({ block: "start" });
};

// Beside the button, as long as it is true.
export const warn = (section, text = _("There is no connection: press again in a moment.")) => {
  const place = section.querySelector("[role=alert]");
  place.textContent = text;
  if (text) place.scrollIntoView({ block: "nearest" });
};

// The status of what the server answers to “I agree”: 200, or 428 where the text is another one by now.
export const agree = async (section, answer, lost) => {
  warn(section, "");
  const { status, body } = await answer;
  if (status === 401) lost();
  else if (status !== 200) warn(section, body.error);
  return status;
};
