// The bar at the bottom of a phone: how high it is, whether it leaves enough of the window to the texts, and where the
// names of the points stand: below the buttons, if one would be cut there, or broken within a word.
const MOST = 0.55;

let form = null;

const fits = (name) => name.scrollWidth <= name.clientWidth && name.scrollHeight <= name.clientHeight;

const measure = () => {
  if (!form?.isConnected) return;
  form.dataset.names = "within";
  if (![...form.querySelectorAll("#rate-scale b")].every(fits)) form.dataset.names = "below";
  const dock = form.querySelector("#rate-dock").getBoundingClientRect();
  if (!dock.height) return;  // a wide window has none, and other phases show none
  const above = form.querySelector("#rate-pair").getBoundingClientRect().top + scrollY;
  form.dataset.dock = dock.height > MOST * innerHeight ? "flow" : "fixed";
  form.style.setProperty("--rate-dock", `${Math.ceil(dock.height)}px`);
  form.style.setProperty("--rate-above", `${Math.ceil(above)}px`);
};

let isDue = false;
const soon = () => {
  if (isDue) return;
  isDue = true;
  requestAnimationFrame(() => { isDue = false; measure(); });
};
const sizes = new ResizeObserver(soon);
const names = new MutationObserver(soon);
addEventListener("resize", soon);

export const watchDock = (root) => {
  form = root;
  sizes.disconnect();
  names.disconnect();
  names.observe(root.querySelector("#rate-names"), { childList: true });  // another type has others
  for (const part of [root, root.querySelector("#rate-dock"), document.querySelector("header.site")]) if (part) sizes.observe(part);
  soon();
};
