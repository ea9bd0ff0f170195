"""The page of microcontrollers has what the table of the target has."""

from rlx_cortexm.parts import boards, parts
from support import ROOT

PAGE = ROOT / "docs" / "reference" / "parts.md"
HEADS = ("`--part`", "core", "FPU", "MHz", "flash", "RAM", "contiguous", "wait states", "source")


def lines():
    """Return the lines of both tables."""
    rows = [
        (
            f"`{chip.key}`", chip.core.removeprefix("cortex-").upper().replace("PLUS", "+"),
            chip.fpu, f"{chip.clock_mhz:g}", kib(chip.flash_bytes), kib(chip.ram_bytes),
            kib(chip.block_bytes), "-" if chip.wait_states is None else str(chip.wait_states),
            chip.source,
        )
        for chip in parts().values()
    ]  # fmt: skip
    table = [HEADS, ("---",) * 3 + ("---:",) * 5 + ("---",), *rows]
    notes = [
        f"- `{chip.key}`: {'; '.join(filter(None, (chip.ram_note, chip.cache)))}."
        for chip in parts().values()
        if chip.ram_note or chip.cache
    ]
    of_boards = [
        (f"`{board.key}`", board.name, board.core, kib(board.flash_bytes), kib(board.ram_bytes))
        for board in boards().values()
    ]
    board_table = [("board", "name", "core", "flash", "RAM"), ("---",) * 3 + ("---:",) * 2]
    return [
        *map(row_text, table), "", "RAM and caches:", "", *notes, "", "Boards:", "",
        *map(row_text, [*board_table, *of_boards]),
    ]  # fmt: skip


def row_text(cells):
    return f"| {' | '.join(cells)} |"


def kib(nbytes):
    return "-" if nbytes is None else f"{nbytes // 1024:,} KiB"


def test_page_has_every_part(request):
    text = PAGE.read_text(encoding="utf-8")
    head, bar, _ = text.partition("| `--part` |")
    if request.config.getoption("--update-golden"):
        bar, head = "|", head.rstrip("\n") + "\n\n"
        PAGE.write_text(head + "\n".join(lines()) + "\n", encoding="utf-8")
        text = PAGE.read_text(encoding="utf-8")
    assert bar
    assert text == head + "\n".join(lines()) + "\n", "pytest --update-golden, then read it"
