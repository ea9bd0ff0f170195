/* Start-up of a Cortex-M4, and text output over semihosting, for a debugger or emulator. */
#include "board.h"

#define CPACR (*(volatile uint32_t *)0xE000ED88u)
#define SYS_WRITE0 0x04
#define SYS_EXIT_EXTENDED 0x20
#define APPLICATION_EXIT 0x20026u

extern uint32_t stack_top[], data_start[], data_end[], bss_start[], bss_end[];
extern const uint32_t data_load[];

int main(void);
void reset(void);

static int32_t semihosting(int32_t operation, const void *argument)
{
  register int32_t r0 __asm__("r0") = operation;
  register const void *r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory", "cc");
  return r0;
}

void board_print(const char *text)
{
  (void)semihosting(SYS_WRITE0, text);
}

void board_print_number(int32_t number)
{
  char text[12];
  uint32_t at = sizeof(text) - 1u;
  uint32_t rest = number < 0 ? 0u - (uint32_t)number : (uint32_t)number;
  text[at] = '\0';
  do {
    text[--at] = (char)('0' + rest % 10u);
    rest /= 10u;
  } while (rest != 0u);
  if (number < 0) {
    text[--at] = '-';
  }
  board_print(&text[at]);
}

void board_exit(int32_t status)
{
  const uint32_t block[2] = {APPLICATION_EXIT, (uint32_t)status};
  for (;;) {
    (void)semihosting(SYS_EXIT_EXTENDED, block);
  }
}

static void fault(void)
{
  board_print("fault\n");
  board_exit(99);
}

void reset(void)
{
  CPACR |= 0xFu << 20; /* switch the floating-point unit on */
  __asm__ volatile("dsb\n\tisb" ::: "memory");
  const uint32_t *from = data_load;
  for (volatile uint32_t *to = data_start; to < data_end; to++) {
    *to = *from++;
  }
  for (volatile uint32_t *to = bss_start; to < bss_end; to++) {
    *to = 0;
  }
  board_exit(main());
}

typedef union {
  uint32_t *stack;
  void (*handler)(void);
} vector_t;

__attribute__((section(".vectors"), used)) static const vector_t vectors[16] = {
    {.stack = stack_top}, {.handler = reset}, {.handler = fault}, {.handler = fault},
    {.handler = fault},   {.handler = fault}, {.handler = fault}, {.handler = fault},
    {.handler = fault},   {.handler = fault}, {.handler = fault}, {.handler = fault},
    {.handler = fault},   {.handler = fault}, {.handler = fault}, {.handler = fault},
};
