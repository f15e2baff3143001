// The inputs that a caller may leave out, and what they are then.
#include "runtime/input_defaults.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "runtime/input_values.h"

namespace slipway {
namespace {

const IoSpec* find_spec(const std::vector<IoSpec>& specs, std::string_view leaf) {
  const auto at =
      std::find_if(specs.begin(), specs.end(), [&](const IoSpec& s) { return s.name == leaf; });
  return at == specs.end() ? nullptr : &*at;
}

const Tensor* find_tensor(const Leaves& given, const std::string& leaf) {
  const auto at = given.find(leaf);
  return at == given.end() ? nullptr : &at->second;
}

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

/// Recurrent states and static caches: they do not tell how many tokens went before.
bool is_opaque_state(const IoSpec& spec) {
  const std::string_view name = spec.name;
  const bool state = name.rfind("past_", 0) == 0 || name.rfind("cache_params", 0) == 0 ||
                     name.rfind("state", 0) == 0;
  return state && !is_growing_cache(spec);
}

/// The number of cached tokens: 0 without a cache, from the caches given, 0 when none is.
std::optional<int64_t> past_length(const std::vector<IoSpec>& specs, const Leaves& given) {
  if (has_static_cache(specs)) return std::nullopt;  // positions and masks are the caller's
  bool growing = false, opaque = false;
  for (const IoSpec& spec : specs) {
    opaque = opaque || is_opaque_state(spec);
    if (!is_growing_cache(spec)) continue;
    growing = true;
    if (const Tensor* t = find_tensor(given, spec.name); t != nullptr && t->rank() == 4)
      return t->dim(2);
  }
  if (opaque && !growing) return std::nullopt;
  return 0;
}

/// A tensor of one value: 0 or 1.
Tensor filled(DType dtype, Shape shape, uint8_t value) {
  Tensor bytes(DType::kU8, std::move(shape));
  std::ranges::fill(bytes.mutable_values<uint8_t>(), value);
  return convert_input(bytes, dtype, "runtime", "a default");
}

/// Positions of the last `tokens` columns of a mask [batch, total].
Tensor positions_from_mask(const Tensor& mask, int64_t tokens) {
  const Tensor wide = convert_input(mask, DType::kI64, "runtime", "attention_mask");
  const int64_t batch = wide.dim(0), total = wide.dim(1);
  Tensor positions(DType::kI64, {batch, tokens});
  auto out = positions.mutable_values<int64_t>();
  const auto in = wide.values<int64_t>();
  for (int64_t row = 0; row < batch; ++row) {
    int64_t before = 0;
    for (int64_t column = 0; column < total; ++column) {
      const bool visible = in[static_cast<size_t>(row * total + column)] != 0;
      const int64_t at = column - (total - tokens);
      if (at >= 0) out[static_cast<size_t>(row * tokens + at)] = visible ? before : 0;
      before += visible ? 1 : 0;
    }
  }
  return positions;
}

bool takes_plain(const IoSpec* spec, size_t rank) {
  return spec != nullptr && spec->dims.size() == rank &&
         (is_integral(spec->dtype) || spec->dtype == DType::kBool);
}

}  // namespace

bool is_growing_cache(const IoSpec& spec) {
  const std::string& leaf = spec.name;
  const bool named = leaf.rfind("past_key_values.", 0) == 0 &&
                     (ends_with(leaf, ".keys") || ends_with(leaf, ".values") ||
                      ends_with(leaf, ".key") || ends_with(leaf, ".value"));
  const bool cross =
      leaf.find("cross_attention_cache") != leaf.npos || leaf.find(".encoder.") != leaf.npos;
  return named && !cross && spec.dims.size() == 4 && spec.dims[1].is_fixed() &&
         !spec.dims[2].is_fixed() && spec.dims[3].is_fixed();
}

bool has_static_cache(const std::vector<IoSpec>& specs) {
  return std::any_of(specs.begin(), specs.end(), [](const IoSpec& spec) {
    return spec.name.rfind("past_key_values.", 0) == 0 &&
           ends_with(spec.name, ".cumulative_length");
  });
}

std::string cache_output(const std::string& input) {
  constexpr std::string_view kPast = "past_key_values.";
  const bool renamed =
      input.starts_with(kPast) && (ends_with(input, ".key") || ends_with(input, ".value"));
  return renamed ? "present." + input.substr(kPast.size()) : input;
}

bool has_default(const IoSpec& spec) {
  return is_growing_cache(spec) || spec.name == "beam_idx" || spec.name == "attention_mask" ||
         spec.name == "position_ids" || spec.name == "token_type_ids" ||
         spec.name == "num_logits_to_keep";
}

std::optional<TokenLayout> token_layout(const std::vector<IoSpec>& specs, const Leaves& given) {
  struct Anchor {
    const char* name;
    int64_t rank;
  };
  for (const Anchor anchor :
       {Anchor{"input_ids", 2}, Anchor{"inputs_embeds", 3}, Anchor{"decoder_input_ids", 2}}) {
    const Tensor* t = find_tensor(given, anchor.name);
    if (find_spec(specs, anchor.name) == nullptr || t == nullptr || t->rank() != anchor.rank)
      continue;
    return TokenLayout{anchor.name, t->dim(0), t->dim(1), past_length(specs, given)};
  }
  return std::nullopt;
}

void check_mask_shape(const std::vector<IoSpec>& specs, const Leaves& given,
                      const TokenLayout& layout, std::string_view where) {
  const Tensor* mask = find_tensor(given, "attention_mask");
  // In an encoder-decoder the mask belongs to the encoder, the cache to the decoder.
  const bool has_decoder = find_spec(specs, "decoder_input_ids") != nullptr;
  if (mask == nullptr || mask->rank() != 2 || layout.anchor == "decoder_input_ids") return;
  const std::optional<int64_t> past = has_decoder ? 0 : layout.past;
  if (!past) return;
  const int64_t total = *past + layout.tokens;
  if (mask->dim(0) == layout.batch && mask->dim(1) == total) return;
  throw Error(kInvalid,
              fmt::format("[{}] attention_mask has shape {}, need [{}, {}]: {} has batch {} and {} "
                          "tokens, the cache holds {}",
                          where, shape_string(mask->shape()), layout.batch, total, layout.anchor,
                          layout.batch, layout.tokens, *past));
}

Leaves with_defaults(const std::vector<IoSpec>& specs, const Leaves& given,
                     const TokenLayout& layout) {
  Leaves all = given;
  const auto is_missing = [&](const char* leaf) { return find_tensor(all, leaf) == nullptr; };
  const bool given_or_static =
      has_static_cache(specs) || std::any_of(specs.begin(), specs.end(), [&](const IoSpec& s) {
        return is_growing_cache(s) && find_tensor(given, s.name) != nullptr;
      });
  for (const IoSpec& spec : specs)
    if (!given_or_static && !spec.optional && is_growing_cache(spec))
      all[spec.name] = Tensor(spec.dtype, {layout.batch, spec.dims[1].size, 0, spec.dims[3].size});

  const bool has_decoder = find_spec(specs, "decoder_input_ids") != nullptr;
  const IoSpec* mask = find_spec(specs, "attention_mask");
  const bool on_decoder = layout.anchor == "decoder_input_ids";
  if (takes_plain(mask, 2) && is_missing("attention_mask") && !on_decoder && layout.past) {
    const int64_t past = has_decoder ? 0 : *layout.past;
    all["attention_mask"] = filled(mask->dtype, {layout.batch, past + layout.tokens}, 1);
  }

  const IoSpec* positions = find_spec(specs, "position_ids");
  if (takes_plain(positions, 2) && is_missing("position_ids")) {
    const Tensor* seen = find_tensor(all, "attention_mask");
    if (seen != nullptr && seen->rank() == 2 && seen->dim(1) >= layout.tokens) {
      all["position_ids"] = positions_from_mask(*seen, layout.tokens);
    } else if (seen == nullptr && layout.past) {
      const Tensor ones = filled(DType::kU8, {layout.batch, *layout.past + layout.tokens}, 1);
      all["position_ids"] = positions_from_mask(ones, layout.tokens);
    }
  }

  const IoSpec* types = find_spec(specs, "token_type_ids");
  if (takes_plain(types, 2) && is_missing("token_type_ids"))
    all["token_type_ids"] = Tensor(types->dtype, {layout.batch, layout.tokens});

  if (const IoSpec* beams = find_spec(specs, "beam_idx");
      takes_plain(beams, 1) && is_missing("beam_idx")) {
    Tensor rows(DType::kI64, {layout.batch});
    std::iota(rows.mutable_values<int64_t>().begin(), rows.mutable_values<int64_t>().end(), 0);
    all["beam_idx"] = convert_input(rows, beams->dtype, "runtime", "beam_idx");
  }

  const IoSpec* keep = find_spec(specs, "num_logits_to_keep");
  if (takes_plain(keep, 0) && is_missing("num_logits_to_keep"))
    all["num_logits_to_keep"] = filled(keep->dtype, {}, 0);
  return all;
}

}  // namespace slipway
