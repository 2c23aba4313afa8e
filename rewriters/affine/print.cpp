// Values as text.
#include <fmt/format.h>

#include <cstdlib>

#include "rewriters/affine/node.h"

namespace hone::nest {

std::string to_string(const Nodes& nodes, Ref value) {
  const auto text = [&](Ref part) { return to_string(nodes, part); };
  switch (value->kind) {
    case Node::Kind::kFloat:
      return fmt::format("{}", value->value);
    case Node::Kind::kIndex:
      return nodes.symbol(value->symbol).name;
    case Node::Kind::kPhi:
      return fmt::format("phi{}", value->id);
    case Node::Kind::kLoad:
      return fmt::format("{}[{}]", value->name, text(value->args[0]));
    case Node::Kind::kSum: {
      if (value->type == ScalarType::kBool) return value->constant != 0 ? "true" : "false";
      std::string sum;
      for (const Term& term : value->terms) {
        const std::int64_t size = std::abs(term.coefficient);
        sum += sum.empty() ? (term.coefficient < 0 ? "-" : "")
                           : (term.coefficient < 0 ? " - " : " + ");
        if (size != 1) sum += fmt::format("{}*", size);
        sum += text(term.atom);
      }
      if (sum.empty()) return std::to_string(value->constant);
      if (value->constant > 0) sum += fmt::format(" + {}", value->constant);
      if (value->constant < 0) sum += fmt::format(" - {}", -value->constant);
      return sum;
    }
    case Node::Kind::kReduce: {
      std::string over;
      for (const SymbolId symbol : value->symbols) {
        over += fmt::format("{}{} < {}", over.empty() ? "" : ", ", nodes.symbol(symbol).name,
                            nodes.extent(symbol));
      }
      return fmt::format("{}({}: {})", value->op == Op::kAdd ? "sum" : value->what(), over,
                         text(value->args[0]));
    }
    case Node::Kind::kOp:
      break;
  }
  if (value->is(Op::kNonNegative)) return fmt::format("({} >= 0)", text(value->args[0]));
  if (value->is(Op::kIsZero)) return fmt::format("({} == 0)", text(value->args[0]));
  if (value->is(Op::kCast)) {
    return fmt::format("{}({})", to_string(value->type), text(value->args[0]));
  }
  if (value->is(Op::kSelect)) {
    return fmt::format("({} ? {} : {})", text(value->args[0]), text(value->args[1]),
                       text(value->args[2]));
  }
  if (info(value->op).is(OpInfo::kInfix)) {
    return fmt::format("({} {} {})", text(value->args[0]), value->what(), text(value->args[1]));
  }
  std::string args;
  for (const Ref arg : value->args) args += (args.empty() ? "" : ", ") + text(arg);
  return fmt::format("{}({})", value->what(), args);
}

}  // namespace hone::nest
