# CMake package of rlx: networks as libraries of C, emitted when the project is built.
#
#   find_package(rlx REQUIRED)    with -Drlx_DIR=$(rlx paths --cmake)
#   rlx_add_network(kws MODEL kws.tflite CPU cortex-m4 RAM 32K)
#   target_link_libraries(firmware PRIVATE kws)
cmake_minimum_required(VERSION 3.17)

# A program of the machine that builds, also where the project looks for its libraries elsewhere. The
# one that was installed together with this file comes first.
find_program(RLX_EXECUTABLE rlx
  HINTS "${CMAKE_CURRENT_LIST_DIR}/../../../../../bin" "${CMAKE_CURRENT_LIST_DIR}/../../../../Scripts"
  DOC "Program rlx" NO_CMAKE_FIND_ROOT_PATH)
if(NOT RLX_EXECUTABLE)
  set(rlx_FOUND FALSE)
  set(rlx_NOT_FOUND_MESSAGE "no program rlx: activate its environment, or set RLX_EXECUTABLE")
  return()
endif()

# Another version of rlx means another network: configure again.
set_property(GLOBAL PROPERTY RLX_VERSION "${rlx_VERSION}")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
  "${CMAKE_CURRENT_LIST_DIR}/../support/version.py")

#[[
rlx_add_network(<name> MODEL <file>
                [CPU <core> | PART <part>] [RAM <size>] [FLASH <size>]
                [LABELS <file>] [VECTORS <file>]
                [OPTIONS <option>...] [DEPENDS <file>...])

Add a static library <name> with the network in <file>. Its header is <name>.h, and all its C names
begin with <name>.

CPU, PART         --cpu, --part of "rlx emit --target cortexm"
RAM, FLASH        --ram, --flash; sizes as 32K or 1M
LABELS, VECTORS   --labels, --vectors; the network depends on these files. Names of classes may be
                  written as "one,two,three" too
OPTIONS           any others, one word each: OPTIONS --io float --optimize size
DEPENDS           more files that these options or the model name

Paths are relative to the source folder, those in OPTIONS too.

"rlx emit" runs when the library is built, and again only if the model, a file of DEPENDS, an option or
rlx changed. Its messages stop the build. What it wrote is in <binary folder>/rlx/<name>, README
included.

Variables, in capitals of <name>: <NAME>_CONFIG, <NAME>_OPTIMIZE, <NAME>_ALLOW_O0, as for an emitted
folder.
]]
function(rlx_add_network name)
  set(keywords MODEL CPU PART RAM FLASH LABELS VECTORS)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "${keywords}" "OPTIONS;DEPENDS")
  set(keywords ${keywords} OPTIONS DEPENDS)
  _rlx_check("${name}" "${arg_MODEL}" "${arg_UNPARSED_ARGUMENTS}" "${arg_OPTIONS}" "${keywords}")
  get_filename_component(model "${arg_MODEL}" ABSOLUTE)
  set(files ${arg_VECTORS})
  if(NOT arg_LABELS MATCHES "," OR EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/${arg_LABELS}")
    list(APPEND files ${arg_LABELS})  # else they are the names themselves
  endif()
  foreach(file IN ITEMS "${model}" ${files})
    _rlx_check_file("${name}" "${file}")
  endforeach()

  set(folder "${CMAKE_CURRENT_BINARY_DIR}/rlx")
  set(options --target cortexm --prefix ${name} --package none)
  foreach(option IN ITEMS CPU PART RAM FLASH LABELS VECTORS)
    if(arg_${option})
      string(TOLOWER "--${option}" word)
      list(APPEND options ${word} "${arg_${option}}")
    endif()
  endforeach()
  list(APPEND options ${arg_OPTIONS})
  _rlx_sources(sources "${folder}" "${name}" "${options}")
  get_property(version GLOBAL PROPERTY RLX_VERSION)
  set(emit "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/rlxEmit.cmake")

  # A file, as makefiles do not notice another command line.
  set(settings "${folder}/${name}.cmake")
  file(GENERATE OUTPUT "${settings}" CONTENT "# Arguments of rlxEmit.cmake, rlx ${version}.
set(RLX [==[${RLX_EXECUTABLE}]==])
set(MODEL [==[${model}]==])
set(SOURCE [==[${CMAKE_CURRENT_SOURCE_DIR}]==])
set(OUT [==[${folder}/${name}]==])
set(NAME ${name})
set(OPTIONS [==[${options}]==])
")
  # A stamp, as files that stay the same keep their time: what only they are needed for is not built.
  set(stamp "${folder}/${name}.stamp")
  add_custom_command(
    OUTPUT "${stamp}" BYPRODUCTS ${sources} "${folder}/${name}/include/${name}.h"
    COMMAND "${CMAKE_COMMAND}" -D "SETTINGS=${settings}" -P "${emit}"
    COMMAND "${CMAKE_COMMAND}" -E touch "${stamp}"
    DEPENDS "${model}" "${settings}" "${emit}" ${files} ${arg_DEPENDS}
    COMMENT "Emitting network ${name}" VERBATIM)
  add_custom_target(rlx_emit_${name} DEPENDS "${stamp}")
  add_library(${name} STATIC ${sources})
  add_dependencies(${name} rlx_emit_${name})
  target_include_directories(${name} PUBLIC "${folder}/${name}/include"
    PRIVATE "${folder}/${name}/src")
  _rlx_settings("${name}")
endfunction()

# Refuse a call that cannot work.
function(_rlx_check name model unparsed options keywords)
  set(call "rlx_add_network(${name})")
  if(NOT name MATCHES "^[A-Za-z][A-Za-z0-9_]*$")
    message(FATAL_ERROR "${call}: the name begins C names: letters, digits and _ only")
  endif()
  string(REGEX REPLACE ";.*" "" unknown "${unparsed}")
  string(TOUPPER "${unknown}" upper)
  _rlx_closest(keyword "${upper}" "${keywords}")
  if(unparsed AND keyword)
    message(FATAL_ERROR "${call}: unknown argument ${unknown}; did you mean ${keyword}?")
  elseif(NOT model)
    message(FATAL_ERROR "${call}: MODEL <file> is missing")
  elseif(unparsed)
    message(FATAL_ERROR "${call}: unknown argument ${unknown}; other options: OPTIONS <option>...; "
      "names of classes: LABELS \"one,two,three\"")
  elseif(";${options};" MATCHES ";(-o|--(out|target|prefix|package|force|json))[;=]")
    message(FATAL_ERROR "${call}: OPTIONS cannot have ${CMAKE_MATCH_1}, which it sets itself")
  endif()
endfunction()

# Refuse a file that does not exist and that nothing in the project makes.
function(_rlx_check_file name file)
  get_filename_component(file "${file}" ABSOLUTE)
  get_source_file_property(generated "${file}" GENERATED)
  if(EXISTS "${file}" OR generated)
    return()
  endif()
  get_filename_component(folder "${file}" DIRECTORY)
  get_filename_component(base "${file}" NAME)
  file(GLOB names LIST_DIRECTORIES false RELATIVE "${folder}" "${folder}/*")
  _rlx_closest(guess "${base}" "${names}")
  if(guess)
    set(guess "; did you mean ${guess}?")
  endif()
  message(FATAL_ERROR "rlx_add_network(${name}): no file ${file}${guess}")
endfunction()

# Set the variable <out> to the first of <names> that differs from <word> by one letter that is wrong,
# missing, superfluous or exchanged with its neighbour; empty if there is none.
function(_rlx_closest out word names)
  set(${out} "" PARENT_SCOPE)
  _rlx_deletions(shorter "${word}")
  foreach(name IN LISTS names)
    _rlx_deletions(others "${name}")
    foreach(one IN LISTS others)
      if(one IN_LIST shorter)
        set(${out} "${name}" PARENT_SCOPE)
        return()
      endif()
    endforeach()
  endforeach()
endfunction()

# Set the variable <out> to a word, and to the word without one of its letters.
function(_rlx_deletions out word)
  set(words "${word}")
  string(LENGTH "${word}" length)
  if(length GREATER 2)
    math(EXPR last "${length} - 1")
    foreach(k RANGE ${last})
      math(EXPR next "${k} + 1")
      string(SUBSTRING "${word}" 0 ${k} start)
      string(SUBSTRING "${word}" ${next} -1 end)
      list(APPEND words "${start}${end}")
    endforeach()
  endif()
  set(${out} "${words}" PARENT_SCOPE)
endfunction()

# Set the variable <out> to the C files that an emission with these options has.
function(_rlx_sources out folder name options)
  # Constants, their check, labels: files that not every network has. rlxEmit.cmake writes one that
  # includes them.
  set(sources "${folder}/${name}/src/${name}.c" "${folder}/${name}_constants.c")
  if("--static-arena" IN_LIST options)
    list(APPEND sources "${folder}/${name}/src/${name}_arena.c")
  endif()
  if(";${options};" MATCHES ";--self-test[;=][0-9]*[1-9]")
    list(APPEND sources "${folder}/${name}/src/${name}_self_test.c")
  endif()
  set(${out} ${sources} PARENT_SCOPE)
endfunction()

# Compile a network as an emitted folder's own CMakeLists.txt does, or as Zephyr compiles its libraries.
function(_rlx_settings name)
  string(TOUPPER "${name}" macro)
  target_compile_features(${name} PUBLIC c_std_99)
  if(${macro}_CONFIG)
    target_compile_definitions(${name} PUBLIC "${macro}_CONFIG=\"${${macro}_CONFIG}\"")
  endif()
  if(${macro}_ALLOW_O0 OR CONFIG_NO_OPTIMIZATIONS)
    target_compile_definitions(${name} PRIVATE ${macro}_ALLOW_O0)
  endif()
  if(TARGET zephyr_interface)
    target_link_libraries(${name} PRIVATE zephyr_interface)
    return()
  endif()
  option(${macro}_OPTIMIZE "Compile with -O2 if neither a build type nor a flag says otherwise" ON)
  get_target_property(given ${name} COMPILE_OPTIONS)
  if(CMAKE_C_COMPILER_ID MATCHES "GNU|Clang" AND ${macro}_OPTIMIZE
      AND NOT "${CMAKE_C_FLAGS};${given}" MATCHES "(^|[ ;:,])-O")
    target_compile_options(${name} PRIVATE "$<$<STREQUAL:$<CONFIG>,>:-O2>")
  endif()
endfunction()
