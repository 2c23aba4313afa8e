// Server-sent events, as far as models stream by them: the `data` of each event, whatever the
// pieces that the bytes come in. Lines end with LF, CR LF or CR; several data lines of an event are
// joined by LF; comments and other fields are dropped; an event ends with an empty line, and one
// that the stream breaks off in is none.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace hone::llm {

class SseParser {
 public:
  /// Holds no more than `longest_event` bytes.
  explicit SseParser(std::size_t longest_event) : longest_event_(longest_event) {}

  /// Adds what was completed to `events`. False: an event is too long.
  [[nodiscard]] bool add(std::string_view bytes, std::vector<std::string>& events);

 private:
  void end_line(std::vector<std::string>& events);

  std::size_t longest_event_;
  std::string line_, data_;
  bool has_data_ = false;
  bool after_cr_ = false;  // an LF now belongs to the line before
  bool first_line_ = true;
};

}  // namespace hone::llm
