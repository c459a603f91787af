"use strict";
// Light or dark: as the address says, or the page around this one, or the system.

/** The theme that the address asks for, or that of the page around this one, or the system's. */
function storedTheme() {
  const found = /theme=(dark|light)/.exec(location.hash);
  return found?.[1] ?? themeAround() ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
}

/** Whether the page around this one is dark, if it lets itself be seen. */
function themeAround() {
  if (!EMBEDDED) return null;
  try {
    const { document: around } = window.parent;
    for (const each of [around.body, around.documentElement]) {
      const [red, green, blue, alpha = 1] = window.parent.getComputedStyle(each).backgroundColor.match(/[\d.]+/g).map(Number);
      if (alpha > 0) return 0.3 * red + 0.59 * green + 0.11 * blue < 128 ? "dark" : "light";
    }
  } catch { /* it has another origin */ }
  return null;
}

/** Call `renew` when what the theme follows has changed. */
function followTheme(renew) {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", renew);
  if (!EMBEDDED) return;
  try {
    const { document: around } = window.parent, observer = new MutationObserver(renew);
    for (const each of [around.body, around.documentElement]) observer.observe(each, { attributes: true });
  } catch { /* it has another origin */ }
}
