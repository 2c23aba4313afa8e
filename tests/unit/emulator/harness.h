// Runs kernels from PTX files or texts on the emulator, with buffers given as vectors.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "evaluator/device/emulator/emulator.h"

namespace hone::emulator {

inline std::string read_data(const std::string& name) {
  std::ifstream file(std::string(HONE_SOURCE_DIR) + "/tests/unit/emulator/data/" + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

inline std::shared_ptr<const Module> load(const std::string& text) {
  auto module = Module::parse(text);
  if (!module) {
    ADD_FAILURE() << module.error().message;
    return nullptr;
  }
  return *module;
}

inline std::shared_ptr<const Module> kernels(const std::string& file = "kernels_sm_90.ptx") {
  static std::map<std::string, std::shared_ptr<const Module>> cache;
  auto& slot = cache[file];
  if (!slot) slot = load(read_data(file));
  return slot;
}

/// The number of the line of kernels.cu that holds `text`, counted from 1.
inline int source_line(const std::string& text, const std::string& after = {}) {
  std::istringstream in(read_data("kernels.cu"));
  std::string line;
  bool on = after.empty();
  for (int n = 1; std::getline(in, line); ++n) {
    if (!on && line.find(after) != std::string::npos) on = true;
    if (on && line.find(text) != std::string::npos) return n;
  }
  ADD_FAILURE() << "no line with " << text;
  return 0;
}

class Launch {
 public:
  Launch(std::string kernel, std::array<std::uint32_t, 3> grid,
         std::array<std::uint32_t, 3> block) {
    config_.kernel = std::move(kernel);
    config_.grid = grid;
    config_.block = block;
  }
  Launch& shared(std::uint32_t bytes) {
    config_.dynamic_shared_bytes = bytes;
    return *this;
  }
  template <class T>
  Launch& in(const std::string& name, const std::vector<T>& data) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(data.data());
    std::vector<std::uint8_t> copy(bytes, bytes + data.size() * sizeof(T));
    const std::uint64_t a = memory_->allocate(
        name, copy.size(), true, [copy](std::uint64_t o, std::uint8_t* to, std::size_t n) {
          std::memcpy(to, copy.data() + o, n);
        });
    buffers_[name] = a;
    sizes_[name] = data.size() * sizeof(T);
    return value(a);
  }
  /// An output nobody initialised; its first contents are a poison pattern.
  Launch& out(const std::string& name, std::size_t bytes) {
    const std::uint64_t a = memory_->allocate(
        name, bytes, false,
        [](std::uint64_t, std::uint8_t* to, std::size_t n) { std::memset(to, 0xCD, n); });
    buffers_[name] = a;
    sizes_[name] = bytes;
    return value(a);
  }
  template <class T>
  Launch& value(T v) {
    auto& p = config_.parameters;
    p.resize((p.size() + alignof(T) - 1) / alignof(T) * alignof(T));
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(&v);
    p.insert(p.end(), bytes, bytes + sizeof v);
    return *this;
  }
  RunReport run(const std::shared_ptr<const Module>& module, const RunOptions& options = {}) {
    return emulator::run(*module, config_, *memory_, options);
  }
  template <class T>
  std::vector<T> read(const std::string& name, std::size_t count) {
    std::vector<T> data(count);
    EXPECT_TRUE(memory_->read(buffers_.at(name), data.data(), count * sizeof(T)));
    return data;
  }
  /// Of every buffer: its name, its bytes, and the first byte that nobody wrote.
  std::string contents() {
    std::string text;
    for (const auto& [name, at] : buffers_) {
      std::string bytes(sizes_.at(name), 0);
      EXPECT_TRUE(memory_->read(at, bytes.data(), bytes.size()));
      text += name + "=" + bytes + std::to_string(memory_->first_unwritten(at, bytes.size())) +
              (memory_->was_written(at) ? "w" : "");
    }
    return text;
  }
  std::uint64_t address(const std::string& name) { return buffers_.at(name); }
  Memory& memory() { return *memory_; }
  LaunchConfig& config() { return config_; }

 private:
  std::unique_ptr<Memory> memory_ = std::make_unique<Memory>();
  LaunchConfig config_;
  std::map<std::string, std::uint64_t> buffers_, sizes_;
};

/// All that a report says, but how many threads it took.
inline std::string everything(const RunReport& r) {
  std::ostringstream text;
  text << to_string(r.verdict) << "|" << r.detail << "|" << r.output << "|" << r.output_cut << "|";
  const auto* bytes = reinterpret_cast<const char*>(&r.counters);  // a plain row of numbers
  text.write(bytes, sizeof r.counters);
  const auto place = [&](const CodePlace& p) {
    text << p.ptx_line << p.instruction << p.file << ":" << p.line << ":" << p.call_line
         << p.inner_file << ":" << p.inner_line << "|";
  };
  for (const Finding& f : r.findings) {
    text << to_string(f.kind) << "|" << text_of(f) << "|" << f.has_thread << f.address << "|"
         << f.other << "|" << f.count << "|";
    place(f.place);
    place(f.other_place);
  }
  return text.str();
}

inline std::vector<float> ramp(std::size_t n, float scale = 0.01f) {
  std::vector<float> v(n);
  for (std::size_t i = 0; i < n; ++i)
    v[i] = scale * static_cast<float>(static_cast<int>(i * 37 % 101) - 50);
  return v;
}

}  // namespace hone::emulator
