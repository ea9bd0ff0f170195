/* The part of <string.h> that emitted C uses, for compilers without a C library. */
#ifndef RLX_STRING_H
#define RLX_STRING_H

#include <stddef.h>

void *memcpy(void *restrict destination, const void *restrict source, size_t count);
void *memmove(void *destination, const void *source, size_t count);
void *memset(void *destination, int value, size_t count);

#endif
