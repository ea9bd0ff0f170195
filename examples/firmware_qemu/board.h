/* What main.c needs of the board. */
#ifndef BOARD_H
#define BOARD_H

#include <stdint.h>

void board_print(const char *text);
void board_print_number(int32_t number);
void board_exit(int32_t status);

#endif
