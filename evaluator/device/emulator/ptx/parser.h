// The parser's working state: scopes, symbols, and the function being filled. Private to ptx/.
#pragma once

#include <array>
#include <deque>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "evaluator/device/emulator/ptx/dataflow.h"
#include "evaluator/device/emulator/ptx/isa.h"
#include "evaluator/device/emulator/ptx/lexer.h"

namespace hone::emulator {

struct Video;  // lanes/video.h

/// Thrown inside ptx/ only; Module::parse turns it into an Error.
struct ParseError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Symbol {
  enum class Kind { kRegister, kVariable } kind = Kind::kRegister;
  Type type;                 ///< of a register
  std::uint32_t number = 0;  ///< of a register
  Slot slot = kNone;
  Space space = Space::kGeneric;  ///< of a variable
  std::uint64_t address = 0;      ///< in its space
  std::uint64_t bytes = 0;
  std::uint32_t padding = 0;           ///< behind it, nobody else's [B]
  mutable std::uint16_t variable = 0;  ///< in Function::variables, once an instruction has named it
  std::uint8_t lanes = 0;              ///< a vector register: its parts are `name`.x, .y, ...
};

struct Operand {
  enum class Kind {
    kRegister,
    kImmediate,
    kAddress,
    kVector,
    kSink,
    kName,
    kList
  } kind = Kind::kSink;
  const Symbol* symbol = nullptr;  ///< register, or variable of an address
  std::string_view name;           ///< label or function
  std::uint64_t value = 0;         ///< immediate bits
  char float_kind = 0;             ///< 'f' or 'd' for 0f / 0d literals
  bool negated = false;            ///< !%p
  std::int64_t offset = 0;         ///< address
  std::vector<Operand>
      parts;  ///< vector, argument list, the pair of d|p, or what follows in [a, ...]
};

struct Statement {
  std::string_view opcode;              ///< "ld.global.nc.f32"
  std::vector<std::string_view> words;  ///< split at the dots
  std::vector<Operand> operands;
  const Symbol* guard = nullptr;
  bool guard_negated = false;
  [[nodiscard]] bool has(std::string_view word) const {
    for (auto w : words)
      if (w == word) return true;
    return false;
  }
};

[[nodiscard]] std::optional<Type> parse_type(std::string_view word);
[[nodiscard]] std::vector<std::string_view> split_opcode(std::string_view opcode);

class Parser {
 public:
  Parser(std::string_view text, ModuleImpl& module);
  void parse();

 private:
  friend class Decoder;
  struct Scope {
    std::unordered_map<std::string_view, Symbol> symbols;
    std::unordered_map<std::string_view, std::int32_t> labels;
    int parent = -1;
  };
  struct LabelUse {
    int scope = 0;
    std::size_t inst = 0;
    std::string_view label;
    int table = -1, entry = -1;  ///< of branch_targets
  };
  struct TargetTable {
    std::vector<std::string_view> labels;
    int index = -1;
  };

  // tokens
  const Token& peek(int ahead = 0) const;
  Token next();
  bool accept(std::string_view text);
  void expect(std::string_view text);
  [[noreturn]] void error(const std::string& what) const;
  std::uint64_t integer(std::string_view word) const;
  std::int64_t signed_integer();
  void skip_to_semicolon();

  // module scope
  void variable(Space space, bool module_scope);
  void initialiser(std::uint64_t element, std::vector<std::uint8_t>& out);
  std::uint64_t scalar_initialiser();
  void function(bool entry);
  struct Formal {
    std::string_view name;
    CallArgument area;
    bool in_register = false;
    Type type;  ///< of the register
  };
  std::vector<Formal> parameter_list(bool entry, Kernel* kernel);
  int function_index(std::string_view name);

  // function scope
  void body();
  void registers();
  void location();
  void file_name();
  void directive();
  void statement();
  [[nodiscard]] StatementPlace here() const;
  Operand operand();
  void resolve_labels();
  void layout_frame();
  const Symbol* lookup(std::string_view name) const;
  Symbol make_register(Type type);
  std::uint32_t formal_area(std::uint64_t bytes, std::uint64_t align);
  bool uses_module_shared(std::size_t body_begin) const;
  bool body_has(std::size_t body_begin, std::string_view opcode) const;

  std::string_view text_;
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  ModuleImpl& module_;
  std::unordered_map<std::string_view, int> function_names_;
  std::unordered_map<std::string, Slot> constants_;
  std::deque<Scope> scopes_;
  std::unordered_map<std::string_view, TargetTable> tables_;
  std::vector<LabelUse> uses_;
  std::deque<Symbol> temporaries_;
  std::vector<AddressSeed> seeds_;
  std::vector<char> declared_;            ///< by register: the source names it
  std::vector<Formal> register_results_;  ///< of the function in hand: stored at its returns
  int scope_ = 0;
  int current_ = -1;                ///< function
  std::uint32_t slot_bytes_ = 0;    ///< registers so far
  std::uint32_t shared_bytes_ = 0;  ///< of the current kernel
  std::uint32_t module_shared_bytes_ = 0;
  std::uint64_t global_bytes_ = 0;
  int user_file_ = -1;
  std::uint32_t line_ = 0;
  std::int32_t location_ = -1;                                   ///< the one in force
  std::unordered_map<std::uint64_t, std::int32_t> location_of_;  ///< by file, line and column
};

/// Turns one statement into instructions of the current function (ptx/decode*.cpp).
class Decoder {
 public:
  explicit Decoder(Parser& parser)
      : p_(parser), module_(parser.module_), f_(parser.module_.functions[parser.current_]) {}
  void decode(const Statement& s);
  /// Register parameters and the stack of alloca, before the body's first statement.
  void begin_function(const std::vector<Parser::Formal>& formals, bool has_alloca);
  void store_results(const Statement& s);

 private:
  Inst begin(const Statement& s, Kind kind);
  void emit(Inst inst);
  void unsupported(const Statement& s);

  Slot source(const Operand& o, Type type);  ///< register or constant
  Slot address_of(const Operand& o, int width);
  void note_frame_part(const Statement& s);
  Slot helper_value(Inst inst, int width, const Symbol* from = nullptr);
  Slot destination(const Operand& o, int bits);
  Slot constant(std::uint64_t bits, int width);
  Slot predicate(const Operand& o);  ///< honours `!`
  void address(const Operand& o, Inst& inst);
  int width_of(const Operand& o, int fallback) const;

  bool decode_lane(const Statement& s);
  bool decode_lop3_predicate(const Statement& s);
  bool decode_video(const Statement& s);
  Operand without_selector(const Operand& o, std::string_view& selector);
  bool decode_video_one(const Statement& s, Video v);
  bool decode_video_many(const Statement& s, Video v);
  bool decode_pair_of_f32(const Statement& s);
  bool decode_three_inputs(const Statement& s);
  Operand temporary(Type type);
  Operand wide_halves(const Operand& o);  ///< {lower, upper} of a b128 register
  void move(const Statement& s, const Operand& to, const Operand& from, Type type);
  void store_formal(const Statement& s, const Operand& from, std::uint32_t area, Type type);
  void load_formal(const Statement& s, const Operand& to, std::uint32_t area, Type type);
  Operand copied_predicate(const Statement& s, const Operand& o);
  bool decode_alloca(const Statement& s);
  bool decode_setp(const Statement& s);
  bool decode_packed_setp(const Statement& s);
  bool decode_cvt(const Statement& s);
  bool decode_mov(const Statement& s);
  bool decode_prefetch(const Statement& s, const Operand* bytes, LineHint hint = LineHint::kFetch);
  bool decode_memory(const Statement& s);
  bool decode_atomic(const Statement& s);
  bool decode_control(const Statement& s);
  bool decode_call(const Statement& s);
  bool decode_warp(const Statement& s);
  bool decode_async(const Statement& s);
  bool decode_mbarrier(const Statement& s);
  bool decode_bulk(const Statement& s);
  bool decode_bulk_share(const Statement& s);
  bool decode_async_store(const Statement& s);
  AsyncAddress async_address(const Operand& o, Space space);
  void emit_async(const Statement& s, AsyncOp op, Class cls, AsyncOperands operands, Inst inst);
  bool decode_tensor(const Statement& s);
  bool decode_mma(const Statement& s);
  bool decode_matrix(const Statement& s);
  bool decode_wmma(const Statement& s);
  bool decode_wmma_mma(const Statement& s);
  bool decode_wgmma(const Statement& s);
  bool decode_wmma_memory(const Statement& s);
  using Operands = std::vector<const Operand*>;
  Inst begin_tensor(const Statement& s, const TensorOp& op, bool helper);
  bool emit_mma(const Statement& s, const TensorOp& op, const Operands& d, const Operands& a,
                const Operands& b, const Operands& c);
  Symbol hidden(int bits);  ///< a register that the source does not name
  /// Part of the instruction in hand: the same guard, not counted.
  void helper_lane(const Statement& s, const char* key, const Symbol& d, Slot a, Slot b,
                   Slot c = kNone, const std::vector<Slot>& read = {});
  Slot lane_constant(const std::array<std::uint32_t, 32>& values, int width);
  Slot lane_mask(std::uint32_t lanes);
  bool lane(const Statement& s, const std::string& key, Class cls, int latency, Slot d, Slot a,
            Slot b = kNone, Slot c = kNone, int flops = 0);

  Parser& p_;
  ModuleImpl& module_;
  Function& f_;
  std::vector<Slot> read_, written_;  ///< of the statement in hand
  std::uint16_t named_ = 0;           ///< the variable whose address is an operand, or kSeveral
};

/// Every lane function by key, e.g. "fma.ftz.f32"; null when there is none.
[[nodiscard]] LaneFn find_lane(const std::string& key);

}  // namespace hone::emulator
