"""LIBERO, the real benchmark (arXiv 2306.03310), through `hf-libero` 0.1.4: 130 tasks in five suites."""
