(() => {
  "use strict";
  // The same choice as on the other pages, before anything is painted.
  const KEY = "kpdemo-theme";
  const root = document.documentElement;
  try { root.dataset.theme = localStorage.getItem(KEY) ?? ""; } catch { /* a private window */ }

  // Signing out leaves nothing typed to the next user; a session that only ended keeps it.
  const TYPED = ["kpdemo-kept:", "kpdemo-adjudicate:", "kpdemo-senses:"];
  if (location.pathname.endsWith("/sign-in") && new URLSearchParams(location.search).has("out")) {
    try {
      for (const key of Object.keys(sessionStorage)) {
        if (TYPED.some((prefix) => key.startsWith(prefix))) sessionStorage.removeItem(key);
      }
    } catch { /* a private window */ }
  }

  const isDark = () => root.dataset.theme
    ? root.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;

  const switched = () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem(KEY, root.dataset.theme); } catch { /* a private window */ }
  };

  const spoken = ({ target }) => {
    document.cookie = `kpdemo-language=${target.value}; path=/; max-age=31536000; samesite=lax`;
    location.assign(target.dataset.address || location.pathname + location.search);
  };

  const shown = (event) => {
    for (const field of event.target.form.querySelectorAll("[autocomplete$=password]")) {
      field.type = event.target.checked ? "text" : "password";
    }
  };

  // A second press while the first is answered would count as a second attempt.
  // After the browser's Stop nothing answers: the button works again in a moment.
  const PATIENCE = 3000;
  const sent = (event) => {
    const form = event.target;
    if (form.dataset.sent) event.preventDefault();
    form.dataset.sent = "yes";
    setTimeout(() => { delete form.dataset.sent; }, PATIENCE);
    for (const field of form.querySelectorAll("[autocomplete$=password]")) field.type = "password";
  };

  document.addEventListener("DOMContentLoaded", () => {
    for (const button of document.querySelectorAll("[data-theme-button]")) {
      button.hidden = false;
      button.addEventListener("click", switched);
    }
    for (const menu of document.querySelectorAll("[data-language-menu]")) {
      menu.hidden = false;
      menu.addEventListener("change", spoken);
    }
    for (const label of document.querySelectorAll("[data-show]")) {
      label.hidden = false;
      label.querySelector("input").addEventListener("change", shown);
    }
    for (const form of document.forms) form.addEventListener("submit", sent);
  });
  addEventListener("pageshow", () => { for (const form of document.forms) delete form.dataset.sent; });
})();
