#include "rewriters/schedules/printing/print_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace hone::schedules {

using nest::Node;

std::string type_name(ScalarType type) { return std::string(cuda_name(type)); }

ScalarType compute_type(ScalarType type) { return is_narrow_float(type) ? ScalarType::kF32 : type; }

std::string in_compute_type(ScalarType type, const std::string& element) {
  if (type == ScalarType::kF16) return "__half2float(" + element + ")";
  if (type == ScalarType::kBf16) return "__bfloat162float(" + element + ")";
  return is_fp8(type) ? "float(" + element + ")" : element;
}

std::string from_float(ScalarType type, const std::string& value) {
  if (type == ScalarType::kF16) return "__float2half(" + value + ")";
  if (type == ScalarType::kBf16) return "__float2bfloat16(" + value + ")";
  return is_fp8(type) ? type_name(type) + "(" + value + ")" : value;
}

std::string literal(double value, ScalarType type) {
  if (!is_float(type)) return fmt::format("{}", static_cast<std::int64_t>(value));
  const ScalarType in = compute_type(type);
  std::string text;
  if (std::isnan(value)) {
    text = in == ScalarType::kF64 ? "__longlong_as_double(0x7ff8000000000000ll)"
                                  : "__int_as_float(0x7fc00000)";
  } else if (std::isinf(value)) {
    const std::string sign = value < 0 ? "-" : "";
    text = in == ScalarType::kF64 ? sign + "__longlong_as_double(0x7ff0000000000000ll)"
                                  : sign + "__int_as_float(0x7f800000)";
  } else {
    text = in == ScalarType::kF64 ? fmt::format("{}", value)
                                  : fmt::format("{}", static_cast<float>(value));
    if (text.find_first_of(".e") == std::string::npos) text += ".0";
    if (in == ScalarType::kF32) text += "f";
  }
  return text.starts_with("-") ? "(" + text + ")" : text;
}

std::string combined(Op op, ScalarType type, const std::string& a, const std::string& b) {
  const std::string_view name = info(op).name;
  if (info(op).is(nest::OpInfo::kInfix)) return fmt::format("{} {} {}", a, name, b);
  if (!is_float(type)) return fmt::format("{}({}, {})", name, a, b);
  return fmt::format("f{}{}({}, {})", name, compute_type(type) == ScalarType::kF64 ? "" : "f", a,
                     b);
}

std::vector<std::string> headers_for(const std::vector<ScalarType>& types) {
  std::vector<std::string> headers;
  for (const ScalarType narrow :
       {ScalarType::kF16, ScalarType::kBf16, ScalarType::kE4m3, ScalarType::kE5m2}) {
    const std::string header(header_of(narrow));
    if (std::ranges::find(types, narrow) != types.end() &&
        std::ranges::find(headers, header) == headers.end())
      headers.push_back(header);
  }
  return headers;
}

std::string includes_for(const std::vector<ScalarType>& types) {
  std::string text;
  for (const std::string& header : headers_for(types)) text += "#include <" + header + ">\n";
  return text;
}

namespace {

bool binds_tightly(const std::string& text) {
  int depth = 0;
  for (const char c : text) {
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    if (depth == 0 && c == ' ') return false;
  }
  return !text.starts_with("-") && !text.starts_with("!");
}

/// Is its text an int in C: no long long in it, nor unsigned?
bool surely_int(nest::Nodes& nodes, Ref value) {
  if (is_float(value->type) || value->kind == Node::Kind::kReduce) return false;
  if (value->kind == Node::Kind::kLoad) {
    return size_of(value->type) <= 4 && value->type != ScalarType::kU32;
  }
  const auto all = nodes.range(value);
  const bool fits = all && all->low >= INT32_MIN && all->high <= INT32_MAX;
  if (!fits && !value->has_load) return false;
  for (const Ref arg : value->args) {
    if (!is_float(arg->type) && !surely_int(nodes, arg)) return false;
  }
  for (const nest::Term& term : value->terms) {
    if (!surely_int(nodes, term.atom)) return false;
  }
  return true;
}

std::string tight(std::string text) { return binds_tightly(text) ? text : "(" + text + ")"; }

}  // namespace

std::string Printer::print_sum(Ref value) {
  if (value->type == ScalarType::kBool) return value->constant != 0 ? "true" : "false";
  // As C has it: 2147483648 is a long there.
  if (value->is_constant() && value->constant == INT32_MIN) return "(-2147483647 - 1)";
  const auto all = nodes_->range(value);
  const bool wide = !all || all->high > INT32_MAX || all->low < INT32_MIN;
  bool widened = !wide || value->terms.empty() || (value->has_load && !wide_loads);
  std::string text;
  const auto put = [&](std::int64_t sign, const std::string& part) {
    if (text.empty()) {
      text = sign < 0 ? "-" + part : part;
    } else {
      text += (sign < 0 ? " - " : " + ") + part;
    }
  };
  // Positive terms first: "n - 1 - i" rather than "-i + n - 1".
  const auto print_terms = [&](bool positive) {
    for (const nest::Term& term : value->terms) {
      if ((term.coefficient > 0) != positive) continue;
      const std::int64_t size = std::abs(term.coefficient);
      std::string atom = tight(print(term.atom));
      if (!widened) {
        atom = "(long long)" + atom;
        // Every further term is then added in long long; products of them are not.
      }
      put(term.coefficient, size == 1 ? atom : fmt::format("{} * {}", atom, size));
    }
  };
  print_terms(true);
  if (value->constant > 0) put(1, std::to_string(value->constant));
  print_terms(false);
  if (value->constant < 0 || text.empty()) {
    put(value->constant, std::to_string(std::abs(value->constant)));
  }
  return text;
}

std::string Printer::print_index(Ref value) { return print(value); }

std::string Printer::print(Ref value) {
  const auto found = known.find(value);
  if (found != known.end()) return found->second;
  switch (value->kind) {
    case Node::Kind::kFloat:
      return literal(value->value, value->type);
    case Node::Kind::kIndex: {
      const auto name = indices.find(value->symbol);
      if (name != indices.end()) return name->second;
      ok_ = false;
      return "/* " + nodes_->symbol(value->symbol).name + " */";
    }
    case Node::Kind::kSum:
      return print_sum(value);
    case Node::Kind::kLoad: {
      if (on_load) {
        if (std::string text = on_load(value); !text.empty()) return text;
      }
      const std::string element = fmt::format("{}[{}]", value->name, print(value->args[0]));
      if (is_narrow_float(value->type)) return in_compute_type(value->type, element);
      if (value->type == ScalarType::kU32) return "(long long)" + element;  // no wrapping sums
      return element;
    }
    case Node::Kind::kOp:
      return print_op(value);
    default:
      ok_ = false;
      return "/* reduction */";
  }
}

/// "(int)(x[i] % 100u)" of a loaded u32, which would be a long long else; empty: it is no such
/// thing.
std::string Printer::print_unsigned_digit(Ref value) {
  if (!value->is(Op::kMod, Op::kDiv) || !value->args[1]->is_constant()) return {};
  const std::int64_t by = value->args[1]->constant;
  const Ref of = nest::peel(value->args[0]);
  if (of->kind != Node::Kind::kLoad || of->type != ScalarType::kU32) return {};
  if (by < 2 || by > INT32_MAX || known.contains(of) || known.contains(value->args[0])) return {};
  constexpr std::string_view kWide = "(long long)";
  const std::string text = print(of);
  if (!text.starts_with(kWide)) return {};
  return fmt::format("(int)({} {} {}u)", text.substr(kWide.size()), value->what(), by);
}

std::string Printer::print_op(Ref value) {
  const auto arg = [&](std::size_t i) { return tight(print(value->args[i])); };
  const auto bare = [&](std::size_t i) { return print(value->args[i]); };
  const Op op = value->op;
  const std::string_view name = value->what();
  const ScalarType type = compute_type(value->type);
  // What is kept rounded to a narrow type; loads and casts are so already.
  const auto rounded = [&](const std::string& text) {
    return in_compute_type(value->type, from_float(value->type, text));
  };
  if (op == Op::kNonNegative) {
    // c + a - b >= 0 as "b <= a + c".
    const Ref sum = value->args[0];
    Ref left = nodes_->integer(0), right = nodes_->integer(0);
    for (const nest::Term& term : sum->terms) {
      if (term.coefficient > 0) {
        right = nodes_->add(right, nodes_->scale(term.atom, term.coefficient));
      } else {
        left = nodes_->add(left, nodes_->scale(term.atom, -term.coefficient));
      }
    }
    const std::int64_t constant = sum->constant;
    if (left->is_constant()) {
      return fmt::format("{} >= {}", print(right), -constant);
    }
    if (right->is_constant()) return fmt::format("{} < {}", print(left), constant + 1);
    if (constant == -1) return fmt::format("{} < {}", print(left), print(right));
    return fmt::format("{} <= {}", print(left),
                       print(nodes_->add(right, nodes_->integer(constant))));
  }
  if (op == Op::kIsZero) return fmt::format("{} == 0", arg(0));
  if (op == Op::kNot) return "!" + arg(0);
  if (op == Op::kSelect) return fmt::format("{} ? {} : {}", arg(0), arg(1), arg(2));
  if (op == Op::kNeg) return "-" + arg(0);
  if (op == Op::kCast) {
    const ScalarType from = value->args[0]->type;
    if (is_narrow_float(value->type)) {
      return rounded(compute_type(from) == ScalarType::kF32 ? bare(0) : "(float)" + arg(0));
    }
    if (compute_type(from) == value->type) return print(value->args[0]);  // f16 kept in a float
    return fmt::format("({}){}", type_name(value->type), arg(0));
  }
  if (std::string text = print_unsigned_digit(value); !text.empty()) return text;
  if (info(op).is(nest::OpInfo::kInfix)) {
    return rounded(fmt::format("{} {} {}", arg(0), name, arg(1)));
  }
  if (op == Op::kMin || op == Op::kMax) {
    if (is_float(value->type)) return rounded(combined(op, type, bare(0), bare(1)));
    if (!(surely_int(*nodes_, value->args[0]) && surely_int(*nodes_, value->args[1]))) {
      // There is no such function of an int and a long long.
      return fmt::format("{}((long long){}, (long long){})", name, arg(0), arg(1));
    }
  }
  std::string args;  // each is printed once: operands may be deep
  for (std::size_t i = 0; i < value->args.size(); ++i) args += (i == 0 ? "" : ", ") + bare(i);
  if (!is_float(value->type) || name.starts_with("__")) return fmt::format("{}({})", name, args);
  return rounded(fmt::format("{}{}({})", name, type == ScalarType::kF32 ? "f" : "", args));
}

}  // namespace hone::schedules
