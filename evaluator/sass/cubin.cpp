#include "evaluator/sass/cubin.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "evaluator/sass/line_program.h"

namespace hone::sass {
namespace {

constexpr std::string_view kText = ".text.";
constexpr std::size_t kHeaderBytes = 64, kSectionBytes = 64, kSymbolBytes = 24;
constexpr std::uint32_t kSymbolTable = 2, kRela = 4, kNoBits = 8, kRel = 9;  // section types

/// Little-endian reads of a file that may end anywhere.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  template <class T>
  [[nodiscard]] std::optional<T> at(std::uint64_t offset) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }
  [[nodiscard]] std::optional<std::string_view> part(std::uint64_t offset,
                                                     std::uint64_t size) const {
    if (offset > bytes_.size() || bytes_.size() - offset < size) return std::nullopt;
    return bytes_.substr(offset, size);
  }

 private:
  std::string_view bytes_;
};

std::string_view text_at(std::string_view table, std::uint64_t offset) {
  if (offset >= table.size()) return {};
  const std::string_view rest = table.substr(offset);
  return rest.substr(0, rest.find('\0'));
}

struct RawSection {
  std::uint32_t name = 0, type = 0, link = 0, info = 0;
  std::uint64_t offset = 0, size = 0;
};

std::optional<std::vector<RawSection>> read_sections(const Reader& file) {
  const auto table = file.at<std::uint64_t>(40);
  const auto entry_bytes = file.at<std::uint16_t>(58);
  const auto count = file.at<std::uint16_t>(60);
  if (!table || entry_bytes != kSectionBytes || !file.part(*table, *count * kSectionBytes))
    return std::nullopt;
  std::vector<RawSection> sections;
  for (std::uint64_t i = 0; i < *count; ++i) {
    const std::uint64_t at = *table + i * kSectionBytes;
    sections.push_back({.name = *file.at<std::uint32_t>(at),
                        .type = *file.at<std::uint32_t>(at + 4),
                        .link = *file.at<std::uint32_t>(at + 40),
                        .info = *file.at<std::uint32_t>(at + 44),
                        .offset = *file.at<std::uint64_t>(at + 24),
                        .size = *file.at<std::uint64_t>(at + 32)});
  }
  return sections;
}

std::vector<Relocation> read_relocations(std::string_view bytes, bool with_addend) {
  const Reader table(bytes);
  const std::size_t entry = with_addend ? 24 : 16;
  std::vector<Relocation> relocations;
  for (std::size_t at = 0; at + entry <= bytes.size(); at += entry) {
    const auto info = *table.at<std::uint64_t>(at + 8);
    relocations.push_back({.offset = *table.at<std::uint64_t>(at),
                           .type = static_cast<std::uint32_t>(info),
                           .addend = with_addend ? *table.at<std::int64_t>(at + 16) : 0,
                           .symbol = static_cast<std::uint32_t>(info >> 32)});
  }
  std::ranges::stable_sort(relocations, {}, &Relocation::offset);
  return relocations;
}

std::vector<Symbol> read_symbols(std::string_view bytes, std::string_view names,
                                 std::size_t sections) {
  const Reader table(bytes);
  std::vector<Symbol> symbols;
  for (std::size_t at = 0; at + kSymbolBytes <= bytes.size(); at += kSymbolBytes) {
    const std::uint32_t section = *table.at<std::uint16_t>(at + 6);
    symbols.push_back({.name = text_at(names, *table.at<std::uint32_t>(at)),
                       .section = section < sections ? section : 0,
                       .value = *table.at<std::uint64_t>(at + 8)});
  }
  return symbols;
}

/// From a function's .nv.info: attributes of a format, a kind and, where the format is 4, a size.
/// The kind 0x34 lists table jumps: place, two numbers of 16 bits, how many targets, and those.
std::vector<TableJump> read_jumps(std::string_view bytes) {
  constexpr std::uint8_t kSized = 4, kIndirectBranches = 0x34;
  const Reader info(bytes);
  std::vector<TableJump> jumps;
  for (std::size_t at = 0; at + 4 <= bytes.size();) {
    const auto format = *info.at<std::uint8_t>(at);
    const auto kind = *info.at<std::uint8_t>(at + 1);
    const std::size_t size = format == kSized ? *info.at<std::uint16_t>(at + 2) : 0;
    at += 4;
    const std::size_t end = std::min(at + size, bytes.size());
    for (std::size_t k = at; kind == kIndirectBranches && k + 12 <= end;) {
      TableJump& jump = jumps.emplace_back();
      jump.at = *info.at<std::uint32_t>(k);
      const std::size_t count = *info.at<std::uint32_t>(k + 8);
      k += 12;
      for (std::size_t t = 0; t < count && k + 4 <= end; ++t, k += 4)
        jump.targets.push_back(*info.at<std::uint32_t>(k));
    }
    at = end;
  }
  return jumps;
}

/// Where the flags keep the architecture changed with the file's version.
int arch_of(std::uint32_t flags) {
  constexpr std::array kKnown = {70, 72, 75, 80, 86, 87, 88, 89, 90, 100, 101, 103, 110, 120, 121};
  for (const std::uint32_t part : {flags & 0xFF, flags >> 8 & 0xFF})
    if (std::ranges::find(kKnown, static_cast<int>(part)) != kKnown.end())
      return static_cast<int>(part);
  return 0;
}

}  // namespace

Result<Cubin> Cubin::read(std::string_view bytes) {
  const Reader file(bytes);
  const auto broken = [] { return invalid("the machine code is not a whole CUDA ELF file"); };
  constexpr std::string_view kMagic =
      "\x7F"
      "ELF\x02\x01";  // 64 bits, little-endian
  constexpr std::uint16_t kCuda = 190;
  if (bytes.size() < kHeaderBytes || !bytes.starts_with(kMagic) ||
      file.at<std::uint16_t>(18) != kCuda)
    return broken();
  const auto raw = read_sections(file);
  const auto names_in = file.at<std::uint16_t>(62);
  if (!raw || *names_in >= raw->size()) return broken();
  const auto names = file.part((*raw)[*names_in].offset, (*raw)[*names_in].size);
  if (!names) return broken();

  Cubin cubin;
  cubin.arch_ = arch_of(*file.at<std::uint32_t>(48));
  cubin.sections_.reserve(raw->size());
  for (const RawSection& r : *raw) {
    Section section{.name = text_at(*names, r.name), .size = r.size};
    if (r.type != kNoBits && r.type != 0) {
      const auto part = file.part(r.offset, r.size);
      if (!part) return broken();
      section.bytes = *part;
    }
    cubin.sections_.push_back(std::move(section));
  }
  for (std::size_t i = 0; i < raw->size(); ++i) {
    const RawSection& r = (*raw)[i];
    if ((r.type == kRela || r.type == kRel) && r.info < raw->size())
      cubin.sections_[r.info].relocations =
          read_relocations(cubin.sections_[i].bytes, r.type == kRela);
    if (r.type == kSymbolTable && r.link < raw->size() && cubin.symbols_.empty())
      cubin.symbols_ =
          read_symbols(cubin.sections_[i].bytes, cubin.sections_[r.link].bytes, raw->size());
  }
  for (std::uint32_t i = 0; i < cubin.sections_.size(); ++i) {
    const Section& section = cubin.sections_[i];
    if (!section.name.starts_with(kText)) continue;
    cubin.functions_.push_back(
        {.name = section.name.substr(kText.size()), .section = i, .code = section.bytes});
  }
  constexpr std::string_view kInfo = ".nv.info.";
  for (Function& function : cubin.functions_)
    for (const Section& section : cubin.sections_)
      if (section.name.starts_with(kInfo) && section.name.substr(kInfo.size()) == function.name)
        function.jumps = read_jumps(section.bytes);
  constexpr std::string_view kPtxLines = ".nv_debug_line_sass";
  for (const Section& section : cubin.sections_) {
    if (section.name != kPtxLines) continue;
    for (const LineSequence& sequence : read_line_program(section.bytes)) {
      const auto target =
          std::ranges::find(section.relocations, sequence.address_at, &Relocation::offset);
      if (target == section.relocations.end() || target->symbol >= cubin.symbols_.size()) continue;
      const std::uint32_t of = cubin.symbols_[target->symbol].section;
      const auto function = std::ranges::find(cubin.functions_, of, &Function::section);
      if (function == cubin.functions_.end()) continue;
      function->lines = lines_of(sequence, function->code.size() / kInstructionBytes);
    }
  }
  return cubin;
}

const Function* Cubin::find(std::string_view lowered_name) const {
  const auto found = std::ranges::find(functions_, lowered_name, &Function::name);
  return found == functions_.end() ? nullptr : &*found;
}

}  // namespace hone::sass
