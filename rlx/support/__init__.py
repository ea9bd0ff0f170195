"""Machine and text: errors, settings, files, processes, plug-ins; nothing of networks.

``text`` holds names, units, tables, templates and HTML; ``files`` output folders, archives, locks
and caches; ``process`` the programs that are started; ``parallel`` tasks on several processes or
machines.

Level 1. Public modules: ``annotations``, ``calls``, ``config``, ``errors``, ``files.arrays``,
``files.cache``, ``files.golden``, ``files.locks``, ``files.missing``, ``files.outputs``,
``files.paths``, ``files.scratch``, ``files.shipped``, ``limits``, ``named``, ``parallel``,
``plugins``, ``process``, ``signals``, ``spelling``, ``steps``, ``text.html``, ``text.licence``,
``text.names``, ``text.notebook``, ``text.suggest``, ``text.tables``, ``text.templates``,
``text.units``, ``version``.
"""
