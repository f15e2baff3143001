// Parts of the reader of .pte files. Only the reader includes this.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <string>
#include <string_view>

#include "backends/executorch/read.h"
#include "program_generated.h"
#include "slipway/error.h"

namespace slipway::executorch::reading {

namespace fb = executorch_flatbuffer;

/// A verified program and the segments behind it.
struct File {
  const std::string& where;
  const fb::Program& program;
  ByteSpan segment_data;  ///< from the first segment to the end

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(kInvalid, fmt::format("[executorch] {}: {}; the file is broken, export it again",
                                      where, what));
  }
  void need(bool condition, std::string_view what) const {
    if (!condition) fail(std::string(what));
  }

  /// Numbers of 8 bytes, whose place the verifier does not check. Writers put no list of none at a
  /// multiple of 8.
  template <class T>
  void need_aligned(const flatbuffers::Vector<T>* list) const {
    need(!list || list->size() == 0 || reinterpret_cast<uintptr_t>(list->Data()) % sizeof(T) == 0,
         "a list of numbers is not aligned");
  }
  /// Throws for a number that is out of range; checks that the bytes are there.
  ByteSpan segment(uint64_t index) const;
  /// The size of the constant, or of a buffer's initial data, of that number must hold `bytes`.
  void check_data(const fb::SubsegmentOffsets* list, uint64_t index, uint64_t bytes) const;
  /// The bytes under a key; throws where there are none.
  ByteSpan named(std::string_view key) const;
};

/// Null for types that are neither numbers nor booleans.
std::optional<DType> dtype_of(fb::ScalarType type);

/// Checks a plan and lists what it has; ports have no names yet.
MethodOutline read_method(const File& file, const fb::ExecutionPlan& plan);

/// Checks the instructions of a plan whose values and delegates are read, and says what they do.
void read_instructions(const File& file, const fb::ExecutionPlan& plan, MethodOutline& method);

/// Checks a delegate's graph. `data` gives the bytes under a key.
DelegatePort read_xnnpack(ByteSpan bytes, const std::string& where,
                          const std::function<ByteSpan(std::string_view)>& data);

/// Names of inputs and outputs: "input_0", "output_0", or what the plan's tree specs say.
void name_ports(const fb::ExecutionPlan& plan, MethodOutline& method);

}  // namespace slipway::executorch::reading
