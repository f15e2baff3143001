// What the reader says of a program that was changed, for the tests of its checks.
#pragma once

#include <functional>
#include <string>

#include "backends/executorch/read.h"
#include "backends/executorch/test_programs.h"
#include "backends/executorch/write.h"
#include "base/test_expect.h"
#include "base/test_folder.h"

namespace slipway::executorch::testing {

/// What reading the program says after `change`; empty for nothing.
inline std::string said_of(Program program, const std::function<void(Method&)>& change) {
  change(program.methods[0]);
  const TestFolder folder;
  write(program, folder / "a.pte", {});
  try {
    read_outline(folder / "a.pte");
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), kInvalid) << e.what();
    return e.what();
  }
  return "";
}

}  // namespace slipway::executorch::testing
