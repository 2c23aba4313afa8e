// The ELF file that ptxas makes, as far as hone looks into it: functions, what they refer to, and
// of which PTX line each instruction came. Any thread; immutable once read. Every offset is
// checked: a file that lies about itself is an error, never an access outside of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "candidates/result.h"

namespace hone::sass {

inline constexpr std::size_t kInstructionBytes = 16;  // sm_70 and later

/// A place in the code that the loader fills in. Offset and addend as ELF has them.
struct Relocation {
  std::uint64_t offset = 0;  // in the section [B]
  std::uint32_t type = 0;
  std::int64_t addend = 0;
  std::uint32_t symbol = 0;  ///< index into Cubin::symbols()
};

struct Symbol {
  std::string_view name;
  std::uint32_t section = 0;  ///< index into Cubin::sections(); 0: defined elsewhere
  std::uint64_t value = 0;    // in the section [B]
};

struct Section {
  std::string_view name;
  std::string_view bytes;  ///< none where the file keeps only a size, as for shared memory
  std::uint64_t size = 0;  // [B]
  std::vector<Relocation> relocations;
};

/// The PTX line that an instruction was made of.
struct PtxLine {
  std::uint32_t line = 0;  ///< from 1; 0: not known
  bool own = false;        ///< false: the line of the instruction before it, for want of its own
};

/// A branch that a table decides, and where it may go, both from the function's begin [B].
struct TableJump {
  std::uint64_t at = 0;
  std::vector<std::uint64_t> targets;
};

/// A kernel, or a device function that was not inlined.
struct Function {
  std::string_view name;  ///< lowered
  std::uint32_t section = 0;
  std::string_view code;
  std::vector<PtxLine> lines;    ///< one for each instruction, where the file has them; else empty
  std::vector<TableJump> jumps;  ///< that ptxas notes; it leaves out those of indirect calls
};

class Cubin {
 public:
  /// `bytes` must outlive it. kInvalidInput: not a 64-bit CUDA ELF file, or one that is cut.
  [[nodiscard]] static Result<Cubin> read(std::string_view bytes);

  [[nodiscard]] int arch() const { return arch_; }  ///< 90; 0: the file does not say
  [[nodiscard]] const std::vector<Section>& sections() const { return sections_; }
  [[nodiscard]] const std::vector<Symbol>& symbols() const { return symbols_; }
  [[nodiscard]] const std::vector<Function>& functions() const { return functions_; }
  [[nodiscard]] const Function* find(std::string_view lowered_name) const;

 private:
  int arch_ = 0;
  std::vector<Section> sections_;
  std::vector<Symbol> symbols_;
  std::vector<Function> functions_;
};

}  // namespace hone::sass
