#include "engine/queue/messages_places.h"

#include "engine/queue/messages_detail.h"
#include "engine/search/search_limits.h"
#include "evaluator/protocol/channel.h"

namespace hone::queue {
namespace places_message {
namespace {

using namespace detail;

constexpr std::string_view kPlaces = "places";
constexpr std::int64_t kMostPlaces = 1'000'000'000;

JobPlaces read(const JsonCursor& root) {
  JobPlaces places;
  expect_fields(root, {"id", "places"});
  if (!root.ok()) return places;
  places.id = read_id(root.at("id"));
  for (const JsonCursor& place : root.at("places").elements_up_to(kMostJobArchs)) {
    if (!place.expect_keys({"arch", "device_name", "rank"})) break;
    places.places.push_back({read_id(place.at("arch")),
                             read_text(place.at("device_name"), kMaxLine),
                             static_cast<int>(place.at("rank").integer_in(1, kMostPlaces))});
  }
  return places;
}

}  // namespace
}  // namespace places_message

Result<std::string> encode(const JobPlaces& places) {
  using namespace places_message;
  Json list = Json::array();
  for (const JobPlace& place : places.places)
    list.push_back({{"arch", place.arch},
                    {"device_name", protocol::clean_text(place.device_name, kMaxLine)},
                    {"rank", place.rank}});
  Json json = {{"id", places.id}, {"places", std::move(list)}};
  return encode_as(kPlaces, std::move(json), read);
}

Result<JobPlaces> places_from(std::string_view bytes) {
  return detail::decode_as(places_message::kPlaces, bytes, places_message::read);
}

}  // namespace hone::queue
