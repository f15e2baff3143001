// One object per lazy expression, so that graphs built apart share their weights.
#pragma once

#include <functional>
#include <string>

#include "base/lazy.h"

namespace slipway {

/// The live expression over `source` that `what` describes, else what `make` makes. The result must
/// keep `source` alive. Thread-safe.
Lazy interned(const LazyTensor& source, std::string what, const std::function<Lazy()>& make);

}  // namespace slipway
