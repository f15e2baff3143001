// Owning handles and text conversions over the C ABI of the Rust text library.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "slipway_text.h"

namespace slipway::text {

template <auto free_handle>
struct Free {
  template <class T>
  void operator()(T* handle) const {
    free_handle(handle);
  }
};

using TokenizerHandle = std::unique_ptr<slipway_tokenizer, Free<slipway_tokenizer_free>>;
using EncodingsHandle = std::unique_ptr<slipway_encodings, Free<slipway_encodings_free>>;
using StreamHandle = std::unique_ptr<slipway_stream, Free<slipway_stream_free>>;
using TemplateHandle = std::unique_ptr<slipway_template, Free<slipway_template_free>>;

inline slipway_str view(std::string_view text) { return {text.data(), text.size()}; }

/// The text of a result, whose memory goes back to the Rust library.
inline std::string take(slipway_bytes bytes) {
  std::string text(bytes.data, bytes.size);
  slipway_bytes_free(bytes);
  return text;
}

/// The reason of this thread's last failure.
inline std::string last_error() {
  const slipway_str reason = slipway_text_error();
  return {reason.data, reason.size};
}

}  // namespace slipway::text
