"""Many machines: dask workers, shards, merging their results."""
