/* Start-up of a Cortex-M: vector table, FPU, memory, main. */
#include <stdint.h>

#include "platform.h"

#define CPACR (*(volatile uint32_t *)0xE000ED88u)
#define CCR (*(volatile uint32_t *)0xE000ED14u)
#define CCR_UNALIGN_TRP (1u << 3)
#define FAULT_STATUS 99

extern uint32_t rlx_stack_top[];
extern const uint32_t rlx_data_load[];
extern uint32_t rlx_data_start[];
extern uint32_t rlx_data_end[];
extern uint32_t rlx_bss_start[];
extern uint32_t rlx_bss_end[];

int main(void);
void rlx_reset(void);
void rlx_fault(void);

typedef union {
  uint32_t *stack;
  void (*handler)(void);
} vector_t;

__attribute__((section(".vectors"), used)) const vector_t rlx_vectors[16] = {
    {.stack = rlx_stack_top}, {.handler = rlx_reset}, {.handler = rlx_fault},
    {.handler = rlx_fault},   {.handler = rlx_fault}, {.handler = rlx_fault},
    {.handler = rlx_fault},   {.handler = rlx_fault}, {.handler = rlx_fault},
    {.handler = rlx_fault},   {.handler = rlx_fault}, {.handler = rlx_fault},
    {.handler = rlx_fault},   {.handler = rlx_fault}, {.handler = rlx_fault},
    {.handler = rlx_fault},
};

void rlx_fault(void)
{
  platform_print("rlx fault\n");
  platform_exit(FAULT_STATUS);
}

void rlx_reset(void)
{
#if defined(__ARM_FP) || defined(__ARM_FEATURE_MVE)
  CPACR |= 0xFu << 20;
  __asm__ volatile("dsb\n\tisb" ::: "memory");
#endif
#if defined(RLX_TEST_TRAP_UNALIGNED)
  CCR |= CCR_UNALIGN_TRP;
#endif
  const uint32_t *source = rlx_data_load;
  for (volatile uint32_t *word = rlx_data_start; word < rlx_data_end; word++) {
    *word = *source++;
  }
  for (volatile uint32_t *word = rlx_bss_start; word < rlx_bss_end; word++) {
    *word = 0;
  }
  platform_exit(main());
}
