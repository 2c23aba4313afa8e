// The secret that a server knows us by. It can be moved but neither copied nor printed, and its
// memory is wiped when it goes. Whoever calls reveal() answers for what becomes of it: the one
// header of a request, and the search for it in what comes back.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "candidates/result.h"

namespace hone::llm {

inline constexpr const char* kKeyVariable = "HONE_LLM_KEY";

class Key {
 public:
  Key() = default;  ///< none, for servers that ask for none
  Key(Key&& other) noexcept;
  Key& operator=(Key&& other) noexcept;
  Key(const Key&) = delete;
  Key& operator=(const Key&) = delete;
  ~Key();

  /// From `variable`, which is then gone from this process's environment, its value overwritten:
  /// children and /proc/PID/environ have it no more. Before other threads start. Not set or empty:
  /// no key. Errors: kInvalidInput, see from_text().
  [[nodiscard]] static Result<Key> from_environment(const char* variable = kKeyVariable);

  /// From a regular file (no link) of this user or root that nobody else may read or write; what
  /// follows the key may only be the end of the line. Errors: kInvalidInput, without its text.
  [[nodiscard]] static Result<Key> from_file(const std::string& path);

  /// 8 to 4096 printable ASCII characters without spaces: fit for a header, and too long to stand
  /// in an honest reply by chance. `source` is named in errors.
  [[nodiscard]] static Result<Key> from_text(std::string_view text, std::string_view source);

  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::string_view reveal() const { return {bytes_.get(), size_}; }

  template <class Stream>
  friend Stream& operator<<(Stream&, const Key&) = delete;

 private:
  void wipe() noexcept;

  std::unique_ptr<char[]> bytes_;
  std::size_t size_ = 0;
};

/// From now on this process leaves no core file, whatever the system's settings, and no other
/// process of its user can read its memory or environment: libcurl and TLS have copies of the key.
/// Programs that it starts are as usual.
void hide_memory();

}  // namespace hone::llm
