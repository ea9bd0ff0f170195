"""A hand-written model with the ABI of emitted C, so that simulators are tested without an emitter.

Input x int8[8]; output y int8[4] = max(x[k], x[k + 4]) + TABLE[k], saturated; second output (if
asked for) the int32 sum of x. The arena holds a copy of the input.
"""

import numpy as np

from rlx.support.files.golden import Golden
from rlx.support.files.outputs import Producer, write_folder
from rlx_cortexm.firmware import FirmwareBuffer, firmware_files

TABLE = np.array([1, -2, 3, 100], np.int32)

HEADER = """\
#ifndef TINY_H
#define TINY_H
#include <stdint.h>
#define TINY_INPUT_BYTES 8
#define TINY_OUTPUT_BYTES 4
#define TINY_SUM_BYTES 4
#define TINY_ARENA_BYTES 8
int32_t tiny_run(const int8_t *input, int8_t *output, {sum_parameter}void *arena);
#endif
"""

SOURCE = """\
#include "tiny.h"
#include <string.h>
static const int32_t table[4] = {1, -2, 3, 100};
static __attribute__((noinline)) int8_t saturate(int32_t value)
{
  return (int8_t)(value < -128 ? -128 : value > 127 ? 127 : value);
}
int32_t tiny_run(const int8_t *input, int8_t *output, SUM_PARAMETER void *arena)
{
  int8_t *copy = arena;
  memcpy(copy, input, TINY_INPUT_BYTES);
  for (int32_t k = 0; k < 4; k++) {
    int32_t value = copy[k] > copy[k + 4] ? copy[k] : copy[k + 4];
    output[k] = saturate(value + table[k]);
  }
  SUM_CODE
  FAULT_CODE
  return 0;
}
"""

SUM_CODE = "*sum = 0; for (int32_t k = 0; k < 8; k++) { *sum += copy[k]; }"


def golden(frames, two_outputs=False):
    x = np.random.default_rng(5).integers(-128, 128, (frames, 8)).astype(np.int8)
    wide = x.astype(np.int32)
    y = np.clip(np.maximum(wide[:, :4], wide[:, 4:]) + TABLE, -128, 127).astype(np.int8)
    total = wide.sum(1, keepdims=True, dtype=np.int32)
    return Golden((x,), (y, total) if two_outputs else (y,))


def tiny_files(frames=5, *, two_outputs=False, fault="", vectors=None):
    """Return the folder's files; ``fault`` is C that runs at the end of ``tiny_run``."""
    outputs = [FirmwareBuffer("TINY_OUTPUT_BYTES")]
    if two_outputs:
        outputs.append(FirmwareBuffer("TINY_SUM_BYTES", "int32_t"))
    parameter = "int32_t *sum, " if two_outputs else ""
    source = SOURCE.replace("SUM_PARAMETER ", parameter).replace("FAULT_CODE", fault)
    source = source.replace("SUM_CODE", SUM_CODE if two_outputs else "")
    return {
        "include/tiny.h": HEADER.format(sum_parameter=parameter),
        "src/tiny.c": source,
        **firmware_files(
            "tiny", [FirmwareBuffer("TINY_INPUT_BYTES")], outputs, arena_bytes="TINY_ARENA_BYTES"
        ),
        **(vectors or golden(frames, two_outputs)).files(),
    }


def write_tiny(folder, **options):
    """Write the folder, manifest included, and return its path."""
    producer = Producer(rlx_version="0", target="cortexm", options={"prefix": "tiny"})
    write_folder(folder, tiny_files(**options), producer=producer)
    return folder
