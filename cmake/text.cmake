# The Rust static library: tokenizers and chat templates. All presets share its build.
set(text_crate "${CMAKE_SOURCE_DIR}/rust/slipway_text")
set(text_target "${CMAKE_SOURCE_DIR}/build/cargo" CACHE PATH "Where cargo builds")
set(text_library "${text_target}/release/libslipway_text.a")
find_program(CARGO cargo REQUIRED)

# Cargo writes the sources that it read beside the library, in the format that ninja reads.
add_custom_command(
  OUTPUT "${text_library}"
  COMMAND ${CMAKE_COMMAND} -E env "CARGO_TARGET_DIR=${text_target}"
    "${CARGO}" build --release --locked --quiet --manifest-path "${text_crate}/Cargo.toml"
  # Cargo leaves the file alone when a change does not matter; ninja would then ask again for ever.
  COMMAND ${CMAKE_COMMAND} -E touch "${text_library}"
  DEPENDS "${text_crate}/Cargo.toml" "${text_crate}/Cargo.lock"
  DEPFILE "${text_target}/release/libslipway_text.d"
  COMMENT "Building the Rust library for tokenizers and chat templates" VERBATIM)
add_custom_target(slipway_text_build DEPENDS "${text_library}")

add_library(slipway_text STATIC IMPORTED GLOBAL)
add_dependencies(slipway_text slipway_text_build)
set_target_properties(slipway_text PROPERTIES
  IMPORTED_LOCATION "${text_library}"
  INTERFACE_INCLUDE_DIRECTORIES "${text_crate}/include"
  INTERFACE_LINK_LIBRARIES "gcc_s;util;rt;pthread;m;dl")
