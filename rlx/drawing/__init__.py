"""Pictures of graphs: boxes from top to bottom, as SVG that stands alone or in a page."""

from rlx.drawing.arrange import arrange
from rlx.drawing.boxes import Box, Draft, Drawing, Edge
from rlx.drawing.graph import layer_labels, layout
from rlx.drawing.svg import to_svg

__all__ = ["Box", "Draft", "Drawing", "Edge", "arrange", "layer_labels", "layout", "to_svg"]
