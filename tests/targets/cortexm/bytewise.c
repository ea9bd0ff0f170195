/* Functions of the C library that access bytes only, as where unaligned accesses trap. */
#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t count);
void *memset(void *to, int value, size_t count);

/* Volatile, so that no compiler makes a call of the function itself from the loop. */
void *memcpy(void *restrict to, const void *restrict from, size_t count)
{
  volatile unsigned char *byte = to;
  const unsigned char *source = from;
  for (size_t k = 0; k < count; k++) {
    byte[k] = source[k];
  }
  return to;
}

void *memset(void *to, int value, size_t count)
{
  volatile unsigned char *byte = to;
  for (size_t k = 0; k < count; k++) {
    byte[k] = (unsigned char)value;
  }
  return to;
}
