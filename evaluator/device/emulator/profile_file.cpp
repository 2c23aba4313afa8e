#include "evaluator/device/emulator/profile_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

namespace hone::emulator {
namespace {

using Json = nlohmann::ordered_json;
constexpr int kFormat = 1;

std::unexpected<Error> wrong(std::string_view file, std::string_view field, std::string_view what) {
  return invalid(fmt::format("{}: {}: {}", file, field, what));
}

std::string number(double value) { return Json(value).dump(); }

std::string range(const ProfileField& f) {
  return f.integer ? fmt::format("an integer from {:.0f} to {:.0f} {}", f.low, f.high, f.unit)
                   : fmt::format("a number from {} to {} {}", f.low, f.high, f.unit);
}

Result<void> check_keys(const Json& document, std::string_view file) {
  for (const auto& [key, value] : document.items()) {
    if (key == "format" || key == "arch" || key == "name" || find_field(key) != nullptr) continue;
    return wrong(file, key, "is no field of a profile; `hone calibrate` writes a right one");
  }
  return {};
}

/// "sm_90"
bool is_arch(const std::string& text) {
  return text.starts_with("sm_") && text.size() > 4 && text.size() < 8 &&
         std::all_of(text.begin() + 3, text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

Result<void> read_names(const Json& document, std::string_view file, Profile& p) {
  const auto format = document.find("format");
  if (format == document.end() || *format != kFormat)
    return wrong(file, "format", fmt::format("must be {}", kFormat));
  const auto arch = document.find("arch");
  if (arch == document.end() || !arch->is_string() || !is_arch(arch->get<std::string>()))
    return wrong(file, "arch", "must be a text like \"sm_90\"");
  p.arch = arch->get<std::string>();
  const auto name = document.find("name");
  if (name == document.end() || !name->is_string() || name->get<std::string>().empty() ||
      name->get<std::string>().size() > 100)
    return wrong(file, "name", "must be a text like \"H200\"");
  p.name = name->get<std::string>();
  return {};
}

Result<void> read_field(const Json& entry, std::string_view file, const ProfileField& f,
                        ProfileFile& into) {
  if (!entry.is_object())
    return wrong(file, f.name, R"(must be {"value": …, "unit": …, "source": …})");
  for (const auto& [key, value] : entry.items()) {
    if (key != "value" && key != "unit" && key != "source")
      return wrong(file, f.name, fmt::format("has an unknown entry '{}'", key));
  }
  const auto value = entry.find("value");
  if (value == entry.end() || !value->is_number())
    return wrong(file, f.name, "\"value\" must be " + range(f));
  const auto v = value->get<double>();
  if (!(v >= f.low && v <= f.high) || (f.integer && v != std::floor(v)))
    return wrong(file, f.name, fmt::format("\"value\" is {}, must be {}", value->dump(), range(f)));
  const auto unit = entry.find("unit");
  if (unit == entry.end() || *unit != f.unit)
    return wrong(file, f.name, fmt::format("\"unit\" must be \"{}\"", f.unit));
  const auto source = entry.find("source");
  if (source == entry.end() || !source->is_string() || source->get<std::string>().empty())
    return wrong(file, f.name, "\"source\" must say where the number comes from");
  f.set(into.profile, v);
  into.sources[f.name] = source->get<std::string>();
  return {};
}

Result<void> check_together(const Profile& p, std::string_view file) {
  if (p.shared_per_block > p.shared_per_sm)
    return wrong(file, "shared_per_block", "must be at most shared_per_sm");
  if (!(p.l1_latency < p.l2_latency && p.l2_latency < p.dram_latency))
    return wrong(file, "l2_latency", "must lie between l1_latency and dram_latency");
  if (p.dram_saturating_sms > p.sm_count)
    return wrong(file, "dram_saturating_sms", "must be at most sm_count");
  return {};
}

/// Letters and digits only, small: "RTX 4090" is "rtx4090".
std::string plain(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c >= 'A' && c <= 'Z') out += static_cast<char>(c - 'A' + 'a');
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) out += c;
  }
  return out;
}

}  // namespace

#define HONE_FIELD(field, unit, low, high, integer)               \
  {#field,                                                        \
   unit,                                                          \
   low,                                                           \
   high,                                                          \
   integer,                                                       \
   [](const Profile& p) { return static_cast<double>(p.field); }, \
   [](Profile& p, double v) { p.field = static_cast<decltype(p.field)>(v); }}

const std::vector<ProfileField>& profile_fields() {
  static const std::vector<ProfileField> kFields = {
      HONE_FIELD(sm_count, "SMs", 1, 4096, true),
      HONE_FIELD(clock_hz, "Hz", 1e8, 1e10, false),
      HONE_FIELD(max_warps_per_sm, "warps", 1, 256, true),
      HONE_FIELD(max_blocks_per_sm, "blocks", 1, 256, true),
      HONE_FIELD(max_threads_per_block, "threads", 32, 65536, true),
      HONE_FIELD(registers_per_sm, "registers", 1024, 1 << 24, true),
      HONE_FIELD(shared_per_sm, "B", 1 << 10, 1 << 26, true),
      HONE_FIELD(shared_per_block, "B", 1 << 10, 1 << 26, true),
      HONE_FIELD(shared_reserved, "B", 0, 1 << 20, true),
      HONE_FIELD(l1_bytes, "B", 1 << 10, 1 << 26, true),
      HONE_FIELD(l2_bytes, "B", 1 << 16, 1LL << 34, true),
      HONE_FIELD(memory_bytes, "B", 1 << 26, 1LL << 44, true),
      HONE_FIELD(fp32_lanes, "lanes/cycle/SM", 8, 1024, false),
      HONE_FIELD(fp64_lanes, "lanes/cycle/SM", 0.5, 1024, false),
      HONE_FIELD(fp16_lanes, "lanes/cycle/SM", 8, 1024, false),
      HONE_FIELD(int_lanes, "lanes/cycle/SM", 8, 1024, false),
      HONE_FIELD(sfu_lanes, "lanes/cycle/SM", 2, 512, false),
      HONE_FIELD(shuffle_lanes, "lanes/cycle/SM", 4, 512, false),
      HONE_FIELD(conversion_lanes, "lanes/cycle/SM", 2, 1024, false),
      HONE_FIELD(tensor_f16_fma, "FMA/cycle/SM", 16, 65536, false),
      HONE_FIELD(tensor_bf16_fma, "FMA/cycle/SM", 16, 65536, false),
      HONE_FIELD(tensor_tf32_fma, "FMA/cycle/SM", 8, 65536, false),
      HONE_FIELD(tensor_s8_fma, "FMA/cycle/SM", 16, 65536, false),
      HONE_FIELD(wgmma_f16_fma, "FMA/cycle/SM", 0, 65536, false),
      HONE_FIELD(wgmma_tf32_fma, "FMA/cycle/SM", 0, 65536, false),
      HONE_FIELD(wgmma_s8_fma, "FMA/cycle/SM", 0, 65536, false),
      HONE_FIELD(fp32_latency, "cycles", 1, 50, false),
      HONE_FIELD(fp64_latency, "cycles", 1, 200, false),
      HONE_FIELD(fp16_latency, "cycles", 1, 50, false),
      HONE_FIELD(int_latency, "cycles", 1, 50, false),
      HONE_FIELD(sfu_latency, "cycles", 2, 200, false),
      HONE_FIELD(shuffle_latency, "cycles", 2, 200, false),
      HONE_FIELD(conversion_latency, "cycles", 2, 200, false),
      HONE_FIELD(tensor_latency, "cycles", 4, 500, false),
      HONE_FIELD(barrier_cycles, "cycles", 1, 1000, false),
      HONE_FIELD(l1_latency, "cycles", 5, 500, false),
      HONE_FIELD(shared_latency, "cycles", 5, 500, false),
      HONE_FIELD(l2_latency, "cycles", 50, 2000, false),
      HONE_FIELD(dram_latency, "cycles", 100, 5000, false),
      HONE_FIELD(l1_bytes_per_cycle, "B/cycle/SM", 8, 2048, false),
      HONE_FIELD(shared_bytes_per_cycle, "B/cycle/SM", 8, 2048, false),
      HONE_FIELD(shared_conflict_cycles, "cycles", 0.1, 16, false),
      HONE_FIELD(l2_bytes_per_cycle, "B/cycle/SM", 4, 1024, false),
      HONE_FIELD(l2_total_bytes_per_cycle, "B/cycle", 50, 1e6, false),
      HONE_FIELD(dram_bytes_per_s, "B/s", 1e10, 1e14, false),
      HONE_FIELD(dram_read_bytes_per_s, "B/s", 1e10, 1e14, false),
      HONE_FIELD(dram_write_bytes_per_s, "B/s", 1e10, 1e14, false),
      HONE_FIELD(dram_saturating_sms, "SMs", 1, 4096, false),
      HONE_FIELD(sm_max_bytes_in_flight, "B", 1024, 1 << 24, false),
      HONE_FIELD(launch_us, "us", 0.1, 1000, false),
      HONE_FIELD(launch_gap_us, "us", 0.1, 1000, false),
      HONE_FIELD(block_launch_per_cycle, "blocks/cycle", 0.01, 1000, false),
      HONE_FIELD(warp_launch_per_cycle, "warps/cycle", 0.1, 10000, false),
      HONE_FIELD(block_overhead_cycles, "cycles", 10, 20000, false),
      HONE_FIELD(atomic_same_address_per_s, "1/s", 1e7, 1e12, false),
      HONE_FIELD(atomic_hot_ops_per_cycle, "lanes/cycle", 0.01, 1000, false),
      HONE_FIELD(atomic_hot_int_ops_per_cycle, "lanes/cycle", 0.01, 10000, false),
      HONE_FIELD(atomic_sector_ops_per_cycle, "lanes/cycle", 0.05, 10000, false),
      HONE_FIELD(atomic_spread_ops_per_cycle, "lanes/cycle", 0.5, 10000, false),
      HONE_FIELD(shared_atomic_ops_per_cycle, "lanes/cycle/SM", 0.5, 1024, false),
      HONE_FIELD(shared_atomic_same_address_int_cycles, "cycles/lane", 0.01, 1000, false),
      HONE_FIELD(shared_atomic_same_address_float_cycles, "cycles/lane", 0.1, 1000, false),
  };
  return kFields;
}

const ProfileField* find_field(std::string_view name) {
  for (const ProfileField& f : profile_fields())
    if (f.name == name) return &f;
  return nullptr;
}

Result<ProfileFile> parse_profile(std::string_view text, std::string_view file) {
  if (text.size() > (1U << 20)) return invalid(fmt::format("{}: is too long for a profile", file));
  Json document;
  try {
    document = Json::parse(text);
  } catch (const Json::exception& e) {
    std::string what = e.what();
    if (const auto at = what.find("] "); at != std::string::npos) what.erase(0, at + 2);
    for (char& c : what) {  // it repeats what was read
      if (c < 0x20 || c > 0x7E) c = '?';
    }
    return invalid(fmt::format("{}: is not JSON: {}", file, what));
  }
  if (!document.is_object()) return invalid(fmt::format("{}: must be a JSON object", file));
  ProfileFile result;
  if (auto ok = read_names(document, file, result.profile); !ok) return std::unexpected(ok.error());
  if (auto ok = check_keys(document, file); !ok) return std::unexpected(ok.error());
  for (const ProfileField& f : profile_fields()) {
    const auto entry = document.find(f.name);
    if (entry == document.end())
      return wrong(file, f.name,
                   fmt::format(R"(is missing; {{"value": {}, "unit": "{}", "source": …}})",
                               range(f), f.unit));
    if (auto ok = read_field(*entry, file, f, result); !ok) return std::unexpected(ok.error());
  }
  if (auto ok = check_together(result.profile, file); !ok) return std::unexpected(ok.error());
  return result;
}

std::string to_text(const ProfileFile& file) {
  std::string out = fmt::format("{{\n  \"format\": {},\n  \"arch\": {},\n  \"name\": {}", kFormat,
                                Json(file.profile.arch).dump(), Json(file.profile.name).dump());
  for (const ProfileField& f : profile_fields()) {
    const double v = f.get(file.profile);
    const auto source = file.sources.find(f.name);
    out += fmt::format(",\n  \"{}\": {{\"value\": {}, \"unit\": \"{}\", \"source\": {}}}", f.name,
                       f.integer ? fmt::format("{:.0f}", v) : number(v), f.unit,
                       Json(source == file.sources.end() ? "unknown" : source->second)
                           .dump(-1, ' ', false, Json::error_handler_t::replace));
  }
  return out + "\n}\n";
}

const std::vector<ProfileFile>& builtin_profiles() {
  static const std::vector<ProfileFile> kProfiles = [] {
    std::vector<ProfileFile> all;
    for (const EmbeddedProfile& one : embedded_profiles()) {
      auto parsed = parse_profile(one.text, one.file);
      if (!parsed) {  // tests/unit/emulator/profile_test.cpp keeps this from being shipped
        fmt::print(stderr, "hone: {}\n", parsed.error().message);
        std::abort();
      }
      all.push_back(std::move(*parsed));
    }
    return all;
  }();
  return kProfiles;
}

const ProfileFile* find_profile_file(std::string_view name) {
  std::string_view arch = name.substr(0, name.find('/'));
  const std::string device = arch.size() < name.size() ? plain(name.substr(arch.size() + 1)) : "";
  // sm_90a runs what sm_90 runs.
  if (!arch.empty() && (arch.back() == 'a' || arch.back() == 'f')) arch.remove_suffix(1);
  if (arch.size() < name.size() && name.find('/') != std::string_view::npos && device.empty())
    return nullptr;
  for (const ProfileFile& p : builtin_profiles())
    if (p.profile.arch == arch && (device.empty() || plain(p.profile.name) == device)) return &p;
  return nullptr;
}

const Profile* find_profile(std::string_view name) {
  const ProfileFile* file = find_profile_file(name);
  return file == nullptr ? nullptr : &file->profile;
}

std::vector<std::string> profile_archs() {
  std::vector<std::string> names;
  for (const ProfileFile& p : builtin_profiles())
    if (names.empty() || names.back() != p.profile.arch) names.push_back(p.profile.arch);
  return names;
}

std::vector<std::string> profile_names() {
  std::vector<std::string> names;
  std::string last;
  for (const ProfileFile& p : builtin_profiles()) {
    names.push_back(p.profile.arch == last ? p.profile.arch + "/" + p.profile.name
                                           : p.profile.arch);
    std::replace(names.back().begin(), names.back().end(), ' ', '-');
    last = p.profile.arch;
  }
  return names;
}

}  // namespace hone::emulator
