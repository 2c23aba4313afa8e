#include "rewriters/rules/cooperative/kernel_tools.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace hone::rules::coop {

using syntax::Access;
using syntax::KernelInfo;
using syntax::Polynomial;
using syntax::Stmt;
using syntax::Variable;
using Node = syntax::Expr;

const KernelInfo* Parsed::find(std::string_view kernel) const {
  for (const KernelInfo& info : kernels) {
    if (info.function->name == kernel) return &info;
  }
  return nullptr;
}

Result<Parsed> parse_program(const Program& program) {
  auto unit = syntax::parse(program);
  if (!unit) return std::unexpected(unit.error());
  auto kernels = syntax::analyse(**unit, program);
  if (!kernels) return std::unexpected(kernels.error());
  return Parsed{*unit, std::move(*kernels)};
}

Result<Program> with_source(const Program& program, std::string source) {
  Program result = program;
  result.source = std::move(source);
  auto unit = syntax::parse(result);
  if (!unit) return refused("the rewritten source does not parse: " + unit.error().message);
  return result;
}

const Node* strip_casts(const Node* expr) {
  while (expr && expr->kind == Node::Kind::kCast && !expr->operands.empty())
    expr = expr->operands[0];
  return expr;
}

const Node* strip_implicit(const Node* expr) {
  while (expr && expr->kind == Node::Kind::kCast && expr->implicit && !expr->operands.empty()) {
    expr = expr->operands[0];
  }
  return expr;
}

const Node* written_parent(const Node* expr) {
  const Node* parent = expr->parent;
  while (parent && parent->kind == Node::Kind::kCast && parent->implicit) parent = parent->parent;
  return parent;
}

const Variable* as_variable(const Node* expr) {
  expr = strip_casts(expr);
  return expr && expr->kind == Node::Kind::kVariable ? expr->variable : nullptr;
}

void for_each_expr(const Node* expr, const std::function<void(const Node&)>& visit) {
  if (!expr) return;
  visit(*expr);
  for (const Node* operand : expr->operands) for_each_expr(operand, visit);
}

void for_each_stmt(const Stmt& stmt, const std::function<void(const Stmt&)>& visit) {
  visit(stmt);
  if (stmt.init) for_each_stmt(*stmt.init, visit);
  for (const Stmt* child : stmt.children) for_each_stmt(*child, visit);
}

void for_each_expr(const Stmt& stmt, const std::function<void(const Node&)>& visit) {
  for_each_stmt(stmt, [&](const Stmt& inner) {
    for_each_expr(inner.expr, visit);
    for_each_expr(inner.step, visit);
    for (const Variable* variable : inner.variables) for_each_expr(variable->init, visit);
  });
}

bool inside(const Stmt* stmt, const Stmt& ancestor) {
  for (; stmt; stmt = stmt->parent) {
    if (stmt == &ancestor) return true;
  }
  return false;
}

bool declared_inside(const Variable& variable, const Stmt& ancestor) {
  return variable.statement != nullptr && inside(variable.statement, ancestor);
}

bool unconditional(const Node& expr) {
  const Node* child = &expr;
  for (const Node* parent = expr.parent; parent; child = parent, parent = parent->parent) {
    const bool first = !parent->operands.empty() && parent->operands[0] == child;
    if (parent->kind == Node::Kind::kConditional && !first) return false;
    if (parent->kind == Node::Kind::kBinary && (parent->text == "&&" || parent->text == "||") &&
        !first) {
      return false;
    }
    if (parent->kind == Node::Kind::kOther) return false;
  }
  return true;
}

bool helpers_see_threads(const syntax::TranslationUnit& unit) {
  for (const syntax::Function* function : unit.functions) {
    if (function->is_kernel) continue;
    for (const Node* expr : function->all_expressions) {
      if (expr->kind == Node::Kind::kBuiltin && expr->text != "warpSize") return true;
    }
  }
  return false;
}

namespace {

constexpr const char* kDimensions[] = {"x", "y", "z"};

// Is it `blockIdx.d * blockDim.d`, in either order, the extent perhaps as a number?
bool is_block_offset(const Node* expr, int dimension, const Dim3& block) {
  expr = strip_casts(expr);
  if (!expr || expr->kind != Node::Kind::kBinary || expr->text != "*") return false;
  const std::string index = fmt::format("blockIdx.{}", kDimensions[dimension]);
  const std::string extent = fmt::format("blockDim.{}", kDimensions[dimension]);
  for (int side = 0; side < 2; ++side) {
    const Node* a = strip_casts(expr->operands[static_cast<std::size_t>(side)]);
    const Node* b = strip_casts(expr->operands[static_cast<std::size_t>(1 - side)]);
    if (a->kind != Node::Kind::kBuiltin || a->text != index) continue;
    if (b->kind == Node::Kind::kBuiltin && b->text == extent) return true;
    if (b->constant && *b->constant == block[static_cast<std::size_t>(dimension)]) return true;
  }
  return false;
}

// The sum around this use of threadIdx.d, or null.
const Node* global_sum(const Node* thread, int dimension, const Dim3& block) {
  const Node* child = thread;
  const Node* parent = child->parent;
  while (parent && parent->kind == Node::Kind::kCast) {
    child = parent;
    parent = parent->parent;
  }
  if (!parent || parent->kind != Node::Kind::kBinary || parent->text != "+") return nullptr;
  const Node* other = parent->operands[0] == child ? parent->operands[1] : parent->operands[0];
  return is_block_offset(other, dimension, block) ? parent : nullptr;
}

}  // namespace

bool ThreadIndex::only_global(int dimension) const {
  const std::string thread = fmt::format("threadIdx.{}", kDimensions[dimension]);
  const std::string block = fmt::format("blockIdx.{}", kDimensions[dimension]);
  return std::none_of(rest.begin(), rest.end(),
                      [&](const Node* use) { return use->text == thread || use->text == block; });
}

ThreadIndex thread_index(const syntax::Function& kernel, const Dim3& block) {
  ThreadIndex result;
  std::set<const Node*> covered;
  for (const Node* expr : kernel.all_expressions) {
    if (expr->kind != Node::Kind::kBuiltin) continue;
    for (int d = 0; d < 3; ++d) {
      if (expr->text != fmt::format("threadIdx.{}", kDimensions[d])) continue;
      const Node* sum = global_sum(expr, d, block);
      if (!sum) continue;
      result.global[d].push_back(sum);
      for_each_expr(sum, [&](const Node& part) { covered.insert(&part); });
    }
  }
  for (const Node* expr : kernel.all_expressions) {
    if (expr->kind == Node::Kind::kBuiltin && expr->text != "warpSize" && !covered.contains(expr)) {
      result.rest.push_back(expr);
    }
  }
  return result;
}

namespace {

// Follows a pointer expression to its root, adding offsets to `index`.
void follow_pointer(const Node* pointer, Place& place, int depth) {
  pointer = strip_casts(pointer);
  place.root = nullptr;
  if (!pointer || depth > 16) return;
  if (pointer->kind == Node::Kind::kVariable && pointer->variable) {
    const Variable& variable = *pointer->variable;
    if (variable.type.is_pointer() && variable.storage == Variable::Storage::kLocal) {
      if (!variable.single_assignment()) return;
      const Node* init = strip_casts(variable.init);
      const bool retyped = init && init->type.element && variable.type.element &&
                           init->type.element->name != variable.type.element->name;
      if (retyped) place.index.reset();
      follow_pointer(variable.init, place, depth + 1);
      return;
    }
    place.root = &variable;
    if (variable.type.is_pointer() && variable.writes > 0) place.index.reset();
    return;
  }
  if (pointer->kind == Node::Kind::kBinary && (pointer->text == "+" || pointer->text == "-")) {
    const Node* base = pointer->operands[0];
    const Node* offset = pointer->operands[1];
    if (!base->type.is_pointer() && base->type.kind != syntax::Type::Kind::kArray) {
      if (pointer->text == "-") return;
      std::swap(base, offset);
    }
    const auto amount = syntax::polynomial(*offset);
    if (place.index && amount) {
      place.index = pointer->text == "+" ? *place.index + *amount : *place.index - *amount;
    } else {
      place.index.reset();
    }
    follow_pointer(base, place, depth + 1);
    return;
  }
  if (pointer->kind == Node::Kind::kUnary && pointer->text == "&") {
    const Node* target = strip_casts(pointer->operands[0]);
    if (target->kind == Node::Kind::kSubscript) {
      const auto amount = syntax::polynomial(*target->operands[1]);
      if (place.index && amount) {
        place.index = *place.index + *amount;
      } else {
        place.index.reset();
      }
      follow_pointer(target->operands[0], place, depth + 1);
    } else if (target->kind == Node::Kind::kVariable) {
      place.root = target->variable;
    }
  }
}

}  // namespace

Place place_of(const Access& access) {
  Place place;
  if (!access.base) return place;
  place.root = access.base;
  place.index = access.index;
  if (access.base->type.is_pointer() && access.base->storage == Variable::Storage::kLocal) {
    if (!access.base->single_assignment()) return {};
    // The same walk as for a pointer expression, starting from the local's initialiser.
    const Node* init = strip_casts(access.base->init);
    if (init && init->type.element && access.base->type.element &&
        init->type.element->name != access.base->type.element->name) {
      place.index.reset();
    }
    follow_pointer(access.base->init, place, 0);
  } else if (access.base->type.is_pointer() && access.base->writes > 0) {
    place.index.reset();
  }
  return place;
}

bool is_global(const Place& place) {
  if (!place.root) return true;
  switch (place.root->storage) {
    case Variable::Storage::kShared:
    case Variable::Storage::kDynamicShared:
      return false;
    case Variable::Storage::kLocal:
      return place.root->type.is_pointer();
    default:
      return true;
  }
}

bool may_overlap(const KernelInfo& info, const Place& a, const Place& b) {
  if (!a.root || !b.root) return is_global(a) && is_global(b);
  if (a.root == b.root) return true;
  if (!is_global(a) || !is_global(b)) return false;
  const bool parameters = a.root->storage == Variable::Storage::kParameter &&
                          b.root->storage == Variable::Storage::kParameter;
  return parameters && info.may_alias(*a.root, *b.root);
}

std::map<std::string, std::int64_t> symbol_values(const KernelInfo& info, const Bindings& sizes) {
  std::map<std::string, std::int64_t> values;
  for (const Variable* parameter : info.function->parameters) {
    if (!parameter->type.is_integer() || parameter->writes > 0) continue;
    if (auto value = info.value_of(*parameter, sizes)) {
      values[syntax::symbol_of(*parameter)] = *value;
    }
  }
  const auto block = info.block_dim(sizes);
  const auto grid = info.grid_dim(sizes);
  for (std::size_t d = 0; d < 3; ++d) {
    if (block) values[fmt::format("blockDim.{}", kDimensions[d])] = (*block)[d];
    if (grid) values[fmt::format("gridDim.{}", kDimensions[d])] = (*grid)[d];
  }
  return values;
}

Polynomial at_sizes(const Polynomial& polynomial,
                    const std::map<std::string, std::int64_t>& values) {
  Polynomial result;
  for (const auto& [monomial, coefficient] : polynomial.terms) {
    Polynomial term = Polynomial::constant(coefficient);
    for (const std::string& symbol : monomial) {
      const auto found = values.find(symbol);
      term = term * (found != values.end() ? Polynomial::constant(found->second)
                                           : Polynomial::symbol(symbol));
    }
    result = result + term;
  }
  return result;
}

bool is_multiple(const Polynomial& polynomial, std::int64_t factor,
                 const std::map<std::string, std::int64_t>& values) {
  const Polynomial known = at_sizes(polynomial, values);
  return std::all_of(known.terms.begin(), known.terms.end(),
                     [&](const auto& term) { return term.second % factor == 0; });
}

std::string vector_type(const syntax::Type& element, int lanes) {
  if (lanes != 2 && lanes != 4) return "";
  if (element.bytes * lanes > 16) return "";
  static const std::map<std::string, std::string, std::less<>> kStems = {
      {"float", "float"},         {"int", "int"},
      {"unsigned int", "uint"},   {"double", "double"},
      {"short", "short"},         {"unsigned short", "ushort"},
      {"unsigned char", "uchar"}, {"signed char", "char"},
      {"long long", "longlong"},  {"unsigned long long", "ulonglong"},
  };
  const auto stem = kStems.find(element.name);
  return stem == kStems.end() ? "" : fmt::format("{}{}", stem->second, lanes);
}

std::vector<Launch*> launches_of(Program& program, const KernelInfo& info,
                                 const Program& original) {
  std::vector<Launch*> result;
  for (const Launch* launch : info.launches) {
    const auto index = static_cast<std::size_t>(launch - original.launches.data());
    if (index < program.launches.size()) result.push_back(&program.launches[index]);
  }
  return result;
}

hone::Expr entry(const std::vector<hone::Expr>& list, std::size_t dimension) {
  return dimension < list.size() ? list[dimension] : Expr(1);
}

hone::Expr make_expr(const std::string& text) {
  auto parsed = Expr::parse(text);
  return parsed ? *parsed : Expr(0);
}

bool exact_only(const RewriteContext& context) {
  return context.task && context.task->math == MathLevel::kExact;
}

void set_launch_bounds(Patch& patch, const syntax::Function& kernel, std::int64_t threads) {
  if (kernel.launch_bounds.valid()) {
    patch.replace(kernel.launch_bounds, fmt::format("__launch_bounds__({})", threads));
  }
}

}  // namespace hone::rules::coop
