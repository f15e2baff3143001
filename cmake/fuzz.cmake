# libFuzzer targets: each tests/fuzz/fuzz_<name>.cpp becomes bin/fuzz_<name> in a build configured with
# clang and -DSLIPWAY_FUZZ=ON. The readers are built with coverage and sanitizers by the top-level
# options; only the targets themselves link libFuzzer's main().
if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  message(FATAL_ERROR "SLIPWAY_FUZZ needs clang: configure with -DCMAKE_CXX_COMPILER=clang++")
endif()
file(GLOB fuzz_sources CONFIGURE_DEPENDS tests/fuzz/fuzz_*.cpp)
foreach(source ${fuzz_sources})
  get_filename_component(name "${source}" NAME_WE)
  add_executable(${name} "${source}")
  target_link_libraries(${name} PRIVATE slipway_core)
  target_include_directories(${name} PRIVATE tests/fuzz)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  list(APPEND fuzz_targets ${name})
endforeach()
# The manifest is read above the core.
target_sources(fuzz_manifest PRIVATE src/export/manifest.cpp src/export/manifest_read.cpp
  src/base/pytree.cpp src/base/pytree_names.cpp)
add_custom_target(fuzz DEPENDS ${fuzz_targets})
