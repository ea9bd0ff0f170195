# Runs "rlx emit" for rlx_add_network: cmake -D SETTINGS=<file> -P rlxEmit.cmake
include("${SETTINGS}")
# Ninja makes the folders of its outputs; "rlx emit" refuses a folder that it did not make.
file(GLOB_RECURSE files "${OUT}/*")
if(NOT files)
  file(REMOVE_RECURSE "${OUT}")
endif()
# Its report is in README.md of the folder; its messages go to standard error.
execute_process(
  COMMAND "${RLX}" -q emit ${OPTIONS} -o "${OUT}" --force --json -- "${MODEL}"
  OUTPUT_QUIET RESULT_VARIABLE status)
if(NOT status STREQUAL "0")
  string(REPLACE ";" " " words "${OPTIONS}")
  message(FATAL_ERROR "rlx ended with ${status}: rlx emit ${words} -o ${OUT} --force -- ${MODEL}")
endif()
if(EXISTS "${OUT}/src/${NAME}_weights.c")
  file(WRITE "${OUT}_constants.c" "#include \"${NAME}_weights.c\"\n")
else()
  file(WRITE "${OUT}_constants.c" "typedef int ${NAME}_has_no_constants;\n")
endif()
