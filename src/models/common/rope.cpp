// Rotary position angles as part of the graph.
#include "models/common/rope.h"

#include <cmath>

#include "checkpoint/rope_frequencies.h"

namespace slipway::models {
namespace {

Value frequencies(Graph& g, const std::vector<float>& values) {
  return g.constant(Tensor::copy_of<float>({static_cast<int64_t>(values.size())},
                                           std::span<const float>(values)));
}

/// How many positions the call reaches: the largest position plus one, as float32.
Value length_reached(Value positions) { return to(amax(positions), DType::kF32) + 1.0; }

/// Dynamic NTK: theta grows with the length n reached beyond the trained maximum m,
/// theta' = theta ((f n / m) - (f - 1))^(d / (d - 2)), which is theta itself at n = m.
Value dynamic_frequencies(Value positions, const RopeParameters& rope, int64_t dim,
                          int64_t max_positions) {
  Graph& g = positions.graph();
  const double m = static_cast<double>(max_positions), d = static_cast<double>(dim);
  const Value trained = full(g, {}, m, DType::kF32);
  const Value reached = g.emit("aten::maximum", {length_reached(positions), trained});
  const Value growth = reached * (rope.factor / m) - (rope.factor - 1.0);
  const Value theta = pow(growth, d / (d - 2.0)) * rope.rope_theta;
  std::vector<float> exponents;
  for (int64_t i = 0; i < dim; i += 2)
    exponents.push_back(static_cast<float>(i) / static_cast<float>(dim));
  return reciprocal(pow(theta, frequencies(g, exponents)));
}

/// LongRoPE: one set of factors up to the original length, another beyond it.
Value long_frequencies(Value positions, const RopeParameters& rope, int64_t head_dim,
                       int64_t max_positions) {
  Graph& g = positions.graph();
  const int64_t original = rope.original_max_position_embeddings.value_or(max_positions);
  const auto at = [&](int64_t length) {
    return frequencies(g, rope_frequencies(rope, head_dim, max_positions, length).inv_freq);
  };
  const Value beyond =
      greater(positions.graph().emit("aten::add.Scalar", {amax(positions), 1}), original);
  return where(beyond, at(original + 1), at(original));
}

}  // namespace

Rotary rotary(ModelBuilder& m, Value positions, const RopeParameters& rope, int64_t head_dim,
              int64_t max_position_embeddings) {
  const Scope s = m.scope("model.rotary_emb");
  const auto in = s.enter();
  const RopeFrequencies fixed = rope_frequencies(rope, head_dim, max_position_embeddings);
  Value inv_freq;
  if (rope.rope_type == "dynamic")
    inv_freq =
        dynamic_frequencies(positions, rope, rotary_dim(rope, head_dim), max_position_embeddings);
  else if (rope.rope_type == "longrope")
    inv_freq = long_frequencies(positions, rope, head_dim, max_position_embeddings);
  else inv_freq = frequencies(m.graph(), fixed.inv_freq);
  const Value angles = to(unsqueeze(positions, 2), DType::kF32) * inv_freq;
  const auto scaled = [&](Value v) {
    if (fixed.attention_scaling != 1.0) v = v * fixed.attention_scaling;
    return to(v, m.options().dtype);
  };
  return {scaled(cos(angles)), scaled(sin(angles))};
}

}  // namespace slipway::models
