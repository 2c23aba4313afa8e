// What a generator tries first at the timed sizes has to be written at the check sizes as well: a
// recipe that does not replay there is refused, and its kernels are never measured.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "candidates/task_reader.h"
#include "engine/rewriting/local_rewriting.h"
#include "engine/search/requests/requests.h"

namespace hone {
namespace {

/// The first of the good points for each value of the first parameter: of each pipe, where there
/// are several.
std::vector<Step> first_of_each(const Proposal& proposal) {
  std::vector<Step> steps;
  std::set<std::size_t> seen;
  for (const std::vector<std::size_t>& start : proposal.starts)
    if (seen.insert(start.empty() ? 0 : start[0]).second) steps.push_back(proposal.step(start));
  return steps;
}

class FirstGuesses : public testing::TestWithParam<std::string> {};

TEST_P(FirstGuesses, ReplayAtTheCheckSizes) {
  const auto task = read_task(GetParam());
  ASSERT_TRUE(task) << task.error().message;
  LocalRewriting rewriting;
  auto builder = RequestBuilder::make(rewriting, *task, target_limits("sm_90"), {});
  ASSERT_TRUE(builder) << builder.error().message;
  const Space::Proposals proposals = (*builder)->space().proposals({});
  for (const Proposal& proposal : *proposals) {
    if (!proposal.rewriter.starts_with("generate-")) continue;
    for (const Step& step : first_of_each(proposal)) {
      const auto request = (*builder)->for_recipe({step}, 7);
      EXPECT_TRUE(request) << proposal.rewriter << " at " << proposal.site << ", "
                           << step.string_param("pipe", "no pipe") << ": "
                           << request.error().message;
    }
  }
}

std::vector<std::string> all_tasks() {
  std::vector<std::string> paths;
  for (const char* folder : {"baselines", "rewriters/schedules/tasks"}) {
    const std::filesystem::path root = std::filesystem::path(HONE_SOURCE_DIR) / folder;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root))
      if (entry.path().extension() == ".cu") paths.push_back(entry.path().string());
  }
  std::ranges::sort(paths);
  return paths;
}

INSTANTIATE_TEST_SUITE_P(Tasks, FirstGuesses, testing::ValuesIn(all_tasks()), [](const auto& test) {
  const std::filesystem::path path(test.param);
  return fmt::format("{}_{}", path.parent_path().stem().string(), path.stem().string());
});

}  // namespace
}  // namespace hone
