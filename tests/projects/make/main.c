/* Runs a network on inputs that are all zero and prints its outputs. */
#include <stdio.h>

#include "kws.h"

static int8_t input[KWS_INPUT_BYTES], output[KWS_OUTPUT_BYTES];
static uint8_t arena[KWS_ARENA_BYTES] __attribute__((aligned(KWS_ARENA_ALIGN)));

int main(void)
{
  if (kws_run(input, output, arena) != KWS_OK) {
    return 1;
  }
  for (int k = 0; k < KWS_OUTPUT_BYTES; k++) {
    printf("%d ", output[k]);
  }
  return 0;
}
