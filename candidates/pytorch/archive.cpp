#include "candidates/pytorch/archive.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <vector>

namespace hone::pytorch {
namespace {

// Source for all of this: PKWARE's APPNOTE.TXT, sections 4.3 and 4.4.
constexpr std::uint32_t kLocalHeader = 0x04034b50, kDirectoryEntry = 0x02014b50,
                        kEndOfDirectory = 0x06054b50, kZip64End = 0x06064b50,
                        kZip64Locator = 0x07064b50;
constexpr std::uint64_t kEndBytes = 22, kLocatorBytes = 20, kZip64EndBytes = 56, kEntryBytes = 46,
                        kLocalBytes = 30;
constexpr std::uint64_t kLongestComment = 65535, kMostDirectory = 256u << 20;  // [B]
constexpr std::uint64_t kMostMembers = 1 << 20;

/// Little-endian numbers out of bytes; beyond the end they are 0 and `good` falls.
struct Bytes {
  std::string_view text;
  std::uint64_t at = 0;
  bool good = true;

  std::uint64_t number(int bytes) {
    if (at + static_cast<std::uint64_t>(bytes) > text.size()) {
      good = false;
      return 0;
    }
    std::uint64_t value = 0;
    for (int i = 0; i < bytes; ++i) {
      value |= static_cast<std::uint64_t>(static_cast<unsigned char>(text[at + i])) << (8 * i);
    }
    at += static_cast<std::uint64_t>(bytes);
    return value;
  }
  std::string_view piece(std::uint64_t bytes) {
    if (at > text.size() || bytes > text.size() - at) {
      good = false;
      return {};
    }
    const std::string_view piece = text.substr(at, bytes);
    at += bytes;
    return piece;
  }
};

class File {
 public:
  explicit File(const std::filesystem::path& path) : stream_(path, std::ios::binary) {
    if (!stream_) return;
    stream_.seekg(0, std::ios::end);
    size_ = static_cast<std::uint64_t>(stream_.tellg());
  }
  [[nodiscard]] bool is_open() const { return stream_.is_open() && !stream_.bad(); }
  [[nodiscard]] std::uint64_t size() const { return size_; }
  /// Empty where the file has no such bytes, or they cannot be read.
  std::optional<std::string> read(std::uint64_t offset, std::uint64_t bytes) {
    if (offset > size_ || bytes > size_ - offset) return std::nullopt;
    std::string text(bytes, '\0');
    stream_.clear();
    stream_.seekg(static_cast<std::streamoff>(offset));
    stream_.read(text.data(), static_cast<std::streamsize>(bytes));
    if (static_cast<std::uint64_t>(stream_.gcount()) != bytes) return std::nullopt;
    return text;
  }

 private:
  std::ifstream stream_;
  std::uint64_t size_ = 0;  // [B]
};

struct Directory {
  std::uint64_t offset = 0, bytes = 0, members = 0;
};

std::optional<Directory> find_directory(File& file) {
  const std::uint64_t tail = std::min(file.size(), kEndBytes + kLongestComment);
  const auto text = file.read(file.size() - tail, tail);
  if (!text || tail < kEndBytes) return std::nullopt;
  for (std::uint64_t at = tail - kEndBytes + 1; at-- > 0;) {
    Bytes end{*text, at};
    if (end.number(4) != kEndOfDirectory) continue;
    end.at += 6;
    Directory directory;
    directory.members = end.number(2);
    directory.bytes = end.number(4);
    directory.offset = end.number(4);
    if (end.number(2) != tail - at - kEndBytes) continue;  // the comment ends the file
    if (at < kLocatorBytes) return directory;
    Bytes locator{*text, at - kLocatorBytes};
    if (locator.number(4) != kZip64Locator) return directory;
    locator.at += 4;
    const auto large = file.read(locator.number(8), kZip64EndBytes);
    Bytes zip64{large ? std::string_view(*large) : std::string_view()};
    if (zip64.number(4) != kZip64End) return std::nullopt;
    zip64.at += 28;
    directory.members = zip64.number(8);
    directory.bytes = zip64.number(8);
    directory.offset = zip64.number(8);
    return zip64.good ? std::optional(directory) : std::nullopt;
  }
  return std::nullopt;
}

struct Entry {
  std::string name;
  std::uint64_t flags = 0, method = 0, packed = 0, bytes = 0, header = 0;
};

/// The sizes and the place that do not fit 32 bits stand in an extra field, in this order.
void read_zip64(Entry& entry, std::string_view extra) {
  constexpr std::uint64_t kTooLarge = 0xffffffff;
  Bytes fields{extra};
  while (fields.good && fields.at < extra.size()) {
    const std::uint64_t id = fields.number(2);
    Bytes field{fields.piece(fields.number(2))};
    if (id != 1) continue;
    for (std::uint64_t* value : {&entry.bytes, &entry.packed, &entry.header}) {
      if (*value == kTooLarge) *value = field.number(8);
    }
  }
}

Entry read_entry(Bytes& directory) {
  Entry entry;
  if (directory.number(4) != kDirectoryEntry) directory.good = false;
  directory.at += 4;
  entry.flags = directory.number(2);
  entry.method = directory.number(2);
  directory.at += 8;
  entry.packed = directory.number(4);
  entry.bytes = directory.number(4);
  const std::uint64_t name = directory.number(2), extra = directory.number(2),
                      comment = directory.number(2);
  directory.at += 8;
  entry.header = directory.number(4);
  entry.name = directory.piece(name);
  read_zip64(entry, directory.piece(extra));
  static_cast<void>(directory.piece(comment));
  return entry;
}

/// What is wrong with a member, or "" and where its bytes are.
std::string locate(File& file, const Entry& entry, Member& member) {
  if ((entry.flags & 1) != 0) return "is encrypted";
  if (entry.method != 0) {
    return "is compressed; torch.export.save stores members as they are";
  }
  const auto header = file.read(entry.header, kLocalBytes);
  Bytes local{header ? std::string_view(*header) : std::string_view()};
  if (local.number(4) != kLocalHeader)
    return "is not where the directory says: the file is damaged";
  local.at = 26;
  const std::uint64_t names = local.number(2) + local.number(2);
  member.offset = entry.header + kLocalBytes + names;
  member.bytes = entry.bytes;
  if (member.offset > file.size() || member.bytes > file.size() - member.offset) {
    return "reaches beyond the end of the file: it is cut off";
  }
  return "";
}

/// "model/" where every member lies below it, else "".
std::string top_folder(const std::map<std::string, Member, std::less<>>& members) {
  if (members.empty()) return "";
  const std::string& first = members.begin()->first;
  const std::string top = first.substr(0, first.find('/') + 1);
  for (const auto& [name, member] : members) {
    if (!name.starts_with(top)) return "";
  }
  return top;
}

}  // namespace

Result<Archive> Archive::open(const std::filesystem::path& path) {
  const auto wrong = [&](std::string_view what) {
    return invalid(fmt::format("{}: {}", path.string(), what));
  };
  std::error_code code;
  if (!std::filesystem::exists(path, code)) return wrong("there is no such file");
  if (!std::filesystem::is_regular_file(path, code)) return wrong("is not a regular file");
  File file(path);
  if (!file.is_open()) return fail(ErrorCode::kIo, path.string() + ": cannot be read");
  const auto place = find_directory(file);
  const auto text = place && place->bytes <= kMostDirectory ? file.read(place->offset, place->bytes)
                                                            : std::nullopt;
  if (!text || place->members > kMostMembers) {
    return wrong(
        "is no zip file, or is cut off; torch.export.save(program, \"model.pt2\") writes one");
  }
  Archive archive;
  archive.path_ = path;
  Bytes directory{*text};
  // A zip file of another kind, such as TorchScript, is not blamed for how it stores its members.
  std::string first_wrong;
  bool has_model = false;
  for (std::uint64_t i = 0; i < place->members; ++i) {
    const Entry entry = read_entry(directory);
    if (!directory.good) return wrong("its list of members is damaged");
    if (entry.name.ends_with('/')) continue;
    Member member;
    has_model |= entry.name.ends_with("models/model.json");
    const std::string what = locate(file, entry, member);
    if (!what.empty() && first_wrong.empty()) {
      first_wrong = fmt::format("member '{}' {}", entry.name, what);
    }
    archive.members_.emplace(entry.name, what.empty() ? member : Member{});
  }
  if (has_model && !first_wrong.empty()) return wrong(first_wrong);
  const std::string top = top_folder(archive.members_);
  std::map<std::string, Member, std::less<>> below;
  for (auto& [name, member] : archive.members_) below.emplace(name.substr(top.size()), member);
  archive.members_ = std::move(below);
  return archive;
}

const Member* Archive::find(std::string_view name) const {
  const auto found = members_.find(name);
  return found == members_.end() ? nullptr : &found->second;
}

Result<std::string> Archive::read(const Member& member, std::uint64_t most) const {
  if (member.bytes > most) {
    return invalid(
        fmt::format("{}: a member has {} bytes, more than {}", path_.string(), member.bytes, most));
  }
  File file(path_);
  auto text = file.read(member.offset, member.bytes);
  if (!text) return fail(ErrorCode::kIo, path_.string() + ": cannot be read");
  return *std::move(text);
}

}  // namespace hone::pytorch
