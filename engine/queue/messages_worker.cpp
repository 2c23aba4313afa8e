#include "engine/queue/messages_worker.h"

#include "candidates/ceilings.h"
#include "engine/queue/messages_detail.h"
#include "evaluator/protocol/channel.h"

namespace hone::queue {
namespace {

using namespace detail;
using protocol::clean_text;

constexpr std::string_view kWorkerType = "worker";
constexpr std::size_t kMaxDevices = 64;
constexpr int kMaxCapacity = 4096;
constexpr int kMaxSms = 1 << 16;
constexpr std::int64_t kMaxMemory = std::int64_t{1} << 50;  // [B]

Json to_message(const WorkerDevice& device) {
  const DeviceInfo& info = device.info;
  Ceilings ceilings = info.ceilings;
  ceilings.source = clean_text(ceilings.source, kMaxLine);
  ceilings.measured_at = clean_text(ceilings.measured_at, kMaxLine);
  return {{"pool", device.pool},
          {"modelled", device.modelled},
          {"capacity", device.capacity},
          {"name", clean_text(info.name, kMaxLine)},
          {"arch", info.arch},
          {"driver", clean_text(info.driver, kMaxLine)},
          {"toolchain", clean_text(info.toolchain, kMaxLine)},
          {"sm_count", info.sm_count},
          {"memory_bytes", info.memory_bytes},
          {"ceilings", ceilings},
          {"sandbox", clean_text(info.sandbox, kMaxLine)}};
}

Ceilings read_ceilings(const JsonCursor& cursor) {
  Ceilings ceilings = nested(cursor, ceilings_from_json(cursor.value()));
  if (!cursor.ok()) return ceilings;
  ceilings.source = read_text(cursor.at("source"), kMaxLine);
  ceilings.measured_at = read_text(cursor.at("measured_at"), kMaxLine);
  return ceilings;
}

WorkerDevice read_device(const JsonCursor& cursor) {
  WorkerDevice device;
  DeviceInfo& info = device.info;
  if (!cursor.expect_keys({"pool", "modelled", "capacity", "name", "arch", "driver", "toolchain",
                           "sm_count", "memory_bytes", "ceilings", "sandbox"})) {
    return device;
  }
  device.pool = read_id(cursor.at("pool"));
  device.modelled = cursor.at("modelled").boolean();
  device.capacity = static_cast<int>(cursor.at("capacity").integer_in(1, kMaxCapacity));
  info.name = read_text(cursor.at("name"), kMaxLine);
  info.arch = read_id(cursor.at("arch"));
  info.driver = read_text(cursor.at("driver"), kMaxLine);
  info.toolchain = read_text(cursor.at("toolchain"), kMaxLine);
  info.sm_count = static_cast<int>(cursor.at("sm_count").integer_in(0, kMaxSms));
  info.memory_bytes = cursor.at("memory_bytes").integer_in(0, kMaxMemory);
  info.ceilings = read_ceilings(cursor.at("ceilings"));
  info.sandbox = read_text(cursor.at("sandbox"), kMaxLine);
  return device;
}

WorkerMessage read_worker(const JsonCursor& root) {
  WorkerMessage message;
  expect_fields(root, {"id", "host", "version", "devices", "draining", "started_at", "evaluated",
                       "in_flight"});
  if (!root.ok()) return message;
  message.id = read_id(root.at("id"));
  message.host = read_text(root.at("host"), kMaxLine);
  message.version = read_text(root.at("version"), kMaxLine);
  for (const JsonCursor& element : root.at("devices").elements_up_to(kMaxDevices))
    message.devices.push_back(read_device(element));
  message.draining = root.at("draining").boolean();
  message.started_at = read_count(root.at("started_at"));
  message.evaluated = read_count(root.at("evaluated"));
  message.in_flight = read_count(root.at("in_flight"));
  return message;
}

}  // namespace

Result<std::string> encode(const WorkerMessage& message) {
  auto devices = Json::array();
  for (const WorkerDevice& device : message.devices) devices.push_back(to_message(device));
  Json json = {{"id", message.id},
               {"host", clean_text(message.host, kMaxLine)},
               {"version", clean_text(message.version, kMaxLine)},
               {"devices", std::move(devices)},
               {"draining", message.draining},
               {"started_at", message.started_at},
               {"evaluated", message.evaluated},
               {"in_flight", message.in_flight}};
  return encode_as(kWorkerType, std::move(json), read_worker);
}

Result<WorkerMessage> worker_from(std::string_view bytes) {
  return decode_as(kWorkerType, bytes, read_worker);
}

std::optional<ForeignWorker> foreign_worker_from(std::string_view bytes) {
  if (bytes.size() > kMaxMessage) return std::nullopt;
  const auto json =
      protocol::decode(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  if (!json || !json->is_object()) return std::nullopt;
  const auto version = protocol::get_int(*json, "v");
  const auto type = protocol::get_string(*json, "type", kMaxLine);
  const auto id = protocol::get_string(*json, "id", kMaxLine);
  if (!version || *version == kQueueVersion || *version < 0 || *version > 1'000'000)
    return std::nullopt;
  if (!type || *type != kWorkerType || !id || !is_id(*id)) return std::nullopt;
  const auto text = [](const Json& object, const char* key) {
    const auto value = protocol::get_string(object, key, kMaxLine);
    return value ? clean_text(*value, kMaxLine) : "";
  };
  ForeignWorker worker{
      *id, text(*json, "host"), text(*json, "version"), static_cast<int>(*version), {}};
  const auto devices = json->find("devices");
  if (devices == json->end() || !devices->is_array()) return worker;
  for (const Json& device : *devices) {
    if (!device.is_object() || worker.devices.size() >= kMaxDevices) continue;
    const auto modelled = device.find("modelled");
    worker.devices.push_back(
        {text(device, "pool"), text(device, "arch"),
         modelled != device.end() && modelled->is_boolean() && modelled->get<bool>()});
  }
  return worker;
}

}  // namespace hone::queue
