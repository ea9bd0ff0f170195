/* Settings of the network; digits.h says what can be set. Everything here may be left out. */
#ifndef SETTINGS_H
#define SETTINGS_H

#include <stdint.h>

/* The arena in a section of its own, for example in a core's tightly coupled memory. */
#define DIGITS_ARENA_SECTION __attribute__((section(".bss.arena")))

/* Called before each layer: count cycles, kick the watchdog. */
extern uint32_t layers_run;
#define DIGITS_LAYER_HOOK(index, name) ((void)layers_run++)

#endif
