#include "engine/search/ranking/tree_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "engine/search/ranking/features.h"

namespace hone::ranking {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kFormat = "hone ranking 1";
constexpr std::int32_t kNotThere = INT32_MAX;  // a feature of another hone

/// Of a node that is one: children come later and are there.
bool is_sound(const Tree& tree) {
  const auto size = static_cast<std::int32_t>(tree.size());
  for (std::int32_t i = 0; i < size; ++i) {
    const TreeNode& node = tree[static_cast<std::size_t>(i)];
    if (!std::isfinite(node.threshold)) return false;
    if (node.feature < 0) continue;
    if (node.left <= i || node.right <= i || node.left >= size || node.right >= size) return false;
  }
  return !tree.empty();
}

/// `features`: the number here of each of the file's.
Tree tree_from(const Json& json, const std::vector<std::int32_t>& features) {
  const auto feature = json.at("feature").get<std::vector<std::int32_t>>();
  const auto threshold = json.at("threshold").get<std::vector<float>>();
  const auto left = json.at("left").get<std::vector<std::int32_t>>();
  const auto right = json.at("right").get<std::vector<std::int32_t>>();
  const auto missing = json.at("missing_left").get<std::vector<int>>();
  Tree tree(feature.size());
  for (std::size_t i = 0; i < tree.size(); ++i) {
    const std::int32_t own =
        feature[i] < 0 ? -1 : features.at(static_cast<std::size_t>(feature[i]));
    tree[i] = {own, threshold.at(i), left.at(i), right.at(i), missing.at(i) != 0};
  }
  return tree;
}

Json to_json(const Tree& tree) {
  Json feature = Json::array(), threshold = Json::array(), left = Json::array(),
       right = Json::array(), missing = Json::array();
  for (const TreeNode& node : tree) {
    feature.push_back(node.feature);
    threshold.push_back(node.threshold);
    left.push_back(node.left);
    right.push_back(node.right);
    missing.push_back(node.missing_left ? 1 : 0);
  }
  return {{"feature", feature},
          {"threshold", threshold},
          {"left", left},
          {"right", right},
          {"missing_left", missing}};
}

/// As XGBoost adds up: in single precision, tree by tree.
float added(const std::vector<Tree>& trees, std::span<const float> features, float sum) {
  for (const Tree& tree : trees) {
    const TreeNode* node = tree.data();
    while (node->feature >= 0) {
      const auto place = static_cast<std::size_t>(node->feature);
      const float value = place < features.size() ? features[place] : std::nanf("");
      const bool left = std::isnan(value) ? node->missing_left : value < node->threshold;
      node = &tree[static_cast<std::size_t>(left ? node->left : node->right)];
    }
    sum += node->threshold;
  }
  return sum;
}

std::string text_of(const std::vector<Tree>& trees) {
  std::string text = "[";
  for (std::size_t i = 0; i < trees.size(); ++i)
    text += (i == 0 ? "\n  " : ",\n  ") + to_json(trees[i]).dump();
  return text + "]";
}

/// The feature that is known where the compiler has reported.
std::size_t feature_of_report() {
  static const auto kPlace = static_cast<std::size_t>(
      std::ranges::find(feature_names(), "registers") - feature_names().begin());
  return kPlace;
}

}  // namespace

double TreeModel::predict(std::span<const float> features) const {
  const float sum = added(trees_, features, static_cast<float>(base_));
  const std::size_t report = feature_of_report();
  const bool compiled = report < features.size() && !std::isnan(features[report]);
  return compiled ? added(report_trees_, features, sum) : sum;
}

TreeModel TreeModel::with_report(const TreeModel& report) const {
  TreeModel both = *this;
  both.report_trees_ = report.trees_;
  return both;
}

std::string TreeModel::text() const {
  return fmt::format(
      "{{\"format\": {},\n \"arch\": {},\n \"trained_on\": {},\n \"base\": {},\n"
      " \"features\": {},\n \"trees\": {},\n \"report_trees\": {}}}\n",
      Json(kFormat).dump(), Json(arch).dump(), Json(trained_on).dump(), base_,
      Json(feature_names()).dump(), text_of(trees_), text_of(report_trees_));
}

Result<TreeModel> TreeModel::parse(std::string_view text) {
  const auto wrong = [](const std::string& what) {
    return invalid("a ranking model is JSON as `hone calibrate --from-db` writes it: " + what);
  };
  try {
    const Json json = Json::parse(text);
    if (json.at("format") != kFormat) return wrong("another format");
    const std::vector<std::string>& known = feature_names();
    std::vector<std::int32_t> features;
    for (const Json& name : json.at("features")) {
      const auto own = std::ranges::find(known, name.get<std::string>());
      features.push_back(own == known.end() ? kNotThere
                                            : static_cast<std::int32_t>(own - known.begin()));
    }
    const auto trees_at = [&](const char* key) {
      std::vector<Tree> trees;
      for (const Json& one : json.at(key)) trees.push_back(tree_from(one, features));
      return trees;
    };
    TreeModel model(trees_at("trees"), json.at("base").get<double>(), trees_at("report_trees"));
    if (!std::ranges::all_of(model.trees_, is_sound) ||
        !std::ranges::all_of(model.report_trees_, is_sound))
      return wrong("a tree is none");
    model.arch = json.at("arch").get<std::string>();
    model.trained_on = json.value("trained_on", "");
    return model;
  } catch (const std::exception& e) {
    return wrong(e.what());
  }
}

std::shared_ptr<const TreeModel> built_in_model(std::string_view arch) {
  static const auto kModels = [] {
    std::map<std::string, std::shared_ptr<const TreeModel>, std::less<>> models;
    for (const std::string_view text : embedded_models())
      if (auto model = TreeModel::parse(text)) {
        const std::string arch = model->arch;
        models[arch] = std::make_shared<const TreeModel>(std::move(*model));
      }
    return models;
  }();
  const auto found = kModels.find(arch);
  return found == kModels.end() ? nullptr : found->second;
}

}  // namespace hone::ranking
