"use strict";
// MHA, GQA, MQA and MLA: which head reads what, what is stored, and what a step then takes.
{
  const { h, say, num, grouped, bytes, binary, seconds, vector, logScale } = play;
  const { controls, slider, choice, text, line, figure, centred, rect, amount, beside, rowHead, table } = play;
  const { hardware, latent } = playGolden;
  const H100 = hardware.find((machine) => machine.name.startsWith("H100"));

  const QUERIES = 8,
    HUES = [25, 65, 105, 145, 200, 245, 290, 335];
  const START = { kind: "2", head: 0, context: 32768, batch: 32, c0: 1, c1: 2 };
  const VARIANTS = [
    ["mha", 128],
    ["gqa", 8],
    ["mqa", 1],
    ["mla", 0],
    ["expanded", 0],
  ];

  function headsPicture(state, set) {
    const mla = state.kind === "mla",
      groups = mla ? 1 : Number(state.kind),
      share = QUERIES / groups;
    const x = (head) => 4 + head * 43,
      middle = (group) => (x(group * share) + x((group + 1) * share - 1) + 35) / 2;
    const group = Math.floor(state.head / share);
    const hue = (g) => `--colour: light-dark(oklch(0.85 0.09 ${HUES[g * share]}), oklch(0.48 0.09 ${HUES[g * share]}))`;
    const tap = (head) => ({
      class: "head",
      tabindex: 0,
      role: "button",
      "aria-label": say("head", { head }),
      "aria-pressed": String(head === state.head),
      "data-key": `head${head}`,
      onclick: () => set({ head }),
      onkeydown: (event) => {
        if (event.key === "Enter" || event.key === " ") {
          event.preventDefault();
          set({ head });
        }
      },
    });
    const stored = (g) => {
      const m = middle(g),
        here = g === group ? "store here" : "store";
      return mla
        ? [
            rect(m - 62, 108, 84, 30, { class: here, style: hue(0) }),
            centred(m - 20, 123, "c"),
            rect(m + 28, 108, 34, 30, { class: here, style: "--colour: var(--new)" }),
            centred(m + 45, 123, "kᴿ"),
          ]
        : ["k", "v"].map((name, i) => [
            rect(m - 17 + 17 * i, 108, 17, 30, { class: here, style: hue(g), "data-key": `${name}${g}` }),
            centred(m - 8.5 + 17 * i, 123, name),
          ]);
    };
    const reads = mla ? say("latent") : say("reads", { head: state.head, R: share, group });
    return figure(
      say("picture", { head: state.head, reads }),
      h(
        "svg",
        { viewBox: "0 0 350 168", class: "plotted heads" },
        maths
          .range(QUERIES)
          .map((head) =>
            line(x(head) + 17.5, 46, middle(Math.floor(head / share)), 108, {
              class: head === state.head ? "link here" : "link",
            }),
          ),
        maths
          .range(QUERIES)
          .map((head) =>
            h(
              "g",
              tap(head),
              rect(x(head), 12, 35, 34, { style: hue(Math.floor(head / share)) }),
              centred(x(head) + 17.5, 29, ["q", h("tspan", { dy: 3, "font-size": 10 }, head)]),
            ),
          ),
        maths.range(groups).map(stored),
        text(4, 158, say("stored"), { class: "tiny" }),
      ),
    );
  }

  function accountOf([key, groups], { context }) {
    const { n_heads: H, nope_dim: dim, latent_dim: c, rope_dim: r } = latent;
    const core =
      key === "mla"
        ? maths.mlaAbsorbedCore(latent, context)
        : key === "expanded"
          ? maths.mlaExpandedCore(latent, context)
          : maths.gqaCore(H, groups, dim, dim, context);
    return { key, numbers: groups ? 2 * groups * dim : c + r, flops: core[0], bytes: core[1] };
  }

  function view(state, set) {
    const { batch, context } = state,
      layers = latent.n_layers;
    const chosen = { 8: ["mha"], 1: ["mqa"], mla: ["mla", "expanded"] }[state.kind] ?? ["gqa"];
    const accounts = VARIANTS.map((variant) => accountOf(variant, state));
    const x = (time) => logScale(Math.max(time, 1e-5), 1e-5, 100, 98, 340);
    const q = [1, 1, 1],
      W = [
        [1, 0, 2],
        [0, 1, 1],
      ],
      c = [state.c0, state.c1];
    const key = maths.matmul([c], W)[0],
      absorbed = maths.matmul([q], maths.transpose(W))[0];
    const steps = (title, ...lines) =>
      h(
        "div",
        { class: "working" },
        h("h4", {}, title),
        lines.map((words) => h("p", {}, words)),
      );
    return [
      controls(
        choice(state, set, "kind", [
          ["8", "8: MHA"],
          ["4", "4"],
          ["2", "2: GQA"],
          ["1", "1: MQA"],
          ["mla", "MLA"],
        ]),
        slider(state, set, "context", { min: 128, max: 131072, log: true, show: grouped }),
        slider(state, set, "batch", { min: 1, max: 256, log: true, show: grouped }),
      ),
      beside(
        headsPicture(state, set),
        figure(
          say("times"),
          h(
            "svg",
            { viewBox: "0 0 350 168", class: "plotted", role: "img", "aria-label": say("times") },
            [
              [1e-4, "100 µs"],
              [1e-2, "10 ms"],
              [1, "1 s"],
              [100, "100 s"],
            ].map(([time, words]) => [
              line(x(time), 8, x(time), 140, { class: "grid" }),
              centred(x(time), 154, words, { class: "tiny" }),
            ]),
            accounts.map((a, i) => {
              const y = 20 + i * 27,
                times = batch * layers,
                read = (times * a.bytes) / H100.bandwidth,
                compute = (times * a.flops) / H100.flops;
              return h(
                "g",
                { class: chosen.includes(a.key) ? "" : "quiet" },
                text(0, y, say(`row.${a.key}`), { "font-size": 11 }),
                line(x(read), y, x(compute), y, { class: "link here" }),
                h(
                  "circle",
                  {
                    cx: x(read),
                    cy: y,
                    r: 6.5,
                    class: "dot reading",
                    "data-key": `read-${a.key}`,
                    "data-seconds": read,
                  },
                  h("title", {}, seconds(read)),
                ),
                h(
                  "circle",
                  {
                    cx: x(compute),
                    cy: y,
                    r: 4.5,
                    class: "dot now",
                    "data-key": `compute-${a.key}`,
                    "data-seconds": compute,
                  },
                  h("title", {}, seconds(compute)),
                ),
              );
            }),
          ),
        ),
      ),
      figure(
        say("table"),
        table(
          "counts",
          [
            h("th", {}, say("name")),
            ["numbers", "token", "total", "intensity"].map((name) => h("th", { class: "number" }, say(name))),
          ],
          [
            accounts.map((a) =>
              h(
                "tr",
                { class: chosen.includes(a.key) ? "here" : "", "data-key": a.key },
                rowHead(say(`row.${a.key}`)),
                [
                  grouped(a.numbers),
                  binary(a.numbers * 2 * layers),
                  bytes(a.numbers * 2 * layers * batch * context),
                  a.flops / a.bytes < 1000 ? num(a.flops / a.bytes, 1) : grouped(a.flops / a.bytes),
                ].map((value) => amount(value)),
              ),
            ),
          ],
        ),
      ),
      figure(
        say("absorb"),
        controls(slider(state, set, "c0", { min: -3, max: 3 }), slider(state, set, "c1", { min: -3, max: 3 })),
        beside(
          steps(
            say("expanded"),
            `k = c W = ${vector(c)} · [${W.map((r) => vector(r)).join(", ")}] = ${vector(key)}`,
            h(
              "span",
              {},
              `q · k = ${vector(q)} · ${vector(key)} = `,
              h("b", { "data-key": "score-expanded" }, num(maths.dot(q, key))),
            ),
          ),
          steps(
            say("absorbed"),
            `q̃ = q Wᵀ = ${vector(absorbed)}`,
            h(
              "span",
              {},
              `q̃ · c = ${vector(absorbed)} · ${vector(c)} = `,
              h("b", { "data-key": "score-absorbed" }, num(maths.dot(absorbed, c))),
            ),
          ),
        ),
        h("p", { class: "small muted" }, say("same")),
      ),
    ];
  }

  play.page(START, view);
}
