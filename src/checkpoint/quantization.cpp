// Which quantization scheme a checkpoint has, and refusal of those not known here.
#include "checkpoint/quantization.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/json.h"
#include "checkpoint/fp8.h"
#include "checkpoint/names.h"

namespace slipway {
namespace {

constexpr const char* kWayOut =
    "use the unquantized checkpoint or a GGUF file of the model, or dequantize it once with "
    "transformers and save it with save_pretrained";

[[noreturn]] void refuse_scheme(const Config& config, const std::string& scheme) {
  throw Error(
      kUnsupported,
      fmt::format("[checkpoint] {}: the weights are quantized with {}, need plain weights or "
                  "FP8 (fp8, or compressed-tensors float-quantized); {}",
                  config.source(), scheme, kWayOut));
}

/// What names of packed tensors say about the scheme that wrote them.
struct PackedName {
  const char* pattern;
  const char* scheme;
};
constexpr PackedName kPackedNames[] = {
    {"*.qweight", "gptq or awq"},
    {"*.qzeros", "gptq or awq"},
    {"*.g_idx", "gptq"},
    {"*.weight_packed", "compressed-tensors"},
    {"*.weight.absmax", "bitsandbytes"},
    {"*.weight.quant_state.*", "bitsandbytes"},
    {"*.SCB", "bitsandbytes"},
    {"*_blocks", "mxfp4"},
    {"*.weight_codebooks", "aqlm or vptq"},
};

void refuse_packed_names(const WeightStore& store, const Config& config) {
  for (const PackedName& packed : kPackedNames)
    for (const std::string& name : store.names())
      if (glob_match(packed.pattern, name) && !is_floating(store.find(name)->dtype()))
        refuse_scheme(config, fmt::format("{} (it has {}, and the config has no "
                                          "quantization_config)",
                                          packed.scheme, list_names({name})));
}

Config quantization_section(const Config& config) {
  for (const char* key : {"quantization_config", "compression_config"})
    if (auto section = config.section(key)) return *section;
  for (const char* key : {"text_config", "llm_config"})
    if (const auto nested = config.section(key)) return quantization_section(*nested);
  return config;
}

ScaleBlock block_from(const Json& value, const std::string& where) {
  ScaleBlock block;
  const auto valid = [](const Json& v) {
    return v.is_number_integer() && v.get<int64_t>() > 0 && v.get<int64_t>() <= (int64_t{1} << 40);
  };
  if (!value.is_array() || value.size() != 2 || !valid(value[0]) || !valid(value[1]))
    throw Error(kInvalid, fmt::format("[{}] got {}, need a list of 2 positive integers", where,
                                      describe(value)));
  block.rows = value[0].get<int64_t>();
  block.columns = value[1].get<int64_t>();
  return block;
}

std::optional<ScaleBlock> finegrained_block(const Config& section) {
  const auto found = section.json().find("weight_block_size");
  if (found == section.json().end()) return ScaleBlock{};  // the scheme's documented default
  if (found->is_null()) return std::nullopt;
  return block_from(*found, section.source() + ": weight_block_size");
}

/// The block of one config group's weights; refuses everything but 8-bit floats.
std::optional<ScaleBlock> group_block(const Config& config, const Config& group) {
  const auto weights = group.section("weights");
  if (!weights) return std::nullopt;
  const std::string type = weights->get_string_or("type", "int");
  const int64_t bits = weights->get_int_or("num_bits", 8, 1, 64);
  if (type != "float" || bits != 8)
    refuse_scheme(config, fmt::format("compressed-tensors {}-bit {} weights", bits, type));
  const std::string strategy = weights->get_string_or("strategy", "tensor");
  if (strategy == "tensor" || strategy == "channel") return std::nullopt;
  if (strategy == "block" && weights->has("block_structure"))
    return block_from(weights->json()["block_structure"], weights->source() + ": block_structure");
  if (strategy == "group") return ScaleBlock{1, weights->get_int("group_size", 1)};
  refuse_scheme(config, fmt::format("compressed-tensors strategy {}", quote(strategy)));
}

std::optional<ScaleBlock> compressed_block(const Config& config, const Config& section) {
  const std::string format = section.get_string_or("format", "dense");
  if (format != "float-quantized" && format != "naive-quantized")
    refuse_scheme(config, fmt::format("compressed-tensors format {}", quote(format)));
  if (const auto sparsity = section.section("sparsity_config"))
    if (const std::string kind = sparsity->get_string_or("format", "dense"); kind != "dense")
      refuse_scheme(config, fmt::format("compressed-tensors sparsity {}", quote(kind)));
  const auto groups = section.section("config_groups");
  std::optional<ScaleBlock> block;
  if (!groups) return block;
  for (const auto& [name, value] : groups->json().items()) {
    const auto group = groups->section(name);
    const auto own = group ? group_block(config, *group) : std::nullopt;
    if (own && block && (own->rows != block->rows || own->columns != block->columns))
      refuse_scheme(config, "compressed-tensors groups of different block sizes");
    if (own) block = own;
  }
  return block;
}

struct Scheme {
  bool fp8 = false;
  std::optional<ScaleBlock> block;
};

Scheme scheme_of(const Config& config) {
  const std::string method = config.quant_method();
  if (method.empty()) return {};
  const Config section = quantization_section(config);
  if (method == "fp8") return {true, finegrained_block(section)};
  if (method != "compressed-tensors") refuse_scheme(config, method);
  if (!section.has("config_groups") && section.get_string_or("format", "dense") == "dense")
    return {};
  return {true, compressed_block(config, section)};
}

}  // namespace

void check_quantization(const Config& config) { scheme_of(config); }

std::shared_ptr<const WeightStore> open_quantization(std::shared_ptr<const WeightStore> stored,
                                                     const Config& config) {
  SLIPWAY_ASSERT(stored != nullptr);
  const Scheme scheme = scheme_of(config);
  if (scheme.fp8) return dequantize_fp8(std::move(stored), scheme.block);
  refuse_packed_names(*stored, config);
  const auto is_f8 = [&](const std::string& name) {
    const DType dtype = stored->find(name)->dtype();
    return dtype == DType::kF8E4M3 || dtype == DType::kF8E5M2;
  };
  if (std::any_of(stored->names().begin(), stored->names().end(), is_f8))
    return dequantize_fp8(std::move(stored), std::nullopt);
  return stored;
}

}  // namespace slipway
