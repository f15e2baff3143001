# Libraries from the distribution's packages; tools/bootstrap.sh installs them.
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(Protobuf REQUIRED)
find_package(Threads REQUIRED)
find_path(LIBDEFLATE_INCLUDE libdeflate.h REQUIRED)
find_library(LIBDEFLATE_STATIC libdeflate.a REQUIRED)
# Static, as above: libraries that a host links may bring another.
find_path(PUGIXML_INCLUDE pugixml.hpp REQUIRED)
find_library(PUGIXML_STATIC libpugixml.a REQUIRED)
find_program(FLATC flatc REQUIRED)
find_path(FLATBUFFERS_INCLUDE flatbuffers/flatbuffers.h REQUIRED)
find_path(XXHASH_INCLUDE xxhash.h REQUIRED)
