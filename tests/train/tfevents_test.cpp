#include "train/tfevents.h"

#include <gtest/gtest.h>

#include "temporary_folder.h"

// command_test.py decodes the events of a whole run with a reader of its own.
namespace mdsm::train {
namespace {

TEST(Crc32c, MatchesThePublishedValues) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);            // the check value of CRC-32C
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);  // RFC 3720, B.4
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
}

TEST(TfRecord, IsLengthChecksumPayloadChecksum) {
  const std::string record = tfrecord("abc");
  ASSERT_EQ(record.size(), 8u + 4 + 3 + 4);
  EXPECT_EQ(record.substr(0, 8), std::string("\3\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(record.substr(12, 3), "abc");
}

TEST(EventFile, StartsWithTheVersionAndGrowsByWholeRecords) {
  const TemporaryFolder folder;
  EventFile events(folder.path(), 1e9, 0);
  const auto before = fs::file_size(events.path());
  EXPECT_NE(read_text(events.path()).find("brain.Event:2"), std::string::npos);
  events.add(1e9, 300, {{"loss", 1.0}});
  // event: 9 time, 3 step (300 takes two bytes), 2 + value: 2 + tag 6 + float 5
  EXPECT_EQ(fs::file_size(events.path()) - before, 16u + 9 + 3 + 2 + 2 + 6 + 5);
}

TEST(EventFile, KeepsPicturesAsTheyAre) {
  const TemporaryFolder folder;
  EventFile events(folder.path(), 1e9, 0);
  const auto before = fs::file_size(events.path());
  std::string png(60, 'x');
  png.replace(16, 10, std::string("\0\0\0\7\0\0\1\5\10\2", 10));  // 7x261 pixels, RGB
  events.add_picture(1e9, 1, "p", png);
  // event: 9 time, 2 step, 2 summary, 2 value, tag 3, image 2: height 3, width 2, channels 2, bytes 2 + 60
  EXPECT_EQ(fs::file_size(events.path()) - before, 16u + 9 + 2 + 2 + 2 + 3 + 2 + 3 + 2 + 2 + 62);
  EXPECT_NE(read_text(events.path()).find(std::string("\x8\x85\x2\x10\7\x18\3\x22\x3c", 9)),
            std::string::npos);
}

}  // namespace
}  // namespace mdsm::train
