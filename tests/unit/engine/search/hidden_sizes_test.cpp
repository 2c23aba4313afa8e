#include "engine/search/requests/hidden_sizes.h"

#include <gtest/gtest.h>

#include <set>

#include "candidates/task_reader.h"

namespace hone {
namespace {

Result<Task> task(const std::string& more) {
  return parse_task(
      "/* hone {\"name\": \"t\", \"sizes\": {\"M\": 4096, \"N\": 4096, \"C\": 3},"
      "\"buffers\": [{\"name\": \"x\", \"type\": \"f32\", \"shape\": [\"M\", \"N\", \"C\"], "
      "\"role\": "
      "\"inout\"}],"
      "\"launches\": [{\"kernel\": \"k\", \"grid\": [\"ceildiv(N,256)\", \"M\"], \"block\": [256], "
      "\"args\": [\"x\"]}]" +
          more + "} */ __global__ void k(float* x) {}",
      "t.cu");
}

TEST(HiddenSizes, AreOddSeveralBlocksWideAndNew) {
  const auto t = task(
      ", \"check_sizes\": [{\"M\": 33, \"N\": 65, \"C\": 3}, {\"M\": 7, \"N\": 20, \"C\": 3}]");
  ASSERT_TRUE(t) << t.error().message;
  const auto sizes = hidden_sizes(*t, 5);
  ASSERT_EQ(sizes.size(), 3U);
  EXPECT_NE(hidden_sizes(*t, 6), sizes);
  EXPECT_EQ(hidden_sizes(*t, 5), sizes);
  bool wide = false;
  for (const Bindings& one : sizes) {
    EXPECT_EQ(one.at("C"), 3);
    EXPECT_TRUE(one.at("M") % 2 == 1 || one.at("N") % 2 == 1);
    wide = wide || one.at("N") > 256;
  }
  EXPECT_TRUE(wide);
}

TEST(HiddenSizes, WithoutSpecialisationGoAboveTheTimedOnes) {
  const auto t = task(
      ", \"specialize\": false, \"check_sizes\": [{\"M\": 33, \"N\": 65, \"C\": 3}, {\"M\": 7, "
      "\"N\": 20, \"C\": 3}]");
  ASSERT_TRUE(t) << t.error().message;
  const auto is_near_a_power = [](std::int64_t n) {
    for (const std::int64_t near : {n - 1, n, n + 1})
      if (near > 0 && (near & (near - 1)) == 0) return true;
    return false;
  };
  for (std::uint64_t seed = 1; seed < 30; ++seed) {
    const auto sizes = hidden_sizes(*t, seed);
    ASSERT_EQ(sizes.size(), 14U);
    EXPECT_TRUE(is_near_a_power(sizes[3].at("M")) && is_near_a_power(sizes[3].at("N")));
    for (std::size_t i = 0; i < 12; ++i) EXPECT_EQ(sizes[i].at("C"), 3);
    EXPECT_EQ(sizes[12].at("C"), 2);
    EXPECT_EQ(sizes[13].at("C"), 4);
    EXPECT_GT(sizes[4].at("M"), 4096);
    EXPECT_LE(sizes[4].at("N"), 65);
    EXPECT_GT(sizes[5].at("N"), 4096);
    EXPECT_LE(sizes[5].at("M"), 33);
    // A square one, where one buffer could stand in for another, then rows and columns of one.
    EXPECT_EQ(sizes[6].at("M"), sizes[6].at("N"));
    EXPECT_GT(sizes[6].at("M"), 1);
    EXPECT_EQ(sizes[7].at("M"), 1);
    EXPECT_GT(sizes[7].at("N"), 1);
    EXPECT_EQ(sizes[8].at("N"), 1);
    EXPECT_GT(sizes[8].at("M"), 1);
    EXPECT_EQ(sizes[9].at("M"), 1);
    EXPECT_EQ(sizes[9].at("N"), 1);
    EXPECT_EQ(sizes[10].at("M"), 2 * sizes[10].at("N"));
    EXPECT_EQ(sizes[11].at("N"), 2 * sizes[11].at("M"));
  }
  // What cannot be afforded is left out.
  const auto few = hidden_sizes(*t, 5, [](const Bindings& one) { return one.at("M") <= 4096; });
  EXPECT_EQ(few.size(), 13U);
}

TEST(HiddenSizes, OfAllRemaindersHaveEachOnce) {
  const std::string checks =
      ", \"check_sizes\": [{\"M\": 33, \"N\": 200, \"C\": 3}, {\"M\": 7, \"N\": 20, \"C\": 3}]";
  const auto t = task(", \"specialize\": false" + checks);
  ASSERT_TRUE(t) << t.error().message;
  const auto sizes = sizes_of_all_remainders(*t, 5);
  ASSERT_EQ(sizes.size(), 64U);
  for (const char* name : {"M", "N"}) {
    std::set<std::int64_t> remainders;
    for (const Bindings& one : sizes) {
      EXPECT_GT(one.at(name), 0);
      EXPECT_LE(one.at(name), 200);
      EXPECT_EQ(one.at("C"), 3);
      remainders.insert(one.at(name) % 64);
    }
    EXPECT_EQ(remainders.size(), 64U) << name;
  }
  EXPECT_NE(sizes_of_all_remainders(*t, 6), sizes);
  EXPECT_TRUE(sizes_of_all_remainders(*task(checks), 5).empty());
}

TEST(LargeSizes, HaveSeveralLargeAtOnceAndOneFarAbove) {
  const std::string checks =
      "\"check_sizes\": [{\"M\": 33, \"N\": 65, \"C\": 3}, {\"M\": 7, \"N\": 20, \"C\": 3}]";
  const auto t = task(", \"specialize\": false, " + checks);
  ASSERT_TRUE(t) << t.error().message;
  for (std::uint64_t seed = 1; seed < 30; ++seed) {
    const auto sizes = large_sizes(*t, seed);
    ASSERT_EQ(sizes.size(), 6U);
    for (const auto* name : {"M", "N"}) {
      EXPECT_GE(sizes[0].at(name), 4096);
      EXPECT_LE(sizes[0].at(name), 5800);
      EXPECT_GE(sizes[1].at(name), 2400);
      EXPECT_LE(sizes[1].at(name), 4120);
      EXPECT_EQ(sizes[0].at(name) % 2, 1);
      EXPECT_GE(sizes[5].at(name), 6143);
      EXPECT_LE(sizes[5].at(name), 12300);
    }
    for (const Bindings& one : sizes) EXPECT_EQ(one.at("C"), 3);
    EXPECT_GE(sizes[2].at("M"), 3 * 4096 - 1);
    EXPECT_LE(sizes[2].at("N"), 65);
    EXPECT_GE(sizes[3].at("N"), 3 * 4096 - 1);
    EXPECT_LE(sizes[3].at("M"), 33);
    // More elements than 32 bits count, with the others as they are timed; not of M, which is a
    // grid's y.
    EXPECT_EQ(sizes[4].at("M"), 4096);
    const double elements = 3.0 * 4096 * static_cast<double>(sizes[4].at("N"));
    EXPECT_GT(elements, 0x1p32);
    EXPECT_LT(elements, 1.2 * 0x1p32);
  }
  const auto made_for_the_timed = task(", " + checks);
  ASSERT_TRUE(made_for_the_timed);
  EXPECT_TRUE(large_sizes(*made_for_the_timed, 1).empty());
  const auto multiples = task(
      ", \"specialize\": false, \"constraints\": [\"N % 4 == 0\"], \"check_sizes\": "
      "[{\"M\": 33, \"N\": 64, \"C\": 3}]");
  ASSERT_TRUE(multiples) << multiples.error().message;
  EXPECT_EQ(large_sizes(*multiples, 1).size(), 6U);
  for (const Bindings& one : large_sizes(*multiples, 1)) EXPECT_EQ(one.at("N") % 4, 0);
}

TEST(HiddenSizes, AboveTheTimedOnesTheConstraintsHold) {
  const auto t = task(
      ", \"specialize\": false, \"constraints\": [\"N % 16 == 0\"], \"check_sizes\": [{\"M\": 32, "
      "\"N\": 64, \"C\": 3}, {\"M\": 16, \"N\": 32, \"C\": 3}]");
  ASSERT_TRUE(t) << t.error().message;
  bool above = false;
  for (const Bindings& one : hidden_sizes(*t, 5)) {
    EXPECT_EQ(one.at("N") % 16, 0);
    above = above || one.at("N") > 4096;
  }
  EXPECT_TRUE(above);
}

/// What takes blocks in pairs is right at even numbers of blocks and at one.
TEST(HiddenSizes, AreOddMultiplesOfWhatConstraintsWant) {
  const auto t = task(
      ", \"specialize\": false, \"constraints\": [\"N % 256 == 0\", \"M % 32 == 0\"], "
      "\"check_sizes\": [{\"M\": 32, \"N\": 256, \"C\": 3}, {\"M\": 64, \"N\": 512, \"C\": 3}]");
  ASSERT_TRUE(t) << t.error().message;
  for (std::uint64_t seed = 1; seed < 30; ++seed) {
    auto all = hidden_sizes(*t, seed);
    EXPECT_GE(all.size(), 6U) << seed;
    for (const auto& one : large_sizes(*t, seed)) all.push_back(one);
    EXPECT_GE(all.size(), 10U) << seed;
    bool rows = false, columns = false;
    for (const Bindings& one : all) {
      EXPECT_EQ(one.at("N") % 256, 0);
      EXPECT_EQ(one.at("M") % 32, 0);
      columns = columns || (one.at("N") > 256 && one.at("N") / 256 % 2 == 1);
      rows = rows || (one.at("M") > 32 && one.at("M") / 32 % 2 == 1);
    }
    EXPECT_TRUE(rows && columns) << seed;
  }
}

TEST(HiddenSizes, VaryWhatNoCheckListsWhereEverySizeCounts) {
  const std::string checks = "\"check_sizes\": [{\"M\": 33, \"N\": 65}, {\"M\": 7, \"N\": 20}]";
  const auto t = task(", \"specialize\": false, " + checks);
  ASSERT_TRUE(t) << t.error().message;
  bool below = false, above = false;
  for (const Bindings& one : hidden_sizes(*t, 5)) {
    below = below || one.at("C") < 3;
    above = above || one.at("C") > 3;
  }
  EXPECT_TRUE(below && above);
  const auto made_for_the_timed = task(", " + checks);
  ASSERT_TRUE(made_for_the_timed);
  for (const Bindings& one : hidden_sizes(*made_for_the_timed, 5)) EXPECT_EQ(one.at("C"), 3);
}

/// An int that holds the product of the timed sizes need not hold that of larger ones.
TEST(LargeSizes, MultiplyToMoreThanAnIntHolds) {
  const auto t = parse_task(
      "/* hone {\"name\": \"t\", \"sizes\": {\"M\": 512, \"N\": 512, \"K\": 4096}, "
      "\"specialize\": false, \"check_sizes\": [{\"M\": 33, \"N\": 65, \"K\": 12}],"
      "\"buffers\": [{\"name\": \"x\", \"type\": \"f32\", \"shape\": [\"M\", \"N\"], "
      "\"role\": \"inout\"}],"
      "\"launches\": [{\"kernel\": \"k\", \"grid\": [\"ceildiv(N,256)\", \"M\"], "
      "\"block\": [256], \"args\": [\"x\"]}]} */ __global__ void k(float* x) {}",
      "t.cu");
  ASSERT_TRUE(t) << t.error().message;
  for (std::uint64_t seed = 1; seed < 30; ++seed) {
    double most = 0;
    for (const Bindings& one : large_sizes(*t, seed))
      if (one.at("M") < 3 * 512 && one.at("N") < 3 * 512)
        most = std::max(most, 1.0 * static_cast<double>(one.at("M") * one.at("N") * one.at("K")));
    EXPECT_GT(most, 0x1p31) << seed;
  }
}

TEST(HiddenSizes, KeepWhatEveryListedSizeHas) {
  const auto t = task(
      ", \"constraints\": [\"N % 32 == 0\"], \"check_sizes\": [{\"M\": 32, \"N\": 64, \"C\": 3}, "
      "{\"M\": 16, "
      "\"N\": 32, \"C\": 3}]");
  ASSERT_TRUE(t) << t.error().message;
  const auto sizes = hidden_sizes(*t, 5);
  EXPECT_FALSE(sizes.empty());
  for (const Bindings& one : sizes) {
    EXPECT_EQ(one.at("N") % 32, 0);
    EXPECT_EQ(one.at("M") % 16, 0);
  }
}

}  // namespace
}  // namespace hone
