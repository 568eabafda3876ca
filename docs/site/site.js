"use strict";
(() => {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const stored = () => { try { return localStorage.getItem("theme"); } catch { return null; } };
  const isDark = () => (root.dataset.theme || (dark.matches ? "dark" : "light")) === "dark";
  // Before the page is drawn, so that it does not flash in the other colours.
  if (["light", "dark"].includes(stored())) root.dataset.theme = stored();
  root.classList.add("scripted");

  function offerTheme() {
    const button = document.getElementById("theme");
    const show = () => { button.textContent = isDark() ? button.dataset.light : button.dataset.dark; };
    button.hidden = false;
    button.addEventListener("click", () => {
      root.dataset.theme = isDark() ? "light" : "dark";
      try { localStorage.setItem("theme", root.dataset.theme); } catch { /* kept for this page only */ }
      show();
    });
    dark.addEventListener("change", show);
    show();
  }

  // The section that is being read: marked in the contents, and where a change of language goes.
  function followReader() {
    const headings = [...document.querySelectorAll("main :is(h1, h2, h3)[id]")];
    const twin = document.querySelector("a.twin");
    const twinPage = twin?.getAttribute("href");
    const entries = new Map([...document.querySelectorAll(".contents a")].map(
      (a) => [decodeURIComponent(a.hash.slice(1)), a]));
    let current = null;
    const look = () => {
      const edge = innerHeight / 4;
      const read = headings.findLast((h) => h.getBoundingClientRect().top < edge) ?? headings[0];
      if (!read || read === current) return;
      current = read;
      for (const a of entries.values()) a.classList.remove("reading");
      for (const li of document.querySelectorAll(".contents li.open")) li.classList.remove("open");
      const entry = entries.get(read.id);
      if (entry) {
        entry.classList.add("reading");
        entry.closest(".contents > li").classList.add("open");
        const box = document.getElementById("menu");
        const { top, bottom } = entry.getBoundingClientRect();
        const frame = box.getBoundingClientRect();
        if (top < frame.top || bottom > frame.bottom) box.scrollTop += top - frame.top - frame.height / 3;
      }
      if (twin && read.dataset.twin && read.tagName !== "H1") twin.href = `${twinPage}#${read.dataset.twin}`;
      else if (twin) twin.href = twinPage;
    };
    let waiting = false;
    addEventListener("scroll", () => {
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => { waiting = false; look(); });
    }, { passive: true });
    look();
  }

  function offerSearch() {
    const input = document.getElementById("search");
    const list = document.getElementById("found");
    input.parentElement.hidden = false;
    const load = () => {
      if (window.searchIndex || document.querySelector("script[src='search-index.js']")) return;
      const script = document.createElement("script");
      script.src = "search-index.js";
      script.addEventListener("load", search);
      document.head.append(script);
    };
    const count = (text, word) => text.split(word).length - 1;
    const rank = ([, , title, heading, text, language], words) => {
      const [t, h, b] = [title, heading, text].map((s) => s.toLowerCase());
      if (!words.every((w) => t.includes(w) || h.includes(w) || b.includes(w))) return 0;
      const own = language === root.lang ? 1.5 : 1;
      return own * words.reduce((sum, w) => sum + 10 * count(h, w) + 3 * count(t, w) + Math.min(5, count(b, w)), 0);
    };
    const marked = (text, words) => {
      const lower = text.toLowerCase();
      const first = Math.max(0, Math.min(...words.map((w) => lower.indexOf(w)).filter((i) => i >= 0)));
      const from = Number.isFinite(first) ? Math.max(0, first - 40) : 0;
      const piece = text.slice(from, from + 140);
      const out = document.createElement("small");
      if (from) out.append("…");
      let place = 0;
      while (place < piece.length) {
        const rest = piece.slice(place).toLowerCase();
        const hits = words.map((w) => [rest.indexOf(w), w.length]).filter(([i]) => i >= 0);
        if (!hits.length) break;
        const [at, size] = hits.sort((a, b) => a[0] - b[0])[0];
        const mark = document.createElement("mark");
        mark.textContent = piece.slice(place + at, place + at + size);
        out.append(piece.slice(place, place + at), mark);
        place += at + size;
      }
      out.append(piece.slice(place), from + 140 < text.length ? "…" : "");
      return out;
    };
    function search() {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      list.hidden = !words.length || !window.searchIndex;
      if (list.hidden) return;
      const hits = window.searchIndex.map((row) => [rank(row, words), row])
        .filter(([score]) => score).sort((a, b) => b[0] - a[0]).slice(0, 12);
      list.replaceChildren(...hits.map(([, [page, anchor, title, heading, text, language]]) => {
        const item = document.createElement("li");
        const a = document.createElement("a");
        a.href = anchor ? `${page}#${anchor}` : page;
        a.lang = language;
        const name = document.createElement("b");
        name.textContent = heading;
        a.append(name);
        if (heading !== title) a.append(` ${title}`);
        a.append(marked(text, words));
        a.addEventListener("click", () => { list.hidden = true; });
        item.append(a);
        return item;
      }));
      if (!hits.length) {
        const item = document.createElement("li");
        item.textContent = input.dataset.nothing;
        list.append(item);
      }
    }
    input.addEventListener("focus", () => { load(); search(); });
    input.addEventListener("input", search);
    input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") list.querySelector("a")?.click();
      if (event.key === "ArrowDown") { event.preventDefault(); list.querySelector("a")?.focus(); }
    });
    list.addEventListener("keydown", (event) => {
      const item = document.activeElement.closest("li");
      const next = { ArrowDown: item?.nextElementSibling, ArrowUp: item?.previousElementSibling }[event.key];
      if (next) { event.preventDefault(); next.querySelector("a")?.focus(); }
    });
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape") { list.hidden = true; input.blur(); }
      if (event.key === "/" && !/INPUT|TEXTAREA/.test(document.activeElement.tagName)) {
        event.preventDefault();
        input.focus();
      }
    });
    document.addEventListener("click", (event) => {
      if (!event.target.closest(".search")) list.hidden = true;
    });
    // A search can be linked to: index.html?q=rope
    const asked = new URLSearchParams(location.search).get("q");
    if (asked) { input.value = asked; load(); }
  }

  document.addEventListener("DOMContentLoaded", () => {
    offerTheme();
    followReader();
    offerSearch();
    const menu = document.getElementById("menu");
    menu.addEventListener("click", (event) => {
      if (event.target.closest("a") && menu.matches(":popover-open")) menu.hidePopover();
    });
  });
})();
