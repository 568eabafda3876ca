"use strict";
// Prefill and decode, step by step: a recompute of everything beside a cache, right or with a bug.
{
  const { h, say, num, grouped, binary, big, scientific } = play;
  const {
    controls,
    slider,
    toggle,
    choice,
    button,
    text,
    line,
    figure,
    centred,
    ended,
    rect,
    amount,
    beside,
    rowHead,
    table,
  } = play;
  const { model, notes, prompt: PROMPT } = playGolden;
  const config = model.config,
    LAST = 8,
    TOLERANCE = 1e-9,
    BYTES = 8;
  const START = { prompt: PROMPT, bug: "", chunks: false, step: 0 };
  const note = (token) => notes[token];

  // ---------------------------------------------------------------------------------- the parts

  const LEFT = 66,
    CELL = 17;
  const columns = (n) => maths.range(n).map((j) => LEFT + j * CELL);
  const head = (tokens, y, n) => columns(n).map((x, j) => centred(x + CELL / 2, y, note(tokens[j]), { class: "tiny" }));

  // A row a pass: what is computed, what is read, what is lost; the number in it is RoPE's position.
  // Passes that are still to come are outlines.
  function passesFigure(title, key, tokens, rows, room, done) {
    const top = 22,
      width = LEFT + room * CELL + 34,
      bottom = top + rows.length * (CELL + 3);
    const total = maths.sum(rows.slice(0, done).map((row) => row.fresh));
    return figure(
      title,
      h(
        "svg",
        { viewBox: `0 0 ${width} ${bottom + 16}`, "data-key": key, role: "img", "aria-label": `${title}: ${total}` },
        head(tokens, 10, room),
        rows.map((row, r) => {
          const y = top + r * (CELL + 3);
          if (r >= done) {
            return columns(row.past + row.fresh).map((x) => rect(x + 0.5, y, CELL - 1, CELL, { class: "ghost" }));
          }
          return [
            ended(LEFT - 8, y + CELL / 2, row.name, { class: "tiny" }),
            columns(row.past + row.fresh).map((x, j) => {
              const fresh = j >= row.past,
                lost = !fresh && j >= row.held;
              const position = fresh ? row.positions[j - row.past] : j;
              const kind = `${lost ? "lost" : fresh ? "fresh" : "cached"}${j >= row.reach ? " masked" : ""}${fresh && position !== j ? " wrong" : ""}`;
              return h(
                "g",
                { class: kind },
                rect(x + 0.5, y, CELL - 1, CELL),
                fresh && centred(x + CELL / 2, y + CELL / 2 + 0.5, position, { class: "tiny" }),
              );
            }),
            ended(LEFT + room * CELL + 28, y + CELL / 2, row.fresh),
          ];
        }),
        ended(LEFT + room * CELL + 28, bottom + 8, `Σ ${total}`, { class: "total", "data-key": `${key}-total` }),
      ),
    );
  }

  function textLines({ tokens, steps }, { prompt, step }) {
    const chip = (words, kind) => h("span", { class: `note ${kind}` }, words);
    const line = (name, choices) =>
      h(
        "div",
        { class: "tune" },
        h("span", { class: "muted" }, name),
        prompt.map((token) => chip(note(token), "given")),
        choices.map((token, s) => chip(note(token), token === steps[s].right ? "made" : "wrong")),
      );
    const shown = steps.slice(0, step + 1);
    return figure(
      say("text"),
      line(
        say("recompute"),
        shown.map((s) => s.right),
      ),
      line(
        say("cache"),
        shown.map((s) => s.got),
      ),
    );
  }

  function errorPlot({ steps }, { step }) {
    const [left, right, top, bottom] = [44, 340, 12, 170];
    const y = (error) => bottom - ((bottom - top) * (Math.log10(Math.max(error, 1e-17)) + 17)) / 19;
    const x = (s) => left + 16 + ((right - left - 32) * s) / LAST;
    return figure(
      say("error"),
      h(
        "svg",
        { viewBox: "0 0 350 200", class: "plotted", role: "img", "aria-label": say("error") },
        [1, 1e-5, 1e-10, 1e-15].map((e) => [
          line(left, y(e), right, y(e), { class: "grid" }),
          ended(left - 6, y(e), e === 1 ? "1" : `1e−${-Math.log10(e)}`, { class: "tiny" }),
        ]),
        line(left, y(TOLERANCE), right, y(TOLERANCE), { class: "limit" }),
        ended(right, y(TOLERANCE) - 8, say("tolerance"), { class: "tiny" }),
        maths.range(LAST + 1).map((s) => centred(x(s), bottom + 16, s, { class: s === step ? "total" : "tiny" })),
        steps
          .slice(0, step + 1)
          .map(({ error }, s) =>
            h(
              "circle",
              { class: error > TOLERANCE ? "dot wrong" : "dot", cx: x(s), cy: y(error), r: s === step ? 6 : 4 },
              h("title", {}, `${s}: ${scientific(error)}`),
            ),
          ),
      ),
    );
  }

  function countsTable({ passes, steps }, { prompt, step }) {
    const perToken = maths.kvBytesPerToken(config, BYTES),
      n = steps[step].passes;
    const flops = (fresh, past) => maths.forwardFlops(config, 1, fresh, past);
    const again = steps.slice(0, step + 1).map((s) => s.tokens),
      once = passes.slice(0, n);
    const rows = [
      ["tokens", maths.sum(again), maths.sum(once.map((p) => p.fresh)), grouped],
      ["flops", maths.sum(again.map((t) => flops(t, 0))), maths.sum(once.map((p) => flops(p.fresh, p.past))), big],
      ["held", 0, once.at(-1).held * perToken, binary],
      ["read", 0, maths.sum(once.map((p) => p.held * perToken)), binary],
    ];
    return figure(
      say("counts"),
      table(
        "counts",
        [h("td"), ["recompute", "cache"].map((key) => h("th", { class: "number" }, say(key))), h("th")],
        [
          rows.map(([key, a, b, show]) =>
            h(
              "tr",
              { "data-key": key },
              rowHead(say(key)),
              [a, b].map((value) => amount(show(value))),
              h("td", { class: "number muted" }, a && b ? `${num(a / b, 1)} ×` : ""),
            ),
          ),
        ],
      ),
      h(
        "p",
        { class: "small muted" },
        say("formula", { T: prompt.length, n: step, again: maths.sum(again), once: prompt.length + step }),
        " ",
        say("each", { bytes: binary(perToken) }),
      ),
    );
  }

  // Keys and values as they lie in a layer's cache, a column a position, and where the last query looks.
  function layerFigure({ tokens, cache, passes, steps }, { prompt, step, bug }, layer) {
    const room = prompt.length + LAST,
      pass = passes[steps[step].passes - 1],
      first = passes.length - LAST - 1;
    const height = 4,
      top = 20,
      store = cache.layers[layer],
      length = steps[step].tokens;
    const born = (j) => (j < prompt.length ? j : passes[first + 1 + j - prompt.length].positions[0]);
    const blocks = [
      ["K", store.keys[0]],
      ["V", store.values[0]],
    ].map(([name, rows], b) => {
      const y = top + b * (16 * height + 8),
        largest = Math.max(...rows.flat().map(Math.abs));
      return [
        ended(LEFT - 8, y + 8 * height, name),
        columns(room).map((x, j) => {
          const held = j < pass.held,
            fresh = held && j >= pass.past;
          return h(
            "g",
            { class: held ? "column" : "column vacant", "data-key": `${name}${j}` },
            rect(x + 0.5, y, CELL - 1, 16 * height, { class: fresh ? "frame fresh" : "frame" }),
            held &&
              rows[j].map((value, i) =>
                rect(x + 1.5, y + i * height, CELL - 3, height, {
                  class: value < 0 ? "minus" : "plus",
                  "fill-opacity": num(Math.min(1, Math.abs(value) / largest), 2),
                }),
              ),
          );
        }),
      ];
    });
    const under = top + 2 * (16 * height + 8);
    const positions = columns(Math.min(room, length)).map((x, j) =>
      text(x + CELL / 2, under + 6, born(j), { class: born(j) === j ? "tiny" : "tiny wrong", "text-anchor": "middle" }),
    );
    const looks = maths.range(config.n_heads).flatMap((head) =>
      [
        ["recompute", steps[step].weights[layer][head].at(-1)],
        ["cache", pass.weights[layer][head].at(-1)],
      ].map(([key, weights], r) => {
        const y = under + 34 + head * 54 + r * 18;
        return [
          !r && text(LEFT, y - 9, say("head", { head }), { class: "tiny" }),
          ended(LEFT - 8, y + 8, say(key), { class: "tiny" }),
          columns(length).map((x, j) =>
            h(
              "rect",
              {
                x: x + 0.5,
                y,
                width: CELL - 1,
                height: 16,
                class: "look",
                "data-key": `${key}-${layer}-${head}`,
                style: `--w: ${num(100 * (weights[j] ?? 0), 1)}%`,
              },
              h("title", {}, num(weights[j] ?? 0)),
            ),
          ),
        ];
      }),
    );
    return figure(
      say("layer", { layer }),
      h(
        "svg",
        {
          viewBox: `0 0 ${LEFT + room * CELL + 4} ${under + 22 + 54 * config.n_heads}`,
          class: "cache",
          "data-bug": bug,
        },
        head(tokens, 9, Math.min(room, length)),
        blocks,
        ended(LEFT - 8, under + 6, "RoPE", { class: "tiny" }),
        positions,
        looks,
      ),
      h("p", { class: "small muted" }, say(`looks${layer}`)),
    );
  }

  // ---------------------------------------------------------------------------------- the page

  let timer = null;
  function view(state, set) {
    const done = maths.decodeBeside(model, state, LAST),
      { prompt, step } = state,
      last = step === LAST;
    const stop = () => {
      clearInterval(timer);
      timer = null;
    };
    const go = (to) => {
      stop();
      set({ step: Math.max(0, Math.min(LAST, to)) });
    };
    const start = () => {
      if (last) set({ step: 0 });
      timer = setInterval(() => {
        if (state.step >= LAST) stop();
        set({ step: Math.min(LAST, state.step + 1) });
      }, 900);
      set({});
    };
    const room = prompt.length + LAST,
      { error, passes } = done.steps[step],
      wrong = error > TOLERANCE;
    const ofCache = done.passes.map((pass) => ({
      ...pass,
      name: pass.past < prompt.length ? "prefill" : say("decode", { n: pass.past - prompt.length + 1 }),
    }));
    const again = done.steps.map(({ tokens: n }, i) => ({
      past: 0,
      held: n,
      reach: n,
      fresh: n,
      positions: maths.range(n),
      name: i ? say("step", { n: i }) : "prefill",
    }));
    const change = (i) =>
      set({ step: 0, prompt: prompt.map((token, j) => (j === i ? (token + 1) % notes.length : token)) });
    const lengthen = { length: prompt.length };
    const resize = ({ length }) => set({ step: 0, prompt: maths.range(length).map((j) => prompt[j] ?? PROMPT[j % 4]) });
    return [
      controls(
        choice(
          state,
          set,
          "bug",
          ["", "position", "append", "mask"].map((bug) => [bug, say(`bug.${bug || "none"}`)]),
        ),
        toggle(state, set, "chunks"),
        h(
          "div",
          { class: "prompt" },
          h("span", {}, say("prompt")),
          prompt.map((token, i) =>
            h(
              "button",
              {
                type: "button",
                "data-key": `note${i}`,
                "aria-label": say("change", { i, note: note(token) }),
                onclick: () => change(i),
              },
              note(token),
            ),
          ),
        ),
        slider(lengthen, resize, "length", { min: 2, max: 8 }),
      ),
      h(
        "div",
        { class: "steer" },
        button("next", () => go(step + 1), { class: "first", disabled: last }),
        button("back", () => go(step - 1), { disabled: step === 0 }),
        button(timer ? "pause" : "play", () => {
          if (timer) {
            stop();
            set({});
          } else start();
        }),
        slider(state, ({ step: to }) => go(to), "step_of", {
          min: 0,
          max: LAST,
          of: "step",
          show: () => `${step} / ${LAST}`,
        }),
        h(
          "p",
          { id: "error", role: "status", class: wrong ? "verdict wrong" : "verdict" },
          say(wrong ? "differs" : "agrees", { step, error: scientific(error) }),
        ),
      ),
      state.bug && h("p", { class: "tells" }, say(`tells.${state.bug}`)),
      textLines(done, state),
      beside(
        passesFigure(say("recompute"), "recompute", done.tokens, again, room, step + 1),
        passesFigure(say("cache"), "cached", done.tokens, ofCache, room, passes),
      ),
      h(
        "p",
        { class: "legend small" },
        ["fresh", "cached", "masked", "lost"].map((kind) => h("span", { class: kind }, h("i"), say(`kind.${kind}`))),
      ),
      beside(errorPlot(done, state), countsTable(done, state)),
      beside(maths.range(config.n_layers).map((layer) => layerFigure(done, state, layer))),
    ];
  }

  play.page(START, view);
}
