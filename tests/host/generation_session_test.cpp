// Sessions of the public API: many on one model, each in a thread of its own, misuse refused.
#include <fmt/format.h>

#include <atomic>
#include <thread>

#include "decoder_util.h"
#include "slipway/generation_session.h"

namespace slipway::decoders {
namespace {

constexpr int kThreads = 8, kCalls = 200;

/// What call number `call` of a thread reads: prompts of different lengths and batches, then steps.
struct Work {
  int64_t rows, prompt;
  Tensor ids(int thread, int64_t length) const {
    Tensor tensor = token_ids(rows, length);
    for (int64_t& id : tensor.mutable_values<int64_t>()) id = 3 + (id + thread * 7) % 90;
    return tensor;
  }
};

Work work_of(int thread, int round) { return {1 + thread % 3, 1 + (thread * 5 + round * 3) % 11}; }

/// All logits of `kCalls` calls of one thread.
std::vector<Tensor> serve(GenerationSession& session, int thread) {
  std::vector<Tensor> logits;
  for (int round = 0; static_cast<int>(logits.size()) < kCalls; ++round) {
    const Work work = work_of(thread, round);
    session.reset();
    logits.push_back(session.forward(work.ids(thread, work.prompt)).clone());
    for (int step = 0; step < 9 && static_cast<int>(logits.size()) < kCalls; ++step)
      logits.push_back(session.forward(work.ids(thread + step, 1)).clone());
  }
  return logits;
}

class Sessions : public testing::TestWithParam<const char*> {};

// PC-49: one model, a session a thread; every call's logits have the bits of the serial run.
TEST_P(Sessions, InThreadsEqualTheSerialRuns) {
  ExportedModel exported = export_made(golden::folder("llama-causal-lm"), GetParam());
  // More threads in the runtime would change nothing but the time.
  exported.to(RunnerOptions{
      .device = "cpu", .providers = {}, .intra_op_threads = 1, .session_options = {}});
  std::vector<std::vector<Tensor>> serial, parallel(kThreads);
  for (int thread = 0; thread < kThreads; ++thread) {
    GenerationSession session(exported);
    serial.push_back(serve(session, thread));
  }
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread)
    threads.emplace_back([&, thread] {
      GenerationSession session(exported);
      parallel[static_cast<size_t>(thread)] = serve(session, thread);
    });
  for (std::thread& thread : threads) thread.join();
  for (size_t thread = 0; thread < kThreads; ++thread)
    for (size_t call = 0; call < kCalls; ++call)
      ASSERT_TRUE(same_bits(serial[thread][call], parallel[thread][call]))
          << "thread " << thread << ", call " << call;
}

// Two sessions, a call of one after a call of the other, moved from thread to thread.
TEST_P(Sessions, InterleavedAcrossThreadsEqualTheSerialRuns) {
  const ExportedModel exported = export_made(golden::folder("mistral-causal-lm"), GetParam());
  const Tensor ids[] = {token_ids(1, 40), token_ids(2, 40)};
  std::vector<Tensor> want[2];
  for (int which : {0, 1}) {
    GenerationSession session(exported, {.max_cache_len = 48});
    for (int64_t at = 0; at < 40; ++at)
      want[which].push_back(session.forward(columns(ids[which], at, at + 1)).clone());
  }
  GenerationSession sessions[] = {GenerationSession(exported, {.max_cache_len = 48}),
                                  GenerationSession(exported, {.max_cache_len = 48})};
  std::mutex turns[2];
  int64_t at[2] = {0, 0};
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread)
    threads.emplace_back([&, thread] {
      for (int which = thread % 2;; which = 1 - which) {
        const std::lock_guard turn(turns[which]);
        if (at[0] == 40 && at[1] == 40) return;
        if (at[which] == 40) continue;
        const Tensor got = sessions[which].forward(columns(ids[which], at[which], at[which] + 1));
        if (!same_bits(got, want[which][static_cast<size_t>(at[which]++)])) ++wrong;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

INSTANTIATE_TEST_SUITE_P(Golden, Sessions, testing::Values("growing", "one_token", "static"),
                         [](const auto& made) { return std::string(made.param); });

TEST(GenerationSession, RefusesTwoCallsAtOnce) {
  const ExportedModel exported = export_made(golden::folder("llama-causal-lm"), "growing");
  GenerationSession session(exported);
  std::atomic<bool> done{false};
  std::atomic<int> refusals{0}, others{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&] {
      while (!done) {
        try {
          session.reset();
          session.forward(token_ids(4, 60));
        } catch (const Error& e) {
          const bool expected = e.kind() == kUsage && contains(e.what(), "two calls at once");
          ++(expected ? refusals : others);
        }
      }
    });
  for (int wait = 0; wait < 1000 && refusals == 0; ++wait)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  done = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(refusals, 0);
  EXPECT_EQ(others, 0);
  // The session is none the worse for it.
  session.reset();
  GenerationSession fresh(exported);
  EXPECT_TRUE(same_bits(session.forward(token_ids(2, 5)), fresh.forward(token_ids(2, 5))));
}

TEST(GenerationSession, ReadsIntegersOfAnyWidthAndKeepsWhatIsAsked) {
  const ExportedModel exported = export_made(golden::folder("llama-causal-lm"), "one_token");
  GenerationSession session(exported);
  const Tensor narrow = Tensor::of<int32_t>({1, 3}, {5, 6, 7});
  const Tensor all = session.forward(narrow, {}, 0).clone();
  EXPECT_EQ(all.shape(), (Shape{1, 3, 128}));
  session.reset();
  EXPECT_LE(cases::difference(session.forward(narrow), columns(all, 2, 3)), kTolerance);
  refused(kInvalid, "input_ids", [&] { session.forward(Tensor::of<int64_t>({1, 1}, {128})); });
  refused(kInvalid, "need 1 to 1", [&] {
    session.forward(Tensor::of<int64_t>({1, 1}, {3}), {}, 2);
  });
  refused(kUsage, "undefined", [&] { session.forward(Tensor()); });
  const GenerationSession copied = session.copy();
  session.reset();
  EXPECT_EQ(copied.length(), 3);
  EXPECT_EQ(copied.batch_size(), 1);
  EXPECT_GT(copied.cache().size(), 0u);
}

TEST(GenerationSession, RefusesToBeUsedAfterItWasMovedFrom) {
  GenerationSession session(export_made(golden::folder("llama-causal-lm"), "growing"));
  const GenerationSession moved = std::move(session);
  EXPECT_EQ(moved.length(), 0);
  refused(kUsage, "moved from", [&] { session.forward(token_ids(1, 1)); });  // NOLINT
  refused(kUsage, "moved from", [&] { session.copy(); });                    // NOLINT
}

TEST(GenerationSession, NeedsADecoder) {
  const ExportedModel bert = golden::export_case("bert-base", "auto");
  refused(kUnsupported, "is no decoder that can generate",
          [&] { GenerationSession session(bert); });
}

}  // namespace
}  // namespace slipway::decoders
