// Calls in host code, among them those of the CUDA runtime: see host_runner.h.
#include <clang/AST/Attr.h>
#include <clang/AST/Expr.h>
#include <fmt/format.h>

#include <cmath>

#include "rewriters/syntax/ast_walk.h"
#include "rewriters/syntax/host/host_runner.h"

namespace hone::syntax::host {
namespace {

using clang::dyn_cast;
using clang::dyn_cast_or_null;
using clang::isa;
using Op = HostExpr::Op;

bool same(const HostInt& a, const HostInt& b) {
  if (a == nullptr || b == nullptr) return a == b;
  return a->value == b->value;
}

bool same(const HostLaunch& a, const HostLaunch& b) {
  if (a.kernel != b.kernel || a.args.size() != b.args.size() ||
      !same(a.shared_bytes, b.shared_bytes))
    return false;
  for (int d = 0; d < 3; ++d)
    if (!same(a.grid[d], b.grid[d]) || !same(a.block[d], b.block[d])) return false;
  for (std::size_t i = 0; i < a.args.size(); ++i) {
    const HostArgument& x = a.args[i];
    const HostArgument& y = b.args[i];
    if (x.kind != y.kind || x.buffer != y.buffer || !same(x.integer, y.integer) || x.real != y.real)
      return false;
  }
  return true;
}

/// What a math function makes of one number, where the quotient that it is made of survives.
Value rounded(const std::string& name, const Value& value) {
  const double x = number(value);
  const bool up = name.starts_with("ceil");
  Value result = real_value(up ? std::ceil(x) : std::floor(x));
  if (value.kind != Value::Kind::kReal || value.numerator == nullptr) return result;
  result.numerator = combine(up ? Op::kCeilDiv : Op::kDiv, value.numerator, value.denominator);
  result.denominator = constant(1);
  return result;
}

}  // namespace

std::string HostRunner::pointer_name(const clang::Expr* expression) const {
  expression = expression->IgnoreParenCasts();
  if (const auto* unary = dyn_cast<clang::UnaryOperator>(expression))
    return pointer_name(unary->getSubExpr());
  if (const auto* subscript = dyn_cast<clang::ArraySubscriptExpr>(expression))
    return pointer_name(subscript->getBase());
  if (const auto* reference = dyn_cast<clang::DeclRefExpr>(expression))
    return reference->getDecl()->getNameAsString();
  if (const auto* member = dyn_cast<clang::MemberExpr>(expression))
    return member->getMemberDecl()->getNameAsString();
  return "";
}

void HostRunner::event(HostEvent::Kind kind, int index, HostFill fill) {
  if (kind == HostEvent::Kind::kWrite && index >= 0)
    facts_.buffers[static_cast<std::size_t>(index)].fill = fill;
  facts_.events.push_back({kind, index, fill});
}

Value HostRunner::allocate(HostInt bytes, std::string name, bool on_host,
                           clang::SourceLocation location) {
  Value value;
  value.kind = Value::Kind::kMemory;
  value.memory = static_cast<int>(facts_.buffers.size());
  value.integer = constant(0);
  HostBuffer buffer;
  buffer.name = std::move(name);
  buffer.place = where(location);
  buffer.bytes = std::move(bytes);
  buffer.on_host = on_host;
  facts_.buffers.push_back(std::move(buffer));
  return value;
}

void HostRunner::allocate_into(const clang::CallExpr& call, HostInt bytes, bool on_host) {
  const Value target = eval(call.getArg(0));
  const Value memory =
      allocate(std::move(bytes), pointer_name(call.getArg(0)), on_host, call.getBeginLoc());
  bool is_memory = false;
  if (target.kind == Value::Kind::kCell && target.element == 0 && target.cell != nullptr &&
      target.cell->elements.empty()) {
    target.cell->value = memory;
  } else if (const CellPtr cell = cell_at(target, is_memory)) {
    cell->value = memory;
  }
}

void HostRunner::copy(const clang::CallExpr& call, int kind_argument) {
  const Value to = eval(call.getArg(0));
  const Value from = eval(call.getArg(1));
  const int target = memory_of(to, call.getArg(0));
  const int origin = memory_of(from, call.getArg(1));
  const Value kind = static_cast<unsigned>(kind_argument) < call.getNumArgs()
                         ? eval(call.getArg(static_cast<unsigned>(kind_argument)))
                         : Value{};
  const auto on_host = [&](int memory) {
    return memory < 0 || facts_.buffers[static_cast<std::size_t>(memory)].on_host;
  };
  std::int64_t way = kind.is_int() ? kind.integer->value : 4;
  if (way == 4) way = on_host(origin) ? (on_host(target) ? 0 : 1) : (on_host(target) ? 2 : 3);
  HostFill fill;
  if (origin >= 0)
    fill = facts_.buffers[static_cast<std::size_t>(origin)].fill.value_or(HostFill{});
  if (way != 2 && target >= 0) event(HostEvent::Kind::kWrite, target, fill);
  if (way >= 2 && origin >= 0) event(HostEvent::Kind::kRead, origin);
}

void HostRunner::add_argument(std::vector<HostArgument>& all, const Value& value,
                              clang::QualType type, const std::string& text) {
  if (const auto* record = type->getAsCXXRecordDecl();
      record != nullptr && record->hasDefinition()) {
    const std::string name = record->getNameAsString();
    if (name != "__half" && name != "__nv_bfloat16") {
      for (const clang::FieldDecl* field : record->fields()) {
        Value member;
        if (value.cell != nullptr) {
          const auto found = value.cell->members.find(field);
          if (found != value.cell->members.end() && found->second != nullptr) {
            member = found->second->value;
            if (field->getType()->isRecordType()) {
              member.kind = Value::Kind::kRecord;
              member.cell = found->second;
            }
          }
        }
        add_argument(all, member, field->getType(), text + "." + field->getNameAsString());
      }
      return;
    }
  }
  HostArgument argument;
  argument.text = text;
  argument.from_arguments = value.from_arguments;
  if (type->isPointerType()) {
    const int memory = value.kind == Value::Kind::kMemory               ? value.memory
                       : value.kind == Value::Kind::kCell && value.cell ? value.cell->memory
                                                                        : -1;
    if (memory >= 0) {
      argument.kind = HostArgument::Kind::kBuffer;
      argument.buffer = memory;
      argument.integer = value.kind == Value::Kind::kMemory ? value.integer : constant(0);
    }
  } else if (value.is_int() && type->isIntegralOrEnumerationType()) {
    argument.kind = HostArgument::Kind::kInteger;
    argument.integer = value.integer;
  } else if (is_number(value)) {
    argument.kind = HostArgument::Kind::kReal;
    argument.real = number(value);
  }
  all.push_back(std::move(argument));
}

void HostRunner::launch(const clang::FunctionDecl& kernel, const Value& grid, const Value& block,
                        const Value& shared, const std::vector<Value>& arguments,
                        const std::vector<std::string>& texts, clang::SourceLocation location) {
  HostLaunch launch;
  clang::PrintingPolicy policy(context_.getLangOpts());
  policy.SuppressUnwrittenScope = true;
  policy.UsePreferredNames = false;
  std::string name;
  llvm::raw_string_ostream stream(name);
  kernel.printQualifiedName(stream, policy);
  if (const auto* list = kernel.getTemplateSpecializationArgs())
    clang::printTemplateArgumentList(stream, list->asArray(), policy);
  launch.kernel = name;
  for (const std::string_view unnamed : {"(anonymous namespace)::", "(anonymous)::"}) {
    for (auto at = launch.kernel.find(unnamed); at != std::string::npos;
         at = launch.kernel.find(unnamed))
      launch.kernel.erase(at, unnamed.size());
  }
  launch.plain = kernel.getNameAsString();
  launch.place = where(location);
  launch.in_loop = loop_launches_ > 0;
  const auto extents = [&](const Value& value, HostInt(&out)[3]) {
    if (value.is_int()) {
      out[0] = value.integer;
      out[1] = out[2] = constant(1);
      return;
    }
    if (value.kind != Value::Kind::kRecord || value.cell == nullptr) return;
    for (const auto& [key, member] : value.cell->members) {
      const auto* field = dyn_cast_or_null<clang::NamedDecl>(key);
      if (field == nullptr || member == nullptr || !member->value.is_int()) continue;
      const std::string axis = field->getNameAsString();
      if (axis.size() == 1 && axis[0] >= 'x' && axis[0] <= 'z')
        out[axis[0] - 'x'] = member->value.integer;
    }
  };
  extents(grid, launch.grid);
  extents(block, launch.block);
  launch.shared_bytes = shared.is_int() ? shared.integer : constant(0);
  for (unsigned i = 0; i < kernel.getNumParams(); ++i) {
    add_argument(launch.args, i < arguments.size() ? arguments[i] : Value{},
                 kernel.getParamDecl(i)->getType(), i < texts.size() ? texts[i] : "");
  }
  for (const HostEvent& earlier : facts_.events) {
    if (earlier.kind == HostEvent::Kind::kLaunch &&
        same(facts_.launches[static_cast<std::size_t>(earlier.index)], launch)) {
      return;  // once more the same: a timing loop written out, a warm-up
    }
  }
  const int index = static_cast<int>(facts_.launches.size());
  facts_.launches.push_back(std::move(launch));
  launched_.push_back(&kernel);
  event(HostEvent::Kind::kLaunch, index);
}

std::optional<Value> HostRunner::known_function(const std::string& name,
                                                const clang::CallExpr& call) {
  const unsigned count = call.getNumArgs();
  const auto argument = [&](unsigned i) { return i < count ? eval(call.getArg(i)) : Value{}; };
  const auto zero = [] { return int_value(constant(0)); };
  if (name == "cudaMalloc" || name == "cudaMallocManaged" || name == "cudaMallocAsync" ||
      name == "cudaMallocHost" || name == "cudaHostAlloc") {
    const bool managed = name == "cudaMallocManaged";
    allocate_into(call, argument(1).integer, name.find("Host") != std::string::npos && !managed);
    return zero();
  }
  if (name == "cudaMallocPitch") {
    const Value width = argument(2);
    allocate_into(call, combine(Op::kMul, width.integer, argument(3).integer), false);
    const Value pitch = argument(1);
    bool is_memory = false;
    if (const CellPtr cell = cell_at(pitch, is_memory)) cell->value = width;
    facts_.notes.push_back(
        fmt::format("{}: the pitch is taken as the width", where(call.getBeginLoc())));
    return zero();
  }
  if (name == "cudaHostGetDevicePointer") {
    bool is_memory = false;
    const Value memory = argument(1);
    if (const CellPtr cell = cell_at(argument(0), is_memory)) cell->value = memory;
    return zero();
  }
  if (name == "cudaMemcpy" || name == "cudaMemcpyAsync") {
    copy(call, 3);
    return zero();
  }
  if (name == "cudaMemset" || name == "cudaMemsetAsync") {
    const int memory = memory_of(argument(0), call.getArg(0));
    const Value byte = argument(1);
    if (memory >= 0) {
      const bool zero_bytes = byte.is_int() && byte.integer->value == 0;
      event(HostEvent::Kind::kZero, memory);
      facts_.buffers[static_cast<std::size_t>(memory)].fill =
          zero_bytes ? HostFill{HostFill::Kind::kConstant, 0, 0} : HostFill{};
    }
    return zero();
  }
  if (name == "memset" || name == "memcpy") {
    const int memory = memory_of(argument(0), call.getArg(0));
    if (memory >= 0) event(HostEvent::Kind::kWrite, memory);
    return argument(0);
  }
  if (name.starts_with("cudaMemcpyToSymbol") || name.starts_with("cudaMemcpyFromSymbol")) {
    AstWalk walk;
    walk.statement = [&](const clang::Stmt& one) {
      const auto* reference = dyn_cast<clang::DeclRefExpr>(&one);
      const auto* variable =
          reference != nullptr ? dyn_cast<clang::VarDecl>(reference->getDecl()) : nullptr;
      if (variable != nullptr && name.starts_with("cudaMemcpyTo"))
        filled_symbols_.emplace(variable->getCanonicalDecl(), where(call.getBeginLoc()));
    };
    if (count > 0) walk.over(static_cast<const clang::Stmt*>(call.getArg(0)));
    return zero();
  }
  if (name == "cudaLaunchKernel" || name == "cudaLaunchCooperativeKernel") {
    const Value kernel = argument(0);
    const Value list = argument(3);
    if (kernel.function == nullptr || !kernel.function->hasAttr<clang::CUDAGlobalAttr>())
      return zero();
    std::vector<Value> arguments;
    std::vector<std::string> texts;
    for (unsigned i = 0; i < kernel.function->getNumParams(); ++i) {
      Value value;
      if (list.kind == Value::Kind::kCell && list.cell != nullptr) {
        const auto found = list.cell->elements.find(i);
        if (found != list.cell->elements.end() && found->second != nullptr &&
            found->second->value.kind == Value::Kind::kCell && found->second->value.cell)
          value = found->second->value.cell->value;
      }
      arguments.push_back(value);
      texts.push_back(kernel.function->getParamDecl(i)->getNameAsString());
    }
    launch(*kernel.function, argument(1), argument(2), argument(4), arguments, texts,
           call.getBeginLoc());
    return zero();
  }
  if (name == "malloc" || name == "aligned_alloc" || name == "calloc") {
    const HostInt bytes = name == "malloc" ? argument(0).integer
                          : name == "calloc"
                              ? combine(Op::kMul, argument(0).integer, argument(1).integer)
                              : argument(1).integer;
    return allocate(bytes, "", true, call.getBeginLoc());
  }
  if (name == "exit" || name == "abort" || name == "_exit") {
    steps_ = 1 << 30;
    return Value{};
  }
  if (name == "atoi" || name == "atol" || name == "atoll" || name.starts_with("strto") ||
      name == "stol") {
    argument(0);
    return Value{};  // what the declaration makes of it: a guess with its name
  }
  if (name == "rand" || name == "random") {
    Value value;
    value.fill = {HostFill::Kind::kIntegers, 0, 2147483647.0};
    return value;
  }
  if (name == "drand48" || name == "erand48") {
    Value value;
    value.fill = {HostFill::Kind::kUniform, 0, 1};
    return value;
  }
  if (name.ends_with("scanf")) {
    for (unsigned i = 0; i < count; ++i) {
      const auto* address = dyn_cast<clang::UnaryOperator>(call.getArg(i)->IgnoreParenCasts());
      if (address == nullptr || address->getOpcode() != clang::UO_AddrOf) continue;
      const clang::Expr* target = address->getSubExpr()->IgnoreParens();
      if (!target->getType()->isIntegerType()) continue;
      const auto* reference = dyn_cast<clang::DeclRefExpr>(target);
      if (reference == nullptr) continue;
      store(target,
            guess(reference->getDecl()->getNameAsString(),
                  static_cast<const clang::Decl*>(reference->getDecl()), call.getBeginLoc()));
    }
    return Value{};
  }
  if (count == 2 && (name == "min" || name == "max" || name == "fmin" || name == "fmax" ||
                     name == "fminf" || name == "fmaxf")) {
    const Value a = argument(0);
    const Value b = argument(1);
    const bool least = name.find("min") != std::string::npos;
    if (a.is_int() && b.is_int())
      return int_value(combine(least ? Op::kMin : Op::kMax, a.integer, b.integer));
    if (is_number(a) && is_number(b))
      return real_value(least ? std::min(number(a), number(b)) : std::max(number(a), number(b)));
    return Value{};
  }
  if (count == 1 && (name == "ceil" || name == "ceilf" || name == "floor" || name == "floorf")) {
    const Value value = argument(0);
    return is_number(value) ? rounded(name, value) : Value{};
  }
  if (count >= 1) {
    static const std::map<std::string, double (*)(double)> kOne = {
        {"sqrt", std::sqrt}, {"sqrtf", std::sqrt}, {"log2", std::log2},  {"log2f", std::log2},
        {"log", std::log},   {"logf", std::log},   {"exp", std::exp},    {"expf", std::exp},
        {"fabs", std::fabs}, {"fabsf", std::fabs}, {"cos", std::cos},    {"sin", std::sin},
        {"cosf", std::cos},  {"sinf", std::sin},   {"round", std::round}};
    if (const auto found = kOne.find(name); found != kOne.end() && count == 1) {
      const Value value = argument(0);
      return is_number(value) ? real_value(found->second(number(value))) : Value{};
    }
    if ((name == "pow" || name == "powf") && count == 2) {
      const Value a = argument(0);
      const Value b = argument(1);
      return is_number(a) && is_number(b) ? real_value(std::pow(number(a), number(b))) : Value{};
    }
  }
  return std::nullopt;
}

Value HostRunner::eval_call(const clang::CallExpr& call) {
  if (const auto* kernel_call = dyn_cast<clang::CUDAKernelCallExpr>(&call)) {
    const clang::FunctionDecl* kernel = kernel_call->getDirectCallee();
    if (kernel == nullptr) {
      const Value callee = eval(kernel_call->getCallee());
      kernel = callee.function;
    }
    const clang::CallExpr* config = kernel_call->getConfig();
    Value extents[3];
    for (unsigned i = 0; i < 3 && config != nullptr && i < config->getNumArgs(); ++i)
      extents[i] = eval(config->getArg(i));
    std::vector<Value> arguments;
    std::vector<std::string> texts;
    for (const clang::Expr* argument : call.arguments()) {
      arguments.push_back(eval(argument));
      texts.push_back(text_of(argument));
      // An array of the host that is passed as it is: managed, or readable by the device.
      if (argument->getType()->isPointerType()) memory_of(arguments.back(), argument);
    }
    if (kernel == nullptr) {
      facts_.notes.push_back(
          fmt::format("{}: which kernel is launched is not known here", where(call.getBeginLoc())));
      return {};
    }
    launch(*kernel, extents[0], extents[1], extents[2], arguments, texts, call.getBeginLoc());
    return {};
  }
  const clang::FunctionDecl* callee = call.getDirectCallee();
  if (callee == nullptr) {
    const Value function = eval(call.getCallee());
    callee = function.function;
  }
  if (callee != nullptr) {
    const bool own = context_.getSourceManager().isInMainFile(
        context_.getSourceManager().getExpansionLoc(callee->getLocation()));
    if (!own && callee->getDeclName().isIdentifier()) {
      if (auto value = known_function(callee->getNameAsString(), call)) return *value;
    }
    // A random number generator's distribution.
    if (const auto* operator_call = dyn_cast<clang::CXXOperatorCallExpr>(&call);
        operator_call != nullptr && !own && operator_call->getOperator() == clang::OO_Call) {
      const auto* record = operator_call->getArg(0)->getType()->getAsCXXRecordDecl();
      const std::string name = record != nullptr ? record->getNameAsString() : "";
      Value value;
      if (name.ends_with("_distribution")) {
        double bounds[2] = {0, 1};
        const CellPtr cell = place(operator_call->getArg(0));
        int i = 0;
        for (const clang::FieldDecl* field : record->fields()) {
          if (cell == nullptr || i >= 2) break;
          const auto found = cell->members.find(field);
          if (found != cell->members.end() && is_number(found->second->value))
            bounds[i] = number(found->second->value);
          ++i;
        }
        const bool whole = name.find("_int_") != std::string::npos;
        const bool normal = name.starts_with("normal");
        value.fill = {whole ? HostFill::Kind::kIntegers : HostFill::Kind::kUniform,
                      normal ? bounds[0] - 2 * bounds[1] : bounds[0],
                      normal ? bounds[0] + 2 * bounds[1] : bounds[1]};
        return value;
      }
    }
  }
  std::vector<Value> arguments;
  std::vector<CellPtr> references;
  CellPtr self;
  unsigned first = 0;
  if (const auto* member = dyn_cast<clang::CXXMemberCallExpr>(&call)) {
    const clang::Expr* object = member->getImplicitObjectArgument();
    if (object != nullptr) {
      if (object->getType()->isPointerType()) {
        bool is_memory = false;
        self = cell_at(eval(object), is_memory);
      } else {
        self = place(object);
        if (self == nullptr) {
          const Value value = eval(object);
          if (value.kind == Value::Kind::kRecord) self = value.cell;
        }
      }
    }
  } else if (isa<clang::CXXOperatorCallExpr>(&call) && callee != nullptr &&
             isa<clang::CXXMethodDecl>(callee)) {
    self = place(call.getArg(0));
    first = 1;
    if (callee->getOverloadedOperator() == clang::OO_Equal && call.getNumArgs() == 2 &&
        !callee->isUserProvided()) {
      const Value value = eval(call.getArg(1));
      if (self != nullptr && self->owner >= 0) event(HostEvent::Kind::kWrite, self->owner);
      if (self != nullptr) store_cell(self, value);
      return value;
    }
  }
  for (unsigned i = first; i < call.getNumArgs(); ++i) {
    references.push_back(call.getArg(i)->isGLValue() ? place(call.getArg(i)) : nullptr);
    arguments.push_back(eval(call.getArg(i)));
  }
  const clang::FunctionDecl* body = nullptr;
  if (callee != nullptr && !callee->hasAttr<clang::CUDAGlobalAttr>() && callee->hasBody(body)) {
    return this->call(*callee, std::move(arguments), std::move(references), self);
  }
  // Nobody knows what it does to what it is given addresses of.
  for (unsigned i = 0; i < arguments.size(); ++i) {
    const Value& value = arguments[i];
    const clang::QualType type = call.getArg(i + first)->getType();
    if (value.kind == Value::Kind::kCell && value.cell != nullptr && type->isPointerType() &&
        !type->getPointeeType().isConstQualified() && value.cell->value.is_int())
      value.cell->value = {};
    if (value.kind == Value::Kind::kMemory && type->isPointerType() &&
        !type->getPointeeType().isConstQualified())
      event(HostEvent::Kind::kWrite, value.memory,
            facts_.buffers[static_cast<std::size_t>(value.memory)].fill.value_or(HostFill{}));
  }
  return {};
}

}  // namespace hone::syntax::host
