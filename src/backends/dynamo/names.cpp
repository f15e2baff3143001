// Names of values in a serialized graph.
#include "backends/dynamo/names.h"

#include <fmt/format.h>

#include <cctype>

namespace slipway::dynamo {
namespace {

/// Keywords, and builtins that torch does not name values after either.
const std::set<std::string, std::less<>> kReserved = {
    "False",  "None",     "True",    "abs",     "all",      "and",       "any",      "as",
    "assert", "async",    "await",   "bin",     "bool",     "break",     "bytes",    "callable",
    "chr",    "class",    "compile", "complex", "continue", "def",       "del",      "delattr",
    "dict",   "dir",      "divmod",  "elif",    "else",     "enumerate", "eval",     "except",
    "exec",   "filter",   "finally", "float",   "for",      "format",    "from",     "getattr",
    "global", "globals",  "hasattr", "hash",    "help",     "hex",       "id",       "if",
    "import", "in",       "input",   "int",     "is",       "iter",      "lambda",   "len",
    "list",   "locals",   "map",     "math",    "max",      "min",       "next",     "nonlocal",
    "not",    "object",   "oct",     "open",    "or",       "ord",       "pass",     "pow",
    "print",  "property", "raise",   "range",   "repr",     "return",    "reversed", "round",
    "self",   "set",      "setattr", "slice",   "sorted",   "str",       "sum",      "super",
    "torch",  "try",      "tuple",   "type",    "vars",     "while",     "with",     "yield",
    "zip"};

}  // namespace

std::string Names::fresh(const std::string& wanted) {
  std::string base;
  for (const char c : wanted)
    base += std::isalnum(static_cast<unsigned char>(c)) != 0 && static_cast<signed char>(c) > 0
                ? c
                : '_';
  if (base.empty() || std::isdigit(static_cast<unsigned char>(base[0])) != 0) base = "_" + base;
  if (!kReserved.contains(base) && taken_.insert(base).second) return base;
  while (true) {
    std::string name = fmt::format("{}_{}", base, ++next_[base]);
    if (taken_.insert(name).second) return name;
  }
}

}  // namespace slipway::dynamo
