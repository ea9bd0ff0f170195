/* The test's platform on a Cortex-M whose debugger or emulator offers semihosting.
 *
 * Source: Arm, "Semihosting for AArch32 and AArch64", release 2023Q1.
 */
#include "platform.h"

#define SYS_OPEN 0x01
#define SYS_WRITE0 0x04
#define SYS_WRITE 0x05
#define SYS_READ 0x06
#define SYS_EXIT_EXTENDED 0x20
#define APPLICATION_EXIT 0x20026u

#define MODE_READ 1u  /* "rb" */
#define MODE_WRITE 5u /* "wb" */

/* Under QEMU with -icount shift=6 an instruction takes 64 ns; that makes a timer an exact
 * instruction counter: CMSDK timer 0 of Arm's MPS2 boards, the system counter of the MPS3 board. */
#if defined(__ARM_ARCH_8_1M_MAIN__) || defined(__ARM_FEATURE_MVE)
#define COUNTER 0x58100000u
#define COUNTER_CTRL (*(volatile uint32_t *)(COUNTER + 0x0u))
#define COUNTER_VALUE (*(volatile uint32_t *)(COUNTER + 0x8u))
#define INSTRUCTIONS_AT(ticks) ((uint32_t)(((uint64_t)(ticks) * 125u + 255u) >> 8)) /* 32 MHz */
#elif defined(__ARM_ARCH_8M_MAIN__)
#define TIMER 0x50000000u
#define INSTRUCTIONS_AT(ticks) ((uint32_t)(((uint64_t)(ticks) * 25u + 31u) >> 5)) /* 20 MHz */
#else
#define TIMER 0x40000000u
#define INSTRUCTIONS_AT(ticks) ((uint32_t)(((uint64_t)(ticks) * 5u + 7u) >> 3)) /* 25 MHz */
#endif
#if !defined(COUNTER)
#define TIMER_CTRL (*(volatile uint32_t *)(TIMER + 0x0u))
#define TIMER_VALUE (*(volatile uint32_t *)(TIMER + 0x4u))
#define TIMER_RELOAD (*(volatile uint32_t *)(TIMER + 0x8u))
#endif

static int32_t call(int32_t operation, const void *argument)
{
  register int32_t r0 __asm__("r0") = operation;
  register const void *r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory", "cc");
  return r0;
}

int32_t platform_open(const char *name, int32_t writing)
{
  uint32_t length = 0;
  while (name[length] != '\0') {
    length++;
  }
  const uintptr_t block[3] = {(uintptr_t)name, writing ? MODE_WRITE : MODE_READ, length};
  return call(SYS_OPEN, block);
}

size_t platform_read(int32_t handle, void *bytes, size_t count)
{
  const uintptr_t block[3] = {(uintptr_t)handle, (uintptr_t)bytes, count};
  return count - (size_t)call(SYS_READ, block);
}

size_t platform_write(int32_t handle, const void *bytes, size_t count)
{
  const uintptr_t block[3] = {(uintptr_t)handle, (uintptr_t)bytes, count};
  return count - (size_t)call(SYS_WRITE, block);
}

void platform_print(const char *text)
{
  (void)call(SYS_WRITE0, text);
}

#if defined(COUNTER)
void platform_start_counter(void)
{
  COUNTER_CTRL = 0u;
  COUNTER_VALUE = 0u;
  COUNTER_CTRL = 1u;
}

uint32_t platform_counter(void)
{
  return COUNTER_VALUE;
}
#else
void platform_start_counter(void)
{
  TIMER_RELOAD = 0xFFFFFFFFu;
  TIMER_VALUE = 0xFFFFFFFFu;
  TIMER_CTRL = 1u;
}

uint32_t platform_counter(void)
{
  return 0xFFFFFFFFu - TIMER_VALUE;
}
#endif

uint32_t platform_instructions(uint32_t from, uint32_t to)
{
  return INSTRUCTIONS_AT(to) - INSTRUCTIONS_AT(from);
}

void platform_exit(int32_t status)
{
  const uint32_t block[2] = {APPLICATION_EXIT, (uint32_t)status};
  for (;;) {
    (void)call(SYS_EXIT_EXTENDED, block);
  }
}
