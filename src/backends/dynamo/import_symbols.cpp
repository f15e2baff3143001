// Gives the sizes of an imported program the names that models' own graphs use.
#include "backends/dynamo/import_symbols.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>

#include "backends/dynamo/sym_expr.h"
#include "base/json.h"

namespace slipway::dynamo {
namespace {

// Where an input tells the name of its size.
struct RoleRow {
  std::string_view input;
  size_t axis;
  const char* role;
};

constexpr const char* kBatch = "batch_size";
constexpr const char* kLength = "sequence_length";
constexpr const char* kPast = "past_sequence_length";
constexpr const char* kDecoder = "decoder_sequence_length";
constexpr const char* kSlots = "cache_length";
constexpr const char* kTotal = "total";  // past and current positions together

constexpr RoleRow kRoles[] = {
    {"input_ids", 1, kLength},          {"inputs_embeds", 1, kLength},
    {"token_type_ids", 1, kLength},     {"position_ids", 1, kLength},
    {"decoder_input_ids", 1, kDecoder}, {"decoder_attention_mask", 1, kDecoder},
};

bool is_cache_entry(const std::string& name) {
  return name.starts_with("past_key_values.") &&
         (name.ends_with(".keys") || name.ends_with(".values"));
}

class Roles {
 public:
  explicit Roles(const std::vector<UserInput>& inputs) {
    for (const UserInput& input : inputs) {
      ids_ = ids_ || input.name == "input_ids" || input.name == "inputs_embeds";
      grows_ = grows_ || is_cache_entry(input.name);
      fixed_ = fixed_ || input.name.ends_with(".cumulative_length");
    }
  }

  /// The role of one size of an input, or null.
  const char* of(const UserInput& input, size_t axis) const {
    const size_t rank = input.meta->sizes.size();
    if (axis == 0 && rank > 1) return kBatch;
    if (is_cache_entry(input.name) && rank == 4 && axis == 2 &&
        input.name.find("cross_attention") == input.name.npos)
      return fixed_ ? kSlots : kPast;
    const bool mask = input.name == "attention_mask" || input.name.starts_with("attention_mask.");
    if (mask && rank == 4) return axis == 2 ? kLength : axis == 3 && fixed_ ? kSlots : nullptr;
    if (mask && rank == 2 && ids_) return grows_ && !fixed_ ? kTotal : kLength;
    for (const RoleRow& row : kRoles)
      if (input.name == row.input && axis == row.axis && rank > 1) return row.role;
    return nullptr;
  }

 private:
  bool ids_ = false, grows_ = false, fixed_ = false;
};

std::string own_name(const std::string& leaf, size_t axis) {
  std::string name = fmt::format("{}_dim_{}", leaf, axis);
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  if (std::isdigit(static_cast<unsigned char>(name[0])) != 0) name.insert(0, "input_");
  return name;
}

/// The symbol that a size is by itself.
std::optional<std::string> sole_symbol(const schema::SymInt& size) {
  const auto* expr = std::get_if<schema::SymExpr>(&size.value);
  if (expr == nullptr) return std::nullopt;
  const Sym parsed =
      parse_sym_expr(expr->expr_str, [](const std::string& name) { return Sym::symbol(name, 0); });
  if (!parsed.is_symbol()) return std::nullopt;
  return parsed.name();
}

/// The name that our own writer gave a symbol; nothing for torch's numbered ones.
std::optional<std::string> written_name(const std::string& symbol) {
  const size_t digits = symbol.find_last_not_of("0123456789") + 1;
  if (digits < symbol.size() && digits <= 1) return std::nullopt;
  return plain_name(symbol);
}

struct Naming {
  std::map<std::string, std::string> names;   // symbol -> role or a name of its own
  std::map<std::string, std::string> totals;  // symbols that are the sum of past and length
  std::map<std::string, int64_t> fixed;       // roles that are a number
};

Naming name_symbols(const std::vector<UserInput>& inputs) {
  const Roles roles(inputs);
  Naming naming;
  for (const UserInput& input : inputs)
    for (size_t axis = 0; axis < input.meta->sizes.size(); ++axis)
      if (const char* role = roles.of(input, axis))
        if (const auto* size = std::get_if<int64_t>(&input.meta->sizes[axis].value);
            size && axis > 0)
          naming.fixed.emplace(role, *size);
  for (const UserInput& input : inputs)
    for (size_t axis = 0; axis < input.meta->sizes.size(); ++axis) {
      const auto symbol = sole_symbol(input.meta->sizes[axis]);
      const char* role = roles.of(input, axis);
      if (symbol && written_name(*symbol)) naming.names.emplace(*symbol, *written_name(*symbol));
      if (!symbol || role == nullptr || naming.fixed.count(role) != 0) continue;
      if (role == kTotal) naming.totals.emplace(*symbol, role);
      else naming.names.emplace(*symbol, role);
    }
  for (const UserInput& input : inputs)
    for (size_t axis = 0; axis < input.meta->sizes.size(); ++axis)
      if (const auto symbol = sole_symbol(input.meta->sizes[axis]))
        if (naming.totals.count(*symbol) == 0)
          naming.names.emplace(*symbol, own_name(input.name, axis));
  return naming;
}

}  // namespace

ImportSymbols::ImportSymbols(const schema::ExportedProgram& program,
                             const std::vector<UserInput>& inputs) {
  const Naming naming = name_symbols(inputs);
  std::map<std::string, Sym::Bounds> bounds;  // by new name
  for (const auto& [symbol, name] : naming.names) {
    Sym::Bounds& b = bounds.emplace(name, Sym::Bounds{1, Sym::kUnbounded}).first->second;
    for (const auto& [key, range] : program.range_constraints) {
      if (key != symbol) continue;
      if (range.min_val && *range.min_val != 2) b.lo = std::max(b.lo, *range.min_val);
      if (range.max_val) b.hi = std::min(b.hi, *range.max_val);
      if (range.min_val == 0 && b.lo == 1) b.lo = 0;
    }
    if (b.lo > b.hi)
      throw Error(kInvalid, fmt::format("[pt2] the bounds of {} contradict each other: {} to {}",
                                        name, b.lo, b.hi));
  }
  for (const auto& [symbol, name] : naming.names)
    symbols_.emplace(symbol, Sym::symbol(name, bounds.at(name).lo, bounds.at(name).hi));
  for (const auto& [symbol, role] : naming.totals) {
    const auto part = [&](const char* name) {
      if (const auto number = naming.fixed.find(name); number != naming.fixed.end())
        return Sym(number->second);
      const auto at = bounds.find(name);
      return at == bounds.end() ? Sym(0) : Sym::symbol(name, at->second.lo, at->second.hi);
    };
    symbols_.emplace(symbol, part(kPast) + part(kLength));
  }
}

Sym ImportSymbols::operator()(const std::string& name) const {
  const auto at = symbols_.find(name);
  if (at != symbols_.end()) return at->second;
  throw Error(kUnsupported,
              fmt::format("[pt2] the size {} does not come from an input's shape: sizes that "
                          "depend on values are not supported",
                          quote(name)));
}

Sym ImportSymbols::size(const schema::SymInt& size) const {
  if (const auto* value = std::get_if<int64_t>(&size.value)) return *value;
  return parse_sym_expr(std::get<schema::SymExpr>(size.value).expr_str,
                        [this](const std::string& name) { return (*this)(name); });
}

SymShape ImportSymbols::shape(const schema::TensorMeta& meta) const {
  SymShape shape;
  for (const schema::SymInt& s : meta.sizes) shape.push_back(size(s));
  return shape;
}

}  // namespace slipway::dynamo
