# Runtime plug-ins: one library a runtime, opened on first use, nothing linked into the host
# (docs/decisions; linked together the runtimes break each other).
function(slipway_add_runtime name)
  add_library(slipway_runtime_${name} MODULE ${ARGN})
  set_target_properties(slipway_runtime_${name} PROPERTIES
    LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib"
    CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_include_directories(slipway_runtime_${name} PRIVATE include src)
  target_link_libraries(slipway_runtime_${name} PRIVATE
    fmt::fmt nlohmann_json::nlohmann_json Threads::Threads ${CMAKE_DL_LIBS})
  # Only `slipway_runtime_api` leaves the library, not even templates of the standard library.
  set(map "${CMAKE_SOURCE_DIR}/cmake/runtime_plugin.map")
  target_link_options(slipway_runtime_${name} PRIVATE "-Wl,--version-script=${map}")
  set_target_properties(slipway_runtime_${name} PROPERTIES LINK_DEPENDS "${map}")
endfunction()

if("onnx" IN_LIST SLIPWAY_BACKENDS)
  if(NOT EXISTS "${SLIPWAY_DEPS}/onnxruntime/include/onnxruntime_cxx_api.h")
    message(FATAL_ERROR "${SLIPWAY_DEPS}/onnxruntime is missing: run `make deps` first")
  endif()
  file(GLOB onnx_runner CONFIGURE_DEPENDS src/backends/onnx/runner/*.cpp)
  list(FILTER onnx_runner EXCLUDE REGEX "_test\\.cpp$")
  slipway_add_runtime(onnx ${onnx_runner} src/base/error.cpp src/base/mapped_file.cpp src/runtime/huge_pages.cpp)
  target_include_directories(slipway_runtime_onnx SYSTEM PRIVATE "${SLIPWAY_DEPS}/onnxruntime/include")
  target_compile_definitions(slipway_runtime_onnx PRIVATE
    SLIPWAY_ONNXRUNTIME_DEFAULT="${SLIPWAY_DEPS}/onnxruntime/lib")
endif()

# libtorch: lib/ and include/ of `make deps`, or of a torch wheel (site-packages/torch).
set(SLIPWAY_LIBTORCH "${SLIPWAY_DEPS}/libtorch" CACHE PATH "The libtorch of the dynamo plug-in")
if("dynamo" IN_LIST SLIPWAY_BACKENDS)
  foreach(part lib/libtorch_cpu.so lib/libc10.so include/ATen/core/dispatch/Dispatcher.h)
    if(NOT EXISTS "${SLIPWAY_LIBTORCH}/${part}")
      message(FATAL_ERROR "${SLIPWAY_LIBTORCH}/${part} is missing: run `make deps` first, or set "
                          "SLIPWAY_LIBTORCH to the torch folder of a torch wheel (site-packages/torch)")
    endif()
  endforeach()
  file(GLOB dynamo_runner CONFIGURE_DEPENDS src/backends/dynamo/runner/*.cpp)
  list(FILTER dynamo_runner EXCLUDE REGEX "_test\\.cpp$")
  slipway_add_runtime(dynamo ${dynamo_runner})
  # A copy of the readers of its own: no type of ours crosses to the host.
  target_link_libraries(slipway_runtime_dynamo PRIVATE slipway_core
    "${SLIPWAY_LIBTORCH}/lib/libtorch_cpu.so" "${SLIPWAY_LIBTORCH}/lib/libc10.so")
  # Only libtorch's own headers: a wheel's include/ has other libraries' too, fmt among them.
  set(libtorch_include "${CMAKE_BINARY_DIR}/libtorch_include")
  file(MAKE_DIRECTORY "${libtorch_include}")
  foreach(part ATen c10 torch)
    file(REMOVE "${libtorch_include}/${part}")
    file(CREATE_LINK "${SLIPWAY_LIBTORCH}/include/${part}" "${libtorch_include}/${part}" SYMBOLIC)
  endforeach()
  target_include_directories(slipway_runtime_dynamo SYSTEM PRIVATE "${libtorch_include}")
  # Found beside the plug-in, then where it was built. RPATH, not RUNPATH: it counts for what
  # libtorch needs in turn.
  set_target_properties(slipway_runtime_dynamo PROPERTIES
    BUILD_RPATH "$ORIGIN;${SLIPWAY_LIBTORCH}/lib" INSTALL_RPATH "$ORIGIN")
  target_link_options(slipway_runtime_dynamo PRIVATE -Wl,--disable-new-dtags -Wl,--exclude-libs,ALL)
endif()

# OpenVINO: libs/ and include/ of `make deps`, or of an openvino wheel (site-packages/openvino). Its own
# CMake package wants every reader of other formats.
set(SLIPWAY_OPENVINO "${SLIPWAY_DEPS}/openvino" CACHE PATH "The OpenVINO of the openvino plug-in")
if("openvino" IN_LIST SLIPWAY_BACKENDS)
  file(GLOB openvino_library "${SLIPWAY_OPENVINO}/libs/libopenvino.so.*")
  if(NOT openvino_library OR NOT EXISTS "${SLIPWAY_OPENVINO}/include/openvino/openvino.hpp")
    message(FATAL_ERROR "${SLIPWAY_OPENVINO} has no libs/libopenvino.so.* and include/openvino: run `make deps` first, "
                        "or set SLIPWAY_OPENVINO to the openvino folder of a wheel (site-packages/openvino)")
  endif()
  file(GLOB openvino_runner CONFIGURE_DEPENDS src/backends/openvino/runner/*.cpp)
  list(FILTER openvino_runner EXCLUDE REGEX "_test\\.cpp$")
  slipway_add_runtime(openvino ${openvino_runner} src/base/error.cpp src/runtime/huge_pages.cpp)
  target_include_directories(slipway_runtime_openvino SYSTEM PRIVATE "${SLIPWAY_OPENVINO}/include")
  target_link_libraries(slipway_runtime_openvino PRIVATE "${openvino_library}")
  # As for libtorch. OpenVINO finds its devices beside its own library.
  set_target_properties(slipway_runtime_openvino PROPERTIES
    BUILD_RPATH "$ORIGIN;${SLIPWAY_OPENVINO}/libs" INSTALL_RPATH "$ORIGIN")
  target_link_options(slipway_runtime_openvino PRIVATE -Wl,--disable-new-dtags)
endif()

# ExecuTorch: lib/ and include/ of `make deps`.
if("executorch" IN_LIST SLIPWAY_BACKENDS)
  set(executorch "${SLIPWAY_DEPS}/executorch")
  add_library(executorch_runtime INTERFACE)
  target_include_directories(executorch_runtime SYSTEM INTERFACE "${executorch}/include"
    "${executorch}/include/executorch/runtime/core/portable_type/c10")
  # They change the layout of classes: the libraries were built with them.
  target_compile_definitions(executorch_runtime INTERFACE
    C10_USING_CUSTOM_GENERATED_MACROS ET_EVENT_TRACER_ENABLED ET_USE_THREADPOOL)
  target_link_libraries(executorch_runtime INTERFACE
    "${executorch}/lib/libexecutorch.so" "${executorch}/lib/libexecutorch_threadpool.so")
  # These register themselves: nothing names a symbol of theirs, so the linker would leave them out.
  foreach(part kernels_optimized kernels_quantized backend_xnnpack)
    target_link_libraries(executorch_runtime INTERFACE
      "-Wl,--push-state,--no-as-needed,${executorch}/lib/libexecutorch_${part}.so,--pop-state")
  endforeach()
  file(GLOB executorch_runner CONFIGURE_DEPENDS src/backends/executorch/runner/*.cpp)
  list(FILTER executorch_runner EXCLUDE REGEX "_test\\.cpp$")
  slipway_add_runtime(executorch ${executorch_runner} src/runtime/huge_pages.cpp)
  target_compile_definitions(slipway_runtime_executorch PRIVATE SLIPWAY_EXECUTORCH_VERSION="1.5.1")
  target_link_libraries(slipway_runtime_executorch PRIVATE slipway_core executorch_runtime)
  set_target_properties(slipway_runtime_executorch PROPERTIES
    BUILD_RPATH "$ORIGIN;${executorch}/lib" INSTALL_RPATH "$ORIGIN")
  target_link_options(slipway_runtime_executorch PRIVATE -Wl,--disable-new-dtags -Wl,--exclude-libs,ALL)

  # The decode loop over caches in place, for those who link ExecuTorch themselves.
  add_executable(executorch_decode EXCLUDE_FROM_ALL examples/executorch_decode.cpp)
  target_link_libraries(executorch_decode PRIVATE executorch_runtime)
  set_target_properties(executorch_decode PROPERTIES BUILD_RPATH "${executorch}/lib")
endif()

# Where the host looks last for plug-ins: this build tree.
set_source_files_properties(src/runtime/plugin.cpp PROPERTIES
  COMPILE_DEFINITIONS SLIPWAY_PLUGIN_DEFAULT="${CMAKE_BINARY_DIR}/lib")
