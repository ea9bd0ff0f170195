#!/bin/sh
# Install the system tools that tests use: GCC for ARM, QEMU, Clang, CMake, Icarus Verilog, Arduino's
# builder, Chromium, GCC for three other machines, a GPU in software. As root by apt; otherwise say
# what to install. Never fails: tests that lack a tool say so.
set -u
log=/tmp/rlx-system-tools.log
packages="gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm qemu-user clang gcc g++ make cmake
  pkg-config perl zlib1g-dev liblz4-dev iverilog python3-tk gcc-arm-linux-gnueabihf libc6-dev-armhf-cross
  gcc-mips-linux-gnu libc6-dev-mips-cross gcc-s390x-linux-gnu libc6-dev-s390x-cross"
# Not in every distribution, so by themselves: their absence must not cost the others. ccache only
# saves time: half of what is compiled for each simulator is Verilator's own library.
optional="arduino-builder ccache chromium"
missing=""
for pair in arm-none-eabi-gcc:gcc-arm-none-eabi qemu-system-arm:qemu-system-arm \
            qemu-armeb:qemu-user arm-linux-gnueabihf-gcc:gcc-arm-linux-gnueabihf \
            mips-linux-gnu-gcc:gcc-mips-linux-gnu s390x-linux-gnu-gcc:gcc-s390x-linux-gnu clang:clang \
            gcc:gcc g++:g++ make:make cmake:cmake pkg-config:pkg-config perl:perl iverilog:iverilog; do
  command -v "${pair%%:*}" >/dev/null 2>&1 || missing="$missing ${pair#*:}"
done
for pair in zlib.h:zlib1g-dev lz4.h:liblz4-dev; do
  [ -e "/usr/include/${pair%%:*}" ] || missing="$missing ${pair#*:}"
done
python3 -c "import tkinter" >/dev/null 2>&1 || missing="$missing python3-tk"
# A driver for Vulkan that needs no GPU, for the backend wgpu.
vulkan="mesa-vulkan-drivers libvulkan1"
absent=""
for tool in $optional; do command -v "$tool" >/dev/null 2>&1 || absent="$absent $tool"; done
drivers=$(ls /usr/share/vulkan/icd.d/*.json /etc/vulkan/icd.d/*.json 2>/dev/null)
[ -n "$drivers" ] || absent="$absent $vulkan"
if [ -z "$missing$absent" ]; then exit 0; fi
install() { apt-get install -y -qq --no-install-recommends "$@"; }
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
  echo "installing system tools:$missing$absent"
  export DEBIAN_FRONTEND=noninteractive
  {
    apt-get update -qq
    # shellcheck disable=SC2086  # the list is meant to be split
    [ -z "$missing" ] || install $packages || failed=yes
    for tool in $absent; do install "$tool"; done
  } >"$log" 2>&1
  [ -n "${failed:-}" ] || exit 0
  echo "apt-get failed; its output is in $log" >&2
fi
[ -z "$missing" ] ||
  echo "some tests need:$missing; as root: apt-get install$missing libnewlib-arm-none-eabi" >&2
exit 0
