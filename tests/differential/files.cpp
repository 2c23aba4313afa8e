// kernels/*.ptx: the first line says how each is launched and compared (README.md).
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "tests/differential/families/ops.h"

namespace hone::differential {
namespace {

[[noreturn]] void broken(const std::string& file, const std::string& what) {
  throw std::runtime_error(file + ": " + what);
}

Fill fill_named(const std::string& file, const std::string& name) {
  static const std::pair<const char*, Fill> kNames[] = {
      {"zero", Fill::kZero},          {"bits", Fill::kBits},        {"i16", Fill::kInt16},
      {"i32", Fill::kInt32},          {"i64", Fill::kInt64},        {"f16", Fill::kF16},
      {"bf16", Fill::kBf16},          {"f32", Fill::kF32},          {"f64", Fill::kF64},
      {"unit32", Fill::kUnit32},      {"unit64", Fill::kUnit64},    {"positive", Fill::kPositive},
      {"small", Fill::kSmallInt},     {"iota", Fill::kIota},        {"f16_ints", Fill::kHalfInts},
      {"bf16_ints", Fill::kBf16Ints}, {"f32_ints", Fill::kF32Ints}, {"f16_unit", Fill::kHalfUnit},
      {"bf16_unit", Fill::kBf16Unit}};
  for (const auto& [n, f] : kNames)
    if (name == n) return f;
  broken(file, "no fill is called " + name);
}

Rule::Element element_named(const std::string& file, const std::string& name) {
  using E = Rule::Element;
  static const std::pair<const char*, E> kNames[] = {
      {"u8", E::kU8},   {"u16", E::kU16},   {"u32", E::kU32}, {"u64", E::kU64},
      {"f16", E::kF16}, {"bf16", E::kBf16}, {"f32", E::kF32}, {"f64", E::kF64}};
  for (const auto& [n, e] : kNames)
    if (name == n) return e;
  broken(file, "no element is called " + name);
}

Case read_case(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::stringstream all;
  all << in.rdbuf();
  Case c;
  c.name = "file/" + path.stem().string();
  c.ptx = all.str();
  const std::string file = path.filename().string();
  const std::string lead = "// hone-case:";
  if (!c.ptx.starts_with(lead)) broken(file, "no '// hone-case:' in the first line");
  std::stringstream items(c.ptx.substr(lead.size(), c.ptx.find('\n') - lead.size()));
  for (std::string item; std::getline(items, item, ';');) {
    std::stringstream words(item);
    std::string what;
    if (!(words >> what)) continue;
    if (what == "grid" || what == "block") {
      auto& to = what == "grid" ? c.grid : c.block;
      to = {1, 1, 1};
      for (int i = 0; i < 3 && words >> to[static_cast<std::size_t>(i)]; ++i) {
      }
      for (auto& n : to) n = std::max(n, 1u);
    } else if (what == "shared") {
      words >> c.shared_bytes;
    } else if (what == "word") {
      std::uint64_t value = 0;
      words >> value;
      c.words.push_back(value);
    } else if (what == "in" || what == "inout") {
      Buffer b;
      std::string fill;
      std::string seed;
      words >> fill >> b.bytes >> seed >> b.seed;
      b.fill = fill_named(file, fill);
      b.output = what == "inout";
      c.buffers.push_back(b);
    } else if (what == "out") {
      Buffer b;
      words >> b.bytes;
      b.output = true;
      c.buffers.push_back(b);
    } else if (what == "rule") {  // of the last buffer: ulp f32 2 | relative f32 0.001 | float f64
      std::string kind;
      std::string element;
      Region r;
      words >> kind >> element >> r.rule.bound;
      r.buffer = static_cast<int>(c.buffers.size()) - 1;
      if (r.buffer < 0) broken(file, "a rule before any buffer");
      r.bytes = c.buffers.back().bytes;
      r.rule.element = element_named(file, element);
      r.rule.kind = kind == "ulp"        ? Rule::Kind::kUlp
                    : kind == "absolute" ? Rule::Kind::kAbsolute
                    : kind == "relative" ? Rule::Kind::kRelative
                    : kind == "float"    ? Rule::Kind::kFloat
                                         : Rule::Kind::kBits;
      c.regions.push_back(r);
    } else {
      broken(file, "unknown '" + what + "'");
    }
  }
  return c;
}

}  // namespace

void add_file_cases(std::vector<Case>& cases) {
  const char* named = std::getenv("HONE_DIFFERENTIAL_KERNELS");
  const std::string folder =
      named ? named : std::string(HONE_SOURCE_DIR) + "/tests/differential/kernels";
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".ptx") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const auto& path : files) cases.push_back(read_case(path));
}

}  // namespace hone::differential
