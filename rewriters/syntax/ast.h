// A small, Clang-free picture of one CUDA translation unit: what rules look at. Built by
// syntax::parse() (parse.h). Nodes are owned by the TranslationUnit, immutable, and live as long as
// it does. Source ranges are byte offsets into TranslationUnit::source; a range is invalid when the
// text comes from a macro body, and such a node must not be edited.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hone::syntax {

struct Expr;
struct Stmt;
struct Function;

struct SourceRange {
  int begin = -1;
  int end = -1;  ///< one past the last byte
  [[nodiscard]] bool valid() const { return begin >= 0 && end >= begin; }
  [[nodiscard]] bool contains(const SourceRange& other) const {
    return valid() && other.valid() && begin <= other.begin && other.end <= end;
  }
  bool operator==(const SourceRange&) const = default;
};

struct Type {
  enum class Kind { kVoid, kBool, kInt, kFloat, kPointer, kArray, kVector, kStruct, kOther };
  Kind kind = Kind::kOther;
  std::string spelling;  ///< canonical, with qualifiers: "const float *"
  std::string name;      ///< unqualified, canonical: "float", "int", "float4", "__half"
  int bytes = 0;         ///< size; 0 when unknown
  bool is_signed = false;
  bool is_const = false;  ///< top-level qualifier of this type (of the pointee: see element)
  bool is_volatile = false;
  bool is_restrict = false;
  std::shared_ptr<const Type> element;  ///< pointee, array element; for kVector the component
  std::int64_t extent = -1;             ///< array extent; -1: unknown or extern []
  int lanes = 1;                        ///< kVector: 2 for float2, 4 for float4
  std::vector<std::string> fields;      ///< kStruct without bases: in order

  [[nodiscard]] bool is_integer() const { return kind == Kind::kInt || kind == Kind::kBool; }
  [[nodiscard]] bool is_pointer() const { return kind == Kind::kPointer; }
  /// float, double, __half, __nv_bfloat16 (Kind::kFloat)
  [[nodiscard]] bool is_float() const { return kind == Kind::kFloat; }
};

struct Variable {
  enum class Storage {
    kParameter,
    kLocal,
    kShared,         ///< __shared__ with a known size
    kDynamicShared,  ///< extern __shared__ x[]
    kConstant,       ///< __constant__, file scope
    kGlobal,         ///< __device__, file scope, or a file-scope constexpr
  };
  std::string name;
  Type type;
  Storage storage = Storage::kLocal;
  SourceRange declaration;  ///< this declarator with its initialiser: "i = 0", "tile[16][17]"
  SourceRange name_range;
  SourceRange
      type_range;  ///< the written type specifier, shared by all declarators of one statement
  const Expr* init = nullptr;
  std::string symbol;  ///< name made unique in its function: "i#0", "i#1" when shadowed
  int param_index = -1;
  std::vector<const Expr*> write_sites;  ///< the assignments, ++ and -- that write it
  int writes = 0;                        ///< assignments, ++/--, not counting the initialiser
  int reads = 0;                         ///< uses as a value
  bool address_taken = false;            ///< &x, bound to a reference, or captured
  bool is_reference = false;             ///< declared as T&: another name for something else
  const Stmt* statement =
      nullptr;  ///< the declaration statement; null for parameters and file scope
  const Function* function = nullptr;

  /// Initialised once and never written again: its initialiser is its value.
  [[nodiscard]] bool single_assignment() const {
    return init != nullptr && writes == 0 && !address_taken;
  }
};

struct Expr {
  enum class Kind {
    kIntLiteral,
    kFloatLiteral,
    kBoolLiteral,
    kVariable,     ///< `variable`
    kBuiltin,      ///< `text` is "threadIdx.x", "blockDim.y", "gridDim.z", "warpSize", ...
    kBinary,       ///< `text` is the operator; no assignment; `,` included
    kAssign,       ///< "=", "+=", ...; operands: target, value
    kUnary,        ///< "-", "+", "!", "~", "&", "*" (dereference), "++x", "--x", "x++", "x--"
    kCall,         ///< `text` is the callee's name ("" when not a plain name, ".sync" for a member
                   ///< function, whose operand 0 is the object); operands: arguments
    kSubscript,    ///< operands: base, index
    kCast,         ///< explicit or implicit conversion that changes the type; operand 0
    kConditional,  ///< c ? a : b
    kMember,       ///< operand 0 is the object, `text` the field: v.x
    kInitList,     ///< {a, b}; also constructor calls such as dim3(…), `text` is the type
    kOther,        ///< anything else (lambda, new, template-dependent, ...): do not reason about it
  };
  Kind kind = Kind::kOther;
  SourceRange range;
  Type type;
  std::string text;
  std::vector<const Expr*> operands;
  const Variable* variable = nullptr;
  const Function* callee = nullptr;      ///< kCall: a function of this file, when known
  bool intrinsic = false;                ///< kCall: a function of CUDA's or the compiler's own
  bool bound = false;                    ///< bound to a reference through which it may be written
  std::int64_t int_value = 0;            ///< kIntLiteral, kBoolLiteral
  double float_value = 0;                ///< kFloatLiteral
  std::optional<std::int64_t> constant;  ///< the value when it is an integer constant expression
  bool implicit = false;                 ///< an implicit cast: its range is its operand's
  int position = -1;                ///< where it stands in the file, also for text of a macro body
  const Expr* parent = nullptr;     ///< enclosing expression, or null
  const Stmt* statement = nullptr;  ///< innermost enclosing statement
};

struct Stmt {
  enum class Kind {
    kCompound,
    kDeclaration,  ///< `variables`
    kExpression,   ///< `expr`
    kIf,           ///< `expr` condition; children: then, [else]
    kFor,     ///< `init` (or null), `expr` condition (or null), `step` (or null); children: body
    kWhile,   ///< `expr`; children: body
    kDo,      ///< `expr`; children: body
    kSwitch,  ///< `expr`; children: body
    kCase,    ///< a `case` or `default` label; `expr` or null; children: the labelled statement
    kReturn,  ///< `expr` or null
    kBreak,
    kContinue,
    kNull,   ///< ;
    kOther,  ///< asm, goto, label, try, ...: do not move code across it
  };
  Kind kind = Kind::kOther;
  SourceRange range;  ///< with the final `;` where there is one; with the braces for a compound
  std::vector<const Stmt*> children;
  const Expr* expr = nullptr;
  const Stmt* init = nullptr;
  const Expr* step = nullptr;
  std::vector<const Variable*> variables;
  int position = -1;   ///< where it begins in the file, also for text of a macro body
  SourceRange pragma;  ///< a `#pragma unroll …` line directly before a loop; invalid when none
  const Stmt* parent = nullptr;
  const Function* function = nullptr;
};

struct Function {
  std::string name;
  bool is_kernel = false;  ///< __global__
  bool is_device = false;  ///< __device__
  bool is_host = false;    ///< neither, and not constexpr: NVRTC refuses it
  bool is_extern_c = false;
  bool is_redeclared = false;  ///< also declared elsewhere: its signature must not change
  int max_threads = 0;         ///< first argument of __launch_bounds__, 0 when none or unknown
  int min_blocks = 0;          ///< its second one, likewise; 0, too, where a third follows
  bool is_template = false;    ///< a pattern: type-dependent parts are kOther; see parse.h
  SourceRange range;           ///< from the first specifier to the closing brace
  SourceRange name_range;
  SourceRange parameters_range;  ///< between the parentheses
  SourceRange launch_bounds;     ///< "__launch_bounds__(…)", invalid when none
  int attribute_insert = -1;     ///< where "__launch_bounds__(…) " may be inserted: before the name
  std::vector<const Variable*> parameters;
  const Stmt* body = nullptr;                ///< null for a declaration without a body
  std::vector<const Stmt*> all_statements;   ///< pre-order
  std::vector<const Expr*> all_expressions;  ///< pre-order
  std::vector<const Variable*> locals;       ///< in order of declaration, shared ones included
};

struct Diagnostic {
  bool is_error = true;
  int line = 0;  // 1-based, in `source`
  int column = 0;
  std::string message;
};

struct TranslationUnit {
  std::string source;
  std::vector<const Function*> functions;  ///< with a body, in order
  std::vector<const Variable*> globals;
  std::vector<Diagnostic> diagnostics;  ///< errors make parse() fail; these are warnings

  /// By name, as a launch says it: "scale<float, 256>", "space::scale". A kernel before another
  /// function; null where there is none, or one in each of several namespaces.
  [[nodiscard]] const Function* find_function(std::string_view name) const;
  [[nodiscard]] std::string_view text(const SourceRange& range) const;
  [[nodiscard]] int line_of(int offset) const;  ///< 1-based

  struct Storage;  ///< owns the nodes
  std::shared_ptr<Storage> storage;
};

}  // namespace hone::syntax
