#include "rewriters/schedules/printing/emit.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <unordered_set>

namespace hone::schedules {

using nest::Node;

// --- Text -------------------------------------------------------------------------------------

void Code::line(std::string_view text) {
  if (!text.empty()) text_.append(static_cast<std::size_t>(depth_) * 2, ' ');
  text_ += text;
  text_ += '\n';
}

void Code::comment(std::string_view text) {
  const std::size_t room = 97 - static_cast<std::size_t>(depth_) * 2;
  while (text.size() > room) {
    std::size_t cut = text.rfind(' ', room);
    if (cut == std::string_view::npos || cut == 0) cut = room;
    line("// " + std::string(text.substr(0, cut)));
    text.remove_prefix(cut);
    while (text.starts_with(' ')) text.remove_prefix(1);
  }
  line("// " + std::string(text));
}

void Code::lines(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    line(text.substr(at, end - at));
    at = end + 1;
  }
}

void Code::block(std::string_view text) {
  open("");
  lines(text);
  close();
}

void Code::open(std::string_view head) {
  line(head.empty() ? std::string("{") : std::string(head) + " {");
  ++depth_;
}

void Code::open_function(std::string_view head, const std::vector<std::string>& parameters) {
  std::string text(head);
  std::size_t column = text.size() + 1;
  text += "(";
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const bool last = i + 1 == parameters.size();
    if (i > 0 && column + parameters[i].size() + (last ? 4 : 2) > 100) {
      text.back() = '\n';
      text += "    ";
      column = 4;
    }
    text += parameters[i] + (last ? "" : ", ");
    column += parameters[i].size() + 2;
  }
  open(text + ")");
}

void Code::close(std::string_view tail) {
  --depth_;
  line("}" + std::string(tail));
}

void Code::turn(std::string_view head) {
  --depth_;
  open("} " + std::string(head));
}

Names::Names() {
  taken_ = {"int",  "float", "double", "bool",  "char",  "long",  "short", "unsigned", "if",
            "else", "for",   "while",  "const", "true",  "false", "min",   "max",      "do",
            "exp",  "log",   "sqrt",   "this",  "class", "auto",  "row",   "lane",     "v",
            "i",    "warp",  "step",   "at",    "first", "block"};
}

std::string Names::fresh(const std::string& base) {
  std::string name = base;
  for (int i = 2; !taken_.insert(name).second; ++i) name = fmt::format("{}_{}", base, i);
  return name;
}

std::string variable_type(nest::Nodes& nodes, Ref value) {
  if (is_float(value->type)) return type_name(compute_type(value->type));
  if (value->type == ScalarType::kBool) return "bool";
  const Ref bare = nest::peel(value);
  if (bare->kind == Node::Kind::kLoad && size_of(bare->type) < 8 &&
      bare->type != ScalarType::kU32) {
    return "int";
  }
  const auto all = nodes.range(value);
  return all && all->low >= INT32_MIN && all->high <= INT32_MAX ? "int" : "long long";
}

std::string widened(ScalarType type, const std::string& text) {
  return type == ScalarType::kU32 ? "(long long)" + text : in_compute_type(type, text);
}

std::string load_from(const std::string& name, Printer& printer, Ref load) {
  return widened(load->type, fmt::format("{}[{}]", name, printer.print_index(load->args[0])));
}

std::string as_element(Printer& printer, ScalarType type, Ref value) {
  if (!is_narrow_float(type)) return printer.print(value);
  const bool known = printer.known.contains(value);
  if (!known && value->is(Op::kCast) && value->type == type) value = value->args[0];
  std::string text = printer.print(value);
  if (compute_type(value->type) != ScalarType::kF32) text = "(float)(" + text + ")";
  return from_float(type, text);
}

std::string stored(Printer& printer, ScalarType type, Ref value) {
  const std::string text = as_element(printer, type, value);
  const bool same = compute_type(type) != type || compute_type(value->type) == type;
  return same ? text : fmt::format("({})({})", type_name(type), text);
}

// --- Uses -------------------------------------------------------------------------------------

namespace {

/// The operands of a value, and from which on they are evaluated only sometimes.
struct Operands {
  std::vector<Ref> values;
  std::size_t certain = 0;
};

Operands operands_of(Ref value) {
  Operands result;
  if (value->kind == Node::Kind::kSum) {
    for (const nest::Term& term : value->terms) result.values.push_back(term.atom);
  } else if (value->kind == Node::Kind::kLoad || value->kind == Node::Kind::kOp) {
    result.values = value->args;
  }
  const bool chooses = value->is(Op::kSelect, Op::kAnd, Op::kOr);
  result.certain = chooses ? 1 : result.values.size();
  return result;
}

/// Reads memory, or may divide by zero: not to be moved to where it may not be reached.
bool may_fail(const Printer& printer, Ref value) {
  std::unordered_map<Ref, bool> seen;
  const std::function<bool(Ref)> visit = [&](Ref node) -> bool {
    if (printer.known.contains(node) || node->kind == Node::Kind::kReduce) return false;
    const auto found = seen.find(node);
    if (found != seen.end()) return found->second;
    bool fails = false;
    if (node->kind == Node::Kind::kLoad) fails = !printer.on_load || printer.on_load(node).empty();
    if (node->is(Op::kDiv, Op::kMod) && node->is_integer() && !node->args[1]->is_constant()) {
      fails = true;
    }
    for (const Ref operand : operands_of(node).values) fails = fails || visit(operand);
    seen.emplace(node, fails);
    return fails;
  };
  return visit(value);
}

void define(nest::Nodes& nodes, Printer& printer, Names& names, Code& code, Ref value,
            const std::string& base) {
  const std::string type = variable_type(nodes, value);
  const std::string text = printer.print(value);
  const std::string name = names.fresh(base);
  code.line(fmt::format("const {} {} = {};", type, name, text));
  printer.known[value] = name;
}

std::string name_of(Ref value) {
  if (value->kind == Node::Kind::kLoad) return value->name + "_at";
  if (!value->is(Op::kCall)) return std::string(info(value->op).noun);
  const nest::Function* function = nest::function_named(value->name);
  return function == nullptr ? "part" : std::string(function->noun);
}

}  // namespace

std::vector<Use> uses_of(const Printer& printer, const std::vector<Ref>& roots) {
  std::vector<Ref> order;  // operands first
  std::unordered_set<Ref> seen;
  const std::function<void(Ref)> visit = [&](Ref node) {
    if (!seen.insert(node).second) return;
    if (!printer.known.contains(node)) {
      for (const Ref operand : operands_of(node).values) visit(operand);
    }
    order.push_back(node);
  };
  for (const Ref root : roots) visit(root);

  std::unordered_map<Ref, Use> uses;
  for (const Ref root : roots) {
    Use& use = uses[root];
    ++use.count;
    use.certain = true;
  }
  for (auto it = order.rbegin(); it != order.rend(); ++it) {  // users before what they use
    if (printer.known.contains(*it)) continue;
    const Operands operands = operands_of(*it);
    const bool certain = uses[*it].certain;
    for (std::size_t i = 0; i < operands.values.size(); ++i) {
      Use& use = uses[operands.values[i]];
      ++use.count;
      use.certain |= certain && i < operands.certain;
    }
  }
  std::vector<Use> result;
  for (const Ref value : order) {
    Use use = uses[value];
    use.value = value;
    result.push_back(use);
  }
  return result;
}

void emit_shared(nest::Nodes& nodes, Printer& printer, Names& names, Code& code,
                 const std::vector<Ref>& roots) {
  for (const Use& use : uses_of(printer, roots)) {
    const Ref value = use.value;
    if (use.count < 2 || printer.known.contains(value)) continue;
    if (value->kind == Node::Kind::kLoad) {
      // A plain element of an array at hand needs no other name.
      const std::string text = printer.on_load ? printer.on_load(value) : std::string();
      if (!text.empty() && text.find('(') == std::string::npos) continue;
    } else if (value->kind != Node::Kind::kOp || value->is(Op::kNeg)) {
      continue;
    }
    if (!use.certain && may_fail(printer, value)) continue;
    define(nodes, printer, names, code, value, name_of(value));
  }
}

void emit_invariant(nest::Nodes& nodes, Printer& printer, Names& names, Code& code,
                    const std::vector<Ref>& roots, SymbolId symbol) {
  const std::vector<Use> uses = uses_of(printer, roots);
  std::unordered_set<Ref> inside;  // operands of what does not depend on the symbol either
  for (const Use& use : uses) {
    if (use.value->uses(symbol) || printer.known.contains(use.value)) continue;
    for (const Ref operand : operands_of(use.value).values) inside.insert(operand);
  }
  for (const Ref root : roots) inside.erase(root);
  for (const Use& use : uses) {
    const Ref value = use.value;
    if (value->uses(symbol) || printer.known.contains(value)) continue;
    const bool worth = value->kind == Node::Kind::kLoad ||
                       (value->kind == Node::Kind::kOp && is_float(value->type));
    // What a larger such part holds is put into a variable by that one, if it must be at all.
    bool used_outside = !inside.contains(value);
    for (const Use& user : uses) {
      if (used_outside) break;
      if (!user.value->uses(symbol) || printer.known.contains(user.value)) continue;
      for (const Ref operand : operands_of(user.value).values) used_outside |= operand == value;
    }
    if (!worth || !used_outside) continue;
    if (!use.certain && may_fail(printer, value)) continue;
    define(nodes, printer, names, code, value, name_of(value));
  }
}

}  // namespace hone::schedules
