# The CMake package of the installed denizen:
#
#   execute_process(COMMAND ${Python_EXECUTABLE} -m denizen --cmake-dir
#                   OUTPUT_VARIABLE denizen_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE)
#   find_package(denizen CONFIG REQUIRED)
#   denizen_add_module(my_types my_types.cpp)               # the bare CPython API
#   target_link_libraries(my_pybind11_module PRIVATE denizen::denizen)   # any other module
#   denizen_add_lifecheck(check_my_type check_my_type.cpp)  # a program that fuzzes the type
#
# `denizen::denizen` brings the headers and C++17. Nothing is linked: an extension finds the runtime
# when it is imported. Python's headers come from whoever makes the module (pybind11, nanobind,
# Python_add_library, denizen_add_module).

get_filename_component(denizen_INCLUDE_DIR "${CMAKE_CURRENT_LIST_DIR}/../include" ABSOLUTE)
if(NOT EXISTS "${denizen_INCLUDE_DIR}/denizen/denizen.h")
    set(denizen_FOUND FALSE)
    set(denizen_NOT_FOUND_MESSAGE "no denizen/denizen.h in ${denizen_INCLUDE_DIR}")
    return()
endif()

if(NOT TARGET denizen::denizen)
    add_library(denizen::denizen INTERFACE IMPORTED)
    set_target_properties(denizen::denizen PROPERTIES
        INTERFACE_INCLUDE_DIRECTORIES "${denizen_INCLUDE_DIR}"
        INTERFACE_COMPILE_FEATURES cxx_std_17)
endif()

# denizen_add_module(<name> <sources>...): an extension module on the bare CPython API, which
# exports PyInit_<name> and nothing else.
function(denizen_add_module name)
    if(NOT COMMAND Python_add_library)
        find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module)
    endif()
    Python_add_library(${name} MODULE WITH_SOABI ${ARGN})
    target_link_libraries(${name} PRIVATE denizen::denizen)
    set_target_properties(${name} PROPERTIES
        CXX_VISIBILITY_PRESET hidden
        VISIBILITY_INLINES_HIDDEN ON)
endfunction()

# denizen_add_lifecheck(<name> <sources>...): the program of a DENIZEN_LIFECHECK (denizen/testing.hpp) with
# AddressSanitizer and UndefinedBehaviorSanitizer. Clang makes a fuzz target that libFuzzer leads, any
# other compiler (or clang with DENIZEN_LIFECHECK_DRIVER set) a driver that makes its own sequences. Of
# Python it needs the headers only.
function(denizen_add_lifecheck name)
    if(NOT TARGET Python::Module)
        find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module)
    endif()
    add_executable(${name} ${ARGN})
    target_link_libraries(${name} PRIVATE denizen::denizen Python::Module)
    set(flags -fsanitize=address,undefined)
    if(CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND NOT DENIZEN_LIFECHECK_DRIVER)
        list(APPEND flags -fsanitize=fuzzer)
        target_compile_definitions(${name} PRIVATE DENIZEN_LIFECHECK_FUZZER)
    endif()
    target_compile_options(${name} PRIVATE
        -g -O1 -fno-omit-frame-pointer -fno-sanitize-recover=undefined ${flags})
    target_link_options(${name} PRIVATE ${flags})
endfunction()
