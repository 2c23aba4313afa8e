#include "engine/search/phases/telling.h"

#include <algorithm>

namespace hone::search {

Telling::Window::iterator OrderedTelling::next(Window& window, const IsReady& is_ready) const {
  return !window.empty() && is_ready(window.front()) ? window.begin() : window.end();
}

Telling::Window::iterator UnorderedTelling::next(Window& window, const IsReady& is_ready) const {
  return std::ranges::find_if(window, is_ready);
}

std::unique_ptr<Telling> telling_for(bool modelled) {
  if (modelled) return std::make_unique<OrderedTelling>();
  return std::make_unique<UnorderedTelling>();
}

}  // namespace hone::search
