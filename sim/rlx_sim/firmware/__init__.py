"""Emulation of emitted C: on the host, under QEMU and Unicorn, with code and stack size."""
