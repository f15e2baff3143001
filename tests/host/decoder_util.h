// Decoders of the golden checkpoints, with every kind of cache, for tests of their states.
#pragma once

#include <algorithm>
#include <map>

#include "case_util.h"
#include "export/impl.h"
#include "generation/decoder.h"

namespace slipway::decoders {

using cases::same_bits;
using cases::token_ids;

constexpr double kTolerance = 1e-4;  // float32 sums in another order

/// A golden checkpoint and a way to export it.
struct Made {
  std::string model;
  /// "uncached"; "growing": one graph; "one_token", "many_tokens": prefill and decode; "static",
  /// "static_many": the same with a static cache of 24 slots that may be chosen anew.
  std::string how;
  std::string format = "onnx";  ///< as golden::config_of() has it
};

inline void PrintTo(const Made& made, std::ostream* out) {
  *out << made.model << " " << made.how << " " << made.format;
}

/// "llama_growing_openvino".
inline std::string name_of(const testing::TestParamInfo<Made>& info) {
  const Made& made = info.param;
  return golden::case_label(made.model.substr(0, made.model.find('-')) + "_" + made.how,
                            made.format);
}

/// Every way to export these, in every format.
inline std::vector<Made> all_made(const std::vector<std::string>& models) {
  std::vector<Made> all;
  for (const char* format : {"onnx", "openvino", "openvino_stateless", "executorch"})
    for (const char* how :
         {"growing", "uncached", "one_token", "many_tokens", "static", "static_many"})
      for (const std::string& model : models)
        if (how != std::string("uncached") || format != std::string("openvino_stateless"))
          all.push_back({model + "-causal-lm", how, format});
  return all;
}

class Fixture {
 public:
  explicit Fixture(ExportedModel exported) : exported_(std::move(exported)) {}

  const ExportedModel& exported() const { return exported_; }
  DecoderGraphs graphs() const {
    const auto& runners = exported_.runners();
    return {runners.front().second.impl().runner(), runners.back().second.impl().runner()};
  }
  std::unique_ptr<DecoderState> state(const DecoderStateOptions& options = {}) const {
    return make_decoder_state(graphs(), options);
  }

 private:
  ExportedModel exported_;
};

inline ExportedModel export_made(const std::filesystem::path& checkpoint, const std::string& how,
                                 const std::string& format = "onnx") {
  const auto config = golden::config_of(format);
  const auto exporter = AutoHfExporter::from_config(*config);
  const bool whole = how == "uncached" || how == "growing";
  const auto model = PreTrainedModel::from_pretrained(
      checkpoint, how == "uncached" ? "text-generation" : "text-generation-with-past");
  if (whole) return exporter->export_model(model, model.example_inputs(), *config);
  DecomposeOptions options;
  options.multi_token_decode = how == "many_tokens" || how == "static_many";
  if (how.starts_with("static")) {
    options.generation_config.cache_implementation = "static";
    options.generation_config.max_cache_len = 24;
  }
  return exporter->export_for_generation(model, model.example_inputs(), *config, options);
}

/// Exported once a process. Never destroyed: a runtime that was loaded later than the first of them
/// ends earlier.
inline const Fixture& fixture(const Made& made) {
  static auto& kept = *new std::map<std::string, std::unique_ptr<Fixture>>;
  auto& at = kept[made.model + " " + made.how + " " + made.format];
  if (!at)
    at = std::make_unique<Fixture>(export_made(golden::folder(made.model), made.how, made.format));
  return *at;
}

inline Tensor ones(int64_t rows, int64_t length) {
  Tensor mask(DType::kI64, {rows, length});
  std::ranges::fill(mask.mutable_values<int64_t>(), int64_t{1});
  return mask;
}

/// A mask with so many pads in front of each row.
inline Tensor left_padding(const std::vector<int64_t>& pads, int64_t length) {
  Tensor mask(DType::kI64, {static_cast<int64_t>(pads.size()), length});
  auto* out = mask.mutable_values<int64_t>().data();
  for (const int64_t pad : pads)
    for (int64_t i = 0; i < length; ++i) *out++ = i < pad ? 0 : 1;
  return mask;
}

/// Columns `begin` to `end` of a tensor [rows, columns, ...].
inline Tensor columns(const Tensor& from, int64_t begin, int64_t end) {
  Shape shape = from.shape();
  shape[1] = end - begin;
  Tensor to(from.dtype(), shape);
  const int64_t row = from.nbytes() / from.dim(0), column = row / from.dim(1);
  for (int64_t r = 0; r < from.dim(0); ++r)
    std::memcpy(to.mutable_data() + r * column * (end - begin),
                from.data() + r * row + begin * column,
                static_cast<size_t>(column * (end - begin)));
  return to;
}

/// Rows of a tensor, in this order.
inline Tensor rows_of(const Tensor& from, const std::vector<int64_t>& rows) {
  Shape shape = from.shape();
  shape[0] = static_cast<int64_t>(rows.size());
  Tensor to(from.dtype(), shape);
  const int64_t row = from.nbytes() / from.dim(0);
  for (size_t i = 0; i < rows.size(); ++i)
    std::memcpy(to.mutable_data() + static_cast<int64_t>(i) * row, from.data() + rows[i] * row,
                static_cast<size_t>(row));
  return to;
}

/// Reads ids in calls that end at `ends`; the logits of all of them, [rows, columns, vocabulary].
inline Tensor read(DecoderState& state, const Tensor& ids, const Tensor& mask,
                   const std::vector<int64_t>& ends) {
  std::vector<Tensor> parts;
  int64_t begin = 0, total = 0;
  for (const int64_t end : ends) {
    if (end == begin) continue;
    parts.push_back(
        state.forward(columns(ids, begin, end), columns(mask, begin, end), end - begin).clone());
    total += end - begin;
    begin = end;
  }
  Tensor all(DType::kF32, {ids.dim(0), total, parts[0].dim(2)});
  const int64_t column = parts[0].dim(2) * 4;
  int64_t at = 0;
  for (const Tensor& part : parts) {
    for (int64_t r = 0; r < all.dim(0); ++r)
      std::memcpy(all.mutable_data() + (r * total + at) * column,
                  part.data() + r * part.dim(1) * column,
                  static_cast<size_t>(part.dim(1) * column));
    at += part.dim(1);
  }
  return all;
}

/// The largest difference of logits over tokens that the mask keeps; infinite where one is no
/// number, padding included.
inline double difference_where(const Tensor& got, const Tensor& want, const Tensor& mask) {
  if (got.shape() != want.shape()) return INFINITY;
  const int64_t vocabulary = got.dim(2);
  for (const float value : got.values<float>())
    if (!std::isfinite(value)) return INFINITY;
  return golden::max_difference(got, want, [&](int64_t i) {
    return mask.values<int64_t>()[static_cast<size_t>(i / vocabulary)] != 0;
  });
}

/// Expects an Error of this kind whose message has this part.
template <class Call>
void refused(ErrorKind kind, const std::string& part, Call call) {
  EXPECT_TRUE(contains(error_of(kind, call), part));
}

}  // namespace slipway::decoders
