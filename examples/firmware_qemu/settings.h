/* Settings of the network, all optional; digits.h lists them. */
#ifndef SETTINGS_H
#define SETTINGS_H

#include <stdint.h>

/* Puts the arena into a section of its own, for example in tightly coupled memory. */
#define DIGITS_ARENA_SECTION __attribute__((section(".bss.arena")))

/* Called before each layer: count cycles, kick the watchdog. */
extern uint32_t layers_run;
#define DIGITS_LAYER_HOOK(index, name) ((void)layers_run++)

#endif
