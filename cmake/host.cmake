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

find_package(CLI11 REQUIRED)
file(GLOB cli_sources CONFIGURE_DEPENDS src/cli/*.cpp)
list(FILTER cli_sources EXCLUDE REGEX "_test\\.cpp$")
add_executable(slipway_cli ${cli_sources})
set_target_properties(slipway_cli PROPERTIES OUTPUT_NAME slipway)
target_link_libraries(slipway_cli PRIVATE slipway CLI11::CLI11)
target_link_options(slipway_cli PRIVATE -Wl,--exclude-libs,ALL)
