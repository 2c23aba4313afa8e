#include "rewriters/tile/places_text.h"

#include <fmt/format.h>

#include "rewriters/schedules/printing/text.h"

namespace hone::tile {

using schedules::filled;

std::string place_loop(const std::string& place, const std::string& begin, const std::string& end,
                       const std::string& body) {
  return filled("for (int $place = $begin; $place < $end; ++$place) {\n  $body\n}\n",
                {{"place", place}, {"begin", begin}, {"end", end}, {"body", body}});
}

std::string unrolling(std::int64_t places, const std::string& of_few) {
  return places > 4 ? "#pragma unroll 1\n" : of_few;
}

void name_places(schedules::Printer& printer, const std::vector<Place>& places) {
  for (std::size_t i = 0; i < places.size(); ++i) printer.indices[places[i].symbol] = place_name(i);
}

std::string place_name(std::size_t number) { return fmt::format("place{}", number); }

std::string is_own(const std::vector<Place>& places) {
  std::string text;
  for (std::size_t i = 0; i < places.size(); ++i)
    text += fmt::format("{}{} == {}", i == 0 ? "" : " && ", place_name(i), places[i].own);
  return text;
}

std::string over_places(schedules::Printer& printer, const std::vector<Place>& places,
                        const std::string& statements) {
  name_places(printer, places);
  std::string text = statements;
  for (std::size_t i = places.size(); i-- > 0;)
    text =
        unrolling(places[i].end) + place_loop(place_name(i), printer.print_index(places[i].begin),
                                              std::to_string(places[i].end), text);
  return text;
}

std::string from_begin(schedules::Printer& printer, const std::vector<Place>& places) {
  std::string text;
  for (std::size_t i = 0; i < places.size(); ++i)
    if (const Ref begin = places[i].begin; !begin->is_constant() || begin->constant != 0)
      text += fmt::format(" && {} >= {}", place_name(i), printer.print_index(begin));
  return text;
}

}  // namespace hone::tile
