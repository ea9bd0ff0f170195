# What an application's CMakeLists.txt sees of Zephyr, for tests without Zephyr: the libraries "app" and
# "zephyr_interface", which carries the flags of the image, and the program that they end up in, here for
# the host. Source: Zephyr's documentation, "Build System (CMake)".
project(Zephyr-Kernel LANGUAGES C)
add_library(zephyr_interface INTERFACE)
target_compile_options(zephyr_interface INTERFACE -Os -DAS_ZEPHYR_COMPILES)
add_library(app STATIC "")
target_link_libraries(app PUBLIC zephyr_interface)
file(WRITE "${CMAKE_BINARY_DIR}/empty.c" "typedef int empty;\n")
add_executable(zephyr_final "${CMAKE_BINARY_DIR}/empty.c")
target_link_libraries(zephyr_final PRIVATE -Wl,--whole-archive app -Wl,--no-whole-archive)
