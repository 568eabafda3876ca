"use strict";
// RoPE: pairs of entries as hands of clocks, and scores that know the distance only.
{
  const { h, say, num, grouped, vector } = play;
  const { controls, slider, choice, button, handle, line, figure, centred, ended, amount, beside, table } = play;

  const Q = [1, 0.4, 0.9, 0.5, 1, 0.1, 0.6, 0.7],
    K = [0.8, 0.1, 1, 0.2, 0.7, 0.4, 0.9, -0.1];
  const START = { m: 5, n: 2, shift: 0, theta: 10000, pairing: "neighbours", length: 4096 };
  const REACH = 64,
    SHIFTS = 200,
    RADIUS = 48,
    MIDDLE = 64;
  const halves = ({ pairing }) => ({ q: pairing === "halves", k: pairing !== "neighbours" });

  const turned = (x, position, { theta }, by) => maths.rope([x], [position], theta, by)[0];
  const score = (state, m, n) => maths.dot(turned(Q, m, state, halves(state).q), turned(K, n, state, halves(state).k));

  // Pair i: its two hands, to be turned; a hand that turns by an angle moves its token's position.
  function clock(state, set, i) {
    const omega = maths.ropeFrequencies(Q.length, state.theta)[i],
      at = { m: state.m + state.shift, n: state.n + state.shift };
    const hands = [
      ["k", "n", K, "var(--cached)", 0.82],
      ["q", "m", Q, "var(--new)", 1],
    ].map(([name, place, x, colour, part]) => {
      const pair = maths.ropePairs(x.length, halves(state)[name])[i],
        end = turned(x, at[place], state, halves(state)[name]);
      const [a, b] = pair.map((j) => end[j]),
        size = Math.hypot(a, b),
        angle = Math.atan2(b, a);
      const move = (px, py, dx, dy) => {
        let delta = px === null ? dx + dy : 0;
        if (px !== null) {
          const turn = Math.atan2(MIDDLE - py, px - MIDDLE) - angle;
          delta = Math.round(Math.atan2(Math.sin(turn), Math.cos(turn)) / omega);
        }
        set({ [place]: Math.max(0, Math.min(REACH, state[place] + delta)) });
      };
      const [hx, hy] = [MIDDLE + (part * RADIUS * a) / size, MIDDLE - (part * RADIUS * b) / size];
      return {
        name,
        pair,
        a,
        b,
        drawn: [
          line(MIDDLE, MIDDLE, hx, hy, { class: "hand", style: `--colour: ${colour}` }),
          handle({
            x: hx,
            y: hy,
            name: say("hand", { name, i }),
            value: say("at", { position: at[place] }),
            move,
            colour,
            size: 6,
            key: `${name}${i}`,
            toPlane: (x, y) => [x, y],
          }),
        ],
      };
    });
    const [k, q] = hands,
      turns = (state.length * omega) / (2 * Math.PI);
    return h(
      "figure",
      { class: "clock" },
      h(
        "svg",
        { viewBox: "0 0 128 128" },
        h("circle", { cx: MIDDLE, cy: MIDDLE, r: RADIUS, class: "dial" }),
        k.drawn,
        q.drawn,
      ),
      h(
        "figcaption",
        {},
        h("b", {}, say("pair", { a: q.pair[0], b: q.pair[1] })),
        state.pairing === "mixed" && ` (k: ${k.pair.join(", ")})`,
        h("br"),
        `ω = ${num(omega, omega < 0.001 ? 6 : 4)}`,
        h("br"),
        h(
          "span",
          { class: turns < 1 ? "seldom" : "" },
          say("turns", { turns: turns < 10 ? num(turns, 2) : grouped(turns) }),
        ),
        h("br"),
        say("adds", { part: num(q.a * k.a + q.b * k.b) }),
      ),
    );
  }

  // A curve of scores over `xs`, with a dot at `here`.
  function curve(title, xs, f, here, key) {
    const [left, right, top, bottom] = [30, 345, 8, 150],
      high = 4;
    const x = (value) => left + ((right - left) * (value - xs[0])) / (xs.at(-1) - xs[0]);
    const y = (value) => (top + bottom) / 2 - (((bottom - top) / 2) * value) / high;
    return figure(
      title,
      h(
        "svg",
        { viewBox: "0 0 350 172", class: "plotted", role: "img", "aria-label": title, "data-key": key },
        [-3, 0, 3].map((v) => [
          line(left, y(v), right, y(v), { class: v ? "grid" : "axis" }),
          ended(left - 6, y(v), num(v), { class: "tiny" }),
        ]),
        [xs[0], (xs[0] + xs.at(-1)) / 2, xs.at(-1)].map((v) =>
          centred(x(v), bottom + 14, num(v, 0), { class: "tiny" }),
        ),
        h("polyline", { class: "curve", points: xs.map((v) => `${num(x(v), 1)},${y(f(v)).toFixed(2)}`).join(" ") }),
        line(x(here), top, x(here), bottom, { class: "grid" }),
        h("circle", { class: "dot now", cx: x(here), cy: y(f(here)), r: 5.5 }),
      ),
    );
  }

  function view(state, set) {
    const { m, n, shift } = state,
      mixed = state.pairing === "mixed";
    const rows = [0, 100, 10000].map((more) => [m + shift + more, n + shift + more]);
    return [
      controls(
        slider(state, set, "m", { min: 0, max: REACH }),
        slider(state, set, "n", { min: 0, max: REACH }),
        slider(state, set, "shift", { min: 0, max: SHIFTS }),
        choice(
          state,
          set,
          "pairing",
          ["neighbours", "halves", "mixed"].map((p) => [p, say(`pairing.${p}`)]),
        ),
        choice(
          state,
          set,
          "theta",
          [100, 10000, 500000].map((t) => [t, grouped(t)]),
        ),
        choice(
          state,
          set,
          "length",
          [512, 4096, 131072].map((l) => [l, grouped(l)]),
        ),
        button("reset", () => set({ ...START })),
      ),
      figure(
        say("clocks"),
        h(
          "div",
          { class: "clocks" },
          maths.range(Q.length / 2).map((i) => clock(state, set, i)),
        ),
        h("p", { class: "small muted" }, say("seldom")),
      ),
      beside(
        curve(
          say("distance", { d: m - n }),
          maths.range(2 * REACH + 1, -REACH),
          (d) => score(state, n + shift + d, n + shift),
          m - n,
          "distance",
        ),
        curve(say("moved", { shift }), maths.range(SHIFTS + 1), (s) => score(state, m + s, n + s), shift, "moved"),
      ),
      figure(
        say("scores"),
        table(
          "counts",
          [["query", "key_at", "score"].map((key) => h("th", { class: "number" }, say(key)))],
          [
            rows.map(([a, b]) =>
              h(
                "tr",
                {},
                [grouped(a), grouped(b)].map((p) => amount(p)),
                h("td", { class: "number", "data-key": "score" }, score(state, a, b).toFixed(9).replace("-", "−")),
              ),
            ),
          ],
        ),
        h("p", { class: mixed ? "verdict wrong" : "verdict" }, say(mixed ? "depends" : "relative")),
      ),
      h("p", { class: "small muted" }, `q = ${vector(Q)}, k = ${vector(K)}`),
    ];
  }

  play.page(START, view);
}
