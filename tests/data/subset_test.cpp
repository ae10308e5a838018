// Which part of a source was read, and random subsets.
#include "data/subset.h"

#include <gtest/gtest.h>

#include <set>

#include "data/make_files.h"
#include "io/npy.h"
#include "temporary_folder.h"

namespace mdsm::data {
namespace {

std::optional<Split> part_of(const fs::path& path, Split split) {
  DataOptions options = source(path.string());
  options.split = split;
  return open_dataset(options)->part();
}

TEST(Part, IsThatOfTheSourceAndNoneWhereThereIsOne) {
  const TemporaryFolder folder;
  make_idx_folder(folder / "idx", 5, 3);
  make_cifar_folder(folder / "cifar", 2);
  io::write_npy(folder / "x.npy", {2, 4, 4}, std::vector<uint8_t>(32));
  make_folder(folder / "svhn");
  make_svhn_mat(folder / "svhn" / "train_32x32.mat", 2);
  make_svhn_mat(folder / "svhn" / "test_32x32.mat", 2);
  for (const Split split : {Split::train, Split::test}) {
    for (const char* name : {"idx", "cifar", "svhn"}) EXPECT_EQ(part_of(folder / name, split), split) << name;
    for (const char* name :
         {"idx/t10k-images-idx3-ubyte.gz", "cifar/test_batch.bin", "x.npy", "svhn/test_32x32.mat"})
      EXPECT_EQ(part_of(folder / name, split), std::nullopt) << name;
  }
}

DataOptions limited(const fs::path& path, int64_t limit, uint64_t seed, bool random) {
  DataOptions options = source(path.string());
  options.limit = limit;
  options.seed = seed;
  options.random_limit = random;
  return options;
}

TEST(Subset, RandomLimitDoesNotTakeTheFirst) {
  const TemporaryFolder folder;
  make_idx_folder(folder / "idx", 100, 3);
  const auto set = open_dataset(limited(folder / "idx", 30, 1, true));
  ASSERT_EQ(set->size(), 30);
  EXPECT_EQ(set->part(), Split::train);
  EXPECT_NE(set->description().find("30 drawn at random (seed 1) of 100 images"), std::string::npos)
      << set->description();
  std::set<int64_t> seen;
  for (int64_t i = 0; i < 30; ++i) {
    const int64_t at = set->source_index(i);
    seen.insert(at);
    expect_made(*set, i, at);
    EXPECT_EQ(set->label(i), digit(at));
  }
  EXPECT_EQ(seen.size(), 30u);
  EXPECT_GT(*seen.rbegin(), 60);
  const auto again = open_dataset(limited(folder / "idx", 30, 1, true));
  const auto other = open_dataset(limited(folder / "idx", 30, 2, true));
  int same = 0;
  for (int64_t i = 0; i < 30; ++i) {
    EXPECT_EQ(set->source_index(i), again->source_index(i));
    same += set->source_index(i) == other->source_index(i);
  }
  EXPECT_LT(same, 10);
  EXPECT_EQ(open_dataset(limited(folder / "idx", 200, 1, true))->source_index(99), 99);
  EXPECT_EQ(open_dataset(limited(folder / "idx", 30, 1, false))->source_index(29), 29);
  EXPECT_ERROR(set->label(30), "no image 30");
}

TEST(Subset, HeldOutImagesAreNotAmongTheRest) {
  const TemporaryFolder folder;
  make_idx_folder(folder / "idx", 50, 3);
  const HeldOut parts = hold_out(open_dataset(source((folder / "idx").string())), 0.1, 3);
  ASSERT_EQ(parts.held_out->size(), 5);
  ASSERT_EQ(parts.rest->size(), 45);
  std::set<int64_t> seen;
  for (const auto& part : {parts.held_out, parts.rest})
    for (int64_t i = 0; i < part->size(); ++i) seen.insert(part->source_index(i));
  EXPECT_EQ(seen.size(), 50u);
  EXPECT_EQ(hold_out(parts.held_out, 0.001, 3).held_out->size(), 1);
  EXPECT_EQ(hold_out(parts.held_out, 1, 3).rest->size(), 1);
}

}  // namespace
}  // namespace mdsm::data
