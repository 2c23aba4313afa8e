// CUDA for the places around an output (Store::places).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rewriters/schedules/printing/print_value.h"
#include "rewriters/tile/program.h"

namespace hone::tile {

/// What kernels call an index of places, by its number.
[[nodiscard]] std::string place_name(std::size_t number);
/// `printer` gets to know all of them.
void name_places(schedules::Printer& printer, const std::vector<Place>& places);
/// "place0 == 1": the output's own place.
[[nodiscard]] std::string is_own(const std::vector<Place>& places);
/// " && place0 >= 1": none is before its first. `printer` knows the output.
[[nodiscard]] std::string from_begin(schedules::Printer& printer, const std::vector<Place>& places);
/// `body` for each place from `begin` to before `end`.
[[nodiscard]] std::string place_loop(const std::string& place, const std::string& begin,
                                     const std::string& end, const std::string& body);
/// What stands before a loop over so many places: more than four stay a loop, as each has an own
/// guard and address, and compilers would unroll them for every output of a thread.
[[nodiscard]] std::string unrolling(std::int64_t places, const std::string& of_few = "");
/// `statements` for each of the places. `printer` knows the output; it gets to know the places.
[[nodiscard]] std::string over_places(schedules::Printer& printer, const std::vector<Place>& places,
                                      const std::string& statements);

}  // namespace hone::tile
