# The version of the package is the one in the header. Before 1.0 a minor version may break, so that
# an older request is met by the same minor version only.

file(STRINGS "${CMAKE_CURRENT_LIST_DIR}/../include/denizen/denizen.h" denizen_version_line
     REGEX "^#define DENIZEN_VERSION ")
string(REGEX REPLACE ".*\"([0-9.]+)[^\"]*\".*" "\\1" PACKAGE_VERSION "${denizen_version_line}")
string(REGEX MATCH "^[0-9]+\\.[0-9]+" denizen_series "${PACKAGE_VERSION}")

set(PACKAGE_VERSION_COMPATIBLE FALSE)
if(NOT PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION)
    string(REGEX MATCH "^[0-9]+\\.[0-9]+" denizen_wanted "${PACKAGE_FIND_VERSION}.0")
    if(denizen_wanted STREQUAL denizen_series)
        set(PACKAGE_VERSION_COMPATIBLE TRUE)
    endif()
endif()
if(PACKAGE_FIND_VERSION STREQUAL PACKAGE_VERSION)
    set(PACKAGE_VERSION_EXACT TRUE)
endif()
