#include "evaluator/sass/code_hash.h"

#include <algorithm>
#include <cctype>
#include <vector>

#include "candidates/hash.h"

namespace hone::sass {
namespace {

/// Collects what is hashed: every part with its length, so that no two lists read the same.
class Parts {
 public:
  void add(std::string_view bytes) {
    text_ += std::to_string(bytes.size());
    text_ += ':';
    text_ += bytes;
  }
  void add(std::uint64_t number) { add(std::to_string(number)); }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// ".nv.constant2.kernel" => ".nv.constant2": what is behind is a kernel's name.
std::string_view kind_of(std::string_view section) {
  for (const std::string_view prefix : {".nv.constant", ".nv.shared", ".nv.global.init"}) {
    if (!section.starts_with(prefix)) continue;
    std::size_t end = prefix.size();
    while (end < section.size() && std::isdigit(static_cast<unsigned char>(section[end]))) ++end;
    return section.substr(0, end);
  }
  return section;
}

class Walk {
 public:
  explicit Walk(const Cubin& cubin) : cubin_(cubin) {}

  std::string run(const Function& kernel) {
    visit(kernel.section);
    // Whatever is called is appended to the list as it is met.
    for (std::size_t i = 0; i < order_.size(); ++i) add_code(cubin_.sections()[order_[i]]);
    for (const Section& section : cubin_.sections()) {
      const std::string_view kind = kind_of(section.name);
      // Bank 0 has the parameters, which a launch fills.
      const bool of_all = kind.starts_with(".nv.constant") && kind == section.name;
      const bool own = kind.starts_with(".nv.") && kind != section.name &&
                       section.name.substr(kind.size() + 1) == kernel.name;
      if ((!of_all && !own) || kind == ".nv.constant0") continue;
      parts_.add(kind);
      parts_.add(section.size);
      parts_.add(section.bytes);
    }
    return content_hash(parts_.text());
  }

 private:
  std::size_t visit(std::uint32_t section) {
    const auto known = std::ranges::find(order_, section);
    if (known == order_.end()) {
      order_.push_back(section);
      return order_.size() - 1;
    }
    return static_cast<std::size_t>(known - order_.begin());
  }

  void add_code(const Section& section) {
    parts_.add(section.bytes);
    for (const Relocation& relocation : section.relocations) {
      parts_.add(relocation.offset);
      parts_.add(relocation.type);
      parts_.add(static_cast<std::uint64_t>(relocation.addend));
      if (relocation.symbol >= cubin_.symbols().size()) continue;
      const Symbol& symbol = cubin_.symbols()[relocation.symbol];
      const Section& target = cubin_.sections()[symbol.section];
      parts_.add(symbol.value);
      if (target.name.starts_with(".text.")) {
        parts_.add(visit(symbol.section));
      } else if (symbol.section == 0) {
        parts_.add(symbol.name);  // the loader's own, as vprintf
      } else {
        parts_.add(kind_of(target.name));
        parts_.add(target.bytes);
      }
    }
  }

  const Cubin& cubin_;
  std::vector<std::uint32_t> order_;  ///< sections with code, as they were met
  Parts parts_;
};

}  // namespace

std::string code_hash(const Cubin& cubin, std::string_view kernel) {
  const Function* function = cubin.find(kernel);
  return function == nullptr ? "" : Walk(cubin).run(*function);
}

}  // namespace hone::sass
