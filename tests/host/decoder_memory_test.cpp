// The memory of decoding: steps allocate nothing of cache size, prompts no logits they do not give.
#include <fmt/format.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <new>

#include "decoder_util.h"
#include "generation/cache_buffers.h"
#include "slipway/generation_session.h"

namespace {

std::atomic<size_t> largest{0};

void note(size_t bytes) {
  size_t seen = largest.load();
  while (bytes > seen && !largest.compare_exchange_weak(seen, bytes)) {
  }
}

}  // namespace

// In the whole process: what the states, the runtime layer and the plug-in allocate goes through
// malloc, whoever calls it.
extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);

__attribute__((visibility("default"))) void* malloc(size_t bytes) {
  note(bytes);
  return __libc_malloc(bytes);
}
__attribute__((visibility("default"))) void* calloc(size_t count, size_t bytes) {
  note(count * bytes);
  return __libc_calloc(count, bytes);
}
__attribute__((visibility("default"))) void* realloc(void* old, size_t bytes) {
  note(bytes);
  return __libc_realloc(old, bytes);
}
__attribute__((visibility("default"))) void* aligned_alloc(size_t alignment, size_t bytes) {
  note(bytes);
  return __libc_memalign(alignment, bytes);
}
__attribute__((visibility("default"))) int posix_memalign(void** out, size_t alignment,
                                                          size_t bytes) {
  note(bytes);
  *out = __libc_memalign(alignment, bytes);
  return *out == nullptr ? 12 : 0;
}
}

namespace slipway::decoders {
namespace {

/// The largest block that `call` asks for, in any thread.
template <class Call>
size_t largest_block(Call call) {
  largest = 0;
  call();
  return largest;
}

TEST(DecoderMemory, TheCountSeesAllocations) {
  EXPECT_GE(largest_block([] {
              const Block block = [] {
                Block made;
                made.reserve(12345);
                return made;
              }();
            }),
            12345u);
  EXPECT_GE(largest_block([] { const std::vector<char> made(54321); }), 54321u);
}

class StepMemory : public testing::TestWithParam<const char*> {};

TEST_P(StepMemory, StepsAllocateNothingOfCacheSize) {
  const ExportedModel exported = export_made(golden::folder("llama-causal-lm"), GetParam());
  GenerationSession session(exported, {.max_cache_len = 256});
  constexpr int64_t kRows = 8, kPrompt = 60;
  session.forward(token_ids(kRows, kPrompt));
  const Tensor next = token_ids(kRows, 1);
  for (int i = 0; i < 8; ++i) session.forward(next);
  // One layer's keys, [rows, 2 heads, tokens, 8].
  const auto one_cache = static_cast<size_t>(kRows * 2 * (kPrompt + 8) * 8) * sizeof(float);
  const size_t block = largest_block([&] {
    for (int i = 0; i < 40; ++i) session.forward(next);
  });
  EXPECT_LT(block, one_cache) << "of " << one_cache << " bytes";
}

INSTANTIATE_TEST_SUITE_P(Golden, StepMemory, testing::Values("growing", "one_token", "static"),
                         [](const auto& made) { return std::string(made.param); });

/// A figure of /proc/self/status in bytes.
int64_t status_bytes(const std::string& key) {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word)
    if (word == key + ":") {
      int64_t kilobytes = 0;
      status >> kilobytes;
      return kilobytes * 1024;
    }
  return 0;
}

// PC-32: the logits of this prompt would be 800 MB.
class PromptMemory : public testing::TestWithParam<const char*> {};

TEST_P(PromptMemory, StaysFarBelowPromptTimesVocabulary) {
  constexpr int64_t kVocabulary = 50000, kPrompt = 4000;
  cases::Draft draft = cases::Draft::golden("llama-causal-lm");
  draft.config["vocab_size"] = kVocabulary;
  draft.config["max_position_embeddings"] = 4096;
  // One head: the scores of a prompt that one call has to read are 64 MB then.
  for (const char* key : {"num_attention_heads", "num_key_value_heads"}) draft.config[key] = 1;
  const int64_t hidden = draft.config["hidden_size"].get<int64_t>();
  draft.config["head_dim"] = 8;
  for (auto& [name, tensor] : draft.tensors) {
    const auto is = [&leaf = name](const char* part) { return leaf.find(part) != leaf.npos; };
    if (is("embed_tokens") || is("lm_head"))
      tensor = cases::random_tensor({kVocabulary, hidden}, 3);
    if (is("q_proj") || is("k_proj") || is("v_proj")) tensor = cases::random_tensor({8, hidden}, 4);
    if (is("o_proj")) tensor = cases::random_tensor({hidden, 8}, 5);
  }
  const TestFolder folder;
  const ExportedModel exported = export_made(draft.save(folder / "in"), GetParam());
  GenerationSession session(exported, {.max_cache_len = 4096});
  session.forward(token_ids(1, 2));
  session.reset();
  std::ofstream("/proc/self/clear_refs") << "5";  // the peak begins anew
  const int64_t before = status_bytes("VmRSS");
  const Tensor logits = session.forward(token_ids(1, kPrompt));
  const int64_t peak = status_bytes("VmHWM");
  EXPECT_EQ(logits.shape(), (Shape{1, 1, kVocabulary}));
  EXPECT_GT(peak, 0);  // below `before` where the kernel took pages back meanwhile
  const int64_t grown = peak - before;
  RecordProperty("bytes", std::to_string(grown));
  EXPECT_LT(grown, kVocabulary * kPrompt * 4 / 2);
}

INSTANTIATE_TEST_SUITE_P(Golden, PromptMemory,
                         testing::Values("growing", "one_token", "many_tokens", "static",
                                         "static_many"),
                         [](const auto& made) { return std::string(made.param); });

}  // namespace
}  // namespace slipway::decoders
