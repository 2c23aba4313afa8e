// Each recorded module, imported, gives PyTorch's answers on the emulated GPU, and is a task in
// which the sanitizer finds nothing at the sizes that are derived for checks.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>

#include "candidates/check_sizes.h"
#include "candidates/pytorch/exported.h"
#include "candidates/pytorch/import.h"
#include "candidates/pytorch/operations.h"
#include "candidates/task_reader.h"
#include "engine/search/single/recorded.h"
#include "evaluator/sanitize.h"
#include "tests/pytorch/fixture.h"

namespace hone::pytorch {
namespace {

class Fixtures : public testing::TestWithParam<std::string> {};

void extract_recorded(const std::string& fixture, const std::filesystem::path& folder) {
  const Archive archive = open_fixture(fixture);
  for (const auto& [name, member] : archive.members()) {
    if (!name.starts_with("recorded/")) continue;
    const auto bytes = archive.read(member, 1 << 20);
    ASSERT_TRUE(bytes) << bytes.error().message;
    write_bytes(folder / name.substr(std::string("recorded/").size()), *bytes);
  }
}

/// A module beside what was recorded of it, which lies in `folder`.
struct Recorded {
  std::filesystem::path file, folder;
  Result<Imported> imported;
  Result<Task> task;
  Result<std::unique_ptr<Evaluator>> evaluator;

  Recorded(const std::string& name, const std::filesystem::path& recorded)
      : file(fixture_file(name)),
        folder(recorded),
        imported(import_pt2(file, file.string())),
        task(imported ? parse_task(imported->text, folder / "module.task.cu")
                      : Result<Task>(std::unexpected(imported.error()))),
        evaluator(opened()) {}

  [[nodiscard]] RecordedBuffers buffers() const {
    return {imported->arguments, imported->results, imported->draws, imported->parameters};
  }
  [[nodiscard]] Result<std::unique_ptr<Evaluator>> opened() const {
    if (!task) return std::unexpected(task.error());
    EvaluatorOptions options;
    options.runner_path = std::string(HONE_BIN_DIR) + "/hone-runner";
    options.input_files = recorded_files(folder, buffers());
    options.input_files.push_back(file.string());
    options.compile_processes = options.check_processes = 1;
    options.tell_missing_layers = false;
    return Evaluator::open(*DeviceSpec::parse("emu:sm_90"), options);
  }
};

/// What the module changes is compared, too: one that is recorded otherwise is wrong.
TEST(Recorded, ChangedBuffersAreCompared) {
  const Folder folder("changed");
  extract_recorded("in_place", folder.path());
  for (const char* name : {"mean", "1"}) {
    const auto changed = folder.path() / "mutated" / (std::string(name) + ".bin");
    const std::string good = bytes_of(changed);
    ASSERT_GE(good.size(), 4U) << changed;
    std::string bad = good;
    bad[3] = static_cast<char>(bad[3] ^ 0x40);
    write_bytes(changed, bad);
    Recorded recorded("in_place", folder.path());
    ASSERT_TRUE(recorded.evaluator) << recorded.evaluator.error().message;
    const auto compared = compare_with_recorded(*recorded.task, folder.path(), recorded.buffers(),
                                                **recorded.evaluator, true);
    ASSERT_TRUE(compared) << compared.error().message;
    EXPECT_EQ(compared->verdict, Verdict::kWrongResult) << name << compared->detail;
    write_bytes(changed, good);
  }
}

TEST_P(Fixtures, AgreeWithPyTorch) {
  const Folder folder(GetParam());
  extract_recorded(GetParam(), folder.path());
  Recorded recorded(GetParam(), folder.path());
  const auto& [file, recorded_folder, imported, task, evaluator] = recorded;
  ASSERT_TRUE(imported) << imported.error().message;
  ASSERT_TRUE(task) << task.error().message << "\n" << imported->text;
  ASSERT_TRUE(evaluator) << evaluator.error().message;
  const auto compared =
      compare_with_recorded(*task, folder.path(), recorded.buffers(), **evaluator, true);
  ASSERT_TRUE(compared) << compared.error().message;
  EXPECT_EQ(compared->verdict, Verdict::kOk) << compared->detail << "\n" << imported->text;

  ASSERT_FALSE(task->check_sizes.empty());
  for (const Bindings& sizes : task->check_sizes) {
    auto program = instantiate(task->reference, sizes);
    ASSERT_TRUE(program) << program.error().message;
    SanitizeRequest request;
    request.program = *std::move(program);
    request.non_finite = NonFinite::kSame;
    request.threads = 1;
    const auto result = sanitize(**evaluator, request);
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(result->verdict, Verdict::kOk) << result->detail;
    EXPECT_EQ(result->stopped, "");
    for (const SanitizeFinding& finding : result->findings) {
      ADD_FAILURE() << finding.kernel << ": " << to_string(finding.finding.kind) << " "
                    << finding.finding.what;
    }
  }
}

TEST(Import, WritesTheMathLevel) {
  const auto file = fixture_file("transformer");
  for (const auto level : {MathLevel::kExact, MathLevel::kReduced}) {
    const auto imported = import_pt2(file, file.string(), {.usual = level});
    ASSERT_TRUE(imported) << imported.error().message;
    const auto task = parse_task(imported->text, "module.task.cu");
    ASSERT_TRUE(task) << task.error().message;
    EXPECT_EQ(task->math, level);
  }
  const auto plain = import_pt2(file, file.string());
  ASSERT_TRUE(plain) << plain.error().message;
  EXPECT_EQ(plain->text.find("\"math\""), std::string::npos);
}

TEST(Import, TheMathLevelFollowsWhatIsInTheGraph) {
  const auto level = [](const char* name, const MathLevels& levels) -> std::optional<MathLevel> {
    const auto file = fixture_file(name);
    const auto imported = import_pt2(file, file.string(), levels);
    const auto task =
        imported ? parse_task(imported->text, "module.task.cu") : std::unexpected(imported.error());
    if (task) return task->math;
    ADD_FAILURE() << task.error().message;
    return std::nullopt;
  };
  constexpr auto kTf32 = MathLevel::kTf32, kPlain = MathLevel::kReassociate;
  EXPECT_EQ(level("convolutions", {.convolutions = kTf32}), kTf32);
  EXPECT_EQ(level("convolutions", {.products = kTf32}), kPlain);
  EXPECT_EQ(level("products", {.products = kTf32}), kTf32);
  EXPECT_EQ(level("products", {.convolutions = kTf32}), kPlain);
  EXPECT_EQ(level("attention", {.products = kTf32}), kTf32);
  EXPECT_EQ(level("einsum", {.products = kTf32}), kTf32);
  EXPECT_EQ(level("activations", {.convolutions = kTf32, .products = kTf32}), kPlain);
  EXPECT_EQ(level("pointwise_f16", {.convolutions = kTf32, .products = kTf32}), kPlain);
  EXPECT_EQ(level("recurrent", {.recurrent = kTf32}), kTf32);
  EXPECT_EQ(level("recurrent", {.convolutions = kTf32, .products = kTf32}), kPlain);
  // A single cell is products of matrices in PyTorch.
  EXPECT_EQ(level("recurrent_cells", {.products = kTf32}), kTf32);
  EXPECT_EQ(level("recurrent_cells", {.recurrent = kTf32}), kPlain);
  // A stricter one does not count.
  EXPECT_EQ(level("convolutions", {.usual = kTf32, .convolutions = MathLevel::kExact}), kTf32);
  EXPECT_EQ(level("convolutions", {.usual = MathLevel::kExact, .convolutions = kTf32}), kTf32);
}

INSTANTIATE_TEST_SUITE_P(All, Fixtures, testing::ValuesIn(fixture_names()),
                         [](const auto& info) { return info.param; });

/// Reads the modules' names from the Python files, which need PyTorch to run.
TEST(Recorded, EachModuleHasAFile) {
  const auto recorded = fixture_names();
  std::string missing;
  int modules = 0;
  for (const auto& entry : std::filesystem::directory_iterator(fixtures_folder() / "../modules")) {
    if (entry.path().extension() != ".py") continue;
    const std::string text = bytes_of(entry.path());
    constexpr std::string_view kHead = "\n@fixture\ndef ";
    for (auto at = text.find(kHead); at != std::string::npos; at = text.find(kHead, at)) {
      at += kHead.size();
      const std::string name = text.substr(at, text.find('(', at) - at);
      if (!std::ranges::binary_search(recorded, name)) missing += " " + name;
      ++modules;
    }
  }
  EXPECT_GT(modules, 0);
  EXPECT_EQ(missing, "") << "tests/pytorch/record.py" << missing << " (with PyTorch) records them";
}

/// What no fixture has: names of the same rule on a GPU, and what computes nothing.
const std::set<std::string_view> kAliases = {"aten._assert_async.msg",
                                             "aten._scaled_dot_product_flash_attention.default",
                                             "aten._scaled_dot_product_efficient_attention.default",
                                             "aten._scaled_dot_product_cudnn_attention.default"};

TEST(Operations, EachIsUsedByAFixture) {
  std::set<std::string> used;
  for (const std::string& name : fixture_names()) {
    const auto exported = read_exported(fixture_file(name));
    ASSERT_TRUE(exported) << exported.error().message;
    for (const Node& node : exported->nodes) {
      used.insert(node.target);
      const std::size_t dot = node.target.rfind('.');
      if (dot != std::string::npos && dot > 0 && node.target[dot - 1] == '_') {
        used.insert(node.target.substr(0, dot - 1) + node.target.substr(dot));
      }
    }
  }
  std::set<std::string_view> seen;
  std::string unused;
  for (const std::string_view target : known_targets()) {
    EXPECT_TRUE(seen.insert(target).second) << target << " is there twice";
    if (used.contains(std::string(target)) || kAliases.contains(target)) continue;
    unused += " " + std::string(target);
  }
  EXPECT_EQ(unused, "") << "no recorded module uses these";
  for (const std::string_view alias : kAliases) {
    EXPECT_TRUE(seen.contains(alias)) << alias << " is no operation any more";
  }
}

}  // namespace
}  // namespace hone::pytorch
