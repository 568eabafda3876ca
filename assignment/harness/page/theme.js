"use strict";
(() => {
  const button = document.getElementById("theme");
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const stored = () => { try { return localStorage.getItem("theme"); } catch { return null; } };
  const isDark = () => (root.dataset.theme || (dark.matches ? "dark" : "light")) === "dark";
  const show = () => {
    button.textContent = isDark() ? button.dataset.light : button.dataset.dark;
    document.dispatchEvent(new Event("themechange"));
  };
  if (["light", "dark"].includes(stored())) root.dataset.theme = stored();
  button.hidden = false;
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("theme", root.dataset.theme); } catch { /* a page from a mail may keep nothing */ }
    show();
  });
  dark.addEventListener("change", show);
  show();
})();
