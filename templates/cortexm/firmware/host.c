/* The test's platform on a computer with a C library. */
#include "platform.h"

#include <stdio.h>
#include <stdlib.h>

#define MAX_FILES 64

static FILE *files[MAX_FILES];
static int32_t file_count;

int32_t platform_open(const char *name, int32_t writing)
{
  if (file_count >= MAX_FILES) {
    return -1;
  }
  files[file_count] = fopen(name, writing ? "wb" : "rb");
  return files[file_count] == NULL ? -1 : file_count++;
}

size_t platform_read(int32_t handle, void *bytes, size_t count)
{
  return fread(bytes, 1, count, files[handle]);
}

size_t platform_write(int32_t handle, const void *bytes, size_t count)
{
  return fwrite(bytes, 1, count, files[handle]);
}

void platform_print(const char *text)
{
  fputs(text, stdout);
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
  for (int32_t k = 0; k < file_count; k++) {
    if (fclose(files[k]) != 0) {
      status = 3;
    }
  }
  exit(status);
}
