#include "engine/search/ranking/kernel_profile.h"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "engine/search/ranking/kernel_walk.h"

namespace hone::ranking {
namespace {

/// "matmul" of "ns::matmul<float, 4>".
std::string_view bare_name(std::string_view kernel) {
  kernel = kernel.substr(0, kernel.find('<'));
  const std::size_t colons = kernel.rfind("::");
  return colons == std::string_view::npos ? kernel : kernel.substr(colons + 2);
}

}  // namespace

SourceReader::SourceReader(const ConcreteProgram& program)
    : program_(program), tokens_(tokens_of(program.source)) {
  find_functions();
}

/// Of "template <class T, int kCount>", whose "template" is at `at`.
std::vector<std::string_view> SourceReader::template_names(std::size_t at) const {
  std::vector<std::string_view> names;
  int depth = 0;
  for (std::size_t i = at + 1; i < tokens_.size(); ++i) {
    if (tokens_[i].is("<")) ++depth;
    if (tokens_[i].is(">")) --depth;
    const bool ends = depth == 0 || (depth == 1 && tokens_[i].is(","));
    if (ends && i > at + 1 && tokens_[i - 1].is_name()) names.push_back(tokens_[i - 1].text);
    if (depth <= 0) break;
  }
  return names;
}

void SourceReader::find_functions() {
  std::vector<std::string_view> names;
  double min_blocks = 0;
  for (std::size_t i = 0; i + 1 < tokens_.size(); ++i) {
    const Token& token = tokens_[i];
    if (token.is("template")) names = template_names(i);
    if (token.is(";")) names.clear();
    if (!token.is_name() || !tokens_[i + 1].is("(")) continue;
    const std::size_t close = tokens_[i + 1].partner;
    if (close == Token::kNone || close + 1 >= tokens_.size()) continue;
    if (token.is("__launch_bounds__") && tokens_[close - 1].kind == Token::Kind::kNumber &&
        tokens_[close - 2].is(",")) {
      min_blocks = std::atof(std::string(tokens_[close - 1].text).c_str());
    }
    if (!tokens_[close + 1].is("{") || tokens_[close + 1].partner == Token::kNone) continue;
    functions_.push_back({token.text, std::move(names), i + 1, close + 1, min_blocks});
    names = {};
    min_blocks = 0;
    i = tokens_[close + 1].partner;
  }
}

KernelProfile SourceReader::profile(const ConcreteLaunch& launch) const {
  const auto kernel = std::ranges::find(functions_, bare_name(launch.kernel), &Function::name);
  if (kernel == functions_.end()) return {};
  return KernelWalk(tokens_, functions_, program_, launch).run(*kernel);
}

}  // namespace hone::ranking
