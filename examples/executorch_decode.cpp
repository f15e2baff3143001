// Decodes with a static cache that is updated in place, on ExecuTorch's own C++ interface and
// nothing else: executorch_decode MODEL.pte TOKENS STEPS [METHOD], tokens as 504,1536,282,
// `forward` where no method is named. Prints the tokens it chose, and on standard error the arena's
// size and how many it made a second after the prompt.
//
// The program is a decoder with multi_token_decode and cache_implementation = "static", exported
// with alloc_graph_input, alloc_graph_output and alloc_mutable_buffers off. Its inputs are
// input_ids, attention_mask, position_ids, and keys, values and number of tokens of each layer; its
// outputs logits, then each layer again. Programs of transformers' exporter, which it runs too,
// have as outputs each layer, logits, and copies of the layers.
#include <executorch/extension/data_loader/file_data_loader.h>
#include <executorch/extension/memory_allocator/malloc_memory_allocator.h>
#include <executorch/extension/tensor/tensor_ptr_maker.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/platform/runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

using executorch::aten::ScalarType;
using executorch::extension::from_blob;
using executorch::runtime::Error;
using executorch::runtime::Span;

namespace {

void check(Error error, const char* what) {
  if (error == Error::Ok) return;
  std::fprintf(stderr, "%s: error 0x%x\n", what, static_cast<unsigned>(error));
  std::exit(1);
}

/// Memory of the caller, as large as an input or output can be.
struct Buffer {
  std::vector<executorch::aten::SizesType> sizes;
  std::vector<char> bytes;
  ScalarType type;

  template <class Info>
  explicit Buffer(const Info& info)
      : sizes(info.sizes().begin(), info.sizes().end()),
        bytes(std::max<size_t>(info.nbytes(), 1)),
        type(info.scalar_type()) {}
  template <class T>
  T* as() {
    return reinterpret_cast<T*>(bytes.data());
  }
};

std::vector<int64_t> parse(const char* text) {
  std::vector<int64_t> ids;
  for (char* end = nullptr; *text != '\0'; text = *end == ',' ? end + 1 : end)
    ids.push_back(std::strtoll(text, &end, 10));
  return ids;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4 && argc != 5) {
    std::fprintf(stderr, "usage: executorch_decode MODEL.pte TOKENS STEPS [METHOD]\n");
    return 2;
  }
  const char* name = argc > 4 ? argv[4] : "forward";
  executorch::runtime::runtime_init();
  auto loader = executorch::extension::FileDataLoader::from(argv[1]);
  check(loader.error(), "opening the file");
  auto program = executorch::runtime::Program::load(&loader.get());
  check(program.error(), "loading the program");
  auto meta = program->method_meta(name);
  check(meta.error(), "finding the method");

  std::vector<std::vector<uint8_t>> arenas;
  std::vector<Span<uint8_t>> spans;
  size_t arena = 0;
  for (size_t i = 0; i < meta->num_memory_planned_buffers(); ++i) {
    arenas.emplace_back(static_cast<size_t>(meta->memory_planned_buffer_size(i).get()));
    spans.emplace_back(arenas.back().data(), arenas.back().size());
    arena += arenas.back().size();
  }
  executorch::runtime::HierarchicalAllocator planned({spans.data(), spans.size()});
  executorch::extension::MallocMemoryAllocator for_method, for_kernels;
  executorch::runtime::MemoryManager memory(&for_method, &planned, &for_kernels);
  auto method = program->load_method(name, &memory);
  check(method.error(), "loading the method");

  std::vector<Buffer> inputs;
  for (size_t i = 0; i < meta->num_inputs(); ++i)
    inputs.emplace_back(meta->input_tensor_meta(i).get());
  const size_t layers = (inputs.size() - 3) / 3, slots = static_cast<size_t>(inputs[3].sizes[2]);
  const bool copies = meta->num_outputs() == 1 + 6 * layers;
  if (inputs.size() < 6 || (meta->num_outputs() != 1 + 3 * layers && !copies)) {
    std::fprintf(stderr, "%s is no decoder with a static cache\n", argv[1]);
    return 1;
  }
  const size_t logits_at = copies ? 3 * layers : 0, cache_at = copies ? 0 : 1;
  // One row; the cache is as long as it can be. Each output of the cache is its input's memory.
  for (size_t i = 3; i < inputs.size(); ++i) {
    if (!inputs[i].sizes.empty()) inputs[i].sizes[0] = 1;
    check(method->set_input(from_blob(inputs[i].bytes.data(), inputs[i].sizes, inputs[i].type), i),
          "setting the cache");
    check(method->set_output_data_ptr(inputs[i].bytes.data(), inputs[i].bytes.size(),
                                      i - 3 + cache_at),
          "updating the cache in place");
  }
  std::vector<Buffer> others;
  for (size_t i = 0; i < meta->num_outputs(); ++i) {
    others.emplace_back(meta->output_tensor_meta(i).get());
    if (i == logits_at || i > 3 * layers)
      check(method->set_output_data_ptr(others[i].bytes.data(), others[i].bytes.size(), i),
            "giving an output memory");
  }
  Buffer& logits = others[logits_at];

  std::vector<int64_t> tokens = parse(argv[2]);
  size_t position = 0;
  long made = 0;
  std::chrono::steady_clock::time_point start;
  for (long step = std::strtol(argv[3], nullptr, 10); step > 0; --step) {
    const auto count = static_cast<int32_t>(tokens.size());
    if (count > inputs[0].sizes[1] || position + tokens.size() > slots) break;
    for (size_t i = 0; i < tokens.size(); ++i) {
      inputs[0].as<int64_t>()[i] = tokens[i];
      inputs[2].as<int64_t>()[i] = static_cast<int64_t>(position + i);
      for (size_t slot = 0; slot < slots; ++slot)
        inputs[1].as<bool>()[i * slots + slot] = slot <= position + i;
    }
    const std::vector<int32_t> shapes[] = {
        {1, count}, {1, 1, count, static_cast<int32_t>(slots)}, {1, count}};
    for (size_t i = 0; i < 3; ++i)
      check(method->set_input(from_blob(inputs[i].bytes.data(), shapes[i], inputs[i].type), i),
            "setting the tokens");
    check(method->execute(), "running");
    position += tokens.size();
    const auto vocabulary = static_cast<size_t>(method->get_output(logits_at).toTensor().size(2));
    const float* last = logits.as<float>() + (tokens.size() - 1) * vocabulary;
    tokens = {std::max_element(last, last + vocabulary) - last};
    std::printf("%lld\n", static_cast<long long>(tokens[0]));
    if (made++ == 0) start = std::chrono::steady_clock::now();
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  if (made > 1)
    std::fprintf(stderr, "arena of %zu bytes, %.2f tokens/s\n", arena,
                 static_cast<double>(made - 1) / seconds.count());
  return 0;
}
