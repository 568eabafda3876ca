"use strict";
// The page of `python -m assignment.look`: heads to choose, a picture to zoom into, tokens to step
// through. One state, drawn anew by `set`; tests and the console reach it as `look`.
const look = (() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const { tokens, layers, heads, seen } = data;
  const n = tokens.length, cells = n * n;
  const by = (id) => document.getElementById(id);
  const say = (name, values = {}) => data.say[name].replace(/\{(\w+)\}/g, (_, key) => values[key]);
  const percent = (p) => `${p > 0 && p < 0.095 ? (100 * p).toFixed(1) : Math.round(100 * p)}\u202f%`;

  function h(tag, attributes = {}, ...children) {
    const drawn = "svg rect line path text circle title polyline".split(" ").includes(tag);
    const made = drawn
      ? document.createElementNS("http://www.w3.org/2000/svg", tag)
      : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
      else if (value !== null && value !== false) made.setAttribute(name, value === true ? "" : value);
    }
    made.append(...children.flat().filter((child) => child !== null));
    return made;
  }

  // ---- Attention, a byte a cell: 255 √weight

  const unpack = (packed) => packed && Uint8Array.from(atob(packed), (sign) => sign.charCodeAt(0));
  const attention = seen.map((one) => ({ steps: unpack(one.steps), whole: unpack(one.whole) }));
  const ways = ["steps", "whole"].filter((way) => attention.some((one) => one[way]));
  const both = attention.some((one) => one.steps && one.whole);
  const shade = (way, i, layer, head, row, column) =>
    attention[i][way][(layer * heads + head) * cells + row * n + column] / 255;
  const weight = (...place) => shade(...place) ** 2;
  const shown = (state) => seen.map((_, i) => i).filter((i) => attention[i][state.way]);

  // What the large pictures show: each an implementation, or a difference of two.
  function pictures(state) {
    const { layer, head } = state, at = (way, i) => (r, c) => shade(way, i, layer, head, r, c);
    const less = (a, b) => (r, c) => a(r, c) ** 2 - b(r, c) ** 2;
    if (state.way === "apart")
      return seen.flatMap(({ name }, i) =>
        attention[i].steps && attention[i].whole
          ? [{ name: say("steps_less_whole", { name }), of: less(at("steps", i), at("whole", i)) }]
          : []);
    const found = shown(state).map((i) => ({ name: seen[i].name, of: at(state.way, i) }));
    if (found.length > 1) {
      const [a, b] = found;
      found.push({ name: say("first_less_second", { a: a.name, b: b.name }), of: less(a.of, b.of) });
    }
    return found;
  }

  const known = Object.values(seen[0].heads).flat();
  let state = {
    way: ways[0], layer: known[0]?.[0] ?? 0, head: known[0]?.[1] ?? 0,
    row: data.prompt - 1, column: Math.max(0, data.prompt - 2), zoom: 1, left: 0, top: 0, // left, top: in cells
  };

  // ---- Drawing on canvases

  function colours(canvas) {
    const probe = h("span");
    canvas.parentNode.append(probe);
    const of = (name) => {
      probe.className = name;
      return getComputedStyle(probe).color;
    };
    const found = { more: of("ink-more"), less: of("ink-less"), text: of("ink-text"), mark: of("ink-mark") };
    probe.remove();
    return found;
  }

  function fresh(canvas, width, height) {
    const scale = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    const pen = canvas.getContext("2d");
    pen.scale(scale, scale);
    pen.clearRect(0, 0, width, height);
    return pen;
  }

  // All heads: layers across where there is room, else down.
  const overview = by("overview");
  function grid() {
    const room = overview.parentNode.clientWidth - 26, across = room >= layers * 15;
    const [columns, rows] = across ? [layers, heads] : [heads, layers];
    return { across, columns, rows, size: Math.max(14, Math.min(72, Math.floor(room / columns))) };
  }
  function drawOverview() {
    const { across, columns, rows, size } = grid(), gap = 2;
    const [width, height] = [columns * size + 26, rows * size + 18];
    overview.style.width = `${width}px`;
    overview.style.height = `${height}px`;
    const pen = fresh(overview, width, height), ink = colours(overview);
    const small = new OffscreenCanvas(n, n), brush = small.getContext("2d");
    const [red, green, blue] = ink.more.match(/[\d.]+/g).map(Number);
    const way = state.way === "apart" ? "steps" : state.way, i = attention.findIndex((one) => one[way]);
    const pixels = brush.createImageData(n, n);
    for (let layer = 0; layer < layers; layer++)
      for (let head = 0; head < heads; head++) {
        const start = (layer * heads + head) * cells;
        for (let cell = 0; cell < cells; cell++)
          pixels.data.set([red, green, blue, attention[i][way][start + cell]], 4 * cell);
        brush.putImageData(pixels, 0, 0);
        const [column, row] = across ? [layer, head] : [head, layer];
        const [x, y] = [26 + column * size, 18 + row * size];
        pen.globalAlpha = 0.07;
        pen.fillStyle = ink.text;
        pen.fillRect(x, y, size - gap, size - gap);
        pen.globalAlpha = 1;
        pen.drawImage(small, x, y, size - gap, size - gap);
        if (layer === state.layer && head === state.head) {
          pen.strokeStyle = ink.mark;
          pen.lineWidth = 2;
          pen.strokeRect(x - 1, y - 1, size, size);
          bringIntoSight(y, size);
        }
      }
    pen.fillStyle = ink.text;
    pen.font = `10px ${getComputedStyle(document.body).fontFamily}`;
    pen.textAlign = "center";
    const every = (count) => (size * count < 40 && size < 20 ? 2 : 1);
    for (let c = 0; c < columns; c += every(1)) pen.fillText(`${across ? "L" : "H"}${c}`, 26 + (c + 0.5) * size - 1, 12);
    pen.textAlign = "right";
    for (let r = 0; r < rows; r++) pen.fillText(`${across ? "H" : "L"}${r}`, 22, 18 + (r + 0.5) * size + 3);
  }
  function bringIntoSight(y, size) {
    const box = overview.parentNode;
    if (y < box.scrollTop) box.scrollTop = y - 18;
    else if (y + size > box.scrollTop + box.clientHeight) box.scrollTop = y + size - box.clientHeight;
  }
  function headAt(event) {
    const box = overview.getBoundingClientRect(), { across, columns, rows, size } = grid();
    const column = Math.floor((event.clientX - box.x - 26) / size), row = Math.floor((event.clientY - box.y - 18) / size);
    if (column < 0 || row < 0 || column >= columns || row >= rows) return {};
    return across ? { layer: column, head: row } : { layer: row, head: column };
  }

  // One head: tokens down look at tokens across.
  const LABEL = 74;
  function geometry(canvas) {
    const size = canvas.clientWidth, cell = ((size - LABEL) / n) * state.zoom;
    return { size, cell, x: (c) => LABEL + (c - state.left) * cell, y: (r) => LABEL + (r - state.top) * cell };
  }
  function drawHead(canvas, of) {
    const { size, cell, x, y } = geometry(canvas);
    if (!size) return;
    const pen = fresh(canvas, size, size), ink = colours(canvas);
    const visible = (at) => at > LABEL - cell && at < size;
    pen.save();
    pen.beginPath();
    pen.rect(LABEL, LABEL, size - LABEL, size - LABEL);
    pen.clip();
    pen.globalAlpha = 0.05;
    pen.fillStyle = ink.text;
    pen.fillRect(LABEL, LABEL, size, size);
    const gap = cell > 7 ? 1 : 0;
    for (let r = 0; r < n; r++)
      for (let c = 0; c < n && visible(y(r)); c++) {
        const value = of(r, c);
        if (!value || !visible(x(c))) continue;
        pen.globalAlpha = Math.min(1, Math.abs(value));
        pen.fillStyle = value > 0 ? ink.more : ink.less;
        pen.fillRect(x(c), y(r), cell - gap, cell - gap);
        if (cell > 38) {
          pen.globalAlpha = 1;
          pen.fillStyle = ink.text;
          pen.font = "11px sans-serif";
          const p = state.way === "apart" || value < 0 ? value : value ** 2;
          if (Math.abs(p) >= 0.01) pen.fillText(Math.round(100 * p), x(c) + 4, y(r) + 14);
        }
      }
    pen.globalAlpha = 1;
    pen.strokeStyle = ink.mark;
    pen.lineWidth = 1.5;
    pen.strokeRect(LABEL - 2, y(state.row) - 0.75, size, cell + 0.5);
    pen.strokeRect(x(state.column) - 0.75, y(state.row) - 0.75, cell + 0.5, cell + 0.5);
    pen.restore();
    labels(pen, ink, { size, cell, x, y });
  }
  function labels(pen, ink, { size, cell, x, y }) {
    const every = Math.max(1, Math.ceil(11 / cell));
    pen.font = `${Math.min(12, Math.max(9, cell * 0.8))}px ${getComputedStyle(document.body).fontFamily}`;
    pen.textBaseline = "middle";
    const short = (i) => (tokens[i].length > 10 ? `${tokens[i].slice(0, 9)}…` : tokens[i]);
    const write = (i, loud) => {
      pen.fillStyle = loud ? ink.mark : ink.text;
      pen.fillText(short(i), 0, 0);
    };
    for (let i = 0; i < n; i++) {
      const [across, down] = [x(i) + cell / 2, y(i) + cell / 2];
      // The chosen ones always have their names, and those beside them make room.
      const named = (chosen) => i === chosen || (i % every === 0 && Math.abs(i - chosen) * cell >= 11);
      pen.save();
      if (down > LABEL && down < size && named(state.row)) {
        pen.textAlign = "right";
        pen.translate(LABEL - 5, down);
        write(i, i === state.row);
      }
      pen.restore();
      pen.save();
      if (across > LABEL && across < size && named(state.column)) {
        pen.translate(across, LABEL - 5);
        pen.rotate(-Math.PI / 2);
        pen.textAlign = "left";
        write(i, i === state.column);
      }
      pen.restore();
    }
  }

  // ---- Zoom: the point under the pointer stays where it is

  function zoomed(factor, column = state.column + 0.5, row = state.row + 0.5) {
    const zoom = Math.max(1, Math.min(n / 3, state.zoom * factor)), ratio = state.zoom / zoom;
    return kept({ zoom, left: column - (column - state.left) * ratio, top: row - (row - state.top) * ratio });
  }
  function kept({ zoom, left, top }) {
    const most = n - n / zoom, inside = (value) => Math.max(0, Math.min(most, value));
    return { zoom, left: inside(left), top: inside(top) };
  }
  // A cell chosen by keys is brought into sight.
  function insight(row, column) {
    const span = n / state.zoom;
    const near = (start, i) => (i < start ? i : i + 1 > start + span ? i + 1 - span : start);
    return { row, column, ...kept({ zoom: state.zoom, left: near(state.left, column), top: near(state.top, row) }) };
  }
  const clamp = (i) => Math.max(0, Math.min(n - 1, i));

  function headKeys(event) {
    const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    const zooms = { "+": 1.5, "=": 1.5, "-": 1 / 1.5 };
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (moves[event.key]) {
      const [down, across] = moves[event.key];
      set(insight(clamp(state.row + down), clamp(state.column + across)));
    } else if (zooms[event.key]) set(zoomed(zooms[event.key]));
    else if (event.key === "0") set(kept({ zoom: 1, left: 0, top: 0 }));
    else return;
    event.preventDefault();
  }
  function pointing(canvas) {
    let from = null, moved = false;
    const place = (event) => {
      const box = canvas.getBoundingClientRect(), { cell } = geometry(canvas);
      return [
        state.left + (event.clientX - box.x - LABEL) / cell,
        state.top + (event.clientY - box.y - LABEL) / cell,
      ];
    };
    canvas.addEventListener("pointerdown", (event) => {
      [from, moved] = [{ x: event.clientX, y: event.clientY, left: state.left, top: state.top }, false];
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!from) return;
      const [dx, dy] = [event.clientX - from.x, event.clientY - from.y], { cell } = geometry(canvas);
      moved ||= Math.hypot(dx, dy) > 4;
      if (!moved || state.zoom === 1) return;
      if (canvas.setPointerCapture && event.isTrusted) canvas.setPointerCapture(event.pointerId);
      set(kept({ zoom: state.zoom, left: from.left - dx / cell, top: from.top - dy / cell }));
    });
    canvas.addEventListener("pointerup", (event) => {
      const [column, row] = place(event).map(Math.floor);
      if (from && !moved && row >= state.top && row < n && column < n)
        set({ row, column: column >= state.left ? column : state.column });
      from = null;
    });
    canvas.addEventListener("pointercancel", () => (from = null));
    canvas.addEventListener("wheel", (event) => {
      const factor = event.deltaY < 0 ? 1.25 : 0.8;
      // At its ends the page scrolls on.
      if (factor < 1 && state.zoom === 1) return;
      event.preventDefault();
      set(zoomed(factor, ...place(event)));
    }, { passive: false });
  }

  // ---- What is made once

  function button(words, act, attributes = {}) {
    return h("button", { type: "button", onclick: act, ...attributes }, words);
  }
  let canvases = [];
  function build() {
    if (!overview) return;
    overview.addEventListener("click", (event) => set(headAt(event)));
    overview.addEventListener("keydown", (event) => {
      const { across } = grid(), step = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] }[event.key];
      if (!step) return;
      event.preventDefault();
      const [dl, dh] = across ? step : [step[1], step[0]];
      set({
        layer: Math.max(0, Math.min(layers - 1, state.layer + dl)),
        head: Math.max(0, Math.min(heads - 1, state.head + dh)),
      });
    });
    const options = [...ways, ...(both ? ["apart"] : [])];
    const zooming = [["out", () => zoomed(1 / 1.5)], ["in", () => zoomed(1.5)], ["fit", () => kept({ zoom: 1, left: 0, top: 0 })]];
    by("ways").append(
      h("span", { class: "group" }, options.map((way) => button(say(way), () => set({ way }), { "data-way": way }))),
      h("span", { class: "group" }, zooming.map(([name, to]) => button(say(name), () => set(to()), { "data-zoom": name }))));
    by("kinds").append(...kinds());
  }
  function kinds() {
    return Object.keys(seen[0].heads).map((kind) => {
      const found = seen[0].heads[kind].map(([layer, head, share]) =>
        button([h("b", {}, `L${layer} H${head}`), ` ${percent(share)}`], () => set({ layer, head }), { "data-kind": kind }));
      return h("p", {}, h("span", { class: "kind" }, say(kind)), found.length ? found : h("span", { class: "muted" }, say("none")));
    });
  }

  // ---- What changes

  function drawAttention() {
    const { layer, head, row, column } = state;
    drawOverview();
    const group = Math.floor(head / data.group);
    by("chosen").textContent = say("head", { layer, head, group });
    for (const one of document.querySelectorAll("[data-way]")) one.setAttribute("aria-pressed", one.dataset.way === state.way);
    const drawn = pictures(state);
    if (canvases.length !== drawn.length) {
      canvases = drawn.map(() => h("canvas", { tabindex: 0, role: "application", onkeydown: headKeys }));
      canvases.forEach(pointing);
      by("pictures").replaceChildren(...canvases.map((canvas) => h("figure", {}, h("figcaption"), canvas)));
      by("pictures").dataset.count = drawn.length;
    }
    drawn.forEach(({ name, of }, i) => {
      canvases[i].previousSibling.textContent = name;
      canvases[i].setAttribute("aria-label", say("picture", { name }));
      canvases[i].classList.toggle("zoomed", state.zoom > 1);
      drawHead(canvases[i], of);
    });
    const names = { token: tokens[row], row, key: tokens[column], column };
    const by_way = state.way === "apart" ? "steps" : state.way;
    const values = shown({ way: by_way }).map((i) => percent(weight(by_way, i, layer, head, row, column)));
    by("cell").textContent = values.length > 1
      ? say("more", { ...names, a: values[0], b: values[1] })
      : say("looks", { ...names, p: values[0] });
  }

  // The tokens as a line of text to step through, and what is expected after the chosen one.
  const expecting = seen.filter((one) => one.next);
  function drawNext() {
    const given = expecting[0].given, strip = by("strip");
    if (!strip.children.length) {
      strip.append(...tokens.map((token, i) => h("span", { role: "option", id: `token${i}`, onclick: () => set({ row: i }),
        class: i < data.prompt ? "" : "written" }, token)));
      strip.addEventListener("keydown", (event) => {
        const to = { ArrowLeft: state.row - 1, ArrowRight: state.row + 1, Home: 0, End: n - 1 }[event.key];
        if (to === undefined) return;
        event.preventDefault();
        set(insight(clamp(to), state.column));
      });
      [...strip.children].forEach((one, i) => one.style.setProperty("--p", `${i ? Math.round(70 * Math.sqrt(given[i - 1])) : 0}%`));
    }
    [...strip.children].forEach((one, i) => one.setAttribute("aria-selected", i === state.row));
    strip.setAttribute("aria-activedescendant", `token${state.row}`);
    by("bars").replaceChildren(
      h("h3", { "aria-live": "polite" }, say("after", { token: tokens[state.row], n: state.row })),
      h("div", { class: "beside" }, expecting.map(bars)),
      ...(expecting.length > 1 ? [h("p", { id: "parted" }, parted())] : []));
  }
  function bars(one) {
    const came = tokens[state.row + 1];
    const rows = one.next[state.row].map(([token, p]) => {
      const bar = h("svg", { class: "bar", viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": true },
        h("rect", { class: "track", width: 100, height: 10 }), h("rect", { class: "own", width: 100 * p, height: 10 }));
      const word = data.words[token];
      return h("tr", {}, h("th", { scope: "row" }, h("code", {}, word), word === came ? h("small", {}, ` ${say("came")}`) : null),
        h("td", { class: "bar-cell" }, bar), h("td", { class: "number" }, percent(p)));
    });
    return h("table", {}, seen.length > 1 ? h("caption", {}, one.name) : null, h("tbody", {}, rows));
  }
  function parted() {
    const [a, b] = expecting.map((one) => one.next.map(([[token]]) => token));
    const first = a.findIndex((token, i) => token !== b[i]);
    return first < 0 ? say("agree") : say("differ", { n: first });
  }

  // ---- Plots of the cache and of time, against the tokens so far

  const binary = (x) => (x < 1024 ? `${x}\u202fB` : x < 1 << 20 ? `${+(x / 1024).toFixed(1)}\u202fKiB` : `${+(x / (1 << 20)).toFixed(2)}\u202fMiB`);
  function plot(title, lines, format, below) {
    const [width, height, left, bottom] = [340, 190, 58, 158];
    const most = Math.max(...lines.flatMap(({ points }) => points.map(([, y]) => y))) || 1;
    const x = (t) => left + ((width - left - 10) * t) / n, y = (value) => bottom - ((bottom - 14) * value) / most;
    const ticks = [0, most / 2, most].flatMap((value) => [
      h("line", { class: "grid", x1: left, x2: width - 10, y1: y(value), y2: y(value) }),
      h("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, format(value))]);
    const steps = [1, Math.ceil(n / 2), n].map((t) => h("text", { x: x(t), y: bottom + 16, "text-anchor": "middle" }, t));
    const drawn = lines.flatMap(({ points, name, kind }) => [
      h("polyline", { class: kind, points: points.map(([t, value]) => `${x(t)},${y(value)}`).join(" ") }),
      points.map(([t, value]) => h("circle", { class: kind, cx: x(t), cy: y(value), r: 2.6 }, h("title", {}, `${name}, ${t}: ${format(value)}`)))]).flat();
    const legend = lines.length > 1 && h("p", { class: "legend" }, lines.map(({ name, kind }) =>
      h("span", {}, h("svg", { class: "key", viewBox: "0 0 10 8", "aria-hidden": true }, h("rect", { class: kind, width: 10, height: 8 })), name)));
    const end = h("text", { x: width - 10, y: height - 4, "text-anchor": "end" }, say("tokens"));
    return h("figure", {}, h("figcaption", {}, title), h("svg", { class: "plot", viewBox: `0 0 ${width} ${height}`, role: "img",
      "aria-label": `${title}. ${below}` }, ticks, steps, end, drawn), legend || null, h("p", { class: "small" }, below));
  }
  function drawCosts() {
    const named = (one, words) => (seen.length > 1 ? `${one.name}: ${words}` : words);
    const points = (one) => one.bytes.map((held, i) => [i + 1, held]);
    const last = (pairs) => pairs.at(-1)?.[1].toFixed(pairs.at(-1)[1] < 10 ? 2 : 0);
    by("plots").replaceChildren(...seen.flatMap((one) => {
      const made = [], total = one.bytes.at(-1);
      if (total !== undefined)
        made.push(plot(named(one, say("bytes")), [{ points: points(one), name: say("bytes"), kind: "cached" }], binary,
          say("held", { bytes: binary(one.bytes[0]), total: binary(total), n: one.bytes.length })));
      const lines = ["cached", "recompute"].filter((kind) => one[kind].length)
        .map((kind) => ({ points: one[kind], name: say(kind), kind }));
      if (lines.length)
        made.push(plot(named(one, say("ms")), lines, (ms) => `${+ms.toPrecision(2)}\u202fms`,
          lines.length > 1 ? say("last", { a: last(one.cached), b: last(one.recompute), n: one.recompute.at(-1)[0] }) : ""));
      return made;
    }));
  }

  function draw() {
    if (overview) drawAttention();
    if (by("strip")) drawNext();
  }
  function set(changes) {
    state = { ...state, ...changes };
    draw();
  }
  build();
  draw();
  if (by("plots")) drawCosts();
  addEventListener("resize", draw);
  document.addEventListener("themechange", draw);
  return { get state() { return state; }, set, weight };
})();
