# Layers 5 to 8: running, generating, the public API and the command line.
file(GLOB_RECURSE host_sources CONFIGURE_DEPENDS src/runtime/*.cpp src/generation/*.cpp src/export/*.cpp)
list(FILTER host_sources EXCLUDE REGEX "_test\\.cpp$")
add_library(slipway STATIC ${host_sources})
target_link_libraries(slipway PUBLIC slipway_core PRIVATE slipway_text ${CMAKE_DL_LIBS})
foreach(backend ${SLIPWAY_BACKENDS})
  if(TARGET slipway_runtime_${backend})
    add_dependencies(slipway slipway_runtime_${backend})  # opened at run time, so nothing else builds it
  endif()
endforeach()

# The script of `slipway trace` is part of the program.
set(script "${CMAKE_SOURCE_DIR}/python/slipway_trace.py")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${script}")
file(READ "${script}" SLIPWAY_TRACE_SCRIPT)
configure_file(cmake/trace_script.h.in "${CMAKE_BINARY_DIR}/generated/trace_script.h" @ONLY)

find_package(CLI11 REQUIRED)
file(GLOB cli_sources CONFIGURE_DEPENDS src/cli/*.cpp)
list(FILTER cli_sources EXCLUDE REGEX "_test\\.cpp$")
add_executable(slipway_cli ${cli_sources})
set_target_properties(slipway_cli PROPERTIES OUTPUT_NAME slipway)
target_link_libraries(slipway_cli PRIVATE slipway CLI11::CLI11)
target_link_options(slipway_cli PRIVATE -Wl,--exclude-libs,ALL)
