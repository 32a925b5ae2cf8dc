// The text to agree to before the next item. Until then nothing is written, and what was typed stays in its field.
import { _ } from "../../kpdemo/language.js";
import { agree, showConsent, warn } from "../consent.js";
import { signInAgain } from "../page.js";

let asked = null;
let later = null;  // what was pressed and could not be done before

const sectionOf = (root) => root.querySelector("#write-consent");
const sayIn = (root) => (text) => { root.querySelector("#write-live").textContent = text; };

// Whether the server asks for it in place of an item.
export const takeConsent = (root, { consent = null }, hasBegun) => {
  asked = consent;
  showConsent(sectionOf(root), asked, { hasBegun }, sayIn(root));
  return asked !== null;
};

export const isConsentAsked = () => asked !== null;
export const isHeld = (isDirty) => asked !== null && (isDirty || later !== null);
export const afterConsent = (work) => { later = asked && work; };

// Once the work is there again, `land` has the focus go to it.
export const agreeTo = async (root, ask, look, land) => {
  const { sha256 } = asked;
  const answer = ask("POST", `projects/${root.dataset.project}/consent`, { sha256 });
  const status = await agree(sectionOf(root), answer, signInAgain);
  if (status === 200 || status === 428) await look();
  if (status === 200 && asked?.sha256 === sha256) warn(sectionOf(root));
  if (asked) return;
  sayIn(root)(_("You can go on."));
  land();
  const work = later;
  later = null;
  work?.();
};
