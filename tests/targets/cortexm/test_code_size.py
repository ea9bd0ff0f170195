"""The estimate of machine code."""

from rlx_c.layer import Kernel
from rlx_cortexm.code_size import kernel_bytes, text_bytes


def test_code_counts_assembly_and_no_comments():
    c = "int32_t f(int32_t x)\n{\n  return x + 1;\n}\n" * 10
    assert text_bytes(c + "/* " + "word " * 1000 + "*/") == text_bytes(c)
    assembly = '__asm__("smlad %0, %1, %2, %0\\n\\tsmlad %0, %1, %2, %0\\n");'
    assert text_bytes(c + assembly) - text_bytes(c) == 12


def test_a_layer_without_a_kernel_has_no_code():
    assert kernel_bytes(None) == 0
    assert kernel_bytes(Kernel.of("clamp", "clamp/kernel", {"length": 4, "low": 0, "high": 5})) > 20
