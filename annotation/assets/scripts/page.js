import { _ } from "../kpdemo/language.js";

// Without a session Gradio shows nothing at all: what was pressed would look as if it had been done.
const KEEPS_WHAT_IS_TYPED = /\/(rate|write|adjudicate)$/;
export const signInAgain = () => {
  if (!KEEPS_WHAT_IS_TYPED.test(location.pathname)) { tellOfEnd(); return; }
  location.assign(`/sign-in?next=${encodeURIComponent(location.pathname + location.search)}&ended`);
};
const notice = () => document.getElementById("session-ended");
let settled = 0;  // later a reader may have scrolled, and is not pulled back
// A page that asks by itself, as Agreement does, tells it once.
const isPressed = () => navigator.userActivation?.isActive ?? true;
const tell = (...said) => {
  if (notice() && (!isPressed() || notice().contains(document.activeElement))) return;
  notice()?.remove();  // a new one is read out again
  const note = Object.assign(document.createElement("p"), { id: "session-ended", className: "note failed", role: "alert" });
  note.append(...said);
  const page = document.querySelector(".gradio-container") ?? document.body;
  page.append(note);
  sizes.observe(page);  // what is answered above a button moves it
  settled = performance.now() + 2_000;
};
// What was pressed is to be pressed again: the notice may not lie on it.
const uncover = () => {
  if (!notice()) { sizes.disconnect(); return; }
  const { top, bottom } = document.activeElement.getBoundingClientRect();
  const hidden = bottom + 8 - notice().getBoundingClientRect().top;
  if (hidden > 0 && top > 0 && top < innerHeight) scrollBy(0, Math.min(hidden, top));
};
const sizes = new ResizeObserver(uncover);
const tellOfEnd = () => {
  const link = Object.assign(document.createElement("a"), { href: "/sign-in", target: "_blank", textContent: _("Sign in in a new tab") });
  const text = isPressed()
    ? _("Your session ended, and nothing was done. {sign_in}, then come back and press again, or choose the file again: what you typed is still here.")
    : _("Your session ended. {sign_in}, then come back: what you typed is still here.");
  const [before, after] = text.split("{sign_in}");
  tell(before, link, after);
};
const tellOfOther = () => tell(_("Somebody else is signed in now, and nothing was done: copy what you typed, then open the page again."));

const FOR_USER = { 401: signInAgain, 409: tellOfOther };
const asked = window.fetch;
window.fetch = async (what, options) => {
  const { pathname } = new URL(what.url ?? what, location.href);
  if (!pathname.startsWith("/annotate/gradio_api/")) return asked(what, options);
  const headers = new Headers(options?.headers ?? what.headers);
  const { user } = document.querySelector("header.site")?.dataset ?? {};
  if (user) headers.set("x-rater", user);  // the one whose name stands on the page
  const response = await asked(what, { ...options, headers });
  if (response.ok) notice()?.remove();
  else if (response.status in FOR_USER) {
    FOR_USER[response.status]();
    document.dispatchEvent(new CustomEvent("kpdemo-refused"));  // what waits for an answer waits in vain
  }
  // Of an upload that failed Gradio shows the answer as it came, beside the notice.
  const isToldOf = response.status in FOR_USER && pathname.endsWith("/upload");
  return isToldOf ? Response.json([]) : response;
};

const day = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });
const minute = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });

const localTimes = () => {
  for (const time of document.querySelectorAll("time[datetime]:not([data-local])")) {
    const moment = new Date(time.dateTime);
    const today = moment.toDateString() === new Date().toDateString();
    time.dataset.local = "";
    time.title = moment.toLocaleString();
    time.textContent = `${today ? _("today") : day.format(moment)} ${minute.format(moment)}`;
  }
};

const titled = () => {
  const title = document.querySelector("header.site[data-title]")?.dataset.title;
  if (title && document.title !== `${title} – ${_("Annotate")}`) document.title = `${title} – ${_("Annotate")}`;
};

// By its words, some of which may be Latin names: dir=auto goes by the first letter, which may be such a name's.
const LEFTWARD = /^[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}\p{Script=Samaritan}\p{Script=Mandaic}\p{Script=Hanifi_Rohingya}]/u;
const directionOf = (text) => {
  const words = text.slice(0, 2_000).match(/[\p{L}\p{M}]+/gu) ?? [];
  return words.filter((word) => LEFTWARD.test(word)).length > 0.3 * words.length ? "rtl" : "ltr";
};

const directed = () => {
  for (const text of document.querySelectorAll(".rate-text, .adj-items bdi")) {
    const direction = directionOf(text.textContent);
    if (text.dir !== direction) text.dir = direction;
    text.classList.toggle("paragraphs", text.textContent.includes("\n"));
  }
};

// On a phone the bar above the title is folded.
document.addEventListener("click", ({ target }) => {
  const menu = target.closest?.("#page-menu");
  menu?.setAttribute("aria-expanded", String(menu.getAttribute("aria-expanded") !== "true"));
});

// A reload stays on the tab that was chosen, and its address can be passed on.
document.addEventListener("click", ({ target }) => {
  const tab = target.closest?.("[role=tab][data-tab-id]");
  if (!["project-tabs", "review-tabs"].includes(tab?.closest(".tabs")?.id)) return;
  const address = new URL(location);
  address.searchParams.set("tab", tab.dataset.tabId);
  history.replaceState(history.state, "", address);
});

const look = () => {
  localTimes();
  titled();
  directed();
  if (notice() && performance.now() < settled) uncover();  // what takes the place of something of its size moves it, too
};
look();
new MutationObserver(look).observe(document.documentElement, { childList: true, subtree: true });
