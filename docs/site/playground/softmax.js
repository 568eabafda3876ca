"use strict";
// Two pages about softmax: attention by hand, and sampling.
{
  const { h, say, num, vector, controls, slider, toggle, choice, button, handle, text, line, arrow, shaded, figure } = play;

  // -------------------------------------------------------------------------- attention by hand

  const D3 = {
    q: [[0, 1], [1, 1], [1, 0]], k: [[1, 0], [0, 1], [1, 1]], v: [[10, 0], [0, 10], [5, 5]],
    mask: true, scale: true, temperature: 1, token: 3,
  };
  const SIZE = 300, MIDDLE = SIZE / 2;

  // A plane with axes, and vectors in it that can be dragged.
  function plane(reach, grid, state, set, kinds, back) {
    const unit = (MIDDLE - 12) / reach;
    const at = ([x, y]) => [MIDDLE + x * unit, MIDDLE - y * unit];
    const clamp = (x) => Math.max(-reach, Math.min(reach, Math.round(x / grid) * grid));
    const ticks = maths.range(2 * Math.floor(reach / (grid * 10)) + 1, -Math.floor(reach / (grid * 10))).map((i) => i * grid * 10);
    const handles = kinds.flatMap(([kind, colour]) => state[kind].map((v, i) => {
      const [x, y] = at(v), name = `${kind}${i + 1}`;
      const loud = kind !== "q" || i === state.token - 1;
      const move = (px, py, dx = 0, dy = 0) => {
        const rows = state[kind].map((row) => [...row]);
        rows[i] = (px === null ? [v[0] + dx, v[1] + dy] : [px, py]).map((c) => Number(clamp(c).toFixed(4)));
        set(kind === "q" ? { [kind]: rows, token: i + 1 } : { [kind]: rows });
      };
      const label = [x + (kind === "q" ? 1 : -1) * 13, y + (y > MIDDLE ? 13 : -13)];
      return [
        arrow(...at([0, 0]), x, y, { style: `--colour: ${colour}`, class: `arrow${loud ? "" : " quiet"}` }),
        handle({ x, y, name, value: say("vector", { name, value: vector(v) }), move, step: 2 * grid, colour, key: name,
          size: kind === "k" ? 10 : kind === "q" ? 5 : 7, toPlane: (px, py) => [(px - MIDDLE) / unit, (MIDDLE - py) / unit] }),
        text(...label, [name[0], h("tspan", { dy: 4, "font-size": 10 }, i + 1)], { class: "name", "text-anchor": "middle" }),
      ];
    }));
    return h("svg", { viewBox: `0 0 ${SIZE} ${SIZE}`, class: "plane" },
      ticks.map((t) => [line(...at([t, -reach]), ...at([t, reach]), { class: t ? "grid" : "axis" }),
        line(...at([-reach, t]), ...at([reach, t]), { class: t ? "grid" : "axis" })]),
      back(at), handles);
  }

  function attentionView(state, set) {
    const mask = state.mask ? maths.causalMask(3, 3) : null;
    const { dots, scores, weights, out } = maths.attention(state.q, state.k, state.v, mask, state);
    const t = state.token - 1, row = weights[t], tokens = [0, 1, 2];
    const seen = (s) => !mask || mask[t][s];
    const powers = scores[t].map(Math.exp), total = maths.sum(powers);
    const product = (s) => maths.range(2).map((i) => `${num(state.q[t][i], 2)}·${num(state.k[s][i], 2)}`).join(" + ");
    const divisor = [state.scale && "√2", state.temperature !== 1 && num(state.temperature, 2)].filter(Boolean).join(" · ");
    const step = (name, cells, last) => h("tr", {}, h("th", { scope: "row" }, name), cells, h("td", { class: "number" }, last));
    const cell = (f) => tokens.map((s) => h("td", { class: seen(s) ? "" : "muted" }, f(s)));
    return [
      controls(
        choice(state, set, "token", [1, 2, 3].map((n) => [n, n])),
        slider(state, set, "temperature", { min: 0.1, max: 4, step: 0.1, show: (x) => num(x, 1) }),
        toggle(state, set, "mask"), toggle(state, set, "scale"), button("reset", () => set(structuredClone(D3)))),
      h("div", { class: "beside" },
        figure(say("plane"), plane(2.5, 0.1, state, set, [["k", "var(--cached)"], ["q", "var(--new)"]], () => null)),
        figure(say("values"), plane(12.5, 0.5, state, set, [["v", "var(--cached)"]], (at) => [
          h("polygon", { class: "hull", points: state.v.filter((_, s) => seen(s)).map((v) => at(v).join()).join(" ") }),
          tokens.map((i) => {
            const [x, y] = at(out[i]);
            return h("g", { class: i === t ? "out" : "out quiet" }, h("rect", { x: x - 5, y: y - 5, width: 10, height: 10, rx: 2 }),
              i === t && text(x + 11, y + 11, ["o", h("tspan", { dy: 4, "font-size": 10 }, i + 1)], { class: "name" }));
          })]))),
      figure(say("steps", { t: t + 1 }), h("div", { class: "scroll", tabindex: 0 }, h("table", { class: "steps" },
        h("thead", {}, h("tr", {}, h("td"), tokens.map((s) => h("th", { scope: "col" }, `${say("key")} ${s + 1}`)), h("th", { class: "number" }, say("sum")))),
        h("tbody", {},
          step(say("dot"), cell((s) => [h("small", {}, `${product(s)} =`), " ", num(dots[t][s])]), ""),
          step([say("score"), h("small", {}, divisor && ` = q · k / ${divisor.includes("·") ? `(${divisor})` : divisor}`)], cell((s) => (seen(s) ? num(scores[t][s]) : ["−∞ ", h("small", {}, say("hidden"))])), ""),
          step(say("power"), cell((s) => num(powers[s])), num(total)),
          step(say("weight"), tokens.map((s) => shaded(row[s], num(row[s]))), num(maths.sum(row))),
          step(say("times"), cell((s) => [h("small", {}, `${num(row[s])} · ${vector(state.v[s])} =`), " ", vector(state.v[s].map((x) => row[s] * x))]), h("strong", { id: "output" }, vector(out[t]))))))),
      figure(say("all"), h("table", { class: "matrix" },
        h("thead", {}, h("tr", {}, h("td"), tokens.map((s) => h("th", { scope: "col" }, `k${s + 1}`)), h("th", {}, say("output")))),
        h("tbody", {}, tokens.map((i) => h("tr", { class: i === t ? "here" : "", onclick: () => set({ token: i + 1 }) },
          h("th", { scope: "row" }, `q${i + 1}`),
          tokens.map((s) => shaded(weights[i][s], mask && !mask[i][s] ? "" : num(weights[i][s]), mask && !mask[i][s] ? { class: "cell out-of-sight" } : {})),
          h("td", {}, vector(out[i]))))))),
    ];
  }

  // ---------------------------------------------------------------------------------- sampling

  const SENTENCE = [3.2, 2.6, 2.4, 1.6, 1.1, 0.9, -0.4, -1.5], THREE = [2, 1, 0];
  const SAMPLING = { set: "sentence", logits: SENTENCE, temperature: 1, k: 8, p: 1, draws: 0 };

  // How often each token comes in n draws: a small generator (mulberry32), the same at each call.
  function drawn(probabilities, n) {
    const counts = probabilities.map(() => 0);
    for (let i = 1; i <= n; i += 1) {
      let t = Math.imul(i, 0x6d2b79f5);
      t = Math.imul(t ^ (t >>> 15), t | 1);
      t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
      let left = ((t ^ (t >>> 14)) >>> 0) / 4294967296;
      let token = probabilities.findIndex((p) => (left -= p) < 0);
      if (token < 0) token = probabilities.lastIndexOf(Math.max(...probabilities));
      counts[token] += 1;
    }
    return counts;
  }

  function samplingView(state, set) {
    const { logits, draws } = state, words = say(`words.${state.set}`).split(" ");
    const tempered = maths.temperature(logits, state.temperature), few = maths.topK(tempered, state.k);
    const before = maths.softmax(few), after = maths.softmax(maths.topP(few, state.p));
    const counts = drawn(after, draws), plain = maths.softmax(logits), order = maths.likeliest(logits);
    const reached = (token) => maths.sum(order.slice(0, order.indexOf(token) + 1).map((i) => before[i]));
    const share = (x) => `${num(100 * x, 2)}%`;
    const start = (name) => set({ ...SAMPLING, set: name, logits: name === "three" ? THREE : SENTENCE });
    const bar = (token) => h("div", { class: "chance", title: num(after[token]) },
      h("span", { class: "before", style: `width: ${share(plain[token])}` }), h("span", { class: "after", style: `width: ${share(after[token])}` }),
      counts[token] > 0 && h("span", { class: "drawn", style: `left: ${share(counts[token] / draws)}` }));
    return [
      controls(
        choice(state, ({ set: name }) => start(name), "set", [["sentence", say("set.sentence")], ["three", say("set.three")]]),
        slider(state, set, "temperature", { min: 0.1, max: 3, step: 0.1, show: (x) => num(x, 1) }),
        slider(state, set, "k", { min: 1, max: 8, show: (k) => (k >= logits.length ? say("every") : k) }),
        slider(state, set, "p", { min: 0.05, max: 1, step: 0.05, show: (p) => num(p, 2) }),
        button("draw", () => set({ draws: draws + 1 })), button("many", () => set({ draws: draws + 100 })), button("reset", () => start(state.set))),
      figure(say(`title.${state.set}`), h("div", { class: "scroll", tabindex: 0 }, h("table", { class: "sampling" },
        h("thead", {}, h("tr", {}, ["token", "logit"].map((key) => h("th", {}, say(key))), h("th", { class: "wide" }, say("probability")), ["p_after", "reached", "count"].map((key) => h("th", { class: "number" }, say(key))))),
        h("tbody", {}, words.map((word, token) => h("tr", { class: after[token] > 0 ? "" : "ruled-out", "data-key": `token${token}` },
          h("th", { scope: "row" }, word),
          h("td", {}, h("label", { class: "logit" }, h("input", { type: "range", min: -4, max: 6, step: 0.1, value: String(logits[token]), "data-key": `logit${token}`, "aria-label": `${say("logit")}: ${word}`,
            oninput: (event) => set({ logits: logits.map((x, i) => (i === token ? Number(event.target.value) : x)) }) }), h("output", {}, num(logits[token], 1)))),
          h("td", { class: "wide" }, bar(token)),
          h("td", { class: "number", "data-key": `p${token}` }, num(after[token])), h("td", { class: "number muted" }, before[token] ? num(reached(token), 2) : ""),
          h("td", { class: "number" }, draws ? counts[token] : ""))))))),
      h("p", { class: "small muted" }, say("reading"), draws > 0 && ` ${say("shares", { draws })}`),
    ];
  }

  if (playPage === "sampling") play.page(SAMPLING, samplingView);
  if (playPage === "attention") play.page(D3, attentionView);
}
