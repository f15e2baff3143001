// A component of tokenizer.json and its place in the file.
#include "backends/openvino/tokenizer_part.h"

#include <fmt/format.h>

#include "slipway/error.h"

namespace slipway::openvino {

Part Part::operator[](const char* key) const {
  static const Json kNull;
  const std::string place = place_.empty() ? key : place_ + "." + key;
  if (!json_->is_object()) return {kNull, place};
  const auto at = json_->find(key);
  return {at == json_->end() ? kNull : *at, place};
}

std::string Part::type() const { return (*this)["type"].text(); }

std::string Part::text() const {
  if (!json_->is_string()) invalid("a text");
  return json_->get<std::string>();
}

bool Part::flag(bool missing) const {
  if (json_->is_null()) return missing;
  if (!json_->is_boolean()) invalid("true or false");
  return json_->get<bool>();
}

int64_t Part::integer() const {
  constexpr int64_t kMost = (int64_t{1} << 31) - 1;
  if (!json_->is_number_integer() || json_->get<double>() < 0 ||
      json_->get<double>() > static_cast<double>(kMost))
    invalid("an integer from 0 to 2^31 - 1");
  return json_->get<int64_t>();
}

double Part::number() const {
  if (!json_->is_number()) invalid("a number");
  return json_->get<double>();
}

std::vector<Part> Part::list() const {
  if (!json_->is_array()) invalid("a list");
  std::vector<Part> parts;
  for (size_t i = 0; i < json_->size(); ++i)
    parts.emplace_back((*json_)[i], fmt::format("{}[{}]", place_, i));
  return parts;
}

const Json& Part::object() const {
  if (!json_->is_object()) invalid("an object");
  return *json_;
}

void Part::invalid(std::string_view need) const {
  throw Error(kInvalid, fmt::format("[tokenizer] tokenizer.json: {} is {}, need {}",
                                    place_.empty() ? "the file" : place_, describe(*json_), need));
}

void Part::unsupported(std::string_view reason) const {
  std::string name = place_;
  if (json_->is_object() && json_->contains("type") && (*json_)["type"].is_string())
    name += " (" + (*json_)["type"].get<std::string>() + ")";
  throw Error(kUnsupported, fmt::format("[tokenizer] {} of tokenizer.json {}", name, reason));
}

}  // namespace slipway::openvino
