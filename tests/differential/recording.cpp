#include "tests/differential/recording.h"

#include <cstring>
#include <fstream>

namespace hone::differential {
namespace {

constexpr char kMagic[8] = {'H', 'O', 'N', 'E', 'D', 'I', 'F', '1'};

template <class T>
bool get(std::istream& in, T& value) {
  return static_cast<bool>(in.read(reinterpret_cast<char*>(&value), sizeof value));
}
template <class T>
void put(std::ostream& out, T value) {
  out.write(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace

Result<Recording> read_recording(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return fail(ErrorCode::kIo, path + ": cannot be opened");
  const auto broken = [&] {
    return fail(ErrorCode::kIo, path + ": not a recording, or cut short");
  };
  char magic[8];
  if (!in.read(magic, 8) || std::memcmp(magic, kMagic, 8) != 0) return broken();
  Recording recording;
  const auto text = [&](std::string& s) {
    std::uint16_t length = 0;
    if (!get(in, length)) return false;
    s.resize(length);
    return static_cast<bool>(in.read(s.data(), length));
  };
  std::uint32_t count = 0;
  if (!text(recording.device) || !get(in, count)) return broken();
  for (std::uint32_t i = 0; i < count; ++i) {
    std::string name;
    Record record;
    std::uint32_t bytes = 0;
    if (!text(name) || !get(in, record.fingerprint) || !get(in, bytes) || bytes > (64u << 20))
      return broken();
    record.outputs.resize(bytes);
    if (!in.read(reinterpret_cast<char*>(record.outputs.data()), bytes)) return broken();
    recording.records[name] = std::move(record);
  }
  return recording;
}

Result<void> write_recording(const std::string& path, const Recording& recording) {
  std::ofstream out(path, std::ios::binary);
  out.write(kMagic, 8);
  const auto text = [&](const std::string& s) {
    put(out, static_cast<std::uint16_t>(s.size()));
    out.write(s.data(), static_cast<std::streamsize>(s.size()));
  };
  text(recording.device);
  put(out, static_cast<std::uint32_t>(recording.records.size()));
  for (const auto& [name, record] : recording.records) {
    text(name);
    put(out, record.fingerprint);
    put(out, static_cast<std::uint32_t>(record.outputs.size()));
    out.write(reinterpret_cast<const char*>(record.outputs.data()),
              static_cast<std::streamsize>(record.outputs.size()));
  }
  if (!out.flush()) return fail(ErrorCode::kIo, path + ": cannot be written");
  return {};
}

}  // namespace hone::differential
