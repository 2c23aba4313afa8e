#include "engine/rewriting/init/gather.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "candidates/task_file.h"
#include "candidates/task_reader.h"
#include "rewriters/syntax/prelude.h"

namespace hone::init {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxHeader = 1U << 20;  // [B]
constexpr std::size_t kMaxText = 8U << 20;    // [B]
constexpr std::size_t kMaxDepth = 32;

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

/// What follows `#word` on a line; nothing when the line is no such directive.
std::optional<std::string_view> directive(std::string_view line, std::string_view word) {
  line = trimmed(line);
  if (!line.starts_with('#')) return std::nullopt;
  line = trimmed(line.substr(1));
  if (!line.starts_with(word)) return std::nullopt;
  return trimmed(line.substr(word.size()));
}

struct Include {
  std::string name;
  bool quoted = false;
};

std::optional<Include> include_of(std::string_view line) {
  const auto rest = directive(line, "include");
  if (!rest || rest->empty()) return std::nullopt;
  const char open = rest->front();
  if (open != '"' && open != '<') return std::nullopt;
  const auto close = rest->find(open == '"' ? '"' : '>', 1);
  if (close == rest->npos) return std::nullopt;
  return Include{std::string(rest->substr(1, close - 1)), open == '"'};
}

/// Follows block comments over lines, so that an include inside one is none.
void follow_comment(std::string_view line, bool& inside) {
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (inside) {
      if (line.substr(i).starts_with("*/")) {
        inside = false;
        ++i;
      }
    } else if (line.substr(i).starts_with("//")) {
      return;
    } else if (line.substr(i).starts_with("/*")) {
      inside = true;
      ++i;
    } else if (line[i] == '"') {
      for (++i; i < line.size() && line[i] != '"'; ++i)
        if (line[i] == '\\') ++i;
    }
  }
}

/// `<< <` and `>> >`, which some editors make of a launch and nvcc takes.
void close_launch(std::string& line) {
  const auto open = line.find("<< <");
  if (open == line.npos) return;
  line.replace(open, 4, "<<<");
  const auto close = line.find(">> >", open);
  if (close != line.npos) line.replace(close, 4, ">>>");
}

/// Without a byte order mark; what is no UTF-8 is Latin-1, of which every byte is a character.
std::string as_utf8(std::string text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  if (is_text(text)) return text;
  std::string converted;
  converted.reserve(text.size() + text.size() / 8);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      converted += c;
    } else {
      converted += static_cast<char>(0xC0 | (byte >> 6));
      converted += static_cast<char>(0x80 | (byte & 0x3F));
    }
  }
  return converted;
}

class Gatherer {
 public:
  explicit Gatherer(const std::vector<fs::path>& folders) : folders_(folders) {}

  Result<void> add(const fs::path& file, const std::string& text);
  Gathered take() { return std::move(result_); }

 private:
  std::optional<fs::path> find(const Include& include, const fs::path& from) const;
  Result<void> insert(const fs::path& header);

  const std::vector<fs::path>& folders_;
  std::vector<fs::path> open_;
  std::set<std::string> missing_;
  Gathered result_;
  int guards_ = 0;
};

std::optional<fs::path> Gatherer::find(const Include& include, const fs::path& from) const {
  if (include.name.starts_with('/')) return std::nullopt;
  std::vector<fs::path> places = {from.parent_path()};
  places.insert(places.end(), folders_.begin(), folders_.end());
  for (const fs::path& place : places) {
    std::error_code ec;
    const fs::path candidate = place / include.name;
    if (fs::is_regular_file(candidate, ec) && fs::file_size(candidate, ec) <= kMaxHeader)
      return candidate;
  }
  return std::nullopt;
}

Result<void> Gatherer::insert(const fs::path& header) {
  auto text = read_text_file(header);
  if (text) text = as_utf8(*std::move(text));
  if (!text || !check_text(*text, header.string())) {
    if (text && text->empty()) return {};
    result_.notes.push_back(fmt::format("header {}: no text, left out", header.string()));
    return {};
  }
  return add(header, *text);
}

Result<void> Gatherer::add(const fs::path& file, const std::string& text) {
  open_.push_back(file);
  bool in_comment = false;
  bool guarded = false;
  std::string& out = result_.text;
  if (open_.size() > 1) out += fmt::format("#line 1 \"{}\"\n", file.string());
  int number = 0;
  for (std::size_t at = 0; at <= text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    at = end + 1;
    ++number;
    if (line.ends_with('\r')) line.pop_back();
    const bool code = !in_comment;
    follow_comment(line, in_comment);
    const auto include = code ? include_of(line) : std::nullopt;
    const auto pragma = code ? directive(line, "pragma") : std::nullopt;
    if (pragma && *pragma == "once") {
      if (open_.size() > 1 && !guarded) {
        guarded = true;
        const auto known =
            std::to_string(std::hash<std::string>{}(fs::weakly_canonical(file).string()));
        out += fmt::format("#ifndef HONE_ONCE_{0}\n#define HONE_ONCE_{0}\n#line {1} \"{2}\"\n",
                           known, number + 1, file.string());
      } else {
        out += '\n';
      }
      continue;
    }
    if (!include) {
      if (code) close_launch(line);
      out += line + '\n';
      if (out.size() > kMaxText)
        return invalid(fmt::format("{}: with its headers it is more than {} MiB",
                                   open_.front().string(), kMaxText >> 20));
      continue;
    }
    const auto& known = syntax::virtual_headers();
    if (std::ranges::find(known, std::string_view(include->name), &syntax::VirtualFile::name) !=
        known.end()) {
      out += line + '\n';
      continue;
    }
    const auto header = find(*include, file);
    const bool again = header && std::ranges::find(open_, *header) != open_.end();
    if (!header && include->quoted && missing_.insert(include->name).second)
      result_.notes.push_back(fmt::format(
          "header {}: neither beside the file nor in a folder of -I, left out", include->name));
    if (!header || again || open_.size() >= kMaxDepth) {
      out += '\n';
      continue;
    }
    if (auto inserted = insert(*header); !inserted) return inserted;
    out += fmt::format("\n#line {} \"{}\"\n", number + 1, file.string());
  }
  if (guarded) out += "\n#endif\n";
  open_.pop_back();
  return {};
}

}  // namespace

Result<Gathered> gather(const fs::path& file, const std::vector<fs::path>& folders) {
  for (const fs::path& folder : folders) {
    std::error_code none;
    if (!fs::is_directory(folder, none))
      return invalid(fmt::format("-I {}: no such folder", folder.string()));
  }
  auto text = read_text_file(file);
  if (!text) return std::unexpected(text.error());
  text = as_utf8(*std::move(text));
  if (auto good = check_text(*text, file.string()); !good) return std::unexpected(good.error());
  Gatherer gatherer(folders);
  if (auto added = gatherer.add(file, *text); !added) return std::unexpected(added.error());
  return gatherer.take();
}

}  // namespace hone::init
