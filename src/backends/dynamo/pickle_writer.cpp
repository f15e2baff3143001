// The bytes of pickle opcodes (protocol 2, as documented in Python's pickletools).
#include "backends/dynamo/pickle_writer.h"

#include <bit>
#include <limits>

namespace slipway::dynamo {
namespace {

template <class T>
void little(std::string& out, T value) {
  for (size_t i = 0; i < sizeof(T); ++i)
    out += static_cast<char>(static_cast<uint64_t>(value) >> (8 * i) & 0xff);
}

}  // namespace

PickleWriter::PickleWriter() { text_ = "\x80\x02"; }

void PickleWriter::integer(int64_t value) {
  if (value >= std::numeric_limits<int32_t>::min() &&
      value <= std::numeric_limits<int32_t>::max()) {
    text_ += 'J';
    little(text_, static_cast<int32_t>(value));
    return;
  }
  text_ += '\x8a';  // the number of bytes, then the two's complement
  text_ += '\x08';
  little(text_, value);
}

void PickleWriter::number(double value) {
  const auto bits = std::bit_cast<uint64_t>(value);
  text_ += 'G';
  for (int shift = 56; shift >= 0; shift -= 8) text_ += static_cast<char>(bits >> shift & 0xff);
}

void PickleWriter::text(std::string_view value) {
  text_ += 'X';
  little(text_, static_cast<uint32_t>(value.size()));
  text_ += value;
}

void PickleWriter::global(std::string_view module, std::string_view name) {
  text_ += 'c';
  text_ += module;
  text_ += '\n';
  text_ += name;
  text_ += '\n';
}

std::string PickleWriter::take() {
  text_ += '.';
  return std::move(text_);
}

}  // namespace slipway::dynamo
