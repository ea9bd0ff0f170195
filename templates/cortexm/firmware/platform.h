/* The test's interface to the machine that it runs on: files, text, a counter, the stack.
 *
 * host.c implements it with the C library, semihosting.c with the debugger's or emulator's files.
 */
#ifndef RLX_PLATFORM_H
#define RLX_PLATFORM_H

#include <stddef.h>
#include <stdint.h>

/* Open a file, for writing if `writing`; return its handle, or a negative number. */
int32_t platform_open(const char *name, int32_t writing);

/* Read at most `count` bytes; return how many were read. */
size_t platform_read(int32_t handle, void *bytes, size_t count);

/* Write `count` bytes; return how many were written. */
size_t platform_write(int32_t handle, const void *bytes, size_t count);

/* Print text. */
void platform_print(const char *text);

/* Start the counter from 0. */
void platform_start_counter(void);

/* Read the counter; it counts up to 2^32 - 1. */
uint32_t platform_counter(void);

/* Instructions between two readings of the counter; 0 if the machine does not count them. */
uint32_t platform_instructions(uint32_t from, uint32_t to);

/* End the program. */
void platform_exit(int32_t status);

#if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M'

#define RLX_STACK_PAINT 0x5AA51234u

extern uint32_t rlx_stack_bottom[];

static inline __attribute__((always_inline)) volatile uint32_t *platform_stack_pointer(void)
{
  volatile uint32_t *pointer;
  __asm__ volatile("mov %0, sp" : "=r"(pointer));
  return pointer;
}

/* Fill the unused stack with a pattern. Inlined: it has no frame of its own. */
static inline __attribute__((always_inline)) void platform_paint_stack(void)
{
  volatile uint32_t *end = platform_stack_pointer();
  for (volatile uint32_t *word = rlx_stack_bottom; word < end; word++) {
    *word = RLX_STACK_PAINT;
  }
}

/* Bytes of stack used by calls from this frame since the stack was painted. */
static inline __attribute__((always_inline)) uint32_t platform_stack_used(void)
{
  volatile uint32_t *end = platform_stack_pointer();
  volatile uint32_t *word = rlx_stack_bottom;
  while (word < end && *word == RLX_STACK_PAINT) {
    word++;
  }
  return (uint32_t)((uintptr_t)end - (uintptr_t)word);
}

#else

static inline void platform_paint_stack(void) {}

static inline uint32_t platform_stack_used(void)
{
  return 0;
}

#endif

#endif
