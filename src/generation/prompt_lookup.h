// Guesses of the next tokens: what followed the same words earlier in the row.
#pragma once

#include <cstdint>
#include <span>

namespace slipway {

/// At most `count` ids that followed the first earlier occurrence of the row's last n ids, for the
/// largest n <= max_ngram that occurs earlier; a view into `ids`, empty where none does. The rule
/// is that of the reference's prompt lookup.
std::span<const int64_t> lookup_guesses(std::span<const int64_t> ids, int64_t max_ngram,
                                        int64_t count);

}  // namespace slipway
