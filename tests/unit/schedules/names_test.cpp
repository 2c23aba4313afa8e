// Users' buffers may be called as anything is that a generated kernel declares.
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <set>

#include "candidates/task_reader.h"
#include "rewriters/core/registry.h"

namespace hone::schedules {
namespace {

Program with_buffer_called(Program program, const std::string& from, const std::string& to) {
  for (Buffer& buffer : program.buffers) {
    if (buffer.name == from) buffer.name = to;
  }
  for (Launch& launch : program.launches) {
    for (Argument& argument : launch.args) {
      if (argument.kind == Argument::Kind::kBuffer && argument.buffer == from) argument.buffer = to;
    }
  }
  return program;
}

Step start_of(const Proposal& proposal) {
  Step step{.rewriter = proposal.rewriter, .version = proposal.version, .site = proposal.site};
  step.math = proposal.math;
  for (std::size_t i = 0; i < proposal.parameters.size(); ++i) {
    const std::size_t at = proposal.starts.empty() ? 0 : proposal.starts[0][i];
    step.params[proposal.parameters[i].name] = proposal.parameters[i].domain[at];
  }
  return step;
}

/// Variables that the generated part of a source declares.
std::set<std::string> declared(const std::string& source) {
  static const std::regex kDeclaration(
      R"((?:int|bool|float|unsigned|long long|auto|double)[&*]?\s+(?:\w+ = [^,;]*, )?(\w+)\s*(?:=|;|\[))");
  std::set<std::string> names;
  const std::string text = source.substr(std::min(source.size(), source.find("hone_")));
  for (std::sregex_iterator it(text.begin(), text.end(), kDeclaration), end; it != end; ++it) {
    const std::string name = (*it)[1];
    if (!name.starts_with("hone_")) names.insert(name);
  }
  return names;
}

void expect_any_name(const std::string& file, const std::string& generator, std::size_t fewest) {
  const auto task = read_task(std::string(HONE_SOURCE_DIR) + "/rewriters/schedules/tasks/" + file);
  ASSERT_TRUE(task) << task.error().message;
  const RewriteContext context{nullptr, task->sizes, target_limits("sm_90")};
  const auto rewriter = std::ranges::find(rewriters(), generator, &Rewriter::name);
  ASSERT_NE(rewriter, rewriters().end());
  const std::vector<Proposal> proposals = (*rewriter)->propose(task->reference, context);
  ASSERT_FALSE(proposals.empty()) << file;
  Step step = start_of(proposals[0]);
  const auto plain = (*rewriter)->apply(task->reference, step, context);
  ASSERT_TRUE(plain) << plain.error().message;
  const std::string input = task->reference.buffers[0].name;
  const std::set<std::string> words = declared(plain->source);
  EXPECT_GE(words.size(), fewest) << plain->source;
  for (const std::string& word : words) {
    if (task->reference.find_buffer(word) != nullptr) continue;
    const auto made =
        (*rewriter)->apply(with_buffer_called(task->reference, input, word), step, context);
    EXPECT_TRUE(made) << file << ", a buffer called " << word << ": " << made.error().message;
    if (!made) continue;
    const auto names_it = [&](const Launch& launch) {
      return std::ranges::any_of(launch.args, [&](const Argument& a) { return a.buffer == word; });
    };
    EXPECT_TRUE(std::ranges::any_of(made->launches, names_it)) << word;
  }
}

TEST(Names, OfTransposes) { expect_any_name("transpose_16k.cu", "generate-transpose", 8); }
TEST(Names, OfHistograms) { expect_any_name("histogram_256.cu", "generate-histogram", 8); }
TEST(Names, OfRowsOverClusters) { expect_any_name("log_softmax_4k_64k.cu", "generate-rowwise", 8); }
TEST(Names, OfScans) { expect_any_name("cumsum_64_1m.cu", "generate-scan", 8); }
TEST(Names, OfProducts) { expect_any_name("matmul_4096.cu", "generate-contract", 20); }

}  // namespace
}  // namespace hone::schedules
