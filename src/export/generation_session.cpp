// A decoder with its cache: tokens in, logits out, call after call.
#include "slipway/generation_session.h"

#include <algorithm>
#include <atomic>

#include "export/decoder_of.h"
#include "runtime/input_values.h"

namespace slipway {
namespace {

constexpr const char* kWhere = "session";

}  // namespace

struct GenerationSession::Impl {
  std::unique_ptr<DecoderState> state;
  std::atomic<bool> busy{false};
};

namespace {

/// Marks a session as in use; a second use at the same time is the caller's mistake.
class InUse {
 public:
  template <class Impl>
  explicit InUse(const std::unique_ptr<Impl>& impl) : busy_(busy_of(impl)) {
    if (busy_.exchange(true, std::memory_order_acquire))
      throw Error(kUsage,
                  "[session] got two calls at once into one session; give each thread a session "
                  "of its own, they share the weights");
  }
  ~InUse() { busy_.store(false, std::memory_order_release); }
  InUse(const InUse&) = delete;
  InUse& operator=(const InUse&) = delete;

 private:
  template <class Impl>
  static std::atomic<bool>& busy_of(const std::unique_ptr<Impl>& impl) {
    if (impl == nullptr)
      throw Error(kUsage, "[session] got a session that was moved from; assign one to it first");
    return impl->busy;
  }

  std::atomic<bool>& busy_;
};

Tensor as_int64(const Tensor& tensor, const char* name) {
  if (!tensor.defined())
    throw Error(kUsage, std::string("[session] ") + name + " is an undefined tensor");
  return convert_input(tensor, DType::kI64, kWhere, name);
}

}  // namespace

GenerationSession::GenerationSession(const ExportedModel& exported,
                                     const GenerationSessionOptions& options)
    : impl_(std::make_unique<Impl>()) {
  DecoderStateOptions state = decoder_options_of(exported);
  state.max_cache_len = options.max_cache_len;
  impl_->state = make_decoder_state(decoder_graphs_of(exported), state);
}

GenerationSession::GenerationSession(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
GenerationSession::GenerationSession(GenerationSession&&) noexcept = default;
GenerationSession& GenerationSession::operator=(GenerationSession&&) noexcept = default;
GenerationSession::~GenerationSession() = default;

Tensor GenerationSession::forward(const Tensor& input_ids, const Tensor& attention_mask,
                                  int64_t logits_to_keep) {
  const InUse use(impl_);
  const Tensor ids = as_int64(input_ids, "input_ids");
  Tensor mask;
  if (attention_mask.defined()) {
    mask = as_int64(attention_mask, "attention_mask");
  } else {
    mask = Tensor(DType::kI64, ids.shape());
    std::ranges::fill(mask.mutable_values<int64_t>(), int64_t{1});
  }
  const bool all = logits_to_keep == 0 && ids.rank() == 2;
  return impl_->state->forward(ids, mask, all ? std::max<int64_t>(1, ids.dim(1)) : logits_to_keep);
}

int64_t GenerationSession::batch_size() const {
  const InUse use(impl_);
  return impl_->state->batch_size();
}

int64_t GenerationSession::length() const {
  const InUse use(impl_);
  return impl_->state->length();
}

std::optional<int64_t> GenerationSession::max_length() const {
  const InUse use(impl_);
  return impl_->state->max_length();
}

void GenerationSession::reset() {
  const InUse use(impl_);
  impl_->state->reset();
}

void GenerationSession::reorder(std::span<const int64_t> rows) {
  const InUse use(impl_);
  impl_->state->reorder(rows);
}

void GenerationSession::crop(int64_t length) {
  const InUse use(impl_);
  impl_->state->crop(length);
}

GenerationSession GenerationSession::copy() const {
  const InUse use(impl_);
  auto made = std::make_unique<Impl>();
  made->state = impl_->state->copy();
  return GenerationSession(std::move(made));
}

std::vector<std::pair<std::string, Tensor>> GenerationSession::cache() const {
  const InUse use(impl_);
  return impl_->state->cache();
}

double GenerationSession::runtime_seconds() const {
  const InUse use(impl_);
  return impl_->state->runtime_seconds();
}

}  // namespace slipway
