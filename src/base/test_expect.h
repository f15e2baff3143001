// Expectations that several unit tests share.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "slipway/error.h"

namespace slipway {

/// EXPECT_TRUE(contains(text, part)) prints both when it fails.
inline testing::AssertionResult contains(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "\"" << text << "\" does not contain \"" << part << "\"";
}

/// The message of the Error of this kind that `call` throws; fails the test when it throws none.
template <class Call>
std::string error_of(ErrorKind kind, Call call) {
  try {
    call();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), kind) << e.what();
    return e.what();
  }
  ADD_FAILURE() << "no error was thrown";
  return "";
}

}  // namespace slipway
