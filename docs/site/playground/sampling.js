"use strict";
// Sampling: what temperature, top-k and top-p make of logits.
{
  const { h, say, num } = play;
  const { controls, slider, choice, button, figure, amount, rowHead, table } = play;

  const SENTENCE = [3.2, 2.6, 2.4, 1.6, 1.1, 0.9, -0.4, -1.5],
    THREE = [2, 1, 0];
  const START = { set: "sentence", logits: SENTENCE, temperature: 1, k: 8, p: 1, draws: 0 };

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

  function view(state, set) {
    const { logits, draws } = state,
      words = say(`words.${state.set}`).split(" ");
    const tempered = maths.temperature(logits, state.temperature),
      few = maths.topK(tempered, state.k);
    const before = maths.softmax(few),
      after = maths.softmax(maths.topP(few, state.p));
    const counts = drawn(after, draws),
      plain = maths.softmax(logits),
      order = maths.likeliest(logits);
    const reached = (token) => maths.sum(order.slice(0, order.indexOf(token) + 1).map((i) => before[i]));
    const share = (x) => `${num(100 * x, 2)}%`;
    const start = (name) => set({ ...START, set: name, logits: name === "three" ? THREE : SENTENCE });
    const bar = (token) =>
      h(
        "div",
        { class: "chance", title: num(after[token]) },
        h("span", { class: "before", style: `width: ${share(plain[token])}` }),
        h("span", { class: "after", style: `width: ${share(after[token])}` }),
        counts[token] > 0 && h("span", { class: "drawn", style: `left: ${share(counts[token] / draws)}` }),
      );
    return [
      controls(
        choice(state, ({ set: name }) => start(name), "set", [
          ["sentence", say("set.sentence")],
          ["three", say("set.three")],
        ]),
        slider(state, set, "temperature", { min: 0.1, max: 3, step: 0.1, show: (x) => num(x, 1) }),
        slider(state, set, "k", { min: 1, max: 8, show: (k) => (k >= logits.length ? say("every") : k) }),
        slider(state, set, "p", { min: 0.05, max: 1, step: 0.05, show: (p) => num(p, 2) }),
        button("draw", () => set({ draws: draws + 1 })),
        button("many", () => set({ draws: draws + 100 })),
        button("reset", () => start(state.set)),
      ),
      figure(
        say(`title.${state.set}`),
        table(
          "sampling",
          [
            ["token", "logit"].map((key) => h("th", {}, say(key))),
            h("th", { class: "wide" }, say("probability")),
            ["p_after", "reached", "count"].map((key) => h("th", { class: "number" }, say(key))),
          ],
          [
            words.map((word, token) =>
              h(
                "tr",
                { class: after[token] > 0 ? "" : "ruled-out", "data-key": `token${token}` },
                rowHead(word),
                h(
                  "td",
                  {},
                  h(
                    "label",
                    { class: "logit" },
                    h("input", {
                      type: "range",
                      min: -4,
                      max: 6,
                      step: 0.1,
                      value: String(logits[token]),
                      "data-key": `logit${token}`,
                      "aria-label": `${say("logit")}: ${word}`,
                      oninput: (event) =>
                        set({ logits: logits.map((x, i) => (i === token ? Number(event.target.value) : x)) }),
                    }),
                    h("output", {}, num(logits[token], 1)),
                  ),
                ),
                h("td", { class: "wide" }, bar(token)),
                h("td", { class: "number", "data-key": `p${token}` }, num(after[token])),
                h("td", { class: "number muted" }, before[token] ? num(reached(token), 2) : ""),
                amount(draws ? counts[token] : ""),
              ),
            ),
          ],
        ),
      ),
      h("p", { class: "small muted" }, say("reading"), draws > 0 && ` ${say("shares", { draws })}`),
    ];
  }

  play.page(START, view);
}
