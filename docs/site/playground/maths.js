"use strict";
// The formulas of the homework on plain arrays: a matrix is a list of rows, a mask says true for
// "may attend". What they give is compared with reference_model in the browser, see playground.py.
const maths = (() => {
  const sum = (row) => row.reduce((a, b) => a + b, 0);
  const dot = (a, b) => sum(a.map((x, i) => x * b[i]));
  const transpose = (a) => a[0].map((_, j) => a.map((row) => row[j]));
  const matmul = (a, b) => {
    const columns = transpose(b);
    return a.map((row) => columns.map((column) => dot(row, column)));
  };
  const add = (a, b) => a.map((row, i) => row.map((x, j) => x + b[i][j]));
  const range = (n, first = 0) => Array.from({ length: n }, (_, i) => first + i);

  // ------------------------------------------------------------------------------ attention

  function softmax(row) {
    const largest = Math.max(...row);
    const powers = row.map((x) => Math.exp(x - largest));
    const total = sum(powers);
    return powers.map((x) => x / total);
  }

  // The T queries are the last T of S positions; `topLeft` is the famous mistake.
  const causalMask = (T, S, topLeft = false) =>
    range(T).map((t) => range(S).map((s) => s <= t + (topLeft ? 0 : S - T)));

  // Every number on the way: q (T,d_h), k (S,d_h), v (S,d_v), mask (T,S) or nothing.
  function attention(q, k, v, mask = null, { scale = true, temperature = 1 } = {}) {
    const dots = matmul(q, transpose(k));
    const divisor = (scale ? Math.sqrt(q[0].length) : 1) * temperature;
    const scores = dots.map((row, t) => row.map((x, s) => (mask && !mask[t][s] ? -Infinity : x / divisor)));
    const weights = scores.map(softmax);
    return { dots, scores, weights, out: matmul(weights, v) };
  }

  // ------------------------------------------------------------------------------ positions

  const ropeFrequencies = (headDim, theta = 10000) => range(headDim / 2).map((i) => theta ** ((-2 * i) / headDim));

  // The entries that turn together: neighbours as in the paper, or i and i + d_h/2.
  const ropePairs = (headDim, halves = false) =>
    range(headDim / 2).map((i) => (halves ? [i, i + headDim / 2] : [2 * i, 2 * i + 1]));

  function rope(rows, positions, theta = 10000, halves = false) {
    const omega = ropeFrequencies(rows[0].length, theta);
    const pairs = ropePairs(rows[0].length, halves);
    return rows.map((row, t) => {
      const turned = [...row];
      pairs.forEach(([a, b], i) => {
        const cos = Math.cos(positions[t] * omega[i]),
          sin = Math.sin(positions[t] * omega[i]);
        turned[a] = row[a] * cos - row[b] * sin;
        turned[b] = row[a] * sin + row[b] * cos;
      });
      return turned;
    });
  }

  // ------------------------------------------------------------------------------ a model

  const rmsnorm = (x, weight, eps) =>
    x.map((row) => {
      const size = Math.sqrt(dot(row, row) / row.length + eps);
      return row.map((value, i) => (value / size) * weight[i]);
    });
  const silu = (x) => (x * (1 + Math.tanh(x / 2))) / 2;
  const swiglu = (x, gate, up, down) => {
    const ups = matmul(x, up);
    return matmul(
      matmul(x, gate).map((row, i) => row.map((g, j) => silu(g) * ups[i][j])),
      down,
    );
  };
  const splitHeads = (x, n) =>
    range(n).map((h) => x.map((row) => row.slice((h * row.length) / n, ((h + 1) * row.length) / n)));

  // A cache: for each layer and key/value head the rotated keys and the values, oldest first.
  const emptyCache = (config) => ({
    length: 0,
    layers: range(config.n_layers).map(() => ({
      keys: range(config.n_kv_heads).map(() => []),
      values: range(config.n_kv_heads).map(() => []),
    })),
  });

  // Runs tokens behind those in the cache, which grows. `bug` is "", "position", "append" or "mask".
  // -> logits (T,V); weights: for each layer and head (T,S); positions: where RoPE thought they were.
  function forward({ config, params }, tokens, cache, bug = "") {
    const c = config,
      past = cache.length;
    const positions = range(tokens.length, bug === "position" ? 0 : past);
    let x = tokens.map((token) => params.embedding[token]);
    const weights = cache.layers.map((store, layer) => {
      const w = (name) => params[`layers.${layer}.${name}`];
      const normed = rmsnorm(x, w("attention_norm"), c.norm_eps);
      const project = (name, n) => splitHeads(matmul(normed, w(name)), n);
      const turn = (heads) => heads.map((rows) => rope(rows, positions, c.rope_theta));
      const q = turn(project("w_q", c.n_heads));
      const k = turn(project("w_k", c.n_kv_heads)),
        v = project("w_v", c.n_kv_heads);
      if (bug !== "append" || !past) {
        k.forEach((rows, g) => store.keys[g].push(...rows));
        v.forEach((rows, g) => store.values[g].push(...rows));
      }
      const held = store.keys[0].length;
      const mask = bug === "append" && past ? null : causalMask(tokens.length, held, bug === "mask");
      const heads = q.map((rows, h) => {
        const group = Math.floor(h / (c.n_heads / c.n_kv_heads));
        return attention(rows, store.keys[group], store.values[group], mask);
      });
      x = add(
        x,
        matmul(
          tokens.map((_, t) => heads.flatMap((head) => head.out[t])),
          w("w_o"),
        ),
      );
      x = add(x, swiglu(rmsnorm(x, w("mlp_norm"), c.norm_eps), w("w_gate"), w("w_up"), w("w_down")));
      return heads.map((head) => head.weights);
    });
    cache.length += tokens.length;
    const logits = matmul(rmsnorm(x, params.final_norm, c.norm_eps), params.lm_head);
    return { logits, weights, positions };
  }

  // The last logits of each pass, as a test asks for them: the chunks of a prompt, then one by one.
  function decodeLogits(model, chunks, tokens, bug = "") {
    const cache = emptyCache(model.config);
    const passes = [...chunks, ...tokens.map((token) => [token])];
    return passes.map((pass) => forward(model, pass, cache, bug).logits.at(-1)).slice(chunks.length - 1);
  }

  // A recompute and a cache, all steps. Both ways are fed the recompute's choices, so their logits can be compared.
  function decodeBeside(model, { prompt, bug, chunks }, last) {
    const best = (logits) => logits.indexOf(Math.max(...logits));
    const tokens = [...prompt],
      cache = emptyCache(model.config),
      passes = [],
      steps = [];
    const half = Math.ceil(prompt.length / 2);
    const feed = (fresh) => {
      const past = cache.length;
      const result = forward(model, fresh, cache, bug);
      const held = cache.layers[0].keys[0].length;
      const reach = bug === "mask" ? fresh.length : held; // the last query sees the keys before this
      passes.push({ past, held, reach, fresh: fresh.length, positions: result.positions, weights: result.weights });
      return result.logits.at(-1);
    };
    for (let step = 0; step <= last; step += 1) {
      const whole = forward(model, tokens, emptyCache(model.config));
      const right = whole.logits.at(-1);
      const got = step
        ? feed([tokens.at(-1)])
        : (chunks ? [prompt.slice(0, half), prompt.slice(half)] : [prompt]).map(feed).at(-1);
      steps.push({
        tokens: tokens.length,
        passes: passes.length,
        right: best(right),
        got: best(got),
        weights: whole.weights,
        error: Math.max(...right.map((x, i) => Math.abs(x - got[i]))),
      });
      tokens.push(best(right));
    }
    return { tokens, cache, passes, steps };
  }

  // ------------------------------------------------------------------------------ accounts

  const attentionParams = (c) => c.d_model * c.head_dim * 2 * (c.n_heads + c.n_kv_heads);
  const matmulParams = (c) => c.n_layers * (attentionParams(c) + 3 * c.d_model * c.d_ff) + c.d_model * c.vocab_size;
  const nParams = (c) => matmulParams(c) + (2 * c.n_layers + 1) * c.d_model + (c.tied ? 0 : c.d_model * c.vocab_size);
  const kvBytesPerToken = (c, bytes = 2) => 2 * c.n_layers * c.n_kv_heads * c.head_dim * bytes;

  // Useful FLOPs of a pass: lm_head for every token, the core for the pairs that the mask allows.
  function forwardFlops(c, batch, fresh, past) {
    const pairs = fresh * past + (fresh * (fresh + 1)) / 2;
    return 2 * batch * fresh * matmulParams(c) + 4 * batch * c.n_layers * c.n_heads * c.head_dim * pairs;
  }

  // A decode step; `context` includes the new token. intensity = B f / (W + B k), at most f / k.
  function decodeStep(c, batch, context, bytes = 2) {
    const flops = forwardFlops(c, batch, 1, context - 1);
    const weightBytes = matmulParams(c) * bytes;
    const kvBytes = batch * context * kvBytesPerToken(c, bytes);
    return { flops, weightBytes, kvBytes, intensity: flops / (weightBytes + kvBytes), cap: flops / kvBytes };
  }
  const decodeIntensity = (c, batch, context, bytes) => decodeStep(c, batch, context, bytes).intensity;
  const decodeCap = (c, context) => decodeStep(c, 1, context).cap;
  const prefillIntensity = (c, tokens, batch = 1, bytes = 2) =>
    forwardFlops(c, batch, tokens, 0) / ((matmulParams(c) + batch * tokens * kvBytesPerToken(c, 1)) * bytes);
  const rooflineSeconds = (flops, bytes, hardware) => Math.max(flops / hardware.flops, bytes / hardware.bandwidth);
  const decodeSeconds = (c, batch, context, hardware, bytes = 2) => {
    const step = decodeStep(c, batch, context, bytes);
    return rooflineSeconds(step.flops, step.weightBytes + step.kvBytes, hardware);
  };

  // One new token in one layer, [FLOPs, bytes read from the cache].
  const gqaCore = (H, G, keyDim, valueDim, context, bytes = 2) => [
    2 * H * (keyDim + valueDim) * context,
    G * (keyDim + valueDim) * context * bytes,
  ];
  const mlaBytes = (c, context, bytes) => (c.latent_dim + c.rope_dim) * context * bytes;
  const mlaAbsorbedCore = (c, context, bytes = 2) => [
    2 * c.n_heads * ((2 * c.latent_dim + c.rope_dim) * context + c.latent_dim * (c.nope_dim + c.v_dim)),
    mlaBytes(c, context, bytes),
  ];
  const mlaExpandedCore = (c, context, bytes = 2) => [
    2 * c.n_heads * (c.latent_dim * (c.nope_dim + c.v_dim) + c.nope_dim + c.rope_dim + c.v_dim) * context,
    mlaBytes(c, context, bytes),
  ];

  // ------------------------------------------------------------------------------ sampling

  const temperature = (logits, tau) => logits.map((x) => x / tau);
  const likeliest = (logits) => range(logits.length).sort((a, b) => logits[b] - logits[a] || a - b);
  const only = (logits, kept) => logits.map((x, i) => (kept.includes(i) ? x : -Infinity));
  const topK = (logits, k) => only(logits, likeliest(logits).slice(0, k));
  function topP(logits, p) {
    const probabilities = softmax(logits);
    let reached = 0;
    return only(
      logits,
      likeliest(logits).filter((i) => {
        const keep = probabilities[i] > 0 && (p === 1 || reached < p);
        reached += probabilities[i];
        return keep;
      }),
    );
  }

  return {
    sum,
    dot,
    transpose,
    matmul,
    range,
    softmax,
    causalMask,
    attention,
    ropeFrequencies,
    ropePairs,
    rope,
    rmsnorm,
    swiglu,
    emptyCache,
    forward,
    decodeLogits,
    decodeBeside,
    matmulParams,
    nParams,
    kvBytesPerToken,
    forwardFlops,
    decodeStep,
    decodeIntensity,
    decodeCap,
    prefillIntensity,
    rooflineSeconds,
    decodeSeconds,
    gqaCore,
    mlaAbsorbedCore,
    mlaExpandedCore,
    temperature,
    topK,
    topP,
    likeliest,
  };
})();
