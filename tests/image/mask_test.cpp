// Masks from boxes, images and chance: 1 is known in all of them.
#include "image/mask.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace mdsm::image {
namespace {

TEST(Mask, BoxesAndImages) {
  const Mask mask = box_mask(parse_box("1,2,3,1", "--box"), 5, 4, "cat.png");
  EXPECT_EQ(mask.shape, (Shape{1, 1, 4, 5}));
  for (size_t i = 0; i < mask.known.size(); ++i) EXPECT_EQ(mask.known[i], i >= 11 && i < 14 ? 0 : 1);
  EXPECT_NEAR(mask.missing_share(), 3.0 / 20, 1e-12);
  Image image = make_image(5, 4, 3);
  for (size_t i = 11; i < 14; ++i)
    std::fill_n(image.pixels.begin() + static_cast<int64_t>(3 * i), 3, uint8_t{255});
  EXPECT_EQ(mask_of_image(image, "mask.png", 5, 4, "cat.png"), mask);
  EXPECT_THROW(mask_of_image(image, "mask.png", 4, 5, "cat.png"), Error);
  EXPECT_THROW(mask_of_image(make_image(5, 4, 1), "mask.png", 5, 4, "cat.png"), Error);
}

TEST(Mask, OneForAllImagesAndChannels) {
  const Mask box = box_mask({2, 3, 4, 1}, 8, 8, "cat.png");
  EXPECT_TRUE(box.at(0, 0, 3, 1));
  EXPECT_FALSE(box.at(5, 2, 3, 2));
  EXPECT_FALSE(box.at(0, 0, 3, 5));
  EXPECT_TRUE(box.at(0, 0, 4, 2));
}

TEST(Mask, RefusesNonsense) {
  for (const char* text : {"", "1,2,3", "1,2,3,4,5", "a,0,1,1", "-1,0,1,1", "0,0,0,1", "1,1,1,1 "})
    EXPECT_THROW(parse_box(text, "--box"), Error) << text;
  for (const PixelBox& box : {PixelBox{3, 0, 3, 1},
                              {0, 3, 1, 2},
                              {5, 0, 1, 1},
                              {0, 0, INT64_MAX, 1},
                              {0, 0, 0, 3},
                              {-1, 0, 4, 3},
                              {1, 1, INT64_MAX, INT64_MAX}})
    EXPECT_THROW(box_mask(box, 5, 4, "cat.png"), Error);
  EXPECT_THROW(random_mask(1.5, 0, 0, 8, 8), Error);
  EXPECT_THROW(random_mask(NAN, 0, 0, 8, 8), Error);
}

TEST(Mask, RandomOnesMissTheShareAndRepeatThemselves) {
  const Mask one = random_mask(0.3, 7, 0, 200, 100);
  EXPECT_EQ(one, random_mask(0.3, 7, 0, 200, 100));
  EXPECT_NE(one, random_mask(0.3, 7, 1, 200, 100));
  EXPECT_NE(one, random_mask(0.3, 8, 0, 200, 100));
  EXPECT_NEAR(one.missing_share(), 0.3, 0.015);  // 4.6 standard deviations
  EXPECT_EQ(random_mask(1, 0, 0, 9, 9).missing_share(), 1);
}

}  // namespace
}  // namespace mdsm::image
