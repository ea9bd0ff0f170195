"""The estimate of machine code."""

from dataclasses import replace

from rlx_c.layer import CodeSize, Kernel
from rlx_cortexm.code_size import code_sizes, kernel_bytes, text_bytes


def test_code_counts_assembly_and_no_comments():
    c = "int32_t f(int32_t x)\n{\n  return x + 1;\n}\n" * 10
    assert text_bytes(c + "/* " + "word " * 1000 + "*/") == text_bytes(c)
    assembly = '__asm__("smlad %0, %1, %2, %0\\n\\tsmlad %0, %1, %2, %0\\n");'
    assert text_bytes(c + assembly) - text_bytes(c) == 12


def test_a_layer_without_a_kernel_has_no_code():
    assert kernel_bytes(None) == 0
    kernel = Kernel.of(
        "clamp", "clamp/kernel", {"length": 4, "element": "int8_t", "low": 0, "high": 5}
    )
    assert kernel_bytes(kernel) > 20
    inlined = replace(kernel, size=CodeSize(inlined=100, shared=(("step", 8),)))
    assert kernel_bytes(inlined) == kernel_bytes(kernel) + 100
    assert code_sizes(inlined) == {inlined: kernel_bytes(inlined), "step": 8}
