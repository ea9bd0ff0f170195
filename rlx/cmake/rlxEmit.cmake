# Runs "rlx emit" for rlx_add_network: cmake -D SETTINGS=<file> -P rlxEmit.cmake
include("${SETTINGS}")
# Ninja makes the folders of its outputs; "rlx emit" refuses a folder that it did not make.
file(GLOB_RECURSE files "${OUT}/*")
if(NOT files)
  file(REMOVE_RECURSE "${OUT}")
endif()
# Its messages go to standard error.
execute_process(
  COMMAND "${RLX}" -q emit ${OPTIONS} -o "${OUT}" --force --json -- "${MODEL}"
  WORKING_DIRECTORY "${SOURCE}"
  OUTPUT_VARIABLE report RESULT_VARIABLE status)
if(NOT status STREQUAL "0")
  string(REPLACE ";" " " words "${OPTIONS}")
  message(FATAL_ERROR "rlx ended with ${status}: rlx emit ${words} -o ${OUT} --force -- ${MODEL}")
endif()

# The totals: layers have no arena_bytes. (string(JSON) is of CMake 3.19.)
set(number "\": *([0-9]+),[^{}]*\"")
if(report MATCHES "\"arena_bytes${number}code_bytes${number}constant_bytes\": *([0-9]+)")
  math(EXPR flash "${CMAKE_MATCH_2} + ${CMAKE_MATCH_3}")
  message(STATUS "Network ${NAME}, predicted: ${flash} bytes of flash, ${CMAKE_MATCH_1} bytes of RAM")
endif()

# The file that includes those that not every network has is as new as they are.
set(content "")
set(changed FALSE)
foreach(part IN ITEMS weights self_check labels)
  set(source "${OUT}/src/${NAME}_${part}.c")
  if(EXISTS "${source}")
    string(APPEND content "#include \"${NAME}_${part}.c\"\n")
    if("${source}" IS_NEWER_THAN "${OUT}_constants.c")
      set(changed TRUE)
    endif()
  endif()
endforeach()
if(NOT content)
  set(content "typedef int ${NAME}_has_no_constants;\n")
endif()
set(before "")
if(EXISTS "${OUT}_constants.c")
  file(READ "${OUT}_constants.c" before)
endif()
if(changed OR NOT before STREQUAL content)
  file(WRITE "${OUT}_constants.c" "${content}")
endif()
