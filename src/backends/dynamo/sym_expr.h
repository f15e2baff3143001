// sympy's texts of integer expressions, as serialized programs hold them.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "ir/sym.h"

namespace slipway::dynamo {

/// Gives the symbol of a name: an s0 of the file becomes whatever the caller calls it.
using SymbolTable = std::function<Sym(const std::string&)>;

/// Reads an expression in either spelling: sympy's repr, "Mul(Integer(2), Symbol('s0',
/// positive=True, integer=True))", or its str, "2*s0 + Max(s1, 1)//2". Knows sums, products, whole
/// powers, Min, Max, and torch's FloorDiv, CleanDiv, Mod, PythonMod and ModularIndexing. Throws
/// Error{kInvalid} for a text that is not such an expression, Error{kUnsupported} naming a function
/// that is not of integers or not known.
Sym parse_sym_expr(std::string_view text, const SymbolTable& symbols);

/// The repr of an expression, as torch 2.12 writes and reads it.
std::string sym_expr(Sym expression);

/// The name that a symbol gets in a file. Torch and its compiler tell what a symbol is by how its
/// name begins; sizes begin with "s". Others get the prefix "s_".
std::string symbol_name(const std::string& name);
/// The name of a symbol of a file without that prefix.
std::string plain_name(const std::string& symbol);

}  // namespace slipway::dynamo
