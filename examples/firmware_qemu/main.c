/* Runs the digits network on a picture and prints the digit. */
#include "board.h"
#include "digits.h"

#define SIZE 8

/* Draw another digit: the darker the character, the more ink. */
static const char picture[SIZE][SIZE + 1] = {
    "  #####.",
    "  #...#:",
    "      #:",
    "   .:##.",
    "   #####",
    "    #:  ",
    "   .#.  ",
    "   :#   ",
};

uint32_t layers_run;

DIGITS_ARENA_SECTION static uint8_t arena[DIGITS_ARENA_BYTES]
    __attribute__((aligned(DIGITS_ARENA_ALIGN)));

static float ink(char character)
{
  switch (character) {
  case '#':
    return 1.0f;
  case ':':
    return 0.6f;
  case '.':
    return 0.3f;
  default:
    return 0.0f;
  }
}

int main(void)
{
  int8_t input[DIGITS_INPUT_BYTES];
  int8_t output[DIGITS_OUTPUT_BYTES];
  int32_t best = 0;
  for (int32_t y = 0; y < SIZE; y++) {
    for (int32_t x = 0; x < SIZE; x++) {
      input[y * SIZE + x] = digits_quantize_input(ink(picture[y][x]));
    }
  }
  int32_t status = digits_run(input, output, arena);
  if (status != DIGITS_OK) {
    board_print("digits_run rejected its arguments\n");
    return 1;
  }
  for (int32_t digit = 1; digit < DIGITS_OUTPUT_BYTES; digit++) {
    if (output[digit] > output[best]) {
      best = digit;
    }
  }
  for (int32_t y = 0; y < SIZE; y++) {
    board_print(picture[y]);
    board_print("\n");
  }
  board_print("digit: ");
  board_print_number(best);
  board_print(", ");
  board_print_number((int32_t)(100.0f * digits_dequantize_output(output[best])));
  board_print(" % sure, after ");
  board_print_number((int32_t)layers_run);
  board_print(" layers\n");
  return 0;
}
