// Trees as text and their sums.
#include "engine/search/ranking/tree_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/search/ranking/features.h"

namespace hone::ranking {
namespace {

/// Below 5 of the first feature: 1, else 2; where it is not known, 2.
Tree stump() { return {{0, 5, 1, 2, false}, {-1, 1, 0, 0, false}, {-1, 2, 0, 0, false}}; }

TEST(TreeModel, AddsUpTheLeaves) {
  const TreeModel model({stump(), stump()}, 0.5);
  EXPECT_EQ(model.predict(std::vector<float>{4}), 2.5);
  EXPECT_EQ(model.predict(std::vector<float>{5}), 4.5);
  EXPECT_EQ(model.predict(std::vector<float>{std::nanf("")}), 4.5);
  EXPECT_EQ(model.predict({}), 4.5);
}

TEST(TreeModel, AReportCountsWhereItIsKnown) {
  const auto& names = feature_names();
  Features features(names.size(), 4);
  const TreeModel model({stump()}, 0, {stump()});
  EXPECT_EQ(model.predict(features), 2);
  features[static_cast<std::size_t>(std::ranges::find(names, "registers") - names.begin())] =
      std::nanf("");
  EXPECT_EQ(model.predict(features), 1);
}

TEST(TreeModel, ReadsWhatItWrote) {
  TreeModel model({stump()}, 0.25, {stump()});
  model.arch = "sm_90";
  model.trained_on = "3 programs";
  const auto read = TreeModel::parse(model.text());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->arch, "sm_90");
  EXPECT_EQ(read->trained_on, "3 programs");
  EXPECT_EQ(read->text(), model.text());
  EXPECT_EQ(read->predict(std::vector<float>{4}), 1.25);
}

TEST(TreeModel, AFeatureOfAnotherHoneIsNotKnown) {
  TreeModel model({stump()}, 0);
  auto json = nlohmann::json::parse(model.text());
  json["features"][0] = "what_nobody_knows";
  const auto read = TreeModel::parse(json.dump());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->predict(std::vector<float>{4}), 2);  // as where it is not known
}

TEST(TreeModel, RefusesWhatWouldNotEnd) {
  const auto refused = [](const auto& change) {
    auto json = nlohmann::json::parse(TreeModel({stump()}, 0).text());
    change(json);
    return !TreeModel::parse(json.dump());
  };
  EXPECT_FALSE(refused([](auto&) {}));
  EXPECT_TRUE(refused([](auto& json) { json["trees"][0]["left"][0] = 0; }));
  EXPECT_TRUE(refused([](auto& json) { json["trees"][0]["right"][0] = 3; }));
  EXPECT_TRUE(refused([](auto& json) { json["trees"][0]["feature"][0] = 100'000; }));
  EXPECT_TRUE(refused([](auto& json) { json["trees"][0]["left"].erase(2); }));
  EXPECT_TRUE(refused([](auto& json) { json["format"] = "another"; }));
  EXPECT_TRUE(refused([](auto& json) { json.erase("base"); }));
  EXPECT_FALSE(TreeModel::parse("{"));
}

TEST(TreeModel, WhatIsBuiltInCanBeRead) {
  for (const std::string_view text : embedded_models()) {
    const auto model = TreeModel::parse(text);
    ASSERT_TRUE(model) << model.error().message;
    const auto built_in = built_in_model(model->arch);
    ASSERT_NE(built_in, nullptr) << model->arch;
    EXPECT_EQ(built_in->text(), model->text());
    // All that it asks for is known to this hone.
    const auto json = nlohmann::json::parse(text);
    EXPECT_EQ(json["features"].get<std::vector<std::string>>(), feature_names())
        << "train it again: hone calibrate --from-db";
  }
  EXPECT_EQ(built_in_model("sm_1"), nullptr);
}

}  // namespace
}  // namespace hone::ranking
