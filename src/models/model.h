// What a model file states, and the builder that its functions write into.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/binder.h"
#include "checkpoint/config.h"
#include "ir/build.h"
#include "ir/program.h"

namespace slipway::models {

/// How a decoder keeps the keys and values of earlier tokens.
enum class CacheKind {
  kNone,         ///< no cache input; keys and values are still returned
  kGrowing,      ///< past_key_values in, past and current out
  kStatic,       ///< slots in, written where the layer's cumulative_length says, out
  kStaticFresh,  ///< the same on a cache of zeros that the graph makes: the first call
};

inline bool is_static(CacheKind cache) {
  return cache == CacheKind::kStatic || cache == CacheKind::kStaticFresh;
}

/// The choices of one export.
struct BuildOptions {
  DType dtype = DType::kF32;
  CacheKind cache = CacheKind::kNone;
  /// Replacements for the model's symbols ("batch_size", "sequence_length", ...): a fixed size or a
  /// renamed, bounded symbol.
  std::map<std::string, Sym> dims;
  /// The optional inputs that the graph should have; nullopt means all of them.
  std::optional<std::set<std::string>> inputs;
  /// Whether a language model gets the input logits_to_keep, which has the default 0: every
  /// position.
  bool logits_to_keep = false;
};

class ModelBuilder;

/// A place in the module tree; its path is the checkpoint's path, so weights need no name map.
class Scope {
 public:
  Scope(ModelBuilder& builder, std::string path) : builder_(&builder), path_(std::move(path)) {}

  Scope operator/(std::string_view child) const;
  Scope operator/(int64_t index) const { return *this / std::to_string(index); }

  /// The weight `path.name` in the export's dtype. Its shape is checked against `expected`; `why`
  /// names the settings that the shape comes from.
  Value weight(std::string_view name, const Shape& expected, std::string_view why) const;
  /// Gives the nodes emitted while the result lives this path.
  [[nodiscard]] ScopeGuard enter() const;

  ModelBuilder& builder() const { return *builder_; }
  const std::string& path() const { return path_; }

 private:
  ModelBuilder* builder_;
  std::string path_;
};

class ModelBuilder {
 public:
  ModelBuilder(ExportedProgram& program, const Config& config, WeightBinder& binder,
               const BuildOptions& options)
      : program_(program), config_(config), binder_(binder), options_(options) {}

  const Config& config() const { return config_; }
  const BuildOptions& options() const { return options_; }
  Graph& graph() { return *program_.graph; }
  WeightBinder& binder() { return binder_; }
  Scope scope(std::string path) { return Scope(*this, std::move(path)); }

  /// A symbolic size with the model's own bounds, or what the export replaces it with.
  /// Error{kInvalid} when the replacement goes beyond the bounds; `why` names the setting behind
  /// them.
  Sym dim(const std::string& name, int64_t lo, int64_t hi = Sym::kUnbounded,
          std::string_view why = {}) const;

  /// Whether an optional input is asked for.
  bool wants(const std::string& name) const {
    return !options_.inputs || options_.inputs->count(name) != 0;
  }
  Value input(const std::string& name, DType dtype, SymShape shape);
  /// An int64 input of ids in [0, count).
  Value ids(const std::string& name, SymShape shape, int64_t count);
  /// An input that callers may leave out; an integer is not negative.
  Value defaulted_input(const std::string& name, Tensor value);
  /// A boolean mask that callers make: true where attention may go, under the window if there is
  /// one.
  Value mask_input(const std::string& name, SymShape shape, std::optional<int64_t> window);
  void output(std::string name, Value value) { graph().add_output(std::move(name), value); }

  /// A stored tensor in the export's dtype; one object for tied names.
  Value weight(const std::string& name, const Shape& expected, std::string_view why);

 private:
  ExportedProgram& program_;
  const Config& config_;
  WeightBinder& binder_;
  const BuildOptions& options_;
  std::map<Lazy, Lazy> cast_;  // so that one source stays one object
};

/// One task of a model type.
struct Head {
  std::string_view task;          ///< "text-generation"; its "-with-past" form is the same head
  std::string_view architecture;  ///< "LlamaForCausalLM"
  std::string_view output_class;  ///< the reference's output class
  void (*build)(ModelBuilder&);
};

/// One model type: the file src/models/<name>.cpp defines the object slipway::models::<name>.
struct ModelType {
  std::string_view name;
  std::string_view base_prefix;        ///< where task models keep the base model: "model", "bert"
  std::vector<std::string> ignorable;  ///< stored names that need no use
  std::vector<Head> heads;
  /// Kinds of input that have an encoder of their own in front of the language model: "image".
  std::vector<std::string_view> modalities = {};
};

}  // namespace slipway::models
