"""The steps from a network to an output folder, and from a folder to its verification.

Start reading at ``driver``. ``exporters`` write networks in formats of other programs.

Level 6. Public modules: ``assumption``, ``description``, ``differences``, ``driver``,
``exporters``, ``projects``, ``reference``, ``sweep``, ``verification.budget``,
``verification.junit``, ``verification.mismatches``, ``verification.repeat``,
``verification.requirement``, ``weight_picture``.
"""
