// Paged attention of OpenVINO's runner beside plain attention: logits, caches, windows, refusals.
#include "base/test_expect.h"
#include "base/test_folder.h"
#include "case_util.h"
#include "decoder_util.h"
#include "runtime/repeated_call.h"

namespace slipway {
namespace {

namespace fs = std::filesystem;
using cases::token_ids;
using decoders::columns;
using decoders::Fixture;
using decoders::left_padding;
using decoders::ones;

fs::path save(const fs::path& out, const std::string& model,
              const std::string& format = "openvino") {
  golden::export_case(model + "-causal-lm", "text-generation-with-past", {}, format)
      .save_pretrained(out);
  return out;
}

ExportedModel with_attention(const fs::path& folder, const std::string& backend,
                             std::vector<std::pair<std::string, std::string>> properties = {}) {
  RunnerOptions options;
  options.device = "cpu";
  options.session_options = std::move(properties);
  options.session_options.emplace_back("ATTENTION_BACKEND", backend);
  return ExportedModel::from_pretrained(folder, "", options);
}
/// A paged and a plain state that are given the same. Blocks have 32 tokens.
class Pair {
 public:
  explicit Pair(const fs::path& folder)
      : paged_(with_attention(folder, "PA")), plain_(with_attention(folder, "SDPA")) {
    states_.push_back(paged_.state());
    states_.push_back(plain_.state());
  }

  void read(const Tensor& ids, const Tensor& mask) {
    const Tensor paged = states_[0]->forward(ids, mask, ids.dim(1)).clone();
    const Tensor plain = states_[1]->forward(ids, mask, ids.dim(1));
    EXPECT_LE(decoders::difference_where(paged, plain, mask), decoders::kTolerance);
  }
  void read(int64_t count) {
    const int64_t rows = states_[0]->batch_size();
    read(token_ids(rows, count), ones(rows, count));
  }
  template <class Change>
  void change(Change change) {
    for (auto& state : states_) change(state);
  }
  /// Every slot of every state, but where a row begins with padding.
  void compare_caches(const std::vector<int64_t>& pads) const {
    const auto paged = states_[0]->cache(), plain = states_[1]->cache();
    ASSERT_EQ(paged.size(), plain.size());
    ASSERT_FALSE(paged.empty());
    for (size_t i = 0; i < paged.size(); ++i) {
      const auto& [leaf, ours] = paged[i];
      const Tensor& theirs = plain[i].second;
      ASSERT_EQ(ours.shape(), theirs.shape()) << leaf;
      const int64_t heads = ours.dim(1), slots = ours.dim(2), size = ours.dim(3);
      EXPECT_LE(golden::max_difference(ours, theirs,
                                       [&](int64_t at) {
                                         const int64_t row = at / (heads * slots * size);
                                         return at / size % slots >= pads[static_cast<size_t>(row)];
                                       }),
                decoders::kTolerance)
          << leaf;
    }
  }

 private:
  Fixture paged_, plain_;
  std::vector<std::unique_ptr<DecoderState>> states_;
};

class Paged : public testing::TestWithParam<const char*> {};

TEST_P(Paged, ReadsAsPlainAttentionDoes) {
  const TestFolder t;
  Pair pair(save(t / "out", GetParam()));
  pair.read(token_ids(3, 9), left_padding({0, 2, 5}, 9));
  pair.read(1);
  pair.read(3);
  pair.compare_caches({0, 2, 5});
  for (int i = 0; i < 6; ++i) pair.read(7);  // over the end of a block
  pair.compare_caches({0, 2, 5});
}

TEST_P(Paged, MovesRowsThatShareBlocks) {
  const TestFolder t;
  Pair pair(save(t / "out", GetParam()));
  const auto reorder = [&](std::vector<int64_t> rows) {
    pair.change([&](auto& state) { state->reorder(rows); });
  };
  pair.read(token_ids(2, 30), left_padding({0, 3}, 30));
  reorder({1, 0, 0, 1});
  for (int i = 0; i < 4; ++i) pair.read(1);
  reorder({0, 0, 1, 3});
  pair.read(5);
  reorder({3, 2, 1, 0});
  for (int i = 0; i < 30; ++i) pair.read(1);
  reorder({1, 1});
  pair.read(2);
  pair.compare_caches({0, 0});
}

TEST_P(Paged, GoesBackCopiesAndStartsAgain) {
  const TestFolder t;
  Pair pair(save(t / "out", GetParam()));
  pair.read(token_ids(2, 12), left_padding({4, 0}, 12));
  pair.change([](auto& state) { state->crop(7); });
  pair.read(3);
  pair.change([](auto& state) { state = state->copy(); });
  pair.read(2);
  pair.compare_caches({4, 0});
  pair.change([](auto& state) { state->reset(); });
  pair.read(token_ids(1, 3), ones(1, 3));
  pair.read(40);
}

// Rows of padding only, and logits of padding, are finite.
TEST_P(Paged, LeavesPaddingOut) {
  const TestFolder t;
  Pair pair(save(t / "out", GetParam()));
  pair.read(token_ids(3, 4), left_padding({4, 4, 1}, 4));
  pair.read(token_ids(3, 4), left_padding({2, 0, 0}, 4));
  pair.read(2);
  pair.compare_caches({6, 4, 1});
  Pair padding(save(t / "out", GetParam()));
  padding.read(token_ids(2, 3), left_padding({3, 3}, 3));
  padding.read(1);
}

// mistral and qwen2 have windows of 4 and 5 tokens.
INSTANTIATE_TEST_SUITE_P(Models, Paged, testing::Values("llama", "mistral", "qwen2", "qwen3"),
                         [](const auto& made) { return std::string(made.param); });

TEST(PagedAttention, GivesTheReferencesLogits) {
  for (const char* model : {"llama", "mistral", "qwen2", "qwen3"}) {
    const TestFolder t;
    const fs::path golden = golden::folder(std::string(model) + "-causal-lm");
    const auto inputs = read_safetensors(golden / "inputs.safetensors");
    const auto want = read_safetensors(golden / "outputs.safetensors");
    const Tensor got = with_attention(save(t / "out", model), "PA")(inputs)[0].second;
    EXPECT_LE(decoders::difference_where(got, want.at("logits"), inputs.at("attention_mask")),
              decoders::kTolerance)
        << model;
  }
}

TEST(PagedAttention, IsRefusedWhereItCannotBe) {
  const TestFolder t;
  const auto load = [&](const fs::path& folder, const std::string& backend) {
    return [folder, backend] { with_attention(folder, backend); };
  };
  const fs::path stateless = save(t / "stateless", "llama", "openvino_stateless");
  decoders::refused(kUnsupported, "attention cannot be paged", load(stateless, "PA"));
  decoders::refused(kUsage, "need PA or SDPA", load(stateless, "flash"));
  EXPECT_NO_THROW(load(stateless, "SDPA")());
}

Session open_with(const fs::path& graph, const std::string& backend) {
  SessionOptions options;
  options.config = {{"ATTENTION_BACKEND", backend}};
  return Session::open("openvino", graph, options);
}

// Blocks are in the precision that attention computes in.
TEST(PagedAttention, KeepsTheCacheInThePrecisionOfTheRest) {
  const TestFolder t;
  const fs::path out = save(t / "out", "llama"), golden = golden::folder("llama-causal-lm");
  const auto inputs = read_safetensors(golden / "inputs.safetensors");
  const auto want = read_safetensors(golden / "outputs.safetensors");
  const Tensor got =
      with_attention(out, "PA", {{"INFERENCE_PRECISION_HINT", "bf16"}})(inputs)[0].second;
  EXPECT_LE(decoders::difference_where(got, want.at("logits"), inputs.at("attention_mask")), 0.1);
  for (const char* cache : {"u8", "bf16"})
    decoders::refused(kUnsupported, "give both the same value", [&] {
      with_attention(out, "PA", {{"KV_CACHE_PRECISION", cache}});
    });
}

/// A call with the cache that earlier calls left.
Tensor step(RepeatedCall& call, const Tensor& ids, const Tensor& mask, int64_t from) {
  Tensor positions(DType::kI64, ids.shape());
  for (int64_t i = 0; i < positions.numel(); ++i)
    positions.mutable_values<int64_t>()[static_cast<size_t>(i)] = from + i;
  const Tensor rows = Tensor::of<int32_t>({1}, {0});
  size_t at = 0;
  for (const Tensor& input : {ids, mask, positions, rows}) call.set_input(at++, input);
  call.run();
  return call.take_output(0);
}

RepeatedCall call_of(const Session& session) {
  return RepeatedCall(session, {"input_ids", "attention_mask", "position_ids", "beam_idx"},
                      {"logits"});
}

TEST(PagedAttention, MasksMayHideMoreButShowNoMore) {
  const TestFolder t;
  const fs::path graph = save(t / "out", "llama") / "openvino_model.xml";
  const Session paged = open_with(graph, "PA");
  const Session plain = open_with(graph, "SDPA");
  RepeatedCall first = call_of(paged), second = call_of(plain);
  const Tensor ids = token_ids(1, 3), next = token_ids(1, 1);
  const Tensor hole = Tensor::of<int64_t>({1, 4}, {1, 0, 1, 1}), all = ones(1, 5);
  for (RepeatedCall* call : {&first, &second}) step(*call, ids, ones(1, 3), 0);
  EXPECT_LE(golden::max_difference(step(first, next, hole, 3), step(second, next, hole, 3),
                                   [](int64_t) { return true; }),
            decoders::kTolerance);
  decoders::refused(kInvalid, "shows slot 1 of row 0", [&] { step(first, next, all, 4); });
  first.reset_states();
  EXPECT_NO_THROW(step(first, next, ones(1, 1), 0));
  decoders::refused(kInvalid, "attention_mask has 4 columns, need 2",
                    [&] { step(first, next, ones(1, 4), 1); });
}

TEST(PagedAttention, WindowsTakeNoPaddingWithinARow) {
  const TestFolder t;
  const fs::path graph = save(t / "out", "mistral") / "openvino_model.xml";
  const Session paged = open_with(graph, "PA");
  RepeatedCall call = call_of(paged);
  decoders::refused(kInvalid, "hides slots within row 0", [&] {
    step(call, token_ids(1, 3), Tensor::of<int64_t>({1, 3}, {1, 0, 1}), 0);
  });
  // By itself the runner keeps plain attention, which takes any mask.
  RepeatedCall other = call_of(Session::open("openvino", graph));
  EXPECT_NO_THROW(step(other, token_ids(1, 3), Tensor::of<int64_t>({1, 3}, {1, 0, 1}), 0));
}

}  // namespace
}  // namespace slipway
