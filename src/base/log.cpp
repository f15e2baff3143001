// Messages for people, through spdlog.
#include "base/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <mutex>
#include <set>

namespace slipway::log {
namespace {

spdlog::logger& logger() {
  static const auto instance = [] {
    auto made = std::make_shared<spdlog::logger>(
        "slipway", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    made->set_pattern("slipway: %^%l%$: %v");
    made->set_level(spdlog::level::warn);
    return made;
  }();
  return *instance;
}

}  // namespace

void set_level(Level level) {
  switch (level) {
    case Level::kQuiet:
      logger().set_level(spdlog::level::off);
      break;
    case Level::kWarning:
      logger().set_level(spdlog::level::warn);
      break;
    case Level::kInfo:
      logger().set_level(spdlog::level::info);
      break;
    case Level::kDebug:
      logger().set_level(spdlog::level::debug);
      break;
  }
}

Level level() {
  switch (logger().level()) {
    case spdlog::level::off:
      return Level::kQuiet;
    case spdlog::level::info:
      return Level::kInfo;
    case spdlog::level::debug:
      return Level::kDebug;
    default:
      return Level::kWarning;
  }
}

void debug(const std::string& message) { logger().debug("{}", message); }
void info(const std::string& message) { logger().info("{}", message); }
void warning(const std::string& message) { logger().warn("{}", message); }

void warning_once(const std::string& message) {
  static std::mutex mutex;
  static std::set<std::string> seen;
  const std::lock_guard lock(mutex);
  if (seen.insert(message).second) warning(message);
}

}  // namespace slipway::log
