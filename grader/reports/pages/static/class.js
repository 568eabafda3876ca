"use strict";
// Sorts, filters and draws. The address's fragment holds the whole state, so a view can be linked:
// #sort=test:12&dir=desc&q=ana&state=graded&part=4&bug=position-zero
(() => {
  const started = performance.now();
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("data").textContent);
  // Every text for people goes through `say`; the page brings its language's words (data.words).
  const say = (english, values = {}) =>
    (data.words[english] ?? english).replace(/\{(\w+)\}/g, (_, name) => values[name]);
  const tests = data.tests.map(([part, section, title, onCase, visibility, points], index) => ({
    part, section, title, onCase, points, index, isHidden: visibility === "h",
  }));
  const table = byId("table");
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const students = data.students.map(([name, page, state, final, parts, cells, bugs, seconds], i) => ({
    name, page, state, final, parts, cells, seconds, row: rows[i], place: i,
    bugs: bugs.map((number) => data.bugs[number]),
  }));
  const STATE = { p: say("passed"), k: say("passed with trusted versions of the other parts"),
    f: say("failed"), t: say("out of time"), n: say("not started"),
    w: say("waiting for an earlier part"), "-": say("no result") };
  const BAD_FIRST = "ftwnkp-";
  const STATES = ["error", "missing", "partial", "graded"];
  const KEYS = ["sort", "dir", "q", "state", "part", "bug"];
  let view = {};
  let inTable = students;
  let shown = students;
  let columns = tests;

  // ---------------------------------------------------------------- state

  const read = () => {
    const given = new URLSearchParams(location.hash.slice(1));
    view = Object.fromEntries(KEYS.map((key) => [key, given.get(key) || ""]));
    view.sort ||= "name";
  };
  const change = (changes) => {
    Object.assign(view, changes);
    const kept = KEYS.filter((key) => view[key] && !(key === "sort" && view[key] === "name"));
    const hash = kept.map((key) => `${key}=${encodeURIComponent(view[key])}`).join("&");
    try { history.replaceState(null, "", `#${hash}`); } catch { /* shown all the same */ }
    update();
  };
  const isDescending = () => view.dir === "desc";

  // ---------------------------------------------------------------- sort and filter

  const sortKey = () => {
    const [what, number] = view.sort.split(":");
    if (what === "score") return (s) => s.final ?? -1;
    if (what === "state") return (s) => STATES.indexOf(s.state);
    if (what === "part") return (s) => s.parts[data.parts.indexOf(+number)] ?? -1;
    if (what === "test" && tests[number]) return (s) => BAD_FIRST.indexOf(s.cells[number]);
    return () => 0;
  };
  const ordered = () => {
    const key = sortKey();
    const sign = isDescending() ? -1 : 1;
    const byName = view.sort === "name" ? sign : 1;
    // Rows are in order of name already; who has no grade stays on top whatever the order is.
    return [...students].sort((a, b) =>
      (b.state === "error") - (a.state === "error") ||
      sign * (key(a) - key(b)) ||
      byName * (a.place - b.place));
  };
  const lostIn = (student, part) => tests.some((test) =>
    test.part === part && !"pk-".includes(student.cells[test.index]));
  const words = (student) => student.words ??= student.row.textContent.toLowerCase();
  const isWanted = (student) =>
    (!view.q || words(student).includes(view.q.toLowerCase())) &&
    (!view.state || student.state === view.state) &&
    (!view.part || lostIn(student, +view.part)) &&
    (!view.bug || student.bugs.includes(view.bug));

  const update = () => {
    const order = ordered();
    const at = cursor && { student: shown[cursor.row], test: columns[cursor.column] };
    shown = order.filter(isWanted);
    columns = view.part ? tests.filter((test) => test.part === +view.part) : tests;
    const wanted = new Set(shown);
    for (const student of students) {
      if (student.row.hidden === wanted.has(student)) student.row.hidden = !wanted.has(student);
    }
    // Moving 900 rows takes longer than all the rest, and the first order is the table's own.
    if (order.some((student, i) => student !== inTable[i])) {
      body.append(...order.map((student) => student.row));
      inTable = order;
    }
    showControls();
    cursor = at && { row: shown.indexOf(at.student), column: columns.indexOf(at.test) };
    if (cursor && (cursor.row < 0 || cursor.column < 0)) cursor = null;
    layOut();
    keepInView();
    tell();
  };

  // ---------------------------------------------------------------- controls

  const describe = (test) => {
    const seen = test.isHidden ? say("hidden") : say("public");
    return say("{section} {title} ({kind})", { section: test.section, title: test.title,
      kind: test.onCase ? `${seen}${say(", ")}${test.onCase}` : seen });
  };
  const showControls = () => {
    for (const key of ["q", "state", "part", "bug"]) byId(key).value = view[key];
    const sortedTest = view.sort.startsWith("test:") ? tests[view.sort.slice(5)] : null;
    const select = byId("sort");
    const option = select.querySelector("option[value^='test']");
    option.value = sortedTest ? view.sort : "test";
    option.textContent = sortedTest ? say("test {section}", sortedTest) : say("test (choose in the map)");
    option.disabled = !sortedTest;
    select.value = view.sort;
    byId("direction").textContent = isDescending() ? say("Descending ↓") : say("Ascending ↑");
    for (const head of table.tHead.rows[0].cells) {
      if (head.dataset.sort === view.sort) {
        head.setAttribute("aria-sort", isDescending() ? "descending" : "ascending");
      } else head.removeAttribute("aria-sort");
      const arrow = head.querySelector("span");
      if (arrow) arrow.textContent = head.dataset.sort === view.sort ? (isDescending() ? " ↓" : " ↑") : "";
    }
    const filtered = shown.length < students.length;
    byId("clear").disabled = !KEYS.some((key) => view[key] && view[key] !== "name");
    const n = { n: shown.length, all: students.length };
    byId("count").textContent =
      (filtered ? say("{n} of {all} students", n) : say("{n} students", n)) +
      (sortedTest ? say(", by {test}", { test: describe(sortedTest) }) : "");
  };
  const sortBy = (sort) => {
    const again = view.sort === sort;
    change({ sort, dir: again && !isDescending() ? "desc" : "" });
  };
  for (const head of table.tHead.querySelectorAll("[data-sort]")) {
    const button = document.createElement("button");
    const arrow = document.createElement("span");
    arrow.ariaHidden = "true";
    button.type = "button";
    button.append(...head.childNodes, arrow);
    head.append(button);
    button.addEventListener("click", () => sortBy(head.dataset.sort));
  }
  for (const key of ["state", "part", "bug", "sort"]) {
    byId(key).addEventListener("change", () => change({ [key]: byId(key).value }));
  }
  byId("q").addEventListener("input", () => change({ q: byId("q").value }));
  byId("direction").addEventListener("click", () => change({ dir: isDescending() ? "" : "desc" }));
  byId("clear").addEventListener("click", () => {
    change(Object.fromEntries(KEYS.map((key) => [key, key === "sort" ? "name" : ""])));
  });
  byId("controls").addEventListener("submit", (event) => event.preventDefault());

  // ---------------------------------------------------------------- heat map

  const canvas = byId("canvas");
  const scroller = byId("scroller");
  const pen = canvas.getContext("2d");
  const ROW = 17;
  const HEAD = 42;
  const COLOURS = ["paper", "ink", "muted", "line", "accent", "raised", "pass", "kept", "fail",
    "time", "todo", "wait", "fail-ink"];
  let colour = {};
  let names = 170; // width of the names' column
  let step = 6; // width of a test's column
  let cursor = null; // {row, column} of the shown
  let size = { width: 0, height: 0 };
  let whole = size; // of all cells, of which the box shows a piece

  // How high the table will be, or the scroll bar jumps when its rows are laid out.
  const rowHeight = window.innerWidth > 544 ? 34 : 74;
  document.querySelector(".wide").style.containIntrinsicSize = `auto ${students.length * rowHeight}px`;
  const spacer = document.createElement("div");
  scroller.append(spacer);

  const readColours = () => {
    const probe = document.createElement("i");
    scroller.append(probe);
    for (const name of COLOURS) {
      probe.style.color = `var(--${name})`;
      colour[name] = getComputedStyle(probe).color;
    }
    probe.remove();
  };
  const layOut = () => {
    const height = HEAD + ROW * shown.length + 6;
    const inSight = Math.min(height, 544);
    // The canvas stays in view; this gives the box the size of the whole map to scroll over. First its
    // height, for a scroll bar at the side takes of the width.
    spacer.style.height = `${Math.max(0, height - inSight)}px`;
    canvas.style.height = `${inSight}px`;
    const room = scroller.clientWidth;
    const isNarrow = room < 560;
    names = isNarrow ? 112 : 190;
    // A wide page shows every test at once; on a narrow one the cells stay large enough to be hit.
    step = Math.min(26, Math.max(isNarrow ? 4.5 : 2, (room - names - 8) / Math.max(columns.length, 1)));
    whole = { width: names + step * columns.length + 8, height };
    size = { width: room, height: inSight };
    const ratio = window.devicePixelRatio || 1;
    canvas.width = Math.round(size.width * ratio);
    canvas.height = Math.round(size.height * ratio);
    canvas.style.width = `${size.width}px`;
    spacer.style.width = `${whole.width}px`;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    canvas.ariaLabel = say("Heat map of {n} students and {tests} tests",
      { n: shown.length, tests: columns.length });
    draw();
  };
  const fit = (text, width) => {
    if (pen.measureText(text).width <= width) return text;
    // From the middle: what tells ids apart is as often at their end as at their beginning.
    const letters = [...text];
    for (let kept = Math.min(letters.length - 1, 60); kept > 1; kept--) {
      const end = Math.floor(kept / 2);
      const short = `${letters.slice(0, kept - end).join("")}…${letters.slice(-end).join("")}`;
      if (pen.measureText(short).width <= width) return short;
    }
    return "…";
  };
  const rect = (name, x, y, width, height) => {
    pen.fillStyle = colour[name];
    pen.fillRect(x, y, width, height);
  };
  const FILL = { p: "pass", k: "pass", f: "fail", t: "time", n: "todo", w: "todo" };
  const drawCell = (letter, x, y, width, height) => {
    if (!FILL[letter]) return;
    rect(FILL[letter], x, y, width, height);
    if (letter === "k") rect("kept", x, y + height / 2, width, height / 2);
    if (letter === "t") rect("paper", x, y + height / 2 - 1, width, 2);
    if (letter === "w") rect("wait", x + width / 2 - 1.5, y + height / 2 - 2, 3, 4);
  };
  const sans = getComputedStyle(document.body).fontFamily;

  const draw = () => {
    const { scrollLeft, scrollTop } = scroller;
    const first = Math.floor(scrollTop / ROW);
    const last = Math.min(shown.length, Math.ceil((scrollTop + size.height - HEAD) / ROW) + 1);
    const gap = step >= 6 ? 1 : step >= 4 ? 0.5 : 0.3;
    pen.clearRect(0, 0, size.width, size.height);
    rect("paper", 0, 0, size.width, size.height);
    pen.textBaseline = "middle";
    for (let r = first; r < last; r++) {
      const y = HEAD + r * ROW - scrollTop;
      const { cells, state } = shown[r];
      if (state === "error") continue;
      columns.forEach((test, c) => {
        const x = names + c * step - scrollLeft;
        if (x > names - step && x < size.width) {
          drawCell(cells[test.index], x, y + 1, step - gap, ROW - 2);
        }
      });
    }
    columns.forEach((test, c) => {
      const isFirst = c && test.part !== columns[c - 1].part;
      if (isFirst) rect("paper", names + c * step - scrollLeft - 2, HEAD - 1, 3, size.height);
    });
    for (let r = first; r < last; r++) {
      if (shown[r].state !== "error") continue;
      pen.fillStyle = colour["fail-ink"];
      pen.font = `600 11px ${sans}`;
      pen.fillText(say("no grade: the grader failed"), names - scrollLeft, HEAD + (r + 0.5) * ROW - scrollTop);
    }
    drawCursor(scrollLeft, scrollTop);
    drawNames(first, last, scrollTop);
    drawHead(scrollLeft);
    drawEdge(scrollLeft);
  };
  // Cells fade where there are more of them to the right.
  const drawEdge = (scrollLeft) => {
    if (scrollLeft + size.width >= whole.width - 1) return;
    const fade = pen.createLinearGradient(size.width - 40, 0, size.width, 0);
    fade.addColorStop(0, colour.paper.replace(/^rgb\((.*)\)$/, "rgba($1, 0)"));
    fade.addColorStop(1, colour.paper);
    pen.fillStyle = fade;
    pen.fillRect(size.width - 40, 0, 40, size.height);
    pen.fillStyle = colour.accent;
    pen.font = `600 20px ${sans}`;
    pen.fillText("›", size.width - 14, HEAD + (size.height - HEAD) / 2);
  };
  const drawNames = (first, last, scrollTop) => {
    rect("paper", 0, 0, names - 3, size.height);
    for (let r = first; r < last; r++) {
      const y = HEAD + r * ROW - scrollTop + ROW / 2;
      const { name, final, state } = shown[r];
      const isHere = cursor && cursor.row === r;
      pen.font = `${isHere ? 650 : 400} 12px ${sans}`;
      pen.fillStyle = colour[state === "error" ? "fail-ink" : isHere ? "accent" : "ink"];
      pen.textAlign = "left";
      const hasScores = names > 150;
      pen.fillText(fit(name, names - (hasScores ? 58 : 16)), 8, y);
      if (!hasScores) continue;
      pen.textAlign = "right";
      pen.fillStyle = colour.muted;
      pen.font = `11px ${sans}`;
      pen.fillText(final === null ? "–" : `${Math.round(final * 10) / 10}`, names - 10, y);
      pen.textAlign = "left";
    }
  };
  const drawGroups = (key, label, y, scrollLeft, font, ink) => {
    let start = 0;
    columns.forEach((test, c) => {
      const next = columns[c + 1];
      if (next && key(next) === key(test)) return;
      const x = names + start * step - scrollLeft;
      const width = (c + 1 - start) * step;
      pen.font = font;
      pen.fillStyle = colour[ink];
      const text = label(test).find((candidate) => pen.measureText(candidate).width < width - 4);
      if (text && x + width > names) pen.fillText(text, x + 1, y);
      if (start) rect("line", x - 1, y - 7, 1, 14);
      start = c + 1;
    });
  };
  const drawHead = (scrollLeft) => {
    rect("paper", 0, 0, size.width, HEAD - 2);
    pen.save();
    pen.beginPath();
    pen.rect(names, 0, size.width - names, size.height);
    pen.clip();
    drawGroups((t) => t.part, (t) => [say("Part {part}", t), `${t.part}`], 10, scrollLeft, `600 12px ${sans}`, "ink");
    drawGroups((t) => t.section, (t) => [t.section, t.section.split(".")[1] || ""], 25, scrollLeft, `10.5px ${sans}`, "muted");
    columns.forEach((test, c) => {
      if (test.isHidden) rect("wait", names + c * step - scrollLeft, 35, step - 1, 3);
      if (view.sort === `test:${test.index}`) rect("accent", names + c * step - scrollLeft - 1, 33, Math.max(step, 6), 7);
    });
    pen.restore();
    rect("line", 0, HEAD - 2, size.width, 1);
  };
  const drawCursor = (scrollLeft, scrollTop) => {
    if (!cursor) return;
    const x = names + cursor.column * step - scrollLeft;
    const y = HEAD + cursor.row * ROW - scrollTop;
    pen.strokeStyle = colour.ink;
    pen.lineWidth = 1;
    pen.globalAlpha = 0.35;
    pen.strokeRect(names - 4, y + 0.5, size.width, ROW - 1);
    pen.strokeRect(x - 0.5, HEAD - 8, step, size.height);
    pen.globalAlpha = 1;
    pen.lineWidth = 2;
    pen.strokeRect(x - 1, y, step + 1, ROW);
  };

  const tell = () => {
    const line = byId("cell");
    line.replaceChildren();
    if (!cursor) return;
    const student = shown[cursor.row];
    const test = columns[cursor.column];
    const link = document.createElement("a");
    link.href = student.page;
    link.textContent = student.name;
    link.dir = "auto";
    const letter = student.cells[test.index];
    const what = student.state === "error" ? say("no grade, the grader failed") : STATE[letter];
    const strong = document.createElement("strong");
    strong.textContent = what;
    const earned = "pk".includes(letter) ? test.points : 0;
    const points = letter === "-" ? "" : say(", {n} of {all} points", { n: earned, all: test.points });
    line.append(link, " · ", describe(test), " · ", strong, points);
  };
  const placeOf = (event) => {
    const box = canvas.getBoundingClientRect();
    const x = event.clientX - box.left;
    const y = event.clientY - box.top;
    const row = Math.floor((y - HEAD + scroller.scrollTop) / ROW);
    const column = Math.floor((x - names + scroller.scrollLeft) / step);
    return {
      inNames: x < names, inHead: y < HEAD,
      row: row >= 0 && row < shown.length ? row : null,
      column: column >= 0 && column < columns.length ? column : null,
    };
  };
  const moveTo = (row, column) => {
    cursor = shown.length && columns.length ? {
      row: Math.min(Math.max(row, 0), shown.length - 1),
      column: Math.min(Math.max(column, 0), columns.length - 1),
    } : null;
    draw();
    tell();
  };
  const keepInView = () => {
    if (!cursor) return;
    const y = cursor.row * ROW;
    const x = cursor.column * step;
    const height = size.height - HEAD - ROW;
    const width = size.width - names - step;
    if (y < scroller.scrollTop) scroller.scrollTop = y;
    if (y > scroller.scrollTop + height) scroller.scrollTop = y - height;
    if (x < scroller.scrollLeft) scroller.scrollLeft = x;
    if (x > scroller.scrollLeft + width) scroller.scrollLeft = x - width;
    draw();
  };
  let frame = 0;
  canvas.addEventListener("mousemove", (event) => {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(() => {
      const { row, column, inNames, inHead } = placeOf(event);
      canvas.style.cursor = (inHead && column !== null) || inNames ? "pointer" : "crosshair";
      if (row !== null && column !== null && !inNames && !inHead) moveTo(row, column);
    });
  });
  canvas.addEventListener("click", (event) => {
    const { row, column, inNames, inHead } = placeOf(event);
    if (inHead && column !== null && !inNames) sortBy(`test:${columns[column].index}`);
    else if (inNames && row !== null && !inHead) location.href = shown[row].page;
    else if (row !== null && column !== null) moveTo(row, column);
  });
  const MOVES = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1],
    PageUp: [-20, 0], PageDown: [20, 0], Home: [0, -1e6], End: [0, 1e6] };
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const move = MOVES[event.key];
    if (move) {
      event.preventDefault();
      if (cursor) moveTo(cursor.row + move[0], cursor.column + move[1]);
      else moveTo(0, 0);
      keepInView();
    } else if (event.key === "Enter" && cursor) location.href = shown[cursor.row].page;
    else if (event.key.toLowerCase() === "s" && cursor) sortBy(`test:${columns[cursor.column].index}`);
  });
  canvas.addEventListener("focus", () => { if (!cursor && canvas.matches(":focus-visible")) moveTo(0, 0); });
  scroller.addEventListener("scroll", draw);
  addEventListener("resize", layOut);
  document.addEventListener("themechange", () => { readColours(); draw(); });
  addEventListener("hashchange", () => {
    const isAnchor = location.hash && !location.hash.includes("=");
    if (isAnchor) return;
    read();
    update();
    byId("explore").scrollIntoView();
  });

  byId("controls").hidden = false;
  byId("map").hidden = !tests.length;
  read();
  readColours();
  update();
  addEventListener("load", () => {
    table.dataset.scriptMs = Math.round(performance.now() - started);
    const [page] = performance.getEntriesByType("navigation");
    requestAnimationFrame(() => setTimeout(() => {
      table.dataset.openedMs = Math.round(performance.now());
      table.dataset.loadedMs = Math.round(page ? page.domContentLoadedEventEnd : 0);
    }));
  });
})();
