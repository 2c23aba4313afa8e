// The values that host code has while it is followed: integers with how they are made, pointers
// to cells or to memory, records. Needs Clang's declarations as keys only.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "rewriters/syntax/host/read_unit.h"

namespace clang {
class Decl;
class FunctionDecl;
}  // namespace clang

namespace hone::syntax::host {

struct Cell;
using CellPtr = std::shared_ptr<Cell>;

struct Value {
  enum class Kind { kUnknown, kInt, kReal, kCell, kMemory, kRecord, kText, kFunction, kNull };
  Kind kind = Kind::kUnknown;
  HostInt integer;    ///< kInt; kMemory: offset [B], null when unknown
  double real = 0;    ///< kReal
  HostInt numerator;  ///< kReal: the exact quotient of two integers, where it is one
  HostInt denominator;
  CellPtr cell;              ///< kCell: what it points to; kRecord: the record's own copy
  std::int64_t element = 0;  ///< kCell: index from there; -1 unknown
  int memory = -1;           ///< kMemory: index into UnitFacts::buffers
  const clang::FunctionDecl* function = nullptr;
  bool from_arguments = false;  ///< computed from how many arguments the program was given
  HostFill fill;                ///< kReal, kInt: what a random generator makes here

  [[nodiscard]] bool is_int() const { return kind == Kind::kInt && integer != nullptr; }
};

/// A place that holds a value: a variable, a member, an element of a small array.
struct Cell {
  Value value;
  std::map<const clang::Decl*, CellPtr> members;
  std::map<std::int64_t, CellPtr> elements;
  int memory = -1;  ///< this array as a buffer of the host, once it was copied from or to
  int owner = -1;   ///< the memory that this is an element of
};

// Arithmetic that keeps how the value is made. Null operands, overflow and division by zero: null.
[[nodiscard]] HostInt constant(std::int64_t value);
[[nodiscard]] HostInt combine(HostExpr::Op op, const HostInt& a, const HostInt& b);
/// Does any name occur?
[[nodiscard]] bool has_name(const HostInt& value);

[[nodiscard]] Value int_value(HostInt value);
[[nodiscard]] Value real_value(double value);
[[nodiscard]] bool is_number(const Value& value);
/// Of what is a number.
[[nodiscard]] double number(const Value& value);
/// A copy that shares no cell.
[[nodiscard]] CellPtr deep_copy(const CellPtr& cell);

}  // namespace hone::syntax::host
