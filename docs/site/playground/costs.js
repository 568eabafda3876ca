"use strict";
// What a decode step costs: model, batch, context and machine on a roofline.
{
  const { h, say, num, grouped, bytes, seconds, logScale } = play;
  const { controls, slider, choice, text, line, figure, centred, ended, rect, amount, beside, rowHead, table } = play;
  const { models, hardware } = playGolden;
  const row = (name, value, key) => h("tr", {}, rowHead(name), amount(value, { "data-key": key }));

  const START = { model: 1, hardware: 1, bytes: 2, batch: 64, context: 4096 };

  function roofline(c, machine, state) {
    const [left, right, top, bottom] = [48, 340, 14, 200],
      [low, high] = [0.5, 5000];
    const reached = (intensity) => Math.min(machine.flops, intensity * machine.bandwidth);
    const x = (intensity) => logScale(Math.min(high, intensity), low, high, left, right),
      y = (speed) => logScale(speed, 1e12, 2e15, bottom, top);
    const at = (intensity) => [x(intensity), y(reached(intensity))],
      ridge = machine.flops / machine.bandwidth;
    const step = (batch) => maths.decodeStep(c, batch, state.context, state.bytes),
      now = step(state.batch);
    const prefill = at(maths.prefillIntensity(c, state.context, 1, state.bytes)),
      [px, py] = at(now.intensity),
      cap = x(now.cap);
    return figure(
      say("roofline"),
      h(
        "svg",
        { viewBox: "0 0 350 228", class: "plotted", role: "img", "aria-label": say("roofline") },
        [1, 10, 100, 1000].map((v) => [
          line(x(v), top, x(v), bottom, { class: "grid" }),
          centred(x(v), bottom + 14, v, { class: "tiny" }),
        ]),
        [
          [1e12, "1 T"],
          [1e13, "10 T"],
          [1e14, "100 T"],
          [1e15, "1 P"],
        ].map(([v, words]) => [
          line(left, y(v), right, y(v), { class: "grid" }),
          ended(left - 6, y(v), words, { class: "tiny" }),
        ]),
        h("polyline", { class: "roof", points: [at(low), at(ridge), at(high)].map((p) => p.join()).join(" ") }),
        line(cap, top, cap, bottom, { class: "limit" }),
        ended(cap - 5, bottom - 12, say("cap", { cap: num(now.cap, 0) }), { class: "tiny wrong" }),
        [1, 8, 64, 1024].map((batch) =>
          h(
            "circle",
            { class: "dot quiet", cx: at(step(batch).intensity)[0], cy: at(step(batch).intensity)[1], r: 3 },
            h("title", {}, `B = ${batch}`),
          ),
        ),
        rect(prefill[0] - 5, prefill[1] - 5, 10, 10, { class: "store", style: "--colour: var(--cached)" }),
        ended(prefill[0] + 5, prefill[1] + 15, say("prefill"), { class: "tiny" }),
        h("circle", { class: "dot now", cx: px, cy: py, r: 7, "data-key": "point" }),
        text(px + 12, py + 12, `${say("decode")}, B = ${grouped(state.batch)}`, { class: "name" }),
      ),
    );
  }

  // Bars of one scale: each is a list of [words, amount, kind].
  function bars(title, rows, show, note) {
    const widest = Math.max(...rows.map((parts) => maths.sum(parts.map(([, amount]) => amount))));
    return figure(
      title,
      rows.map((parts) =>
        h(
          "div",
          { class: "bars" },
          h(
            "div",
            { class: "strip" },
            parts.map(([words, amount, kind]) =>
              h("span", { class: kind, style: `width: ${num((100 * amount) / widest, 2)}%`, title: words }),
            ),
          ),
          h(
            "p",
            { class: "small" },
            parts.map(([words, amount, kind], i) => [
              i > 0 && " · ",
              `${words} `,
              h("b", { "data-key": kind }, show(amount)),
            ]),
          ),
        ),
      ),
      note && h("p", { class: "small muted" }, note),
    );
  }

  function view(state, set) {
    const c = models[state.model],
      machine = hardware[state.hardware],
      step = maths.decodeStep(c, state.batch, state.context, state.bytes);
    const total = maths.decodeSeconds(c, state.batch, state.context, machine, state.bytes);
    const weights = maths.nParams(c) * state.bytes,
      perToken = maths.kvBytesPerToken(c, state.bytes);
    const summary = figure(
      "",
      table(
        "counts",
        [],
        [
          row(say("intensity"), num(step.intensity, 1), "intensity"),
          row(say("ridge"), num(machine.flops / machine.bandwidth, 0), "ridge"),
          row(say("share"), `${num((100 * step.kvBytes) / (step.kvBytes + step.weightBytes), 0)} %`, "share"),
          row(say("seconds"), seconds(total), "seconds"),
          row(say("each"), num(1 / total, 1), "each"),
          row(say("all"), grouped(state.batch / total), "all"),
        ],
      ),
    );
    return [
      controls(
        choice(
          state,
          set,
          "model",
          models.map((m, i) => [i, m.name.replace("Llama-", "")]),
        ),
        choice(
          state,
          set,
          "hardware",
          hardware.map((m, i) => [i, m.name.split(/[ ,]/)[0]]),
        ),
        choice(state, set, "bytes", [
          [2, "2: BF16"],
          [1, "1: FP8"],
        ]),
        slider(state, set, "batch", { min: 1, max: 1024, step: 0.25, log: true, show: grouped }),
        slider(state, set, "context", { min: 128, max: 131072, step: 0.25, log: true, show: grouped }),
      ),
      beside(
        h("div", {}, roofline(c, machine, state), summary),
        h(
          "div",
          {},
          bars(
            say("memory"),
            [[[say("weights"), weights, "weights"]], [[say("cache"), step.kvBytes, "kv"]]],
            bytes,
            say("outgrows", {
              now: grouped(state.batch * state.context),
              limit: grouped(Math.floor(weights / perToken)),
            }),
          ),
          bars(
            say("step"),
            [
              [
                [say("weights"), step.weightBytes / machine.bandwidth, "weights"],
                [say("cache"), step.kvBytes / machine.bandwidth, "kv"],
              ],
              [[say("computing"), step.flops / machine.flops, "arithmetic"]],
            ],
            seconds,
          ),
        ),
      ),
    ];
  }

  play.page(START, view);
}
