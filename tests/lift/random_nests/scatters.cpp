// Random kernels that accumulate where what they read says: histograms, scattered sums.
#include <fmt/format.h>

#include <random>
#include <vector>

#include "tests/lift/random_nests/generator.h"

namespace hone::lift_tests {
namespace {

class Scatters {
 public:
  explicit Scatters(std::uint64_t seed) : random_(seed * 0x9E3779B97F4A7C15ULL + 5), seed_(seed) {}

  std::string task() {
    const std::int64_t rows = between(1, 6), count = between(1, 200), bins = between(1, 40);
    const bool real = chance(2);
    const std::string type = real ? "float" : pick({"int", "unsigned int"});
    // One key for each point, for each of a row, or for a whole row.
    const std::string key_at = pick({"r * COUNT + i", "i", "r"});
    const std::string key = chance(3)   ? "keys[KEY] & 15"
                            : chance(6) ? "(unsigned int)keys[KEY] % BINS"
                                        : "keys[KEY] % BINS";
    const std::string place = pick({"bin", "bin", "r * WIDTH + bin", "bin * ROWS + r"});
    const std::string call =
        real ? "atomicAdd"
             : pick({"atomicAdd", "atomicMax", "atomicMin", "atomicOr", "atomicXor", "atomicAnd"});
    const std::string value = pick({"1", "x[r * COUNT + i]", "x[i * ROWS + r]", "x[r] + x[i]"});
    std::string body;
    body += "  const int at = blockIdx.x * blockDim.x + threadIdx.x;\n";
    const bool loops = chance(3);  // over the points of a row
    body += loops ? "  const int r = at;\n  if (r >= ROWS) return;\n"
                    "  for (int i = 0; i < COUNT; ++i) {\n"
                  : "  if (at < ROWS * COUNT) {\n    const int r = at / COUNT, i = at % COUNT;\n";
    body += fmt::format("    const int bin = {};\n", key);
    const std::string guard = pick({"", "", "if (bin < BINS / 2 + 1) ", "if (i % 3 != 1) "});
    body += fmt::format("    {}{}(&y[{}], ({})({}));\n  }}\n", guard, call, place, type, value);
    const std::int64_t width = std::max<std::int64_t>(bins, 16);
    const std::int64_t threads = 16 * between(1, 6);
    const std::int64_t points = loops ? rows : rows * count;
    std::string text = fmt::format(
        "/* hone\n{{ \"name\": \"random_{}\",\n  \"sizes\": {{\"ONE\": 1}},\n  \"check_sizes\": "
        "[{{\"ONE\": 1}}],\n  \"buffers\": [\n"
        "    {{\"name\": \"keys\", \"type\": \"i32\", \"shape\": [{}], \"fill\": "
        "{{\"integers\": [0, {}]}}}},\n"
        "    {{\"name\": \"x\", \"type\": \"{}\", \"shape\": [{}], \"fill\": {{\"integers\": [0, "
        "9]}}}},\n"
        "    {{\"name\": \"y\", \"type\": \"{}\", \"shape\": [{}], \"role\": \"inout\", \"fill\": "
        "{{\"integers\": [0, 9]}}}} ],\n",
        seed_, rows * count, pick({"1", "50", "100000"}), name_of(type), rows * count,
        name_of(type), rows * width);
    text += fmt::format(
        "  \"launches\": [\n    {{\"kernel\": \"first\", \"grid\": [{}], \"block\": [{}], "
        "\"args\": [\"keys\", \"x\", \"y\"]}} ],\n"
        "  \"tolerance\": {{\"rtol\": 1e-4, \"atol\": 1e-5}} }}\n*/\n\n",
        (points + threads - 1) / threads, threads);
    text += fmt::format("__global__ void first(const int* keys, const {0}* x, {0}* y) {{\n{1}}}\n",
                        type, body);
    for (const auto& [word, number] : {std::pair{"KEY", key_at},
                                       {"COUNT", std::to_string(count)},
                                       {"ROWS", std::to_string(rows)},
                                       {"BINS", std::to_string(bins)},
                                       {"WIDTH", std::to_string(width)}}) {
      replace(text, word, number);
    }
    return text;
  }

 private:
  std::uint64_t below(std::uint64_t count) { return random_() % count; }
  bool chance(std::uint64_t one_in) { return below(one_in) == 0; }
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(high - low + 1)));
  }
  std::string pick(const std::vector<std::string>& all) { return all[below(all.size())]; }

  static std::string name_of(const std::string& type) {
    return type == "float" ? "f32" : type == "int" ? "i32" : "u32";
  }
  static void replace(std::string& text, const std::string& word, const std::string& by) {
    for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at)) {
      text.replace(at, word.size(), by);
      at += by.size();
    }
  }

  std::mt19937_64 random_;
  std::uint64_t seed_;
};

}  // namespace

std::string random_scatter(std::uint64_t seed) { return Scatters(seed).task(); }

}  // namespace hone::lift_tests
