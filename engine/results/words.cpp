#include "engine/results/words.h"

#include <algorithm>

#include "rewriters/core/registry.h"

namespace hone::results {

std::string in_words(const Step& step) {
  const Rewriter* rewriter = find_rewriter(step.rewriter);
  if (rewriter == nullptr) return "";
  // A summary says what becomes of what, and then when that is legal.
  const std::string summary(rewriter->summary());
  std::size_t end = summary.find(';');
  for (const char* legal : {", legal", ", always legal"}) end = std::min(end, summary.find(legal));
  return summary.substr(0, end);
}

}  // namespace hone::results
