#include "rewriters/nest/facts.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <unordered_set>

#include "candidates/hash.h"

namespace hone::nest {
namespace {

/// Adds up what one nest does.
class FactCounter {
 public:
  FactCounter(const LiftedProgram& program, NestFacts& facts) : program_(program), facts_(facts) {}

  void count(const Nest& nest) {
    double points = 1;
    for (const SymbolId dim : nest.dims) points *= extent(dim);
    facts_["nests"] += 1;
    facts_["points"] += points;
    raise("parallel_axes", static_cast<double>(nest.dims.size()));
    raise("output_bytes", static_cast<double>(size_of(nest.type)));
    if (nest.combine) facts_["combines"] = 1;
    if (nest.element->has_load) facts_["gathers"] = 1;
    visit(nest.value, points, 1, 0);
    visit(nest.guard, points, 1, 0);
  }

 private:
  [[nodiscard]] double extent(SymbolId symbol) const {
    return static_cast<double>(program_.nodes->extent(symbol));
  }
  void raise(const char* name, double value) { facts_[name] = std::max(facts_[name], value); }

  void visit(Ref node, double times, double folded, double axes) {
    if (node == nullptr || !seen_.insert(node).second) return;
    switch (node->kind) {
      case Node::Kind::kLoad:
        facts_["loads"] += times;
        raise("input_bytes", static_cast<double>(size_of(node->type)));
        if (node->args[0]->has_load) facts_["gathers"] = 1;
        break;
      case Node::Kind::kReduce:
        for (const SymbolId symbol : node->symbols) folded *= extent(symbol);
        for (const SymbolId symbol : node->symbols) times *= extent(symbol);
        axes += static_cast<double>(node->symbols.size());
        facts_["operations"] += times;
        raise("reduced", folded);
        raise("reduction_axes", axes);
        if (node->op == Op::kAdd && is_product(node->args[0])) facts_["products"] = 1;
        break;
      case Node::Kind::kOp:
        if (is_float(node->type)) {
          facts_[node->is(Op::kCall) ? "special" : "operations"] += times;
        }
        break;
      default:
        break;
    }
    for (const Ref arg : node->args) visit(arg, times, folded, axes);
    for (const Term& term : node->terms) visit(term.atom, times, folded, axes);
  }

  /// Of two values that are loaded, whatever is done to each.
  static bool is_product(Ref body) {
    while (body->is(Op::kCast, Op::kSelect)) body = body->args[body->is(Op::kSelect) ? 1 : 0];
    return body->is(Op::kMul) && body->args[0]->has_load && body->args[1]->has_load;
  }

  const LiftedProgram& program_;
  NestFacts& facts_;
  std::unordered_set<Ref> seen_;
};

/// A value's form as text. Names are numbers in the order of their first use.
class FormPrinter {
 public:
  void print(Ref node) {
    if (++visited_ > kMostNodes) return;
    switch (node->kind) {
      case Node::Kind::kFloat:
        text_ += "#";
        return;
      case Node::Kind::kIndex:
        symbol(node->symbol);
        return;
      case Node::Kind::kSum:
        text_ += "(";
        for (const Term& term : node->terms) {
          text_ += term.coefficient == 1 ? "+" : term.coefficient < 0 ? "-n" : "+n";
          print(term.atom);
        }
        text_ += node->terms.empty() ? "#)" : ")";
        return;
      case Node::Kind::kReduce:
        text_ += fmt::format("{} over", node->what());
        for (const SymbolId one : node->symbols) symbol(one);
        break;
      case Node::Kind::kLoad:
        buffer(node->name);
        break;
      default:
        text_ += node->what();
    }
    text_ += "[";
    for (const Ref arg : node->args) print(arg);
    text_ += "]";
  }
  void symbol(SymbolId id) { text_ += " i" + number_in(symbols_, id); }
  void buffer(const std::string& name) { text_ += " b" + number_in(buffers_, name); }
  void add(std::string_view text) { text_ += text; }
  /// Empty: there was too much to print.
  [[nodiscard]] std::string text() const { return visited_ > kMostNodes ? "" : text_; }

 private:
  template <class Map, class Key>
  static std::string number_in(Map& numbers, const Key& key) {
    return std::to_string(numbers.emplace(key, numbers.size()).first->second);
  }

  static constexpr std::size_t kMostNodes = 20'000;
  std::string text_;
  std::size_t visited_ = 0;
  std::map<SymbolId, std::size_t> symbols_;
  std::map<std::string, std::size_t> buffers_;
};

}  // namespace

NestFacts facts_of(const LiftedProgram& program) {
  NestFacts facts;
  for (const LiftedLaunch& launch : program.launches) {
    if (!launch.refusal.empty()) facts["unlifted"] += 1;
    for (const Nest& nest : launch.nests) FactCounter(program, facts).count(nest);
  }
  return facts;
}

std::string structure_of(const LiftedProgram& program) {
  FormPrinter form;
  for (const LiftedLaunch& launch : program.launches) {
    if (!launch.refusal.empty()) return "";
    form.add("launch;");
    for (const Nest& nest : launch.nests) {
      for (const SymbolId dim : nest.dims) form.symbol(dim);
      form.buffer(nest.buffer);
      form.add(to_string(nest.type));
      form.add(nest.covers ? "=" : "?=");
      if (nest.combine) form.add(info(*nest.combine).name);
      form.print(nest.element);
      form.print(nest.value);
      form.add(";");
    }
  }
  const std::string text = form.text();
  return text.empty() ? "" : content_hash(text);
}

}  // namespace hone::nest
