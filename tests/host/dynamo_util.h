// Comparing what programs of torch.export give with the reference's outputs.
#pragma once

#include "base/json.h"
#include "golden_util.h"

namespace slipway::golden {

// Both sides are float32 kernels of PyTorch; only the BLAS library and its order of sums differ.
inline constexpr double kTolerance = 1e-5;
// Another implementation (ONNX Runtime) at other sizes; that of the golden tests.
inline constexpr double kOtherRuntime = 1e-4;

/// The folders of unpacked cases, in order.
inline std::vector<std::string> folders_in(const std::filesystem::path& root) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(root))
    if (entry.is_directory()) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

inline Json pt2_json(const char* file) {
  return parse_json_file(std::filesystem::path(SLIPWAY_SOURCE_DIR) / "tests/golden/pt2" / file);
}

/// Runs a check. Where `reasons` names the case it must end in an Error, else it is off the list.
template <class Check>
void check_unless_expected(const Json& reasons, const std::string& name, const char* file,
                           Check check) {
  if (!reasons.contains(name)) return check();
  try {
    check();
  } catch (const Error&) {
    return;
  }
  ADD_FAILURE() << name << " passes: take it off " << file;
}

inline std::string test_name(const testing::TestParamInfo<std::string>& made) {
  std::string name = made.param;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

/// The last `length` places of axis 2.
inline Tensor tail(const Tensor& value, int64_t length) {
  Shape shape = value.shape();
  shape[2] = length;
  Tensor result(value.dtype(), shape);
  const int64_t row = value.dim(3) * itemsize(value.dtype());
  for (int64_t outer = 0; outer < value.dim(0) * value.dim(1); ++outer)
    std::memcpy(result.mutable_data() + outer * length * row,
                value.data() + (outer * value.dim(2) + value.dim(2) - length) * row,
                static_cast<size_t>(length * row));
  return result;
}

/// The axis of an output that runs over the mask's positions, and the position of its first place.
struct Positions {
  size_t axis;
  int64_t first;
};
inline std::optional<Positions> positions_of(const Tensor& value, const Tensor* mask,
                                             bool cropped) {
  if (mask == nullptr || value.rank() < 2 || value.dim(0) != mask->dim(0)) return std::nullopt;
  const int64_t length = mask->dim(1);
  if (value.rank() == 4 && (value.dim(2) == length || cropped))
    return Positions{2, length - value.dim(2)};
  if (value.dim(1) == length) return Positions{1, 0};
  return std::nullopt;
}

/// Compares where the mask gives outputs a meaning. `outputs` may have more places of a cache than
/// `want`: eager crops sliding layers, an export keeps all.
inline void expect_equal(const std::map<std::string, Tensor>& outputs,
                         const std::map<std::string, Tensor>& want, const Inputs& inputs,
                         double tolerance) {
  const auto given = inputs.find("attention_mask");
  const Tensor* mask =
      given != inputs.end() && given->second.rank() == 2 ? &given->second : nullptr;
  size_t compared = 0;
  for (const auto& [leaf, expected] : want) {
    if (leaf.find("_sliding_window_tensor") != std::string::npos) continue;  // eager's own
    ASSERT_TRUE(outputs.contains(leaf)) << leaf;
    Tensor value = outputs.at(leaf);
    const bool cropped = value.rank() == 4 && expected.rank() == 4 &&
                         leaf.starts_with("past_key_values") && value.dim(2) > expected.dim(2);
    if (cropped) value = tail(value, expected.dim(2));
    ASSERT_EQ(value.shape(), expected.shape()) << leaf;
    ASSERT_EQ(value.dtype(), expected.dtype()) << leaf;
    ++compared;
    if (value.dtype() != DType::kF32) {
      EXPECT_EQ(std::memcmp(value.data(), expected.data(), static_cast<size_t>(value.nbytes())), 0)
          << leaf;
      continue;
    }
    const auto positions = positions_of(value, mask, cropped);
    const double worst = max_difference(value, expected, [&](int64_t flat) {
      if (!positions) return true;
      int64_t inner = 1;
      for (size_t i = positions->axis + 1; i < value.shape().size(); ++i) inner *= value.shape()[i];
      const int64_t place = flat / inner % value.shape()[positions->axis] + positions->first;
      const int64_t row = flat / (value.numel() / value.dim(0));
      return mask->values<int64_t>()[static_cast<size_t>(row * mask->dim(1) + place)] != 0;
    });
    EXPECT_LE(worst, tolerance) << leaf;
  }
  EXPECT_GT(compared, 0u);
}

}  // namespace slipway::golden
