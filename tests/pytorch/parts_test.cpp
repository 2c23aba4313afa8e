// A module cut into parts computes what it computes whole: the parts of each recorded module are
// put behind one another again, as one program, and compared with the program of the whole.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "candidates/pytorch/exported.h"
#include "candidates/pytorch/import.h"
#include "candidates/pytorch/parts.h"
#include "candidates/task_reader.h"
#include "evaluator/evaluator.h"
#include "tests/pytorch/fixture.h"
#include "tests/pytorch/zip_writer.h"

namespace hone::pytorch {
namespace {

constexpr std::string_view kCopy = R"(
template <class T>
__global__ void copy_of(const T* from, T* to, long long first, long long count) {
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) to[i] = from[first + i];
}
)";

/// Steps as one program with the buffers of the whole's. Slices that PyTorch makes are copies;
/// results that are other views made by PyTorch are compared in neither.
class Composed {
 public:
  Composed(const Exported& exported, const Imported& imported, ConcreteProgram whole)
      : exported_(exported), whole_(std::move(whole)), program_(whole_) {
    program_.launches.clear();
    program_.source = kCopy;
    for (const char* header : {"cuda_fp16.h", "cuda_bf16.h"}) {
      if (whole_.source.contains(header)) headers_ += fmt::format("#include <{}>\n", header);
    }
    std::size_t argument = 0;
    for (const GraphInput& input : exported.inputs) {
      if (input.kind == GraphInput::Kind::kUser) {
        const std::string& buffer = imported.arguments.at(argument++);
        if (!buffer.empty()) buffers_[input.name] = find(buffer);
        continue;
      }
      for (const auto& [name, buffer] : imported.parameters) {
        if (name == input.target) buffers_[input.name] = find(buffer);
      }
    }
    // Values between are the parts' alone.
    for (ConcreteBuffer& buffer : program_.buffers) {
      if (buffer.role == Role::kScratch) buffer.shape = {1};
    }
  }

  void run(const Part& part, std::size_t number) {
    const auto task = parse_task(part.text, "part.task.cu");
    ASSERT_TRUE(task) << task.error().message;
    const auto own = instantiate(task->reference, task->sizes);
    ASSERT_TRUE(own) << own.error().message;
    const std::string space = fmt::format("part_{}", number);
    std::string source = own->source;
    for (const char* header : {"cuda_fp16.h", "cuda_bf16.h"}) {
      const std::string line = fmt::format("#include <{}>\n", header);
      if (const auto at = source.find(line); at != std::string::npos) source.erase(at, line.size());
    }
    program_.source += fmt::format("namespace {} {{\n{}\n}}\n", space, source);
    std::vector<int> place(own->buffers.size(), -1);
    for (std::size_t i = 0; i < own->buffers.size(); ++i) {
      const ConcreteBuffer& buffer = own->buffers[i];
      for (const PartValue& input : part.inputs) {
        if (input.buffer != buffer.name) continue;
        ASSERT_TRUE(buffers_.contains(input.value) || slice(input.value))
            << input.value << " is not there yet";
        place[i] = buffers_.at(input.value);
        EXPECT_EQ(input.changed, buffer.role == Role::kInOut) << input.value;
        EXPECT_EQ(program_.buffers[static_cast<std::size_t>(place[i])].elements(),
                  buffer.elements());
      }
      if (place[i] >= 0) continue;
      ConcreteBuffer mine = buffer;
      mine.name = fmt::format("{}_{}", space, buffer.name);
      mine.role = Role::kScratch;
      mine.fill = {};
      place[i] = static_cast<int>(program_.buffers.size());
      program_.buffers.push_back(mine);
      for (const PartValue& output : part.outputs) {
        if (output.buffer == buffer.name) buffers_[output.value] = place[i];
      }
    }
    for (ConcreteLaunch launch : own->launches) {
      launch.kernel = fmt::format("{}::{}", space, launch.kernel);
      for (ConcreteArgument& value : launch.args) {
        if (auto* buffer = std::get_if<BufferIndex>(&value)) {
          buffer->index = place[static_cast<std::size_t>(buffer->index)];
        }
      }
      program_.launches.push_back(std::move(launch));
    }
  }

  /// How many results are compared.
  int finish(const Exported& exported, const Imported& imported) {
    int compared = 0;
    std::size_t result = 0;
    for (const GraphOutput& output : exported.outputs) {
      if (output.kind == GraphOutput::Kind::kMutation) {
        write_back(exported, output);
        continue;
      }
      const std::string& buffer = imported.results.at(result++);
      if (buffer.empty()) continue;
      const auto to = static_cast<std::size_t>(find(buffer));
      slice(output.name);
      const auto from = buffers_.find(output.name);
      if (from == buffers_.end()) {
        if (whole_.buffers[to].role != Role::kOut) continue;
        whole_.buffers[to].role = program_.buffers[to].role = Role::kScratch;
        continue;
      }
      ++compared;
      if (from->second == static_cast<int>(to)) continue;
      copy(from->second, static_cast<int>(to), 0);
    }
    program_.source.insert(0, headers_);
    return compared;
  }

  [[nodiscard]] const ConcreteProgram& whole() const { return whole_; }
  [[nodiscard]] const ConcreteProgram& program() const { return program_; }

 private:
  void copy(int from, int to, std::int64_t first) {
    const ConcreteBuffer& copied = program_.buffers[static_cast<std::size_t>(to)];
    ConcreteLaunch launch;
    launch.kernel = fmt::format("copy_of<{}>", cuda_name(copied.type));
    launch.grid = {(copied.elements() + 255) / 256, 1, 1};
    launch.block = {256, 1, 1};
    launch.args = {BufferIndex{from}, BufferIndex{to}, first, copied.elements()};
    program_.launches.push_back(launch);
  }

  void write_back(const Exported& exported, const GraphOutput& output) {
    for (const GraphInput& input : exported.inputs) {
      const bool user = input.kind == GraphInput::Kind::kUser;
      if ((user ? input.name : input.target) != output.target) continue;
      ASSERT_TRUE(slice(output.name)) << output.name;
      const int from = buffers_.at(output.name), to = buffers_.at(input.name);
      if (from != to) copy(from, to, 0);
    }
  }

  /// A view that lies in a row, of what is there. False: it is none.
  bool slice(const std::string& value) {
    if (buffers_.contains(value)) return true;
    std::string base = value;
    while (!buffers_.contains(base)) {
      const auto maker = std::ranges::find_if(exported_.nodes, [&](const Node& node) {
        return std::ranges::find(node.outputs, base) != node.outputs.end();
      });
      if (maker == exported_.nodes.end()) return false;
      const std::vector<std::string> read = tensors_read(*maker);
      if (read.size() != 1) return false;
      base = read.front();
    }
    const TensorMeta &meta = exported_.tensors.at(value), &whole = exported_.tensors.at(base);
    if (!lies_in_a_row(meta)) return false;
    ConcreteBuffer buffer;
    buffer.name = "slice_" + value;
    buffer.type = meta.type;
    buffer.shape = meta.sizes;
    buffer.role = Role::kScratch;
    buffers_[value] = static_cast<int>(program_.buffers.size());
    program_.buffers.push_back(buffer);
    copy(buffers_.at(base), buffers_.at(value), meta.offset - whole.offset);
    return true;
  }

  [[nodiscard]] int find(const std::string& name) const {
    const auto found = std::ranges::find(whole_.buffers, name, &ConcreteBuffer::name);
    return static_cast<int>(found - whole_.buffers.begin());
  }

  const Exported& exported_;
  ConcreteProgram whole_, program_;
  std::string headers_;
  std::map<std::string, int> buffers_;  ///< of the values that are there
};

class EachModuleInParts : public testing::TestWithParam<std::string> {};

TEST_P(EachModuleInParts, ComputeTheWhole) {
  const auto file = fixture_file(GetParam());
  const auto exported = read_exported(file);
  ASSERT_TRUE(exported);
  const auto imported = import_pt2(file, file.string());
  ASSERT_TRUE(imported);
  const auto task = parse_task(imported->text, "whole.task.cu");
  ASSERT_TRUE(task);
  const auto whole = instantiate(task->reference, task->sizes);
  ASSERT_TRUE(whole);
  PartsOptions options;
  options.most_loops = 1;
  options.least_elements = 0;
  const auto parts = cut_pt2(file, options);
  ASSERT_TRUE(parts) << parts.error().message;
  if (!imported->draws.empty()) {
    EXPECT_FALSE(parts->left_out.empty());
    return;  // PyTorch's draws are no part
  }
  for (const LeftOut& node : parts->left_out) ADD_FAILURE() << node.node << ": " << node.why;
  Composed composed(*exported, *imported, *whole);
  std::set<std::size_t> ran;
  for (const Step& step : parts->steps) {
    if (!step.part) continue;
    EXPECT_TRUE(ran.insert(*step.part).second);
    composed.run(parts->parts[*step.part], *step.part);
    if (HasFatalFailure()) return;
  }
  EXPECT_EQ(ran.size(), parts->parts.size());
  if (composed.finish(*exported, *imported) == 0) return;

  EvaluatorOptions evaluator_options;
  evaluator_options.runner_path = std::string(HONE_BIN_DIR) + "/hone-runner";
  evaluator_options.input_files = {file.string()};
  evaluator_options.compile_processes = evaluator_options.check_processes = 1;
  evaluator_options.tell_missing_layers = false;
  const auto evaluator = Evaluator::open(*DeviceSpec::parse("emu:sm_90"), evaluator_options);
  ASSERT_TRUE(evaluator) << evaluator.error().message;
  EvaluationRequest request;
  request.timed.reference = composed.whole();
  request.timed.candidate = composed.program();
  request.checks.push_back(request.timed);
  request.tolerance = task->tolerance;
  request.tolerance.non_finite = NonFinite::kSame;
  request.math = request.claims = task->math;
  request.by_rules = true;
  const auto result = (*evaluator)->evaluate(request);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->verdict, Verdict::kOk) << result->detail;
}

INSTANTIATE_TEST_SUITE_P(All, EachModuleInParts, testing::ValuesIn(fixture_names()),
                         [](const auto& info) { return info.param; });

/// A recorded module whose graph was changed.
Result<Parts> cut_changed(const std::string& fixture, const std::string& from,
                          const std::string& to) {
  const Folder folder("parts");
  const Archive archive = open_fixture(fixture);
  std::vector<ZipMember> members;
  for (const auto& [name, member] : archive.members()) {
    std::string bytes = *archive.read(member, 1 << 20);
    if (name.ends_with("models/model.json")) {
      for (auto at = bytes.find(from); at != std::string::npos; at = bytes.find(from, at)) {
        bytes.replace(at, from.size(), to);
        at += to.size();
      }
    }
    members.push_back({"m/" + name, bytes});
  }
  write_bytes(folder.path() / "m.pt2", zip_of(members));
  return cut_pt2(folder.path() / "m.pt2", {});
}

TEST(Parts, LayersThatAreAlikeAreOneTask) {
  const auto parts = cut_changed("transformer", "aten.layer_norm", "aten.layer_norm");
  ASSERT_TRUE(parts) << parts.error().message;
  std::set<std::size_t> different;
  for (const Part& part : parts->parts) different.insert(part.alike);
  EXPECT_LT(different.size(), parts->parts.size());
  for (const Part& part : parts->parts) {
    EXPECT_EQ(part.text, parts->parts[part.alike].text);
    EXPECT_FALSE(part.text.contains(".pt2")) << "a part knows no file";
  }
}

TEST(Parts, WhatJoinsGoesWithLoops) {
  const auto parts = cut_changed("joined_scan", "aten.cat", "aten.cat");
  ASSERT_TRUE(parts) << parts.error().message;
  EXPECT_EQ(parts->parts.size(), 1U);
}

TEST(Parts, WhatHoneDoesNotHaveStaysPyTorchs) {
  const auto parts =
      cut_changed("transformer", "aten.layer_norm.default", "aten.unheard_of.default");
  ASSERT_TRUE(parts) << parts.error().message;
  EXPECT_FALSE(parts->parts.empty());
  int unheard = 0;
  for (const LeftOut& node : parts->left_out) {
    if (node.target != "aten.unheard_of.default") continue;
    ++unheard;
    EXPECT_TRUE(node.why.contains("hone does not have this operation")) << node.why;
    EXPECT_EQ(std::ranges::count(parts->steps, node.node, &Step::node), 1);
  }
  EXPECT_GT(unheard, 1);
}

/// A part would hand on a copy, which does not see what is written.
TEST(Parts, AViewOfWhatPyTorchWritesIsPyTorchs) {
  const auto parts = cut_changed("in_place", "aten.relu_.default", "aten.unheard_.default");
  ASSERT_TRUE(parts) << parts.error().message;
  EXPECT_GT(
      std::ranges::count(parts->left_out, "a view of elements that PyTorch writes", &LeftOut::why),
      0);
  for (const Part& part : parts->parts) {
    for (const PartValue& output : part.outputs) {
      for (const std::string_view view : {"slice", "select", "view", "t"}) {
        EXPECT_FALSE(output.value == view || output.value.starts_with(fmt::format("{}_", view)))
            << output.value;
      }
    }
  }
}

/// Each view is in the part that reads the last one, under a name of its own.
TEST(Parts, AChainOfManyViewsTakesNoSquareOfItsLength) {
  constexpr int kViews = 60000;
  const Folder folder("chain");
  const Archive archive = open_fixture("activations");
  std::vector<ZipMember> members;
  for (const auto& [name, member] : archive.members()) {
    std::string bytes = *archive.read(member, 1 << 20);
    if (name.ends_with("models/model.json")) {
      nlohmann::json model = nlohmann::json::parse(bytes);
      nlohmann::json& graph = model["graph_module"]["graph"];
      nlohmann::json& first = graph["nodes"][0];
      nlohmann::json& read = first["inputs"][0]["arg"]["as_tensor"]["name"];
      std::string last = read;
      nlohmann::json views = nlohmann::json::array();
      for (int i = 0; i < kViews; ++i) {
        const std::string made = fmt::format("view_{}", i);
        graph["tensor_values"][made] = graph["tensor_values"][last];
        views.push_back(
            {{"target", "torch.ops.aten.alias.default"},
             {"name", made},
             {"inputs", {{{"name", "self"}, {"arg", {{"as_tensor", {{"name", last}}}}}}}},
             {"outputs", {{{"as_tensor", {{"name", made}}}}}},
             {"metadata", nlohmann::json::object()}});
        last = made;
      }
      read = last;
      views.insert(views.end(), graph["nodes"].begin(), graph["nodes"].end());
      graph["nodes"] = views;
      bytes = model.dump();
    }
    members.push_back({"m/" + name, bytes});
  }
  write_bytes(folder.path() / "m.pt2", zip_of(members));
  const auto begun = std::chrono::steady_clock::now();
  const auto parts = cut_pt2(folder.path() / "m.pt2", {});
  ASSERT_TRUE(parts) << parts.error().message;
  ASSERT_FALSE(parts->parts.empty());
  EXPECT_GT(parts->parts.front().nodes.size(), static_cast<std::size_t>(kViews));
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(60));
}

TEST(Parts, AFileThatIsNoneIsOneLine) {
  const auto parts = cut_pt2("none.pt2", {});
  ASSERT_FALSE(parts);
  EXPECT_TRUE(parts.error().message.starts_with("none.pt2")) << parts.error().message;
}

}  // namespace
}  // namespace hone::pytorch
