"""Entry points as functions that PyTorch and JAX differentiate: `soac.torch_function`, `soac.jax_function`.

In: entry points, tensors. Out: tensors, with derivatives that soac compiles when they are first asked for. Holds: a
framework is imported by the module for it alone; arrays in host memory are handed over without a copy.
"""
