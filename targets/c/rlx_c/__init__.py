"""Parts that emitters of C share, for any processor: kernels, layers, their choice, their text.

Level 10. Public modules: ``arena``, ``calls``, ``candidate``, ``choice``, ``copies``,
``entry_point``, ``layer``, ``losers``, ``nest``, ``ports``, ``program``, ``render``, ``reserved``,
``symbols``, ``tables``.
"""
