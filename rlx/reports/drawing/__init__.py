"""Pictures of graphs: boxes from top to bottom, as SVG, alone or in a page."""

from rlx.reports.drawing.arrange import arrange
from rlx.reports.drawing.boxes import Box, Draft, Drawing, Edge
from rlx.reports.drawing.graph import layer_labels, layout
from rlx.reports.drawing.svg import to_svg

__all__ = ["Box", "Draft", "Drawing", "Edge", "arrange", "layer_labels", "layout", "to_svg"]
