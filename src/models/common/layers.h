// Layers that families share.
#pragma once

#include "models/model.h"

namespace slipway::models {

enum class Bias { kNo, kYes };

/// x W' + b with the weights `weight` [out, in] and `bias` [out] below the scope. `why` names the
/// settings that `out` comes from, for messages about a checkpoint that does not fit.
Value linear(const Scope& s, Value x, int64_t out, Bias bias, std::string_view why);

/// A norm's epsilon: a number above 0 and below 1, or Error{kInvalid} naming the key.
double read_epsilon(const Config& config, std::string_view key, double fallback);

/// The table `weight` [count, size] below the scope, looked up by ids.
Value embedding(const Scope& s, Value ids, int64_t count, int64_t size, std::string_view why);

Value layer_norm(const Scope& s, Value x, double eps);
Value rms_norm(const Scope& s, Value x, double eps);

/// An activation by the name that configs use (`hidden_act`): "gelu", "gelu_new", "silu", "relu",
/// ... Error{kUnsupported} lists the names.
Value activation(const std::string& name, Value x);

/// [batch, length, heads * head_dim] -> [batch, heads, length, head_dim].
Value split_heads(Value x, int64_t heads, int64_t head_dim);
/// The way back.
Value merge_heads(Value x);

}  // namespace slipway::models
