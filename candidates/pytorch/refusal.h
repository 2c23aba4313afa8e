// How the import gives up: one line for a person. It is thrown where something is found that hone
// does not take, and caught by the two functions that others call, read_exported() and
// import_pt2(). So the rules of a hundred operations read as straight code. Private to
// candidates/pytorch.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace hone::pytorch {

class Refusal : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What a file says is no clean text: a message stays one line, without a terminal's commands.
[[nodiscard]] inline std::string one_line(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return text;
}

template <class... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) {
  throw Refusal(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace hone::pytorch
