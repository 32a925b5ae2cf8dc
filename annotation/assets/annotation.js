(() => {
  "use strict";
  // Without a session Gradio shows nothing at all: what was pressed would look as if it had been done.
  const KEEPS_WHAT_IS_TYPED = /\/(rate|write|adjudicate)$/;
  window.kpdemoSignInAgain = () => {
    if (!KEEPS_WHAT_IS_TYPED.test(location.pathname)) { tellOfEnd(); return; }
    location.assign(`/sign-in?next=${encodeURIComponent(location.pathname + location.search)}&ended`);
  };
  const notice = () => document.getElementById("session-ended");
  const tellOfEnd = () => {
    notice()?.remove();  // a new one is read out again
    const link = Object.assign(document.createElement("a"), { href: "/sign-in", target: "_blank", textContent: "Sign in in a new tab" });
    const note = Object.assign(document.createElement("p"), { id: "session-ended", className: "note failed", role: "alert" });
    note.append("Your session ended, and nothing was done. ", link, ", then come back and press again: what you typed is still here.");
    (document.querySelector(".gradio-container") ?? document.body).append(note);
  };
  const asked = window.fetch;
  window.fetch = async (...request) => {
    const response = await asked(...request);
    const { pathname } = new URL(response.url || location.href, location.href);
    if (!pathname.startsWith("/annotate/gradio_api/")) return response;
    if (response.status === 401) window.kpdemoSignInAgain();
    else if (response.ok) notice()?.remove();
    return response;
  };

  const day = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });
  const minute = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });

  const localTimes = () => {
    for (const time of document.querySelectorAll("time[datetime]:not([data-local])")) {
      const moment = new Date(time.dateTime);
      const today = moment.toDateString() === new Date().toDateString();
      time.dataset.local = "";
      time.title = moment.toLocaleString();
      time.textContent = `${today ? "today" : day.format(moment)} ${minute.format(moment)}`;
    }
  };

  const titled = () => {
    const title = document.querySelector("header.site[data-title]")?.dataset.title;
    if (title && document.title !== `${title} – Annotate`) document.title = `${title} – Annotate`;
  };

  const started = () => {
    const look = () => { localTimes(); titled(); };
    look();
    new MutationObserver(look).observe(document.documentElement, { childList: true, subtree: true });
  };

  if (document.readyState === "loading") addEventListener("DOMContentLoaded", started);
  else started();
})();
