# module: kv_cache
# The whole sequence again at every step; the cache holds tokens alone.
_prefill = prefill


def prefill(model, tokens, cache):
    past = getattr(cache, "tokens", None)
    if past is not None and cache.length:
        tokens = np.concatenate([past[:, : cache.length], tokens], axis=1)
        cache.truncate(0)
    cache.tokens = tokens
    return _prefill(model, tokens, cache)
