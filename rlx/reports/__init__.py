"""Reports on output folders: predicted and measured figures, as a page, a table or data.

``drawing`` lays out graphs and draws them as SVG.

Level 7. Public modules: ``collect``, ``drawing``, ``drawing.graph``, ``drawing.notebook``,
``drawing.page``, ``drawing.svg``, ``folder_diff``, ``gather``, ``model``, ``report``, ``tables``.
"""
