/* net_regs.h: registers of net_top on its AXI4-Lite port. C99, no library.
 *
 * `base` is the address at which the port is mapped. The streams are handled by a DMA or other
 * hardware; a driver typically checks net_is_there(), enables the core, and counts frames or
 * handles the interrupt. There is no locking: write each register from one context only. */
#ifndef NET_REGS_H
#define NET_REGS_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Byte offsets. */
#define NET_ID UINT32_C(0x00) /* RO: 0x524C5801: identifies the core and the version of this map */
#define NET_VERSION UINT32_C(0x04) /* RO: version of rlx: major << 16, minor << 8, patch */
#define NET_MODEL_LO UINT32_C(0x08) /* RO: hash of the network, lowest 32 bits */
#define NET_MODEL_HI UINT32_C(0x0C) /* RO: hash of the network, next 32 bits */
#define NET_CONTROL UINT32_C(0x10) /* RW: controls the core */
#define NET_STATUS UINT32_C(0x14) /* RO: state of the core */
#define NET_IRQ_ENABLE UINT32_C(0x18) /* RW: interrupts that raise irq_o */
#define NET_IRQ_STATUS UINT32_C(0x1C) /* W1C: pending interrupts */
#define NET_FRAMES_IN UINT32_C(0x20) /* RO: complete frames received, modulo 2^32 */
#define NET_FRAMES_OUT UINT32_C(0x24) /* RO: complete frames sent, modulo 2^32 */
#define NET_CYCLES_LO UINT32_C(0x28) /* RO: clock cycles, lower 32 bits; reading latches CYCLES_HI */
#define NET_CYCLES_HI UINT32_C(0x2C) /* RO: clock cycles, upper 32 bits at the last read of CYCLES_LO */
#define NET_LATENCY UINT32_C(0x30) /* RO: cycles from the first input beat to the last output beat of the last timed frame (one that begins while no other is being timed) */
#define NET_INTERVAL UINT32_C(0x34) /* RO: initiation interval: cycles between the ends of the last two frames */
#define NET_STALL_IN UINT32_C(0x38) /* RO: cycles in which a beat waited at an input */
#define NET_STALL_OUT UINT32_C(0x3C) /* RO: cycles in which a beat waited at an output */

/* Bits. */
#define NET_CONTROL_ENABLE (UINT32_C(1) << 0) /* accept input; 0 pauses the inputs, frames inside continue */
#define NET_CONTROL_RESET (UINT32_C(1) << 1) /* write 1 to drop all frames and clear counters; reads 0 when done */
#define NET_STATUS_BUSY (UINT32_C(1) << 0) /* a frame has begun and is not complete at the outputs */
#define NET_IRQ_ENABLE_FRAME_DONE (UINT32_C(1) << 0) /* see IRQ_STATUS */
#define NET_IRQ_STATUS_FRAME_DONE (UINT32_C(1) << 0) /* the last beat of a frame was sent */

/* Values of the constant registers. */
#define NET_ID_VALUE UINT32_C(0x524C5801)
#define NET_VERSION_VALUE UINT32_C(0x00011622)
#define NET_MODEL_LO_VALUE UINT32_C(0x89ABCDEF)
#define NET_MODEL_HI_VALUE UINT32_C(0x01234567)

static inline uint32_t net_read(uintptr_t base, uint32_t offset) {
  return *(const volatile uint32_t *)(base + offset);
}

static inline void net_write(uintptr_t base, uint32_t offset, uint32_t value) {
  *(volatile uint32_t *)(base + offset) = value;
}

/* Whether this core, with this network, is at `base`. */
static inline bool net_is_there(uintptr_t base) {
  return net_read(base, NET_ID) == NET_ID_VALUE &&
         net_read(base, NET_MODEL_LO) == NET_MODEL_LO_VALUE &&
         net_read(base, NET_MODEL_HI) == NET_MODEL_HI_VALUE;
}

/* Accept frames, or pause the inputs; frames inside continue. */
static inline void net_enable(uintptr_t base, bool on) {
  net_write(base, NET_CONTROL, on ? NET_CONTROL_ENABLE : UINT32_C(0));
}

/* Drop all frames, clear all counters, and leave the inputs paused; takes about 16 cycles. */
static inline void net_reset(uintptr_t base) {
  net_write(base, NET_CONTROL, NET_CONTROL_RESET);
  while ((net_read(base, NET_CONTROL) & NET_CONTROL_RESET) != 0U) {
  }
}

/* Whether a frame has begun and is not complete at the outputs. */
static inline bool net_busy(uintptr_t base) {
  return (net_read(base, NET_STATUS) & NET_STATUS_BUSY) != 0U;
}

/* Clock cycles since the last reset. */
static inline uint64_t net_cycles(uintptr_t base) {
  const uint64_t low = net_read(base, NET_CYCLES_LO);
  return ((uint64_t)net_read(base, NET_CYCLES_HI) << 32) | low;
}

/* Enable or disable the interrupt at the end of a frame. */
static inline void net_irq_enable(uintptr_t base, bool on) {
  net_write(base, NET_IRQ_ENABLE, on ? NET_IRQ_ENABLE_FRAME_DONE : UINT32_C(0));
}

/* Acknowledge a pending interrupt; return whether there was one. */
static inline bool net_irq_acknowledge(uintptr_t base) {
  const bool pending = (net_read(base, NET_IRQ_STATUS) & NET_IRQ_STATUS_FRAME_DONE) != 0U;
  if (pending) net_write(base, NET_IRQ_STATUS, NET_IRQ_STATUS_FRAME_DONE);
  return pending;
}

#ifdef __cplusplus
}
#endif

#endif
