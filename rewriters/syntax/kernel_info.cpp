// KernelInfo: putting the parts together, and the questions about launches.
#include <fmt/format.h>

#include "rewriters/syntax/analysis.h"
#include "rewriters/syntax/dataflow.h"
#include "rewriters/syntax/intrinsics.h"
#include "rewriters/syntax/kernel_parts.h"
#include "rewriters/syntax/places.h"
#include "rewriters/syntax/walk.h"

namespace hone::syntax {
namespace {

void note_calls(const Function& function, KernelInfo& info, int depth) {
  for (const Expr* expr : function.all_expressions) {
    if (expr->kind == Expr::Kind::kOther && !expr->constant && expr->text.empty()) {
      info.has_unknown = true;
    }
    if (expr->kind != Expr::Kind::kCall) continue;
    switch (call_kind(*expr)) {
      case CallKind::kAtomic:
        info.has_atomics = true;
        break;
      case CallKind::kBarrier:
        info.has_barrier = true;
        break;
      case CallKind::kWarp:
      case CallKind::kGroup:
        info.has_warp_ops = true;
        break;
      case CallKind::kUnknown:
        info.has_unknown = true;
        break;
      case CallKind::kUser:
        if (depth > 8 || expr->callee->body == nullptr) {
          info.has_unknown = true;
        } else {
          if (effects_of(*expr->callee->body).writes_memory) info.has_unknown = true;
          note_calls(*expr->callee, info, depth + 1);
        }
        break;
      default:
        break;
    }
  }
  for (const Stmt* statement : function.all_statements) {
    if (statement->kind == Stmt::Kind::kOther) info.has_unknown = true;
  }
  for (const Variable* local : function.locals) {
    if (local->storage == Variable::Storage::kShared ||
        local->storage == Variable::Storage::kDynamicShared) {
      info.has_shared = true;
    }
  }
}

Bindings with_defines(const Program& program, const Bindings& sizes) {
  Bindings all = sizes;
  for (const auto& [name, text] : program.defines) {
    char* end = nullptr;
    const long long value = std::strtoll(text.c_str(), &end, 10);
    if (!text.empty() && end == text.c_str() + text.size()) all.emplace(name, value);
  }
  return all;
}

std::optional<Dim3> dimensions(const std::vector<hone::Expr>& entries, const Bindings& bindings) {
  Dim3 result{1, 1, 1};
  for (std::size_t i = 0; i < entries.size() && i < 3; ++i) {
    const auto value = entries[i].eval(bindings);
    if (!value) return std::nullopt;
    result[i] = *value;
  }
  return result;
}

template <class Member>
std::optional<Dim3> common_dimensions(const KernelInfo& info, Member member,
                                      const Bindings& sizes) {
  const Bindings bindings = with_defines(*info.program, sizes);
  std::optional<Dim3> common;
  for (const Launch* launch : info.launches) {
    const auto value = dimensions(launch->*member, bindings);
    if (!value || (common && *common != *value)) return std::nullopt;
    common = value;
  }
  return common;
}

}  // namespace

Result<std::vector<KernelInfo>> analyse(const TranslationUnit& unit, const Program& program) {
  std::vector<KernelInfo> infos;
  for (const Launch& launch : program.launches) {
    const Function* function = unit.find_function(launch.kernel);
    if (function == nullptr || !function->is_kernel) {
      return invalid(fmt::format("kernel '{}' is not in the source", launch.kernel));
    }
    KernelInfo* info = nullptr;
    for (KernelInfo& known : infos) {
      if (known.function == function) info = &known;
    }
    if (info != nullptr) {
      info->launches.push_back(&launch);
      continue;
    }
    info = &infos.emplace_back();
    info->unit = &unit;
    info->program = &program;
    info->function = function;
    info->launches.push_back(&launch);
    info->loops = find_loops(*function);
    info->accesses = find_accesses(*function);
    for (Access& access : info->accesses) {
      for (const auto& loop : info->loops) {
        if (is_inside(access.statement, loop->statement)) access.loop = loop.get();
      }
      if (access.base != nullptr && access.base->storage == Variable::Storage::kDynamicShared) {
        info->has_shared = true;
      }
    }
    note_calls(*function, *info, 0);
    for (const Variable* local : function->locals) {
      if (local->type.is_pointer() && local->storage == Variable::Storage::kLocal) {
        info->aliased.insert(local);
      }
    }
    for (const Variable* parameter : function->parameters) {
      if (parameter->type.is_pointer() && parameter->writes > 0) info->aliased.insert(parameter);
    }
    info->dataflow = find_dataflow(*function, info->accesses);
  }
  return infos;
}

const Loop* KernelInfo::loop_of(const Stmt& statement) const {
  for (const auto& loop : loops) {
    if (loop->statement == &statement) return loop.get();
  }
  return nullptr;
}

const Loop* KernelInfo::find_loop(std::string_view site) const {
  for (const auto& loop : loops) {
    if (loop->site == site) return loop.get();
  }
  return nullptr;
}

bool KernelInfo::varies_by_thread(const Expr& expr) const { return dataflow->of(expr).thread; }
bool KernelInfo::varies_by_block(const Expr& expr) const { return dataflow->of(expr).block; }

bool KernelInfo::uniform_control(const Stmt& statement) const {
  if (dataflow->control(statement, nullptr).thread) return false;
  // A `return` that only some threads take, before the statement or in a loop around it.
  for (const Stmt* other : function->all_statements) {
    if (other->kind == Stmt::Kind::kOther) return false;
    if (other->kind != Stmt::Kind::kReturn) continue;
    bool matters = other->position < statement.position || other->position < 0;
    for (const Stmt* at = other->parent; at != nullptr; at = at->parent) {
      if (is_loop(*at) && is_inside(&statement, at)) matters = true;
    }
    if (matters && dataflow->control(*other, nullptr).thread) return false;
  }
  return true;
}

const Buffer* KernelInfo::buffer_of(const Variable& parameter, const Program& of) const {
  const Buffer* common = nullptr;
  if (parameter.param_index < 0) return nullptr;
  for (const Launch* launch : launches) {
    if (parameter.param_index >= static_cast<int>(launch->args.size())) return nullptr;
    const Argument& argument = launch->args[parameter.param_index];
    if (argument.kind != Argument::Kind::kBuffer) return nullptr;
    const Buffer* buffer = of.find_buffer(argument.buffer);
    if (buffer == nullptr || (common != nullptr && common != buffer)) return nullptr;
    common = buffer;
  }
  return common;
}

std::optional<std::int64_t> KernelInfo::value_of(const Variable& parameter,
                                                 const Bindings& sizes) const {
  if (parameter.param_index < 0 || !parameter.type.is_integer()) return std::nullopt;
  const Bindings bindings = with_defines(*program, sizes);
  std::optional<std::int64_t> common;
  for (const Launch* launch : launches) {
    if (parameter.param_index >= static_cast<int>(launch->args.size())) return std::nullopt;
    const Argument& argument = launch->args[parameter.param_index];
    std::optional<std::int64_t> value;
    if (argument.kind == Argument::Kind::kExpr) {
      if (const auto result = argument.expr.eval(bindings)) value = *result;
    } else if (argument.kind == Argument::Kind::kNumber &&
               argument.number == static_cast<double>(static_cast<std::int64_t>(argument.number))) {
      value = static_cast<std::int64_t>(argument.number);
    }
    if (!value || (common && *common != *value)) return std::nullopt;
    common = value;
  }
  return common;
}

bool KernelInfo::may_alias(const Variable& a, const Variable& b) const {
  if (&a == &b) return true;
  for (const Variable* left : origins_of(a)) {
    for (const Variable* right : origins_of(b)) {
      if (left == nullptr || right == nullptr || left == right) return true;
      const bool left_parameter = left->storage == Variable::Storage::kParameter;
      const bool right_parameter = right->storage == Variable::Storage::kParameter;
      if (left->storage == Variable::Storage::kDynamicShared &&
          right->storage == Variable::Storage::kDynamicShared) {
        return true;  // every extern __shared__ array begins at the same place
      }
      if (!left_parameter || !right_parameter) continue;  // different objects
      for (const Launch* launch : launches) {
        const int most = std::max(left->param_index, right->param_index);
        if (most >= static_cast<int>(launch->args.size())) return true;
        const Argument& first = launch->args[left->param_index];
        const Argument& second = launch->args[right->param_index];
        if (first.kind != Argument::Kind::kBuffer || second.kind != Argument::Kind::kBuffer ||
            first.buffer == second.buffer) {
          return true;
        }
      }
    }
  }
  return false;
}

std::optional<Dim3> KernelInfo::block_dim(const Bindings& sizes) const {
  return common_dimensions(*this, &Launch::block, sizes);
}

std::optional<Dim3> KernelInfo::grid_dim(const Bindings& sizes) const {
  return common_dimensions(*this, &Launch::grid, sizes);
}

}  // namespace hone::syntax
