#include "engine/search/ranking/training/xgboost.h"

#ifdef HONE_XGBOOST
#include <dlfcn.h>
#include <fmt/format.h>
#include <xgboost/c_api.h>

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <stdexcept>
#endif

namespace hone::ranking {

#ifdef HONE_XGBOOST
namespace {

using Json = nlohmann::json;

/// What is used of it.
struct XgboostLibrary {
  decltype(&XGBGetLastError) last_error = nullptr;
  decltype(&XGDMatrixCreateFromMat) matrix = nullptr;
  decltype(&XGDMatrixSetFloatInfo) matrix_info = nullptr;
  decltype(&XGDMatrixFree) free_matrix = nullptr;
  decltype(&XGBoosterCreate) booster = nullptr;
  decltype(&XGBoosterSetParam) set = nullptr;
  decltype(&XGBoosterUpdateOneIter) update = nullptr;
  decltype(&XGBoosterPredict) predict = nullptr;
  decltype(&XGBoosterSaveModelToBuffer) save = nullptr;
  decltype(&XGBoosterFree) free_booster = nullptr;

  /// Null: it is not there, or lacks one of these.
  static const XgboostLibrary* open();
  /// Throws what the library says.
  void check(int status) const {
    if (status != 0) throw std::runtime_error(last_error());
  }
};

const XgboostLibrary* XgboostLibrary::open() {
  static const auto kOpened = [] {
    XgboostLibrary library;
    void* handle = nullptr;
    for (const char* name : {"libxgboost.so.0", "libxgboost.so"})
      if (handle == nullptr) handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    bool all = handle != nullptr;
    const auto take = [&]<class Function>(Function& function, const char* name) {
      if (all) function = reinterpret_cast<Function>(dlsym(handle, name));
      all = all && function != nullptr;
    };
    take(library.last_error, "XGBGetLastError");
    take(library.matrix, "XGDMatrixCreateFromMat");
    take(library.matrix_info, "XGDMatrixSetFloatInfo");
    take(library.free_matrix, "XGDMatrixFree");
    take(library.booster, "XGBoosterCreate");
    take(library.set, "XGBoosterSetParam");
    take(library.update, "XGBoosterUpdateOneIter");
    take(library.predict, "XGBoosterPredict");
    take(library.save, "XGBoosterSaveModelToBuffer");
    take(library.free_booster, "XGBoosterFree");
    return std::pair{library, all};
  }();
  return kOpened.second ? &kOpened.first : nullptr;
}

/// Handles that end with it.
class Booster {
 public:
  Booster(const XgboostLibrary& library, const TrainingRows& rows) : library_(library) {
    library_.check(
        library_.matrix(rows.values.data(), rows.rows(), rows.columns, std::nanf(""), &matrix_));
    library_.check(library_.matrix_info(matrix_, "label", rows.labels.data(), rows.labels.size()));
    library_.check(
        library_.matrix_info(matrix_, "weight", rows.weights.data(), rows.weights.size()));
    if (!rows.known.empty())
      library_.check(
          library_.matrix_info(matrix_, "base_margin", rows.known.data(), rows.known.size()));
    library_.check(library_.booster(&matrix_, 1, &booster_));
  }
  ~Booster() {
    if (booster_ != nullptr) library_.free_booster(booster_);
    if (matrix_ != nullptr) library_.free_matrix(matrix_);
  }
  Booster(const Booster&) = delete;
  Booster& operator=(const Booster&) = delete;

  void set(const std::string& name, const std::string& value) {
    library_.check(library_.set(booster_, name.c_str(), value.c_str()));
  }
  void train(int rounds) {
    for (int i = 0; i < rounds; ++i) library_.check(library_.update(booster_, i, matrix_));
  }
  std::vector<float> predictions() {
    bst_ulong length = 0;
    const float* values = nullptr;
    library_.check(library_.predict(booster_, matrix_, 0, 0, 0, &length, &values));
    return {values, values + length};
  }
  Json saved() {
    bst_ulong length = 0;
    const char* bytes = nullptr;
    library_.check(library_.save(booster_, R"({"format": "json"})", &length, &bytes));
    return Json::parse(std::string_view(bytes, length));
  }

 private:
  const XgboostLibrary& library_;
  DMatrixHandle matrix_ = nullptr;
  BoosterHandle booster_ = nullptr;
};

/// From XGBoost's JSON model format (its documentation, "Introduction to Model IO").
TreeModel model_from(const Json& saved) {
  const Json& learner = saved.at("learner");
  std::vector<Tree> trees;
  for (const Json& one : learner.at("gradient_booster").at("model").at("trees")) {
    const auto left = one.at("left_children").get<std::vector<std::int32_t>>();
    const auto right = one.at("right_children").get<std::vector<std::int32_t>>();
    const auto feature = one.at("split_indices").get<std::vector<std::int32_t>>();
    const auto threshold = one.at("split_conditions").get<std::vector<float>>();
    const auto missing = one.at("default_left").get<std::vector<int>>();
    Tree& tree = trees.emplace_back(left.size());
    for (std::size_t i = 0; i < tree.size(); ++i) {
      const bool leaf = left.at(i) < 0;
      tree[i] = {leaf ? -1 : feature.at(i), threshold.at(i), leaf ? 0 : left.at(i),
                 leaf ? 0 : right.at(i), !leaf && missing.at(i) != 0};
    }
  }
  const std::string base = learner.at("learner_model_param").at("base_score").get<std::string>();
  return {std::move(trees), std::atof(base.c_str())};
}

}  // namespace

Result<Trained> train_trees(const TrainingRows& rows, const TrainingOptions& options) {
  if (rows.rows() == 0 || rows.columns == 0) return invalid("there is nothing to train on");
  const XgboostLibrary* const library = XgboostLibrary::open();
  if (library == nullptr) {
    return fail(ErrorCode::kEnvironment,
                "training needs XGBoost's library, which is not there: apt-get install "
                "libxgboost-dev");
  }
  try {
    Booster booster(*library, rows);
    booster.set("objective", "reg:squarederror");
    booster.set("verbosity", "0");
    booster.set("nthread", "1");
    booster.set("seed", "1");
    booster.set("tree_method", "exact");
    booster.set("base_score", "0");
    for (const auto& [name, value] : options.parameters) booster.set(name, value);
    booster.train(options.rounds);
    return Trained{model_from(booster.saved()), booster.predictions()};
  } catch (const std::exception& e) {
    return fail(ErrorCode::kEnvironment, fmt::format("XGBoost: {}", e.what()));
  }
}

#else

Result<Trained> train_trees(const TrainingRows&, const TrainingOptions&) {
  return fail(ErrorCode::kEnvironment,
              "this hone was built without XGBoost, which training needs: install libxgboost-dev "
              "and build again");
}

#endif

}  // namespace hone::ranking
