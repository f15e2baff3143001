# Layers 0 to 4: everything that exporting needs.
file(GLOB_RECURSE core_sources CONFIGURE_DEPENDS
  src/base/*.cpp src/ir/*.cpp src/checkpoint/*.cpp src/models/*.cpp src/passes/*.cpp src/quantize/*.cpp
  src/lowering/*.cpp)
foreach(backend ${SLIPWAY_BACKENDS})
  file(GLOB backend_sources CONFIGURE_DEPENDS src/backends/${backend}/*.cpp)
  list(APPEND core_sources ${backend_sources})
endforeach()
list(FILTER core_sources EXCLUDE REGEX "_test\\.cpp$")

# A model is found by its file name: src/models/<model_type>.cpp defines `slipway::models::<model_type>`.
file(GLOB model_files CONFIGURE_DEPENDS RELATIVE "${CMAKE_SOURCE_DIR}/src/models" src/models/*.cpp)
list(FILTER model_files EXCLUDE REGEX "^registry\\.cpp$|_test\\.cpp$")
set(model_declarations "")
set(model_rows "")
foreach(file ${model_files})
  string(REGEX REPLACE "\\.cpp$" "" model "${file}")
  string(APPEND model_declarations "extern const ModelType ${model};\n")
  string(APPEND model_rows "  &${model},\n")
endforeach()
configure_file(cmake/model_table.h.in "${CMAKE_BINARY_DIR}/generated/model_table.h" @ONLY)

# ONNX messages, from the schema of the pinned onnx package.
set(generated "${CMAKE_BINARY_DIR}/generated")
set(onnx_proto "${SLIPWAY_DEPS}/onnx/onnx-ml.proto")
if("onnx" IN_LIST SLIPWAY_BACKENDS)
  if(NOT EXISTS "${onnx_proto}")
    message(FATAL_ERROR "${onnx_proto} is missing: run `make deps` first")
  endif()
  file(MAKE_DIRECTORY "${generated}/onnx")
  add_custom_command(
    OUTPUT "${generated}/onnx/onnx-ml.pb.cc" "${generated}/onnx/onnx-ml.pb.h"
    COMMAND protobuf::protoc -I "${SLIPWAY_DEPS}" --cpp_out=${generated} "${onnx_proto}"
    DEPENDS "${onnx_proto}" VERBATIM)
  add_library(slipway_onnx_proto STATIC "${generated}/onnx/onnx-ml.pb.cc" "${generated}/onnx/onnx-ml.pb.h")
  target_include_directories(slipway_onnx_proto SYSTEM PUBLIC "${generated}" ${Protobuf_INCLUDE_DIRS})
  target_compile_options(slipway_onnx_proto PRIVATE -w)
  # The static library: libtorch exports symbols of another protobuf (docs/decisions).
  find_library(PROTOBUF_STATIC libprotobuf.a REQUIRED)
  target_link_libraries(slipway_onnx_proto PUBLIC "${PROTOBUF_STATIC}" Threads::Threads)
endif()

# ExecuTorch's flatbuffers, from the schemas of the pinned release. Only headers come out: each is included by
# few files, hidden, since the runtime's libraries export functions of the same names of another version.
if("executorch" IN_LIST SLIPWAY_BACKENDS)
  set(schemas "${SLIPWAY_DEPS}/executorch/schema")
  set(flatc_headers "${generated}/executorch")
  if(NOT EXISTS "${schemas}/program.fbs")
    message(FATAL_ERROR "${schemas} is missing: run `make deps` first")
  endif()
  file(MAKE_DIRECTORY "${flatc_headers}/xnnpack")
  add_custom_command(
    OUTPUT "${flatc_headers}/program_generated.h" "${flatc_headers}/scalar_type_generated.h"
           "${flatc_headers}/xnnpack/schema_generated.h"
    COMMAND "${FLATC}" --cpp --scoped-enums -I "${schemas}" -o "${flatc_headers}"
            "${schemas}/scalar_type.fbs" "${schemas}/program.fbs"
    COMMAND "${FLATC}" --cpp --scoped-enums -o "${flatc_headers}/xnnpack" "${schemas}/xnnpack/schema.fbs"
    DEPENDS "${schemas}/scalar_type.fbs" "${schemas}/program.fbs" "${schemas}/xnnpack/schema.fbs" VERBATIM)
  add_custom_target(slipway_executorch_schema DEPENDS "${flatc_headers}/program_generated.h")
endif()

add_library(slipway_core STATIC ${core_sources})
target_compile_definitions(slipway_core PUBLIC SLIPWAY_VERSION="${PROJECT_VERSION}")
target_include_directories(slipway_core PUBLIC include src "${generated}")
target_link_libraries(slipway_core PUBLIC fmt::fmt spdlog::spdlog nlohmann_json::nlohmann_json Threads::Threads)
if(TARGET slipway_onnx_proto)
  target_link_libraries(slipway_core PRIVATE slipway_onnx_proto)
endif()
if(TARGET slipway_executorch_schema)
  add_dependencies(slipway_core slipway_executorch_schema)
  target_include_directories(slipway_core SYSTEM PRIVATE
    "${flatc_headers}" "${FLATBUFFERS_INCLUDE}" "${XXHASH_INCLUDE}")
endif()
if("dynamo" IN_LIST SLIPWAY_BACKENDS)
  target_include_directories(slipway_core PRIVATE "${LIBDEFLATE_INCLUDE}")
  target_link_libraries(slipway_core PRIVATE "${LIBDEFLATE_STATIC}")
endif()
if("openvino" IN_LIST SLIPWAY_BACKENDS)
  target_include_directories(slipway_core PRIVATE "${PUGIXML_INCLUDE}")
  target_link_libraries(slipway_core PRIVATE "${PUGIXML_STATIC}")
endif()
