"""The emitted test program can be built and run by hand, with make and nothing of rlx."""

import pytest

from rlx.driver.driver import emit, golden_for
from rlx.ir import DType, Graph, GraphModule, TensorType
from rlx.ops.q import QClamp
from rlx.support.files.paths import template_root
from rlx.support.process import run
from rlx.targets import load
from rlx_cortexm.firmware import COPIED, MEASURING, FirmwareBuffer, firmware_files
from rlx_sim.firmware.host_c import HostC
from rlx_sim.protocol import compare
from support import require_program
from support.networks.tiny_model import write_tiny


def test_files_of_the_test_program():
    files = firmware_files(
        "net",
        [FirmwareBuffer("NET_INPUT_BYTES")],
        [FirmwareBuffer("8", "int32_t")],
        arena_bytes="9",
    )
    assert set(files) == {f"test/{name}" for name in (*COPIED, *MEASURING, "host.c", "main.c")}
    main = files["test/main.c"]
    assert '#include "net.h"' in main
    assert "golden/input_0.npy" in main
    assert "(int32_t *)(void *)(output_0" in main
    assert "{{" not in main
    assert "{%" not in main
    assert max(len(line) for line in main.splitlines()) <= 100


def test_every_file_of_the_folder_is_emitted():
    folder = template_root() / "cortexm" / "firmware"
    files = (p for p in folder.rglob("*") if p.is_file() and p.parent.name != "__pycache__")
    found = {p.relative_to(folder).as_posix() for p in files}
    rendered = {f"{name}.j2" for name in (*MEASURING, "host.c", "main.c", "weights.S")}
    assert found == {*COPIED, *rendered}


def test_folder_runs_on_the_host_by_make(tmp_path):
    make = require_program("make")
    require_program("cc")
    folder = write_tiny(tmp_path / "tiny")
    done = run([make, "-C", "test", "host"], cwd=folder, timeout_s=60)
    assert "rlx done 5 of 5 frames equal\n" in done.stdout
    assert (folder / "build/output_0.bin").read_bytes() == (
        (folder / "golden/output_0.npy").read_bytes()[-20:]
    )


def test_a_network_of_many_ports_runs_on_the_host(tmp_path):
    graph = Graph("many")
    inputs = [graph.input(f"x{k}", TensorType((4,), DType.I8)) for k in range(5)]
    graph.output(*(graph.apply(QClamp(low=-k), inputs[k % 5]) for k in range(31)))
    module = GraphModule.mir(graph)
    golden = golden_for(graph, load("cortexm"), frames=3)
    emit(module, load("cortexm"), tmp_path / "many", golden=golden)
    assert "#define MAX_FILES 67\n" in (tmp_path / "many/test/host.c").read_text(encoding="utf-8")
    done = HostC().simulate(tmp_path / "many", golden, timeout_s=60)
    assert compare("host", done, golden) == []


@pytest.mark.qemu
@pytest.mark.parametrize("cpu", ["cortex-m4", "cortex-m33", "cortex-m55"])
def test_folder_runs_under_qemu_by_make(tmp_path, cpu):
    make = require_program("make")
    require_program("arm-none-eabi-gcc")
    require_program("qemu-system-arm")
    folder = write_tiny(tmp_path / "tiny", two_outputs=True)
    done = run([make, "-C", "test", "qemu", f"CPU={cpu}"], cwd=folder, timeout_s=60)
    assert "rlx done 5 of 5 frames equal\n" in done.stdout + done.stderr
