"""Devices and boards as data."""

from rlx_fpga.devices.catalogue import DEFAULT_DEVICE, FpgaDevice, boards, device, devices

__all__ = ["DEFAULT_DEVICE", "FpgaDevice", "boards", "device", "devices"]
