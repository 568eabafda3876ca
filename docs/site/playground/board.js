"use strict";
// What every page is made of: a view is a function of the state, and each change draws it anew.
const play = (() => {
  const SVG = "http://www.w3.org/2000/svg";
  const DRAWN = new Set("svg g line circle rect text tspan title polygon polyline".split(" "));
  const PROPERTIES = new Set(["value", "checked"]);

  // A node as a plain object: h("p", { class: "a" }, "text", more). Nothing and false are left out.
  const h = (tag, attributes, ...children) => ({
    tag,
    attributes: attributes ?? {},
    children: children
      .flat(Infinity)
      .filter((c) => c !== null && c !== undefined && c !== false && c !== "")
      .map((c) => (typeof c === "object" ? c : String(c))),
  });

  // Makes `nodes` the children of `parent`. What is there is kept, and with it focus and pointer.
  function patch(parent, nodes) {
    nodes.forEach((node, i) => {
      let there = parent.childNodes[i];
      const isText = typeof node === "string";
      if (!there || there.nodeName.toLowerCase() !== (isText ? "#text" : node.tag)) {
        const fresh = isText
          ? document.createTextNode(node)
          : DRAWN.has(node.tag)
            ? document.createElementNS(SVG, node.tag)
            : document.createElement(node.tag);
        there ? there.replaceWith(fresh) : parent.append(fresh);
        there = fresh;
      }
      if (isText) {
        if (there.data !== node) there.data = node;
        return;
      }
      dress(there, node.attributes);
      patch(there, node.children);
      for (const name of PROPERTIES) if (name in node.attributes) there[name] = node.attributes[name];
    });
    while (parent.childNodes.length > nodes.length) parent.lastChild.remove();
  }

  function dress(element, attributes) {
    for (const name of element.handlers ?? []) if (!attributes[name]) element[name] = null;
    element.handlers = Object.keys(attributes).filter((name) => name.startsWith("on"));
    for (const name of element.getAttributeNames()) {
      if (attributes[name] === undefined || attributes[name] === null || attributes[name] === false)
        element.removeAttribute(name);
    }
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) element[name] = value;
      else if (!PROPERTIES.has(name) && value !== null && value !== undefined && value !== false) {
        const text = value === true ? "" : String(value);
        if (element.getAttribute(name) !== text) element.setAttribute(name, text);
      }
    }
  }

  // ---------------------------------------------------------------------------------- words

  // The page's text in the page's language: say("step", { n: 3 }) fills in {n}.
  const say = (key, values = {}) => {
    const text = window.playTexts[key];
    if (text === undefined) throw new Error(`no text for ${key}`);
    return text.replace(/\{(\w+)\}/g, (_, name) => values[name]);
  };
  // A number for people: a true minus, no zeros at the end.
  const num = (x, digits = 3) => {
    if (!Number.isFinite(x)) return x < 0 ? "−∞" : "∞";
    const text = x.toFixed(digits).replace(/\.?0+$/, (zeros) => (digits ? "" : zeros));
    return (text === "-0" ? "0" : text).replace("-", "−");
  };
  const grouped = (x) => Math.round(x).toLocaleString("en-US");
  const scaled = (x, units, step = 1000) => {
    let i = 0;
    while (x >= step && i < units.length - 1) {
      x /= step;
      i += 1;
    }
    const digits = i === 0 ? 0 : x < 10 ? 2 : x < 100 ? 1 : 0;
    return `${x.toFixed(digits)}${units[i] && "\u202f"}${units[i]}`;
  };
  const big = (x) => scaled(x, ["", "k", "M", "G", "T", "P"]);
  const bytes = (x) => scaled(x, ["B", "kB", "MB", "GB", "TB"]);
  const binary = (x) => scaled(x, ["B", "KiB", "MiB", "GiB", "TiB"], 1024);
  const seconds = (x) =>
    x < 1e-3
      ? `${num(x * 1e6, 1)}\u202fµs`
      : x < 1
        ? `${(x * 1e3).toPrecision(3)}\u202fms`
        : `${x.toPrecision(3)}\u202fs`;
  const scientific = (x) =>
    x === 0 ? "0" : x >= 1e-3 ? x.toPrecision(3) : x.toExponential(1).replace("-", "−").replace("e+", "e");
  const vector = (row, digits = 2) => `[${row.map((x) => num(x, digits)).join(", ")}]`;

  // ---------------------------------------------------------------------------------- state

  // Shows `view(state, set)` in the board. What differs from `start` stands in the address, so that
  // it can be sent to somebody, and goes along into the other language.
  function page(start, view) {
    const state = structuredClone(start);
    for (const [key, value] of new URLSearchParams(location.hash.slice(1))) {
      try {
        if (key in start) state[key] = JSON.parse(value);
      } catch {
        // somebody's own address
      }
    }
    const draw = () => patch(document.getElementById("board"), [view(state, set)].flat());
    function set(changes) {
      Object.assign(state, changes);
      draw();
      const told = Object.keys(start).filter((key) => JSON.stringify(state[key]) !== JSON.stringify(start[key]));
      const hash = new URLSearchParams(told.map((key) => [key, JSON.stringify(state[key])])).toString();
      history.replaceState(null, "", hash ? `#${hash}` : location.pathname);
    }
    document.addEventListener("DOMContentLoaded", () => {
      try {
        draw();
      } catch {
        // an address that no page of ours has written
        Object.assign(state, structuredClone(start));
        draw();
      }
      document.querySelector("a.twin")?.addEventListener("click", (event) => {
        event.currentTarget.hash = location.hash;
      });
      patch(document.getElementById("checked"), [checked()]);
    });
    play.state = state;
    play.set = set;
  }

  // ---------------------------------------------------------------------------------- controls

  const controls = (...children) => h("div", { class: "controls" }, children);

  // A slider named `key` for state[of]. With `log` it moves by factors; `show` says the value in words.
  function slider(state, set, key, { min, max, step = 1, log = false, show = num, of = key }) {
    const there = log ? Math.log2 : Number,
      back = log ? (x) => Math.round(2 ** x) : Number;
    return h(
      "label",
      { class: "slider" },
      h("span", {}, say(key)),
      h("output", {}, show(state[of])),
      h("input", {
        type: "range",
        min: there(min),
        max: there(max),
        step,
        "data-key": key,
        "aria-valuetext": show(state[of]),
        value: String(there(state[of])),
        oninput: (event) => set({ [of]: back(Number(event.target.value)) }),
      }),
    );
  }
  const toggle = (state, set, key) =>
    h(
      "label",
      { class: "toggle" },
      h("input", {
        type: "checkbox",
        role: "switch",
        "data-key": key,
        checked: state[key],
        onchange: (event) => set({ [key]: event.target.checked }),
      }),
      say(key),
    );
  // One of several: `options` are [value, words].
  const choice = (state, set, key, options, more = {}) =>
    h(
      "fieldset",
      { class: "choice" },
      h("legend", {}, say(key)),
      options.map(([value, words]) =>
        h(
          "label",
          {},
          h("input", {
            type: "radio",
            name: key,
            "data-key": key,
            "data-value": value,
            checked: state[key] === value,
            onchange: () => set({ [key]: value, ...more }),
          }),
          h("span", {}, words),
        ),
      ),
    );
  const button = (key, onclick, attributes = {}) =>
    h("button", { type: "button", "data-key": key, onclick, ...attributes }, say(key));

  // A point to drag with a pointer or the arrow keys: `move(x, y)` in the drawing's own units.
  function handle({ x, y, name, value, move, step = 1, toPlane, colour, key, size = 7 }) {
    const drag = (event) => {
      if (!event.currentTarget.dragged) return;
      const svg = event.currentTarget.ownerSVGElement;
      const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
      move(...toPlane(at.x, at.y));
    };
    const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    return h(
      "g",
      {
        class: "handle",
        tabindex: 0,
        role: "slider",
        "data-key": key,
        "aria-label": name,
        "aria-valuetext": value,
        "aria-valuenow": 0,
        style: `--colour: ${colour}`,
        onpointerdown: (event) => {
          event.currentTarget.dragged = true;
          try {
            event.currentTarget.setPointerCapture(event.pointerId);
          } catch {
            /* a made-up pointer */
          }
          event.currentTarget.focus({ preventScroll: true });
          event.preventDefault();
        },
        onpointermove: drag,
        onpointerup: (event) => {
          event.currentTarget.dragged = false;
        },
        onpointercancel: (event) => {
          event.currentTarget.dragged = false;
        },
        onkeydown: (event) => {
          const arrow = arrows[event.key];
          if (!arrow) return;
          event.preventDefault();
          move(null, null, arrow[0] * step, arrow[1] * step);
        },
      },
      h("circle", { class: "reach", cx: x, cy: y, r: 2.2 * size }),
      h("circle", { class: "knob", cx: x, cy: y, r: size }),
    );
  }

  // Words that begin, stand in the middle or end at x.
  const text = (x, y, words, more = {}) => h("text", { x, y, "dominant-baseline": "central", ...more }, words);
  const centred = (x, y, words, more = {}) => text(x, y, words, { "text-anchor": "middle", ...more });
  const ended = (x, y, words, more = {}) => text(x, y, words, { "text-anchor": "end", ...more });
  const line = (x1, y1, x2, y2, more = {}) => h("line", { x1, y1, x2, y2, ...more });
  const rect = (x, y, width, height, more = {}) => h("rect", { x, y, width, height, ...more });
  // From (x1, y1) an arrow to (x2, y2).
  function arrow(x1, y1, x2, y2, more = {}) {
    const length = Math.hypot(x2 - x1, y2 - y1) || 1;
    const [ux, uy] = [(x2 - x1) / length, (y2 - y1) / length];
    const [bx, by] = [x2 - 9 * ux, y2 - 9 * uy];
    return h(
      "g",
      { class: "arrow", ...more },
      line(x1, y1, bx, by),
      h("polygon", { points: `${x2},${y2} ${bx - 4 * uy},${by + 4 * ux} ${bx + 4 * uy},${by - 4 * ux}` }),
    );
  }
  // A table's cell whose ground tells a weight between 0 and 1.
  const shaded = (weight, words, more = {}) =>
    h("td", { class: "cell", style: `--w: ${num(100 * Math.min(1, Math.abs(weight)), 1)}%`, ...more }, words);
  // Where on a drawing from..to a value stands on a logarithmic scale from low to high.
  const logScale = (value, low, high, from, to) => from + ((to - from) * Math.log(value / low)) / Math.log(high / low);
  // A table with its head's cells and its rows; wide ones are scrolled.
  const table = (name, head, rows) =>
    h(
      "div",
      { class: "scroll", tabindex: 0 },
      h("table", { class: name }, head.length > 0 && h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows)),
    );
  const rowHead = (words) => h("th", { scope: "row" }, words);
  const amount = (words, more = {}) => h("td", { class: "number", ...more }, words);
  const beside = (...children) => h("div", { class: "beside" }, children);
  const figure = (title, ...children) => h("section", { class: "panel" }, title && h("h3", {}, title), children);

  // ---------------------------------------------------------------------------------- checks

  // The largest difference between two values of any depth; JSON has null for -inf.
  function difference(got, expected) {
    if (Array.isArray(expected)) {
      if (!Array.isArray(got) || got.length !== expected.length) return Infinity;
      return Math.max(0, ...expected.map((e, i) => difference(got[i], e)));
    }
    const [a, b] = [got, expected ?? -Infinity].map(Number);
    return a === b ? 0 : Math.abs(a - b) / Math.max(1, Math.abs(b));
  }
  // Every function against the reference's values: [name, relative error] of each case.
  const check = () =>
    window.playGolden.cases.map(({ call, of, args, value }) => {
      const given = args.map((a) => (a === "MODEL" ? window.playGolden.model : a));
      const got = maths[call](...given);
      return [call, difference(of ? got[of] : got, value)];
    });
  function checked() {
    const errors = check().map(([, error]) => error);
    return say("checked", {
      n: errors.length,
      right: errors.filter((e) => e < 1e-12).length,
      error: scientific(Math.max(...errors)),
    });
  }

  return {
    h,
    say,
    num,
    grouped,
    big,
    bytes,
    binary,
    seconds,
    scientific,
    vector,
    page,
    controls,
    slider,
    toggle,
    choice,
    button,
    handle,
    text,
    centred,
    ended,
    line,
    rect,
    arrow,
    shaded,
    table,
    rowHead,
    amount,
    beside,
    figure,
    logScale,
    check,
  };
})();
