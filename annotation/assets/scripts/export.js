// A browser tells nobody when a download of its own has ended, or why it failed.
import { _, language } from "../kpdemo/language.js";
import { signInAgain } from "./page.js";

const named = (response) => {
  const [, name] = /filename\*=UTF-8''([^;]+)/.exec(response.headers.get("content-disposition") ?? "") ?? [];
  return name ? decodeURIComponent(name) : "gold.zip";
};

const reasonOf = async (response) => {
  const { error } = await response.json().catch(() => ({}));
  return error ?? _("The server answered {status}: try again.", { status: response.status });
};

const saved = (blob, name) => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
};

const tell = (text, isRefusal) => {
  const told = document.querySelector("#export-told");
  if (!told) return;
  told.className = isRefusal ? "note refusal" : "small";
  told.textContent = text;
};

// What is chosen now: the server draws the link a moment after a choice, and names of raters must not slip in.
const addressOf = (link) => {
  const address = new URL(link.href);
  for (const name of ["format", "unfinished", "raters"]) {
    address.searchParams.set(name, document.querySelector(`#export-${name} input:checked`).value);
  }
  if (document.querySelector("#export-comments input").checked) address.searchParams.set("comments", "yes");
  else address.searchParams.delete("comments");
  return address;
};

const exported = async (link) => {
  if (link.ariaBusy === "true") return;
  link.ariaBusy = "true";
  tell(_("Writing the archive …"), false);
  try {
    const response = await fetch(addressOf(link), { headers: { "accept-language": language() } });
    if (response.status === 401) { tell("", false); signInAgain(); return; }
    if (!response.ok) { tell(await reasonOf(response), true); return; }
    saved(await response.blob(), named(response));
    tell("", false);
    document.querySelector("#export-again").click();
  } catch {
    tell(_("The server did not answer: check the connection and try again."), true);
  } finally {
    link.ariaBusy = "false";
  }
};

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a#export-download");
  if (!link) return;
  event.preventDefault();
  exported(link);
});
