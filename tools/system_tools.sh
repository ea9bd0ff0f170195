#!/bin/sh
# Install the system tools that tests use: GCC for ARM, QEMU, Clang, CMake. As root by apt; otherwise say
# what to install. Never fails: tests that lack a tool say so.
set -u
packages="gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm clang gcc g++ make cmake perl"
missing=""
for pair in arm-none-eabi-gcc:gcc-arm-none-eabi qemu-system-arm:qemu-system-arm clang:clang \
            gcc:gcc g++:g++ make:make cmake:cmake perl:perl; do
  command -v "${pair%%:*}" >/dev/null 2>&1 || missing="$missing ${pair#*:}"
done
[ -n "$missing" ] || exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
  echo "installing system tools:$missing"
  export DEBIAN_FRONTEND=noninteractive
  # shellcheck disable=SC2086  # the list is meant to be split
  { apt-get update -qq && apt-get install -y -qq --no-install-recommends $packages; } \
    >/tmp/rlx-system-tools.log 2>&1 && exit 0
  echo "apt-get failed; its output is in /tmp/rlx-system-tools.log" >&2
fi
echo "some tests need:$missing; as root: apt-get install$missing libnewlib-arm-none-eabi" >&2
exit 0
