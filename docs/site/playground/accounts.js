"use strict";
// Two pages of accounts: what the variants of attention store, and what a decode step costs.
{
  const { h, say, num, grouped, bytes, binary, seconds, vector, controls, slider, choice, text, line, figure } = play;
  const { models, hardware, latent } = playGolden;
  const H100 = hardware.find((machine) => machine.name.startsWith("H100"));
  const row = (name, value, key) => h("tr", {}, h("th", { scope: "row" }, name), h("td", { class: "number", "data-key": key }, value));
  const log = (value, low, high, from, to) => from + (to - from) * Math.log(value / low) / Math.log(high / low);

  // -------------------------------------------------------------------------- MHA, GQA, MQA, MLA

  const QUERIES = 8, HUES = [25, 65, 105, 145, 200, 245, 290, 335];
  const HEADS = { kind: "2", head: 0, context: 32768, batch: 32, c0: 1, c1: 2 };
  const VARIANTS = [["mha", 128], ["gqa", 8], ["mqa", 1], ["mla", 0], ["expanded", 0]];

  function headsPicture(state, set) {
    const mla = state.kind === "mla", groups = mla ? 1 : Number(state.kind), share = QUERIES / groups;
    const x = (head) => 4 + head * 43, middle = (group) => (x(group * share) + x((group + 1) * share - 1) + 35) / 2;
    const group = Math.floor(state.head / share);
    const hue = (g) => `--colour: light-dark(oklch(0.85 0.09 ${HUES[g * share]}), oklch(0.48 0.09 ${HUES[g * share]}))`;
    const tap = (head) => ({
      class: "head", tabindex: 0, role: "button", "aria-label": say("head", { head }), "aria-pressed": String(head === state.head), "data-key": `head${head}`,
      onclick: () => set({ head }), onkeydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); set({ head }); } },
    });
    const stored = (g) => {
      const m = middle(g), here = g === group ? "store here" : "store";
      return mla
        ? [h("rect", { class: here, x: m - 62, y: 108, width: 84, height: 30, style: hue(0) }), text(m - 20, 123, "c", { "text-anchor": "middle" }),
          h("rect", { class: here, x: m + 28, y: 108, width: 34, height: 30, style: "--colour: var(--new)" }), text(m + 45, 123, "kᴿ", { "text-anchor": "middle" })]
        : ["k", "v"].map((name, i) => [h("rect", { class: here, x: m - 17 + 17 * i, y: 108, width: 17, height: 30, style: hue(g), "data-key": `${name}${g}` }),
          text(m - 8.5 + 17 * i, 123, name, { "text-anchor": "middle" })]);
    };
    const reads = mla ? say("latent") : say("reads", { head: state.head, R: share, group });
    return figure(say("picture", { head: state.head, reads }), h("svg", { viewBox: "0 0 350 168", class: "plotted heads" },
      maths.range(QUERIES).map((head) => line(x(head) + 17.5, 46, middle(Math.floor(head / share)), 108, { class: head === state.head ? "link here" : "link" })),
      maths.range(QUERIES).map((head) => h("g", tap(head), h("rect", { x: x(head), y: 12, width: 35, height: 34, style: hue(Math.floor(head / share)) }),
        text(x(head) + 17.5, 29, ["q", h("tspan", { dy: 3, "font-size": 10 }, head)], { "text-anchor": "middle" }))),
      maths.range(groups).map(stored),
      text(4, 158, say("stored"), { class: "tiny" })));
  }

  function accountOf([key, groups], { context }) {
    const { n_heads: H, nope_dim: dim, latent_dim: c, rope_dim: r } = latent;
    const core = key === "mla" ? maths.mlaAbsorbedCore(latent, context) : key === "expanded" ? maths.mlaExpandedCore(latent, context)
      : maths.gqaCore(H, groups, dim, dim, context);
    return { key, numbers: groups ? 2 * groups * dim : c + r, flops: core[0], bytes: core[1] };
  }

  function headsView(state, set) {
    const { batch, context } = state, layers = latent.n_layers;
    const chosen = { 8: ["mha"], 1: ["mqa"], mla: ["mla", "expanded"] }[state.kind] ?? ["gqa"];
    const accounts = VARIANTS.map((variant) => accountOf(variant, state));
    const x = (time) => log(Math.max(time, 1e-5), 1e-5, 100, 98, 340);
    const q = [1, 1, 1], W = [[1, 0, 2], [0, 1, 1]], c = [state.c0, state.c1];
    const key = maths.matmul([c], W)[0], absorbed = maths.matmul([q], maths.transpose(W))[0];
    const steps = (title, ...lines) => h("div", { class: "working" }, h("h4", {}, title), lines.map((words) => h("p", {}, words)));
    return [
      controls(
        choice(state, set, "kind", [["8", "8: MHA"], ["4", "4"], ["2", "2: GQA"], ["1", "1: MQA"], ["mla", "MLA"]]),
        slider(state, set, "context", { min: 128, max: 131072, log: true, show: grouped }),
        slider(state, set, "batch", { min: 1, max: 256, log: true, show: grouped })),
      h("div", { class: "beside" }, headsPicture(state, set),
        figure(say("times"), h("svg", { viewBox: "0 0 350 168", class: "plotted", role: "img", "aria-label": say("times") },
          [[1e-4, "100 µs"], [1e-2, "10 ms"], [1, "1 s"], [100, "100 s"]].map(([time, words]) => [line(x(time), 8, x(time), 140, { class: "grid" }), text(x(time), 154, words, { class: "tiny", "text-anchor": "middle" })]),
          accounts.map((a, i) => {
            const y = 20 + i * 27, times = batch * layers, read = times * a.bytes / H100.bandwidth, compute = times * a.flops / H100.flops;
            return h("g", { class: chosen.includes(a.key) ? "" : "quiet" }, text(0, y, say(`row.${a.key}`), { "font-size": 11 }),
              line(x(read), y, x(compute), y, { class: "link here" }),
              h("circle", { cx: x(read), cy: y, r: 6.5, class: "dot reading", "data-key": `read-${a.key}`, "data-seconds": read }, h("title", {}, seconds(read))),
              h("circle", { cx: x(compute), cy: y, r: 4.5, class: "dot now", "data-key": `compute-${a.key}`, "data-seconds": compute }, h("title", {}, seconds(compute))));
          })))),
      figure(say("table"), h("div", { class: "scroll", tabindex: 0 }, h("table", { class: "counts" },
        h("thead", {}, h("tr", {}, h("th", {}, say("name")), ["numbers", "token", "total", "intensity"].map((name) => h("th", { class: "number" }, say(name))))),
        h("tbody", {}, accounts.map((a) => h("tr", { class: chosen.includes(a.key) ? "here" : "", "data-key": a.key }, h("th", { scope: "row" }, say(`row.${a.key}`)),
          [grouped(a.numbers), binary(a.numbers * 2 * layers), bytes(a.numbers * 2 * layers * batch * context), a.flops / a.bytes < 1000 ? num(a.flops / a.bytes, 1) : grouped(a.flops / a.bytes)]
            .map((value) => h("td", { class: "number" }, value)))))))),
      figure(say("absorb"), controls(slider(state, set, "c0", { min: -3, max: 3 }), slider(state, set, "c1", { min: -3, max: 3 })),
        h("div", { class: "beside" },
          steps(say("expanded"), `k = c W = ${vector(c)} · [${W.map((r) => vector(r)).join(", ")}] = ${vector(key)}`,
            h("span", {}, `q · k = ${vector(q)} · ${vector(key)} = `, h("b", { "data-key": "score-expanded" }, num(maths.dot(q, key))))),
          steps(say("absorbed"), `q̃ = q Wᵀ = ${vector(absorbed)}`,
            h("span", {}, `q̃ · c = ${vector(absorbed)} · ${vector(c)} = `, h("b", { "data-key": "score-absorbed" }, num(maths.dot(absorbed, c)))))),
        h("p", { class: "small muted" }, say("same"))),
    ];
  }

  // -------------------------------------------------------------------------- what a step costs

  const COSTS = { model: 1, hardware: 1, bytes: 2, batch: 64, context: 4096 };

  function roofline(c, machine, state) {
    const [left, right, top, bottom] = [48, 340, 14, 200], [low, high] = [0.5, 5000];
    const reached = (intensity) => Math.min(machine.flops, intensity * machine.bandwidth);
    const x = (intensity) => log(Math.min(high, intensity), low, high, left, right), y = (speed) => log(speed, 1e12, 2e15, bottom, top);
    const at = (intensity) => [x(intensity), y(reached(intensity))], ridge = machine.flops / machine.bandwidth;
    const step = (batch) => maths.decodeStep(c, batch, state.context, state.bytes), now = step(state.batch);
    const prefill = at(maths.prefillIntensity(c, state.context, 1, state.bytes)), [px, py] = at(now.intensity), cap = x(now.cap);
    return figure(say("roofline"), h("svg", { viewBox: "0 0 350 228", class: "plotted", role: "img", "aria-label": say("roofline") },
      [1, 10, 100, 1000].map((v) => [line(x(v), top, x(v), bottom, { class: "grid" }), text(x(v), bottom + 14, v, { class: "tiny", "text-anchor": "middle" })]),
      [[1e12, "1 T"], [1e13, "10 T"], [1e14, "100 T"], [1e15, "1 P"]].map(([v, words]) => [line(left, y(v), right, y(v), { class: "grid" }), text(left - 6, y(v), words, { class: "tiny", "text-anchor": "end" })]),
      h("polyline", { class: "roof", points: [at(low), at(ridge), at(high)].map((p) => p.join()).join(" ") }),
      line(cap, top, cap, bottom, { class: "limit" }),
      text(cap - 5, bottom - 12, say("cap", { cap: num(now.cap, 0) }), { class: "tiny wrong", "text-anchor": "end" }),
      [1, 8, 64, 1024].map((batch) => h("circle", { class: "dot quiet", cx: at(step(batch).intensity)[0], cy: at(step(batch).intensity)[1], r: 3 }, h("title", {}, `B = ${batch}`))),
      h("rect", { class: "store", style: "--colour: var(--cached)", x: prefill[0] - 5, y: prefill[1] - 5, width: 10, height: 10 }),
      text(prefill[0] + 5, prefill[1] + 15, say("prefill"), { class: "tiny", "text-anchor": "end" }),
      h("circle", { class: "dot now", cx: px, cy: py, r: 7, "data-key": "point" }),
      text(px + 12, py + 12, `${say("decode")}, B = ${grouped(state.batch)}`, { class: "name" })));
  }

  // Bars of one scale: each is a list of [words, amount, kind].
  function bars(title, rows, show, note) {
    const widest = Math.max(...rows.map((parts) => maths.sum(parts.map(([, amount]) => amount))));
    return figure(title, rows.map((parts) => h("div", { class: "bars" },
      h("div", { class: "strip" }, parts.map(([words, amount, kind]) => h("span", { class: kind, style: `width: ${num(100 * amount / widest, 2)}%`, title: words }))),
      h("p", { class: "small" }, parts.map(([words, amount, kind], i) => [i > 0 && " · ", `${words} `, h("b", { "data-key": kind }, show(amount))])))), note && h("p", { class: "small muted" }, note));
  }

  function costsView(state, set) {
    const c = models[state.model], machine = hardware[state.hardware], step = maths.decodeStep(c, state.batch, state.context, state.bytes);
    const total = maths.decodeSeconds(c, state.batch, state.context, machine, state.bytes);
    const weights = maths.nParams(c) * state.bytes, perToken = maths.kvBytesPerToken(c, state.bytes);
    const summary = figure("", h("table", { class: "counts" }, h("tbody", {},
        row(say("intensity"), num(step.intensity, 1), "intensity"), row(say("ridge"), num(machine.flops / machine.bandwidth, 0), "ridge"),
        row(say("share"), `${num(100 * step.kvBytes / (step.kvBytes + step.weightBytes), 0)} %`, "share"),
        row(say("seconds"), seconds(total), "seconds"), row(say("each"), num(1 / total, 1), "each"), row(say("all"), grouped(state.batch / total), "all"))));
    return [
      controls(
        choice(state, set, "model", models.map((m, i) => [i, m.name.replace("Llama-", "")])),
        choice(state, set, "hardware", hardware.map((m, i) => [i, m.name.split(/[ ,]/)[0]])),
        choice(state, set, "bytes", [[2, "2: BF16"], [1, "1: FP8"]]),
        slider(state, set, "batch", { min: 1, max: 1024, step: 0.25, log: true, show: grouped }),
        slider(state, set, "context", { min: 128, max: 131072, step: 0.25, log: true, show: grouped })),
      h("div", { class: "beside" },
        h("div", {}, roofline(c, machine, state), summary),
        h("div", {},
          bars(say("memory"), [[[say("weights"), weights, "weights"]], [[say("cache"), step.kvBytes, "kv"]]], bytes,
            say("outgrows", { now: grouped(state.batch * state.context), limit: grouped(Math.floor(weights / perToken)) })),
          bars(say("step"), [
            [[say("weights"), step.weightBytes / machine.bandwidth, "weights"], [say("cache"), step.kvBytes / machine.bandwidth, "kv"]],
            [[say("computing"), step.flops / machine.flops, "arithmetic"]]], seconds))),
    ];
  }

  if (playPage === "heads") play.page(HEADS, headsView);
  if (playPage === "costs") play.page(COSTS, costsView);
}
