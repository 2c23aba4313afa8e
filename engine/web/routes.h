// Every address there is, in one list, and the way from a request to its answer.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/web/context.h"
#include "engine/web/http.h"

namespace hone::web {

/// What stood in the place of each {name}.
using Parts = std::vector<std::string>;
using Handler = Answer (*)(Context&, const Request&, const Parts&);

/// What an address knows after its '?'.
struct Param {
  std::string_view name;
  std::string_view usual = {};  ///< what leaving it out means
  bool number = false;          ///< 010 is 10
};

struct Route {
  std::string_view method;
  std::string_view pattern;  ///< "/api/v1/runs/{id}": {} is one segment
  Handler handler = nullptr;
  bool kept = false;                ///< its answer may be a second old
  std::span<const Param> params{};  ///< the API refuses others, pages do not look at them
};

[[nodiscard]] std::span<const Route> routes();

/// Which methods a path knows; empty: there is no such path.
[[nodiscard]] std::vector<std::string_view> methods_of(std::string_view path);
/// The pattern of the route that a path takes; "": there is no such path.
[[nodiscard]] std::string_view pattern_of(std::string_view path);

/// By what a kept answer is found again: the same for all that ask for the same.
[[nodiscard]] std::string cache_key(const Route& route, const Request& request);

/// Never fails: what goes wrong is a page or a JSON object, as the path wants it.
[[nodiscard]] Response answer(Context& context, const Request& request);
[[nodiscard]] Response failed(const Context& context, std::string_view path,
                              const Failure& failure);

}  // namespace hone::web
