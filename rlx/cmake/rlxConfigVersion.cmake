# Version of this package, which is that of rlx itself: the line __version__ = "X.Y.Z".
file(STRINGS "${CMAKE_CURRENT_LIST_DIR}/../support/version.py" PACKAGE_VERSION REGEX "^__version__ = ")
string(REGEX REPLACE "^[^\"]*\"([^\"]*)\".*$" "\\1" PACKAGE_VERSION "${PACKAGE_VERSION}")

set(PACKAGE_VERSION_COMPATIBLE FALSE)
if(NOT PACKAGE_VERSION VERSION_LESS "${PACKAGE_FIND_VERSION}")
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
endif()
if(PACKAGE_VERSION VERSION_EQUAL "${PACKAGE_FIND_VERSION}")
  set(PACKAGE_VERSION_EXACT TRUE)
endif()
