// Base64: known texts, every remainder, what is none.
#include "base/base64.h"

#include <gtest/gtest.h>

namespace slipway {
namespace {

TEST(Base64, DecodesKnownTexts) {
  EXPECT_EQ(decode_base64(""), "");
  EXPECT_EQ(decode_base64("Zg=="), "f");
  EXPECT_EQ(decode_base64("Zm8="), "fo");
  EXPECT_EQ(decode_base64("Zm9v"), "foo");
  EXPECT_EQ(decode_base64("Zm9vYmFy"), "foobar");
  EXPECT_EQ(decode_base64("Zm8"), "fo");
  EXPECT_EQ(decode_base64("AP+/"), std::string("\0\xFF\xBF", 3));
}

TEST(Base64, RefusesOtherTexts) {
  for (const char* text : {"Z", "Zg===", "Zg=a", "Zm 9v", "Zm9v\n", "Zm-_",
                           "\xC3\xA9"
                           "aa"})
    EXPECT_EQ(decode_base64(text), std::nullopt) << text;
}

}  // namespace
}  // namespace slipway
