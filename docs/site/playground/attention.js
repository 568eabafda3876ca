"use strict";
// Attention by hand: D3's three tokens, each step of the formula with its numbers.
{
  const { h, say, num, vector } = play;
  const {
    controls,
    slider,
    toggle,
    choice,
    button,
    handle,
    text,
    line,
    arrow,
    shaded,
    figure,
    centred,
    rect,
    amount,
    beside,
    rowHead,
    table,
  } = play;

  const D3 = {
    q: [
      [0, 1],
      [1, 1],
      [1, 0],
    ],
    k: [
      [1, 0],
      [0, 1],
      [1, 1],
    ],
    v: [
      [10, 0],
      [0, 10],
      [5, 5],
    ],
    mask: true,
    scale: true,
    temperature: 1,
    token: 3,
  };
  const SIZE = 300,
    MIDDLE = SIZE / 2;

  // A plane with axes, and vectors in it that can be dragged.
  function plane(reach, grid, state, set, kinds, back) {
    const unit = (MIDDLE - 12) / reach;
    const at = ([x, y]) => [MIDDLE + x * unit, MIDDLE - y * unit];
    const clamp = (x) => Math.max(-reach, Math.min(reach, Math.round(x / grid) * grid));
    const ticks = maths
      .range(2 * Math.floor(reach / (grid * 10)) + 1, -Math.floor(reach / (grid * 10)))
      .map((i) => i * grid * 10);
    const handles = kinds.flatMap(([kind, colour]) =>
      state[kind].map((v, i) => {
        const [x, y] = at(v),
          name = `${kind}${i + 1}`;
        const loud = kind !== "q" || i === state.token - 1;
        const move = (px, py, dx = 0, dy = 0) => {
          const rows = state[kind].map((row) => [...row]);
          rows[i] = (px === null ? [v[0] + dx, v[1] + dy] : [px, py]).map((c) => Number(clamp(c).toFixed(4)));
          set(kind === "q" ? { [kind]: rows, token: i + 1 } : { [kind]: rows });
        };
        const label = [x + (kind === "q" ? 1 : -1) * 13, y + (y > MIDDLE ? 13 : -13)];
        return [
          arrow(...at([0, 0]), x, y, { style: `--colour: ${colour}`, class: `arrow${loud ? "" : " quiet"}` }),
          handle({
            x,
            y,
            name,
            value: say("vector", { name, value: vector(v) }),
            move,
            step: 2 * grid,
            colour,
            key: name,
            size: kind === "k" ? 10 : kind === "q" ? 5 : 7,
            toPlane: (px, py) => [(px - MIDDLE) / unit, (MIDDLE - py) / unit],
          }),
          centred(...label, [name[0], h("tspan", { dy: 4, "font-size": 10 }, i + 1)], { class: "name" }),
        ];
      }),
    );
    return h(
      "svg",
      { viewBox: `0 0 ${SIZE} ${SIZE}`, class: "plane" },
      ticks.map((t) => [
        line(...at([t, -reach]), ...at([t, reach]), { class: t ? "grid" : "axis" }),
        line(...at([-reach, t]), ...at([reach, t]), { class: t ? "grid" : "axis" }),
      ]),
      back(at),
      handles,
    );
  }

  function view(state, set) {
    const mask = state.mask ? maths.causalMask(3, 3) : null;
    const { dots, scores, weights, out } = maths.attention(state.q, state.k, state.v, mask, state);
    const t = state.token - 1,
      row = weights[t],
      tokens = [0, 1, 2];
    const seen = (s) => !mask || mask[t][s];
    const powers = scores[t].map(Math.exp),
      total = maths.sum(powers);
    const product = (s) =>
      maths
        .range(2)
        .map((i) => `${num(state.q[t][i], 2)}·${num(state.k[s][i], 2)}`)
        .join(" + ");
    const divisor = [state.scale && "√2", state.temperature !== 1 && num(state.temperature, 2)]
      .filter(Boolean)
      .join(" · ");
    const step = (name, cells, last) => h("tr", {}, rowHead(name), cells, amount(last));
    const cell = (f) => tokens.map((s) => h("td", { class: seen(s) ? "" : "muted" }, f(s)));
    return [
      controls(
        choice(
          state,
          set,
          "token",
          [1, 2, 3].map((n) => [n, n]),
        ),
        slider(state, set, "temperature", { min: 0.1, max: 4, step: 0.1, show: (x) => num(x, 1) }),
        toggle(state, set, "mask"),
        toggle(state, set, "scale"),
        button("reset", () => set(structuredClone(D3))),
      ),
      beside(
        figure(
          say("plane"),
          plane(
            2.5,
            0.1,
            state,
            set,
            [
              ["k", "var(--cached)"],
              ["q", "var(--new)"],
            ],
            () => null,
          ),
        ),
        figure(
          say("values"),
          plane(12.5, 0.5, state, set, [["v", "var(--cached)"]], (at) => [
            h("polygon", {
              class: "hull",
              points: state.v
                .filter((_, s) => seen(s))
                .map((v) => at(v).join())
                .join(" "),
            }),
            tokens.map((i) => {
              const [x, y] = at(out[i]);
              return h(
                "g",
                { class: i === t ? "out" : "out quiet" },
                rect(x - 5, y - 5, 10, 10, { rx: 2 }),
                i === t &&
                  text(x + 11, y + 11, ["o", h("tspan", { dy: 4, "font-size": 10 }, i + 1)], { class: "name" }),
              );
            }),
          ]),
        ),
      ),
      figure(
        say("steps", { t: t + 1 }),
        table(
          "steps",
          [
            h("td"),
            tokens.map((s) => h("th", { scope: "col" }, `${say("key")} ${s + 1}`)),
            h("th", { class: "number" }, say("sum")),
          ],
          [
            step(
              say("dot"),
              cell((s) => [h("small", {}, `${product(s)} =`), " ", num(dots[t][s])]),
              "",
            ),
            step(
              [
                say("score"),
                h("small", {}, divisor && ` = q · k / ${divisor.includes("·") ? `(${divisor})` : divisor}`),
              ],
              cell((s) => (seen(s) ? num(scores[t][s]) : ["−∞ ", h("small", {}, say("hidden"))])),
              "",
            ),
            step(
              say("power"),
              cell((s) => num(powers[s])),
              num(total),
            ),
            step(
              say("weight"),
              tokens.map((s) => shaded(row[s], num(row[s]))),
              num(maths.sum(row)),
            ),
            step(
              say("times"),
              cell((s) => [
                h("small", {}, `${num(row[s])} · ${vector(state.v[s])} =`),
                " ",
                vector(state.v[s].map((x) => row[s] * x)),
              ]),
              h("strong", { id: "output" }, vector(out[t])),
            ),
          ],
        ),
      ),
      figure(
        say("all"),
        table(
          "matrix",
          [h("td"), tokens.map((s) => h("th", { scope: "col" }, `k${s + 1}`)), h("th", {}, say("output"))],
          [
            tokens.map((i) =>
              h(
                "tr",
                { class: i === t ? "here" : "", onclick: () => set({ token: i + 1 }) },
                rowHead(`q${i + 1}`),
                tokens.map((s) =>
                  shaded(
                    weights[i][s],
                    mask && !mask[i][s] ? "" : num(weights[i][s]),
                    mask && !mask[i][s] ? { class: "cell out-of-sight" } : {},
                  ),
                ),
                h("td", {}, vector(out[i])),
              ),
            ),
          ],
        ),
      ),
    ];
  }

  play.page(D3, view);
}
