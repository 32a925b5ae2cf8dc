// The bar at the bottom of a phone: how high it is, and whether it leaves enough of the window to the texts.
const MOST = 0.55;

let form = null;

const measure = () => {
  if (!form?.isConnected) return;
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
addEventListener("resize", soon);

export const watchDock = (root) => {
  form = root;
  sizes.disconnect();
  for (const part of [root, root.querySelector("#rate-dock"), document.querySelector("header.site")]) if (part) sizes.observe(part);
  soon();
};
