// Small pieces that everything uses: sums of logarithms, byte counts and markup as text, fingerprints.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "core/hash.h"
#include "core/log_sum.h"
#include "core/markup.h"
#include "core/memory.h"

namespace mdsm {
namespace {

TEST(LogSum, LargeExponentsDoNotOverflow) {
  const std::vector<double> logs{1e5, 1e5 + 1};
  EXPECT_NEAR(log_sum_exp(logs), 1e5 + std::log(1 + std::exp(1.0)), 1e-9);
  EXPECT_NEAR(log_mean_exp(logs), 1e5 + std::log((1 + std::exp(1.0)) / 2), 1e-9);
}

TEST(LogSum, NothingAtAllIsMinusInfinity) {
  const double none = -std::numeric_limits<double>::infinity();
  EXPECT_EQ(log_sum_exp(std::vector<double>{none, none}), none);
  EXPECT_EQ(log_sum_exp(std::vector<double>{none, 2}), 2);
}

TEST(BytesText, HasThreeDigits) {
  EXPECT_EQ(bytes_text(0), "0 bytes");
  EXPECT_EQ(bytes_text(999), "999 bytes");
  EXPECT_EQ(bytes_text(1234), "1.23 kB");
  EXPECT_EQ(bytes_text(34e6), "34.0 MB");
  EXPECT_EQ(bytes_text(340.4e6), "340 MB");
  EXPECT_EQ(bytes_text(999.7e6), "1.00 GB");
  EXPECT_EQ(bytes_text(9.996e9), "10.0 GB");
  EXPECT_EQ(bytes_text(5e15), "5000 TB");
}

TEST(Markup, IsEscapedForTextAndAttributes) {
  EXPECT_EQ(escape_markup("a<b> & \"c\""), "a&lt;b&gt; &amp; &quot;c&quot;");
  EXPECT_EQ(escape_markup("tab\tline\nbell\a"), "tab\tline\nbell ");
}

// The published values of FNV-1a.
TEST(ContentHash, IsFnv1a) {
  EXPECT_EQ(content_hash("", 0), "cbf29ce484222325");
  EXPECT_EQ(content_hash("foobar", 6), "85944171f73967e8");
}

}  // namespace
}  // namespace mdsm
