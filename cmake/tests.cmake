# Tests: src/**/*_test.cpp beside what they test, x.test texts, and tests/*.cpp across layers.
find_package(GTest REQUIRED)
include(GoogleTest)

file(GLOB_RECURSE core_tests CONFIGURE_DEPENDS
  src/base/*_test.cpp src/ir/*_test.cpp src/checkpoint/*_test.cpp src/models/*_test.cpp
  src/passes/*_test.cpp src/quantize/*_test.cpp src/lowering/*_test.cpp src/backends/*_test.cpp tests/core/*.cpp)
add_executable(core_tests ${core_tests})
target_link_libraries(core_tests PRIVATE slipway_core GTest::gtest_main)
if(TARGET slipway_onnx_proto)
  target_link_libraries(core_tests PRIVATE slipway_onnx_proto)
endif()
target_compile_definitions(core_tests PRIVATE SLIPWAY_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
gtest_discover_tests(core_tests DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 300)

if(NOT SLIPWAY_CORE_ONLY)
  file(GLOB_RECURSE host_tests CONFIGURE_DEPENDS
    src/runtime/*_test.cpp src/generation/*_test.cpp src/export/*_test.cpp src/cli/*_test.cpp tests/host/*.cpp)
  if(host_tests)
    add_executable(host_tests ${host_tests})
    target_link_libraries(host_tests PRIVATE slipway GTest::gtest_main)
    if(TARGET slipway_onnx_proto)
      target_link_libraries(host_tests PRIVATE slipway_onnx_proto)
    endif()
    target_compile_definitions(host_tests PRIVATE SLIPWAY_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
      SLIPWAY_TOOL="$<TARGET_FILE:slipway_cli>" SLIPWAY_REFERENCE_PT2="${CMAKE_BINARY_DIR}/reference_pt2"
      SLIPWAY_MORE_PT2="${CMAKE_BINARY_DIR}/more_pt2"
      SLIPWAY_QUANTIZED_PT2="${CMAKE_BINARY_DIR}/quantized_pt2")
    add_dependencies(host_tests slipway_cli)
    if(TARGET executorch_decode)
      target_compile_definitions(host_tests PRIVATE
        SLIPWAY_EXECUTORCH_EXAMPLE="$<TARGET_FILE:executorch_decode>")
      add_dependencies(host_tests executorch_decode copy_counter)
      # Preloaded to count what a decode step copies: it replaces functions that compilers know.
      add_library(copy_counter MODULE tests/preload/copy_counter.cpp)
      target_compile_options(copy_counter PRIVATE -fno-builtin -fno-tree-loop-distribute-patterns
        -fvisibility=default)
      target_link_libraries(copy_counter PRIVATE ${CMAKE_DL_LIBS})
      target_compile_definitions(host_tests PRIVATE SLIPWAY_COPY_COUNTER="$<TARGET_FILE:copy_counter>")
    endif()
    # .pt2 exports of the golden cases: text models, those that see and hear, quantized ones.
    foreach(cases reference more quantized)
      set(packed "${CMAKE_SOURCE_DIR}/tests/golden/pt2/${cases}.tar.xz")
      set(unpacked "${CMAKE_BINARY_DIR}/${cases}_pt2")
      add_custom_command(
        OUTPUT "${unpacked}/.unpacked"
        COMMAND "${CMAKE_COMMAND}" -E rm -rf "${unpacked}"
        COMMAND "${CMAKE_COMMAND}" -E make_directory "${unpacked}"
        COMMAND "${CMAKE_COMMAND}" -E chdir "${unpacked}" "${CMAKE_COMMAND}" -E tar xJf "${packed}"
        COMMAND "${CMAKE_COMMAND}" -E touch "${unpacked}/.unpacked"
        DEPENDS "${packed}" VERBATIM)
      add_custom_target(${cases}_pt2 DEPENDS "${unpacked}/.unpacked")
      add_dependencies(host_tests ${cases}_pt2)
    endforeach()
    gtest_discover_tests(host_tests DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 600)
  endif()
endif()

# Programs that link a runtime themselves, for the adapters in include/slipway.
if(TARGET slipway_runtime_openvino AND NOT SLIPWAY_CORE_ONLY)
  add_executable(openvino_tests tests/openvino/adapter_test.cpp)
  target_include_directories(openvino_tests SYSTEM PRIVATE "${SLIPWAY_OPENVINO}/include")
  target_link_libraries(openvino_tests PRIVATE slipway GTest::gtest_main "${openvino_library}")
  target_compile_definitions(openvino_tests PRIVATE SLIPWAY_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  target_link_options(openvino_tests PRIVATE -Wl,--exclude-libs,ALL -Wl,--disable-new-dtags)
  set_target_properties(openvino_tests PROPERTIES BUILD_RPATH "${SLIPWAY_OPENVINO}/libs")
  gtest_discover_tests(openvino_tests DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 300)
endif()

add_test(NAME layers COMMAND python3 "${CMAKE_SOURCE_DIR}/tools/check_layers.py" "${CMAKE_SOURCE_DIR}")
add_test(NAME file_sizes COMMAND python3 "${CMAKE_SOURCE_DIR}/tools/check_sizes.py" "${CMAKE_SOURCE_DIR}")
