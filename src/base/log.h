// Messages for people, on standard error.
#pragma once

#include <string>

namespace slipway::log {

enum class Level { kQuiet, kWarning, kInfo, kDebug };

/// What is printed from now on; kWarning at the start.
void set_level(Level level);
Level level();

void debug(const std::string& message);
void info(const std::string& message);
void warning(const std::string& message);
/// Prints each distinct message once a process.
void warning_once(const std::string& message);

}  // namespace slipway::log
