// Training: a pair is graded, what was expected is shown beside it, and only then comes the next one.
import { timing } from "./keys.js";
import { _, decimal, ngettext } from "../../kpdemo/language.js";
import { setText } from "../parts.js";

const startsWhen = ({ distance, pairs, pass_percent: percent }) => (distance
  ? ngettext("The actual grading starts when {percent} % of your {count} grade is within {distance} of the expected one.",
    "The actual grading starts when {percent} % of your {count} grades are within {distance} of the expected ones.", pairs,
    { percent, distance: decimal(distance) })
  : ngettext("The actual grading starts when {percent} % of your {count} grade is exactly the expected one.",
    "The actual grading starts when {percent} % of your {count} grades are exactly the expected ones.", pairs, { percent }));

export const trainingResult = (feedback) => {
  const { accepted } = feedback, [grade, known] = [feedback.grade, feedback.known].map(decimal);
  if (grade === known) return _("You gave {grade}, exactly as expected.", { grade });
  return accepted
    ? _("You gave {grade}; {known} was expected: close enough.", { grade, known })
    : _("You gave {grade}; {known} was expected: too far off.", { grade, known });
};

export const trainingMessage = {
  begin: ({ pairs, tries_left: left }) =>
    `${ngettext("Then you grade {count} training pair, and see after it what was expected.",
      "Then you grade {count} training pairs, and see after each what was expected.", pairs)}`
    + (left === null ? "" : ` ${ngettext("You may try {count} time.", "You may try {count} times.", left + 1)}`),
  failed: ({ accepted, pairs, pass_percent: percent, tries_left: left }) =>
    `${ngettext("{count} of your {total} grades was close enough; you need {percent} %.",
      "{count} of your {total} grades were close enough; you need {percent} %.", accepted, { total: pairs, percent })} `
    + (left === 0
      ? _("You have used all your tries, so you cannot grade here. Thank you for your time.")
      : _("Read the guidelines below once more, and try again."))
    + (left ? ` ${ngettext("You have {count} more try.", "You have {count} more tries.", left)}` : ""),
  passed: ({ accepted, pairs }) => ngettext("You passed: {count} of your {total} grades was close enough.",
    "You passed: {count} of your {total} grades were close enough.", accepted, { total: pairs }),
};
const BUTTONS = { failed: () => _("Try again"), passed: () => _("Start grading") };

// What a session knows of the training; without `progress` there is none to do.
export class Training {
  constructor() {
    this.progress = null;
    this.asked = null;     // the pair whose grade is on its way
    this.feedback = null;  // of the pair that is shown
    this.next = [];
  }

  // Nothing has been graded yet.
  get isNew() {
    const { attempt, graded, phase } = this.progress ?? {};
    return attempt === 1 && graded === 0 && phase === "open";
  }

  get isOn() { return this.progress !== null; }
  get isHeld() { return this.asked !== null || this.feedback !== null; }
  get phase() { return this.isOn && this.progress.phase !== "open" ? this.progress.phase : null; }

  // The pairs to show now; null while the shown one stays. Feedback on another pair goes to `notify`.
  take(answer, entry, shown, notify) {
    this.progress = answer.training;
    const { feedback } = answer;
    if (feedback && entry.pair === shown?.id) {
      Object.assign(this, { asked: null, feedback, next: answer.pairs });
      return null;
    }
    if (feedback) notify(`“${entry.about}”: ${trainingResult(feedback)} ${feedback.explanation}`);
    if (this.isHeld) return null;
    return answer.pairs;
  }

  goOn() {
    const { next } = this;
    Object.assign(this, { feedback: null, next: [] });
    return next;
  }

  end() { Object.assign(this, new Training()); }
}

// Who pressed "Go on" twice has not read yet what came of the attempt.
const holdBack = (button) => {
  button.setAttribute("aria-disabled", "true");
  setTimeout(() => button.removeAttribute("aria-disabled"), timing.hold);
};

// On the scale itself; between two points it stands at both.
const showExpected = (root, feedback) => {
  for (const button of root.querySelectorAll("#rate-scale [role=radio]")) {
    const isNear = feedback && Math.abs(Number(button.dataset.value) - feedback.known) < 1;
    if (isNear) button.dataset.expected = _("expected: {known}", { known: decimal(feedback.known) });
    else delete button.dataset.expected;
  }
};

export const showTraining = (root, { training, phase }) => {
  const { progress, feedback } = training;
  root.dataset.training = String(training.isOn);
  const intro = root.querySelector("#rate-training");
  intro.hidden = !training.isOn || phase !== "pair";
  if (!intro.hidden) {
    const sentence = progress.attempt > 1 ? _("Training, attempt {attempt}.", progress) : _("Training.");
    setText(intro, `${sentence} ${_("After each pair you see what was expected.")} ${startsWhen(progress)}`);
  }
  showExpected(root, phase === "pair" ? feedback : null);
  const panel = root.querySelector("#rate-feedback");
  panel.hidden = !feedback || phase !== "pair";
  if (feedback) {
    panel.dataset.accepted = String(feedback.accepted);
    setText(panel.querySelector("b"), trainingResult(feedback));
    setText(panel.querySelector("span"), feedback.explanation);
  }
  const button = root.querySelector("#rate-message [data-rate=training]");
  if (button.hidden && phase in BUTTONS) holdBack(button);
  button.hidden = !(phase in BUTTONS) || (phase === "failed" && progress.tries_left === 0);
  if (phase in BUTTONS) setText(button, BUTTONS[phase]());
};
