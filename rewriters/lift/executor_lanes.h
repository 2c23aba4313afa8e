// Executor's templates.
#pragma once

#include <algorithm>

#include "rewriters/lift/executor.h"

namespace hone::nest {

template <class F>
Lanes Executor::map(F&& f, const Lanes& a) const {
  Lanes result;
  result.reserve(a.size());
  for (const Ref value : a) result.push_back(f(value));
  shrink(result);
  return result;
}

template <class F>
Lanes Executor::map(F&& f, const Lanes& a, const Lanes& b) const {
  Lanes result;
  const std::size_t width = std::max(a.size(), b.size());
  result.reserve(width);
  for (std::size_t i = 0; i < width; ++i) result.push_back(f(lane(a, i), lane(b, i)));
  shrink(result);
  return result;
}

}  // namespace hone::nest
