// The checkpoint audit: finding weights by name, ties, and one report of everything that is wrong.
#include "checkpoint/binder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/log.h"
#include "checkpoint/names.h"

namespace slipway {
namespace {

constexpr size_t kListed = 10;

/// Stands for a tensor with a recorded problem, so that building can go on to find the others.
class Placeholder final : public LazyTensor {
 public:
  Placeholder(std::string name, const Shape& shape)
      : LazyTensor(DType::kF32, shape), name_(std::move(name)) {}

  void read(int64_t, int64_t, std::byte*) const override {
    throw Error(kInternal, fmt::format("[checkpoint] {} was read although it did not bind; call "
                                       "finish() first",
                                       name_));
  }

 private:
  std::string name_;
};

bool starts_with(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

std::string_view first_component(std::string_view name) { return name.substr(0, name.find('.')); }

/// The older spelling of a normalization weight, or an empty string.
std::string legacy_spelling(std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> kPairs[] = {
      {"LayerNorm.weight", "LayerNorm.gamma"}, {"LayerNorm.bias", "LayerNorm.beta"}};
  for (const auto& [now, before] : kPairs)
    if (name.size() >= now.size() && name.substr(name.size() - now.size()) == now)
      return std::string(name.substr(0, name.size() - now.size())) + std::string(before);
  return "";
}

}  // namespace

WeightBinder::WeightBinder(std::shared_ptr<const WeightStore> store, BinderOptions options)
    : store_(std::move(store)), options_(std::move(options)) {
  SLIPWAY_ASSERT(store_ != nullptr);
}

std::string WeightBinder::resolve(std::string_view name) const {
  std::vector<std::string> spellings{std::string(name)};
  if (!options_.base_prefix.empty()) {
    const std::string prefix = options_.base_prefix + ".";
    if (starts_with(name, prefix)) spellings.emplace_back(name.substr(prefix.size()));
    else spellings.push_back(prefix + std::string(name));
  }
  for (const std::string& spelling : spellings) {
    if (store_->find(spelling) != nullptr) return spelling;
    std::string legacy = legacy_spelling(spelling);
    if (!legacy.empty() && store_->find(legacy) != nullptr) return legacy;
  }
  return "";
}

bool WeightBinder::has(std::string_view name) const { return !resolve(name).empty(); }

void WeightBinder::tie(std::string_view target, std::string_view source) {
  SLIPWAY_ASSERT(target != source);
  SLIPWAY_ASSERT(asked_.find(target) == asked_.end() && asked_.find(source) == asked_.end());
  ties_.insert_or_assign(std::string(target), std::string(source));
}

std::string WeightBinder::representative(const std::string& source) const {
  if (has(source)) return source;
  for (const auto& [target, tied_to] : ties_)
    if (tied_to == source && has(target)) return target;
  return source;
}

std::string WeightBinder::tied_name(std::string_view name) {
  const auto tied = ties_.find(name);
  if (tied == ties_.end()) return representative(std::string(name));
  std::string other = representative(tied->second);
  const std::string own = resolve(name);
  if (other == name || own.empty()) return other;
  auto known = tied_equal_.find(name);
  if (known == tied_equal_.end()) {
    const bool equal = equal_contents(store_->find(own), store_->find(resolve(other)));
    if (!equal)
      log::warning_once(fmt::format(
          "{}: the config ties {} to {}, but both are stored with different values; they stay "
          "apart. Set tie_word_embeddings to false to silence this.",
          store_->description(), name, other));
    known = tied_equal_.emplace(std::string(name), equal).first;
  }
  if (!known->second) return std::string(name);
  used_.insert(own);  // the equal second copy
  return other;
}

Lazy WeightBinder::bind(std::string_view name, const Shape& expected, std::string_view why) {
  const std::string own = tied_name(name);
  asked_.emplace(name);
  return bind_own(own, expected, why);
}

Lazy WeightBinder::bind_optional(std::string_view name, const Shape& expected,
                                 std::string_view why) {
  if (!has(name)) return nullptr;
  return bind(name, expected, why);
}

Lazy WeightBinder::bind_own(std::string_view name, const Shape& expected, std::string_view why) {
  asked_.emplace(name);
  const std::string stored = resolve(name);
  if (stored.empty()) {
    const auto same = [&](const Missing& m) { return m.name == name; };
    if (std::none_of(missing_.begin(), missing_.end(), same))
      missing_.push_back({std::string(name), std::string(why), expected});
    return std::make_shared<Placeholder>(std::string(name), expected);
  }
  used_.insert(stored);
  Lazy tensor = store_->find(stored);
  if (tensor->shape() == expected && is_floating(tensor->dtype())) return tensor;
  mismatched_.push_back(fmt::format("{} is {} {}, need floating point {} ({})", stored,
                                    short_name(tensor->dtype()), shape_string(tensor->shape()),
                                    shape_string(expected), why));
  return std::make_shared<Placeholder>(std::string(name), expected);
}

WeightBinder::Surplus WeightBinder::surplus() const {
  Surplus result;
  const std::string prefix = options_.base_prefix.empty() ? "" : options_.base_prefix + ".";
  const auto below = [&](const std::string& name) {
    return !prefix.empty() && starts_with(name, prefix);
  };
  const bool task_names = std::any_of(asked_.begin(), asked_.end(), below);
  std::set<std::string, std::less<>> roots;  // the base model's own children: "layers", "norm"
  for (const std::string& name : asked_) {
    if (below(name)) roots.emplace(first_component(std::string_view(name).substr(prefix.size())));
    else if (!task_names) roots.emplace(first_component(name));
    else result.headless = false;
  }
  const auto ignorable = [&](const std::string& name) {
    const std::string bare = below(name) ? name.substr(prefix.size()) : name;
    return std::any_of(
        options_.ignorable.begin(), options_.ignorable.end(), [&](const std::string& pattern) {
          const std::string_view tail =
              starts_with(pattern, "*.") ? std::string_view(pattern).substr(2) : pattern;
          return glob_match(pattern, bare) || glob_match(pattern, prefix + bare) ||
                 glob_match(tail, bare);
        });
  };
  for (const std::string& name : store_->names()) {
    if (used_.count(name) != 0 || ignorable(name)) continue;
    const bool base = below(name) || roots.count(first_component(name)) != 0;
    (base ? result.base : result.other).push_back(name);
  }
  return result;
}

std::string WeightBinder::missing_text() const {
  std::vector<std::string> unused, lines;
  for (const std::string& name : store_->names())
    if (used_.count(name) == 0) unused.push_back(name);
  for (const Missing& m : missing_) {
    if (lines.size() == kListed) break;
    const std::string near = nearest_name(m.name, unused);
    lines.push_back(fmt::format("{} {} ({}{})", m.name, shape_string(m.shape), m.why,
                                near.empty() ? "" : "; the nearest stored name is " + near));
  }
  std::string text = fmt::format("\n  {} missing:", missing_.size());
  for (const std::string& line : lines) text += "\n    " + line;
  if (missing_.size() > kListed)
    text += fmt::format("\n    and {} more", missing_.size() - kListed);
  return text;
}

void WeightBinder::finish() const {
  const Surplus unused = surplus();
  std::string text;
  if (!missing_.empty()) text += missing_text();
  if (!mismatched_.empty()) {
    text += fmt::format("\n  {} of another type or shape:", mismatched_.size());
    for (size_t i = 0; i < std::min(mismatched_.size(), kListed); ++i)
      text += "\n    " + mismatched_[i];
    if (mismatched_.size() > kListed)
      text += fmt::format("\n    and {} more", mismatched_.size() - kListed);
  }
  if (!unused.base.empty())
    text += fmt::format("\n  {} that the model has no place for: {}", unused.base.size(),
                        list_names(unused.base, kListed));
  if (!text.empty())
    throw Error(
        kInvalid,
        fmt::format("[checkpoint] got weights in {} that do not fit the model, need exactly "
                    "the tensors that its config describes; check that config.json belongs "
                    "to these weights:{}",
                    store_->description(), text));
  if (unused.other.empty()) return;
  const std::string note =
      fmt::format("{}: {} tensors of another task are not used: {}", store_->description(),
                  unused.other.size(), list_names(unused.other, kListed));
  if (unused.headless) log::info(note);
  else log::warning_once(note);
}

bool equal_contents(const Lazy& a, const Lazy& b) {
  if (a == b) return true;
  if (a->dtype() != b->dtype() || a->shape() != b->shape()) return false;
  const auto view_a = a->view(), view_b = b->view();
  if (view_a && view_b)
    return view_a->empty() || std::memcmp(view_a->data(), view_b->data(), view_a->size()) == 0;
  const int64_t grain = std::max<int64_t>({a->granularity(), b->granularity(), 1});
  const int64_t step = grain * std::max<int64_t>(1, (int64_t{1} << 17) / grain);
  const auto size = itemsize(a->dtype());
  const int64_t room = std::min(step, a->numel());
  std::vector<std::byte> left(static_cast<size_t>(room * size)), right(left.size());
  for (int64_t at = 0; at < a->numel(); at += step) {
    const int64_t count = std::min(step, a->numel() - at);
    a->read(at, count, left.data());
    b->read(at, count, right.data());
    if (std::memcmp(left.data(), right.data(), static_cast<size_t>(count * size)) != 0)
      return false;
  }
  return true;
}

}  // namespace slipway
