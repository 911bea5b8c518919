# How a folder becomes a library, and its neighbours *_test.cpp, *_bench.cpp, *_fuzz.cpp become
# programs of their own. One static library per folder keeps the order of DESIGN §2 visible to the
# linker too.
include(GNUInstallDirs)
include(GoogleTest)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)

add_library(hawser_flags INTERFACE)
target_compile_options(hawser_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
  -Wnon-virtual-dtor -Wold-style-cast -Werror -fno-strict-aliasing)
# Else a message of 8 bytes takes 63 to 74 ns between cores that share a cache, with the same
# instructions, as other code grows and shifts the few functions that it passes (docs/decisions/0031).
target_compile_options(hawser_flags INTERFACE -falign-functions=64)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # False alarms of GCC 12 once it inlines: reads behind a checked std::optional (its PR 80635)
  # and overlaps in std::string (its PR 105651).
  target_compile_options(hawser_flags INTERFACE -Wno-maybe-uninitialized -Wno-restrict)
  # Small structs are filled member by member and read soon after. GCC would read neighbours in one
  # piece, which waits until the stores have left the store buffer: past lines that no cache holds.
  target_compile_options(hawser_flags INTERFACE -fno-tree-slp-vectorize -fno-store-merging)
endif()
target_include_directories(hawser_flags INTERFACE ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(hawser_flags INTERFACE Threads::Threads)
target_include_directories(hawser_flags SYSTEM INTERFACE
  $<TARGET_PROPERTY:fmt::fmt,INTERFACE_INCLUDE_DIRECTORIES>)
if(HAWSER_SANITIZE)
  target_compile_options(hawser_flags INTERFACE -fsanitize=${HAWSER_SANITIZE}
    -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(hawser_flags INTERFACE -fsanitize=${HAWSER_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND HAWSER_SANITIZE MATCHES thread)
    # It warns of every fence; ours order accesses that are atomic anyway.
    target_compile_options(hawser_flags INTERFACE -Wno-tsan)
  endif()
endif()

# Tests check the library's code; their own need not be quick, but quick to compile. They share
# what lies in tests/support.
add_library(hawser_test_flags INTERFACE)
target_include_directories(hawser_test_flags INTERFACE ${PROJECT_SOURCE_DIR})
if(HAWSER_SANITIZE)
  target_compile_options(hawser_test_flags INTERFACE -O0)
endif()

if(HAWSER_BUILD_TESTS)
  find_package(GTest REQUIRED)
endif()
if(HAWSER_BUILD_BENCHMARKS)
  find_package(benchmark REQUIRED)
endif()

# For a target that has no source of its own, where CMake wants one. Not file(WRITE), which makes it
# new each time: all that is built on it would be too.
set(hawser_empty_source ${PROJECT_BINARY_DIR}/empty.cpp)
file(CONFIGURE OUTPUT ${hawser_empty_source} CONTENT "// Nothing.\n")

# Most of the time of compiling a file goes into the headers of the standard library, fmt and
# GoogleTest, so they can be compiled ahead, once for the library and once for the tests.
if(HAWSER_PRECOMPILE)
  add_library(hawser_headers OBJECT ${hawser_empty_source})
  target_link_libraries(hawser_headers PRIVATE hawser_flags)
  target_precompile_headers(hawser_headers PRIVATE <algorithm> <array> <atomic> <cstdint> <deque>
    <fmt/format.h> <functional> <memory> <mutex> <optional> <span> <string> <unordered_map>
    <utility> <vector>)
  if(HAWSER_BUILD_UNIT_TESTS)
    add_library(hawser_test_headers OBJECT ${hawser_empty_source})
    target_link_libraries(hawser_test_headers PRIVATE hawser_flags hawser_test_flags GTest::gtest)
    # As programs are compiled, for which CMake has no property of an object library.
    set_target_properties(hawser_test_headers PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(hawser_test_headers PRIVATE -fPIE)
    target_precompile_headers(hawser_test_headers PRIVATE <algorithm> <functional> <fmt/format.h>
      <gtest/gtest.h> <memory> <random> <string> <thread> <vector>)
  endif()
endif()

# hawser_use_headers(TARGET headers|test_headers)
function(hawser_use_headers target which)
  if(HAWSER_PRECOMPILE)
    target_precompile_headers(${target} REUSE_FROM hawser_${which})
  endif()
endfunction()

# hawser_layer(NAME [DEPENDS layer…] [TEST_DEPENDS layer…]): the library hawser_NAME out of the *.cpp of the current
# folder (not of its sub-folders), the test program NAME_tests, benchmarks NAME_bench and the fuzz
# targets.
function(hawser_layer name)
  cmake_parse_arguments(layer "" "" "DEPENDS;TEST_DEPENDS" ${ARGN})
  list(TRANSFORM layer_DEPENDS PREPEND hawser_)
  list(TRANSFORM layer_TEST_DEPENDS PREPEND hawser_)
  file(GLOB sources CONFIGURE_DEPENDS *.cpp)
  file(GLOB tests CONFIGURE_DEPENDS *_test.cpp)
  file(GLOB benches CONFIGURE_DEPENDS *_bench.cpp)
  file(GLOB fuzzers CONFIGURE_DEPENDS *_fuzz.cpp)
  if(tests OR benches OR fuzzers)
    list(REMOVE_ITEM sources ${tests} ${benches} ${fuzzers})
  endif()
  if(sources)
    add_library(hawser_${name} STATIC ${sources})
    target_link_libraries(hawser_${name} PUBLIC hawser_flags ${layer_DEPENDS})
    hawser_use_headers(hawser_${name} headers)
  else()
    add_library(hawser_${name} INTERFACE)
    target_link_libraries(hawser_${name} INTERFACE hawser_flags ${layer_DEPENDS})
  endif()
  if(HAWSER_BUILD_UNIT_TESTS AND tests)
    add_executable(${name}_tests ${tests})
    target_link_libraries(${name}_tests PRIVATE hawser_${name} ${layer_TEST_DEPENDS}
      hawser_test_flags GTest::gtest_main)
    hawser_use_headers(${name}_tests test_headers)
    add_test(NAME unit.${name} COMMAND ${name}_tests)
    set_tests_properties(unit.${name} PROPERTIES LABELS unit TIMEOUT 120)
  endif()
  if(HAWSER_BUILD_BENCHMARKS AND benches)
    add_executable(${name}_bench ${benches})
    target_link_libraries(${name}_bench PRIVATE hawser_${name} benchmark::benchmark_main)
  endif()
  if(HAWSER_FUZZ)
    foreach(fuzzer ${fuzzers})
      get_filename_component(target ${fuzzer} NAME_WE)
      add_executable(${target} ${fuzzer})
      target_compile_options(${target} PRIVATE -fsanitize=fuzzer)
      target_link_options(${target} PRIVATE -fsanitize=fuzzer)
      target_link_libraries(${target} PRIVATE hawser_${name})
    endforeach()
  endif()
endfunction()
