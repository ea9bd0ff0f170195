"""Changes to the inputs of a graph: bound symbols, batches, frozen parameters, derivatives.

Derivatives: ``jvp`` (forward), ``vjp``, ``grad``, ``value_and_grad`` (reverse), ``hvp``, and the
Jacobians ``jacfwd``, ``jacrev`` and ``hessian``.
"""
