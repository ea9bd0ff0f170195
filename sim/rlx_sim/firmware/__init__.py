"""Emulators of emitted C: on this computer, under QEMU and Unicorn, and what its code takes."""
