/* The test's platform without a C library, on Linux for Arm and RISC-V (under qemu-user). */
#include "platform.h"

#if defined(__arm__)
enum { OPENAT = 322, READ = 3, WRITE = 4, EXIT = 1 };
#else
enum { OPENAT = 56, READ = 63, WRITE = 64, EXIT = 93 };
#endif
enum { HERE = -100, CREATE = 01101, MODE = 0644 };

static int32_t call(int32_t number, intptr_t a, intptr_t b, intptr_t c, intptr_t d)
{
#if defined(__arm__)
  register intptr_t r0 __asm__("r0") = a;
  register intptr_t r1 __asm__("r1") = b;
  register intptr_t r2 __asm__("r2") = c;
  register intptr_t r3 __asm__("r3") = d;
  /* The number goes in r7, which may be the frame pointer. */
  __asm__ volatile("push {r7}\n\tmov r7, %1\n\tsvc 0\n\tpop {r7}"
                   : "+r"(r0)
                   : "r"(number), "r"(r1), "r"(r2), "r"(r3)
                   : "memory", "lr");
  return (int32_t)r0;
#else
  register intptr_t a0 __asm__("a0") = a;
  register intptr_t a1 __asm__("a1") = b;
  register intptr_t a2 __asm__("a2") = c;
  register intptr_t a3 __asm__("a3") = d;
  register intptr_t a7 __asm__("a7") = number;
  __asm__ volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a2), "r"(a3), "r"(a7) : "memory");
  return (int32_t)a0;
#endif
}

int32_t platform_open(const char *name, int32_t writing)
{
  return call(OPENAT, HERE, (intptr_t)name, writing ? CREATE : 0, MODE);
}

size_t platform_read(int32_t handle, void *bytes, size_t count)
{
  const int32_t done = call(READ, handle, (intptr_t)bytes, (intptr_t)count, 0);
  return done < 0 ? 0 : (size_t)done;
}

size_t platform_write(int32_t handle, const void *bytes, size_t count)
{
  const int32_t done = call(WRITE, handle, (intptr_t)bytes, (intptr_t)count, 0);
  return done < 0 ? 0 : (size_t)done;
}

void platform_print(const char *text)
{
  size_t length = 0;
  while (text[length] != '\0') {
    length++;
  }
  (void)platform_write(1, text, length);
}

void platform_start_counter(void) {}

uint32_t platform_counter(void)
{
  return 0;
}

uint32_t platform_instructions(uint32_t from, uint32_t to)
{
  return to - from;
}

void platform_exit(int32_t status)
{
  for (;;) {
    (void)call(EXIT, status, 0, 0, 0);
  }
}

int main(void);
void _start(void);

__attribute__((used)) void linux_start(void)
{
  platform_exit(main());
}

#if defined(__arm__)
/* The stack pointer of a new process is aligned. */
__asm__(".global _start\n.type _start, %function\n"
#if defined(__thumb__)
        ".thumb_func\n"
#endif
        "_start: bl linux_start\n");
#else
__asm__(".global _start\n_start: call linux_start\n");
#endif
