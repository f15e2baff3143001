// A loaded method with memory of its own.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backends/executorch/read.h"
#include "backends/executorch/runner/library.h"
#include "backends/executorch/runner/memory.h"
#include "backends/executorch/runner/program_file.h"
#include "backends/executorch/runner/shapes.h"

namespace slipway::executorch_runner {

/// An output of one run: which, where it shall be written (no memory: wherever), and what it was.
struct Wanted {
  using Handed = std::unique_ptr<abi::DLManagedTensor, void (*)(abi::DLManagedTensor*)>;

  size_t output = 0;
  std::optional<View> memory{};
  Handed result{nullptr, [](abi::DLManagedTensor* tensor) { tensor->deleter(tensor); }};
};

/// Has its own arenas, so its mutable buffers live from run to run. One thread at a time.
class Instance {
 public:
  /// Throws Error for what the runtime lacks or refuses. `method` and `shapes` outlive the object.
  Instance(std::shared_ptr<const ProgramFile> file, const executorch::MethodOutline& method,
           const Shapes& shapes, const std::string& where);

  /// One view for each input that is a tensor. Inputs outside the arena are used where they lie;
  /// one that the program writes to is copied first, unless the output of its new value was given
  /// the same memory. Throws Error{kInvalid} for shapes that do not fit, before anything runs.
  void run(std::span<const View> inputs, std::span<Wanted> outputs);

  /// True until run() or set_buffer().
  bool is_fresh() const { return fresh_; }
  /// All buffers become what they were at first.
  void reset_buffers();
  /// Throw Error{kUsage} where there is no such buffer.
  void set_buffer(std::string_view name, const abi::DLTensor& tensor);
  abi::DLManagedTensor* get_buffer(std::string_view name) const;

 private:
  struct Buffer {
    std::string name;
    DType dtype;
    Shape shape;
    std::span<std::byte> memory;
    std::vector<std::byte> initial;  ///< empty: zeros
  };
  /// What an input or output was last set to.
  struct Slot {
    View view;
    Pages scratch;
    bool set = false;
  };

  void load(const std::string& name);
  void find_buffers();
  const Buffer& buffer(std::string_view name) const;
  void set_constant_inputs();
  void set_input(size_t input, const View& view, std::span<const Wanted> outputs);
  void set_outputs(std::span<const Wanted> outputs);
  bool updates_in_place(size_t input, const View& view, std::span<const Wanted> outputs) const;
  /// The input that an output is, where their memory is the caller's.
  std::optional<size_t> input_of(size_t output) const;
  void check_shapes(std::span<const std::optional<Shape>> known,
                    std::span<const Wanted> outputs) const;
  void take_output(Wanted& wanted);
  int64_t most_bytes(const executorch::Port& port) const;

  std::shared_ptr<const ProgramFile> file_;
  const executorch::MethodOutline& outline_;
  const Shapes& shapes_;
  std::string where_;
  PoolUser pool_;
  std::vector<Pages> arenas_, loose_buffers_;
  std::vector<et::Span<uint8_t>> arena_spans_;
  ::executorch::extension::MallocMemoryAllocator method_allocator_, temp_allocator_;
  std::optional<et::HierarchicalAllocator> planned_;
  std::optional<et::MemoryManager> manager_;
  et::BackendOptions<2> xnnpack_options_;
  et::LoadBackendOptionsMap options_;
  std::optional<et::Method> method_;
  std::vector<Slot> inputs_, outputs_;
  std::vector<Buffer> buffers_;
  bool fresh_ = true;
  bool stopped_ = false;  ///< by a failed assert of the runtime
};

}  // namespace slipway::executorch_runner
