"""Sizes of the models in the course documents."""

from __future__ import annotations

from reference_model.config import MLAConfig, ModelConfig

# L2 §4.2: the one that is small enough to be counted while it runs.
SMALL = ModelConfig("small", 4, 128, 8, 2, 16, 344, 512)

LLAMA2_7B = ModelConfig("Llama-2-7B", 32, 4096, 32, 32, 128, 11008, 32000)
LLAMA31_8B = ModelConfig("Llama-3.1-8B", 32, 4096, 32, 8, 128, 14336, 128256, 500000.0)
LLAMA31_70B = ModelConfig("Llama-3.1-70B", 80, 8192, 64, 8, 128, 28672, 128256, 500000.0)
LLAMA31_405B = ModelConfig("Llama-3.1-405B", 126, 16384, 128, 8, 128, 53248, 128256, 500000.0)

# Only the sizes of its attention are used: its MLPs are mixtures of experts, which this form of
# config cannot say.
DEEPSEEK_V3_ATTENTION = MLAConfig(
    "DeepSeek-V3 attention", 61, 7168, 128, 512, 128, 64, 128, 1536, 18432, 129280
)
