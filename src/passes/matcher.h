// Compares a pattern with the expression under a value.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "passes/pattern.h"

namespace slipway {

/// What the wildcards of a pattern stand for.
struct Bindings {
  std::map<std::string, Value> values;
  std::map<std::string, Arg> args;  ///< of scalar, size and sizes wildcards
  /// The nodes that the pattern covers, by node of the pattern; wildcards are not among them.
  std::map<const Node*, Node*> nodes;
};

/// Matches a pattern from its root: ops are equal, arguments are equal (see Pattern for what a
/// pattern from a body leaves out), operands match in turn; where an op commutes, both ways are
/// tried. A value that the pattern uses twice must be one value: run cse first. Numbers are equal
/// when float32 cannot tell them apart.
std::optional<Bindings> match(const Pattern& pattern, Value root, Value at);

/// True when both compute the same by the same ops; `a` and `b` are of one graph. Leaves are equal
/// when they are the same value or constants of equal contents.
bool same_expression(Value a, Value b);

}  // namespace slipway
