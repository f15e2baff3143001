// Progress bars on long work.
#include "base/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/log.h"

namespace slipway {

Progress::Progress(std::string what, int64_t total, std::string unit)
    : what_(std::move(what)),
      unit_(std::move(unit)),
      total_(std::max<int64_t>(total, 1)),
      visible_(::isatty(STDERR_FILENO) == 1 && log::level() != log::Level::kQuiet) {}

Progress::~Progress() {
  if (visible_ && shown_.load() >= 0) std::fputc('\n', stderr);
}

void Progress::add(int64_t done) {
  const int64_t now = done_.fetch_add(done) + done;
  if (!visible_) return;
  const int percent = static_cast<int>(std::min<int64_t>(100, now * 100 / total_));
  int shown = shown_.load();
  while (shown < percent && !shown_.compare_exchange_weak(shown, percent)) {
  }
  if (shown < percent) draw(now);
}

void Progress::draw(int64_t done) {
  constexpr int kWidth = 30;
  const std::lock_guard lock(mutex_);
  const auto filled = static_cast<size_t>(std::min<int64_t>(kWidth, done * kWidth / total_));
  const std::string bar = std::string(filled, '#') + std::string(kWidth - filled, '.');
  const std::string amount = unit_ == "B"
                                 ? fmt::format("{:.0f}/{:.0f} MB", static_cast<double>(done) / 1e6,
                                               static_cast<double>(total_) / 1e6)
                                 : fmt::format("{}/{} {}", done, total_, unit_);
  fmt::print(stderr, "\r{} [{}] {}", what_, bar, amount);
  std::fflush(stderr);
}

}  // namespace slipway
