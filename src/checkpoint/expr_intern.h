// One object per lazy expression, so that graphs built apart share their weights.
#pragma once

#include <functional>

#include "base/lazy.h"

namespace slipway {

/// The live expression of a kind over `source`, else what `make` makes. The result must keep
/// `source` alive. Thread-safe.
Lazy interned(const LazyTensor& source, int kind, const std::function<Lazy()>& make);

/// Kinds of interned expressions; casts are kCast plus the dtype.
enum ExpressionKind : int { kTransposed = 0, kCast = 1 };

}  // namespace slipway
