// Replies with bytes changed, lost, doubled and put together anew: whatever comes is read or
// refused with one line, and what is accepted can be a program.
#include <algorithm>
#include <random>

#include "fixture.h"
#include "rewriters/llm/reply/reply.h"
#include "rewriters/llm/text/shown_text.h"

namespace hone::llm {
namespace {

using Random = std::mt19937_64;

std::size_t below(Random& random, std::size_t limit) {
  return random() % std::max<std::size_t>(1, limit);
}

const std::vector<std::string>& seeds() {
  static const std::vector<std::string> texts = {
      whole_reply(), "<think>\n" + whole_reply() + "</think>\n" + whole_reply(),
      "{\"source\": \"__global__ void k(float* y) {}\", \"launches\": [{\"kernel\": \"k\", "
      "\"grid\": [\"M\"], \"block\": [32], \"args\": [\"y\"]}], \"scratch\": []}",
      "<<<<<<< SEARCH\n  sums[row] = sum;\n=======\n  sums[row] = sum + 0;\n>>>>>>> REPLACE\n",
      "{\"why\": \"\", \"steps\": [{\"rewriter\": \"unroll\", \"site\": \"fused/loop0\", "
      "\"params\": "
      "{\"factor\": 4}}]}"};
  return texts;
}

std::string mutated(std::string text, Random& random) {
  static const std::vector<std::string> pieces = {"```",
                                                  "```json\n",
                                                  "~~~",
                                                  "<think>",
                                                  "</think>",
                                                  "{",
                                                  "}",
                                                  "[",
                                                  "]",
                                                  "\"",
                                                  "\\",
                                                  "\n",
                                                  "\r\n",
                                                  "/*",
                                                  "*/",
                                                  "//",
                                                  "R\"(",
                                                  ")\"",
                                                  "<<<",
                                                  "=======\n",
                                                  ">>>>>>>\n",
                                                  "<<<<<<<\n",
                                                  "#include <",
                                                  "\xFF",
                                                  "\xE2\x80\xAE",
                                                  std::string(1, '\0'),
                                                  "__global__",
                                                  "(",
                                                  ")",
                                                  "asm(\".",
                                                  "std::",
                                                  "%:",
                                                  "'",
                                                  "\"launches\":",
                                                  "\"steps\":",
                                                  "9223372036854775807",
                                                  "1e400",
                                                  "-",
                                                  "M*M*M*M*M*M",
                                                  "ceildiv(M,0)"};
  for (std::size_t i = 1 + below(random, 6); i > 0; --i) {
    const std::size_t at = below(random, text.size() + 1);
    switch (below(random, 5)) {
      case 0:
        text.erase(at, below(random, 60));
        break;
      case 1:
        text.insert(at, pieces[below(random, pieces.size())]);
        break;
      case 2:
        if (at < text.size()) text[at] = static_cast<char>(random());
        break;
      case 3:
        text.insert(at, text.substr(below(random, text.size()), below(random, 200)));
        break;
      default: {
        const std::string& other = seeds()[below(random, seeds().size())];
        text.insert(at, other.substr(below(random, other.size()), below(random, 300)));
      }
    }
  }
  return text;
}

template <class T>
void expect_one_line(const Result<T>& result) {
  if (result) return;
  EXPECT_EQ(result.error().code, ErrorCode::kRefused);
  EXPECT_FALSE(result.error().message.empty());
  EXPECT_TRUE(std::ranges::none_of(result.error().message, [](char c) {
    return static_cast<unsigned char>(c) < 0x20;
  })) << result.error().message;
  EXPECT_EQ(find_invisible(result.error().message).offset, std::string::npos);
  EXPECT_LE(result.error().message.size(), 1000U);
}

TEST(MutatedReplies, AreReadOrRefused) {
  const Task task = make_task();
  const auto proposals = make_input(task).proposals;
  Random random(20260131);
  int accepted = 0;
  for (int i = 0; i < 6000; ++i) {
    const std::string reply = mutated(seeds()[below(random, seeds().size())], random);
    const auto whole = read_program(reply, task);
    const auto edits = read_diff(reply, task.reference, task);
    const auto diff = edits ? Result<ModelProgram>(edits->program) : std::unexpected(edits.error());
    const auto steps = read_steps(reply, proposals);
    expect_one_line(whole);
    expect_one_line(diff);
    expect_one_line(steps);
    for (const auto* model : {&whole, &diff}) {
      if (!*model) continue;
      ++accepted;
      EXPECT_TRUE(instantiate(program_of(**model, task), task.sizes).has_value());
      EXPECT_EQ(find_invisible((*model)->source).offset, std::string::npos);
      EXPECT_LE((*model)->source.size(), kMaxSourceBytes);
    }
    accepted += steps ? 1 : 0;
  }
  EXPECT_GT(accepted, 100);
}

// Sources of all kinds of quotes and comments: showing a shown one changes nothing more.
TEST(MutatedSources, AreShownTheSameTwice) {
  Random random(7);
  for (int i = 0; i < 3000; ++i) {
    const std::string shown = shown_source(mutated(task_source(), random));
    EXPECT_EQ(shown_source(shown), shown);
  }
}

// Long replies that would be slow to read if anything looked back again and again.
TEST(LongReplies, AreReadInOneGo) {
  const Task task = make_task();
  for (const std::string piece :
       {"```\n",     "```a\n",       "<think>\n",   "</think>\n", "{\n",
        "{\"",       "/*",           "R\"(",        "\"",         "<<<<<<<\n",
        "=======\n", "\\\n",         "{}\n",        "asm(",       "__attribute__((",
        "std::",     "#include <\n", "__global__ ", "a\n",        "|",
        "<",         "~~~~\n~~~\n"}) {
    std::string reply;
    while (reply.size() < (256 << 10)) reply += piece;
    expect_one_line(read_program(reply, task));
    expect_one_line(read_diff(reply, task.reference, task));
    expect_one_line(read_steps(reply, {}));
    expect_one_line(read_program(whole_reply(reply.substr(0, 100000)), task));
  }
}

}  // namespace
}  // namespace hone::llm
