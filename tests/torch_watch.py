"""What a decode step does in torch, operation by operation: watched, and recorded as in a graph."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class Watch(TorchDispatchMode):
    """Notes every operation: its name, the shapes of its results, and what it allocates."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.shapes: list[tuple] = []
        self.allocated: list[int] = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        before = {x.untyped_storage().data_ptr() for x in tensors((args, kwargs))}
        self.names.append(str(function))
        self.shapes.append(tuple(tuple(x.shape) for x in tensors(result)))
        self.allocated += [
            x.numel() for x in tensors(result) if x.untyped_storage().data_ptr() not in before
        ]
        return result


class Recording(TorchDispatchMode):
    def __init__(self, graph: Any) -> None:
        super().__init__()
        self.graph = graph

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        assert "_local_scalar_dense" not in str(function), "the host waited inside a capture"
        kwargs = kwargs or {}
        result = function(*args, **kwargs)
        before = {x.untyped_storage().data_ptr() for x in tensors((args, kwargs))}
        results = tensors(result)
        is_new = [x.untyped_storage().data_ptr() not in before for x in results]
        self.graph.recorded.append((function, args, kwargs, results, is_new))
        return result


def tensors(tree) -> list[torch.Tensor]:
    return [x for x in tree_leaves(tree) if isinstance(x, torch.Tensor)]
