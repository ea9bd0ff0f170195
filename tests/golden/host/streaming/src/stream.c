int32_t stream_reset(stream_state_t *state)
{
  if (state == NULL) {
    return STREAM_ERROR_NULL;
  }
  memset(state->memory, 0, sizeof(state->memory));
  for (size_t k = 0; k < 2; k++) {
    state->last[k] = 5;
  }
  return STREAM_OK;
}

int32_t stream_run(const float *input0, const int8_t *input_code, float *output0,
    int8_t *output_both, stream_state_t *state, void *arena)
{
  uint8_t *const memory = (uint8_t *)arena;

  if (input0 == NULL || input_code == NULL || output0 == NULL || output_both == NULL ||
      state == NULL || arena == NULL) {
    return STREAM_ERROR_NULL;
  }
  if ((uintptr_t)arena % STREAM_ARENA_ALIGN != 0u) {
    return STREAM_ERROR_ALIGN;
  }

  /* 0: add (real.add), f32[1, 8], f32[1, 8] -> f32[1, 8] */
  elementwise_0((const void *)input0, (void *)state->memory, (void *)memory);

  /* 1: matmul (fused.matmul), f32[1, 8] -> f32[1, 8] */
  product_1((void *)memory, (const void *)stream_weights, (void *)output0);

  /* 2: concat (real.concat), i8[1, 2], i8[1, 2] -> i8[1, 4] */
  concat_2((void *)state->last, (const void *)input_code, (void *)output_both);

  memcpy(state->memory, (void *)output0, 32);
  memcpy(state->last, (const void *)input_code, 2);

  return STREAM_OK;
}
