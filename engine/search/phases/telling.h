// Two policies for what a strategy knows when it is asked:
//   OrderedTelling    outcomes are told in the order of asking, one told for one asked, and the
//                     search's own thread asks. A seed then repeats a search, whatever the timing.
//   UnorderedTelling  outcomes are told as they come, and threads of their own ask, so that one
//   slow
//                     compilation holds up nobody. On a GPU times differ from run to run anyway.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>

#include "engine/search/phases/candidate.h"

namespace hone::search {

class Telling {
 public:
  using Window = std::deque<Candidate>;  ///< what was asked for and not told yet, in that order
  using IsReady = std::function<bool(const Candidate&)>;

  virtual ~Telling() = default;
  /// Threads that ask the strategy, of `children` that rewrite; 0: the search's own.
  [[nodiscard]] virtual int asking_threads(int children) const = 0;
  /// Which candidate is told next; the window's end: none can be yet.
  [[nodiscard]] virtual Window::iterator next(Window& window, const IsReady& is_ready) const = 0;
  /// The strategy asks again what it asked in an earlier process, if nothing else has a say.
  [[nodiscard]] virtual bool repeats() const = 0;
};

class OrderedTelling final : public Telling {
 public:
  [[nodiscard]] int asking_threads(int) const override { return 0; }
  [[nodiscard]] Window::iterator next(Window& window, const IsReady& is_ready) const override;
  [[nodiscard]] bool repeats() const override { return true; }
};

class UnorderedTelling final : public Telling {
 public:
  /// Half of the children propose, the others rewrite at the check sizes.
  [[nodiscard]] int asking_threads(int children) const override { return children / 2; }
  [[nodiscard]] Window::iterator next(Window& window, const IsReady& is_ready) const override;
  [[nodiscard]] bool repeats() const override { return false; }
};

/// Ordered where every time is modelled.
[[nodiscard]] std::unique_ptr<Telling> telling_for(bool modelled);

}  // namespace hone::search
