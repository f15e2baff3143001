// ATen schema strings, parsed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/arg.h"

namespace slipway {

enum class ArgType : uint8_t {
  kTensor,
  kTensorList,
  kInt,
  kIntList,
  kFloat,
  kFloatList,
  kBool,
  kScalar,
  kDType,
  kString,
  kOther
};

struct SchemaArg {
  std::string name;
  ArgType type;
  bool optional = false;        ///< "Tensor?", "int?": None is allowed
  bool optional_items = false;  ///< "Tensor?[]": a list's items may be None
  bool keyword_only = false;    ///< after `*`
  bool has_default = false;
  Arg default_value;
};

/// One operator's signature, in the notation of PyTorch's native_functions.yaml.
struct Schema {
  std::string name;  ///< "aten::add.Tensor": namespace, name and overload
  std::vector<SchemaArg> args;
  int num_outputs = 1;
  bool variadic_output = false;  ///< returns Tensor[]: the node decides how many

  /// Throws Error{kInvalid} naming the place.
  static Schema parse(std::string_view text);

  /// The position of an argument, or -1.
  int find(std::string_view arg_name) const;
};

}  // namespace slipway
