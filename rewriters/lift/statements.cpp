// Statements of a kernel, one after the other; branches run both ways and are merged.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "rewriters/lift/executor.h"
#include "rewriters/lift/executor_lanes.h"
#include "rewriters/lift/types.h"
#include "rewriters/syntax/walk.h"

namespace hone::nest {

using syntax::Expr;
using syntax::Stmt;
using syntax::Variable;

namespace {
constexpr std::size_t kMostNodes = 500'000;
}

Executor::Executor(Nodes& nodes, const Launched& launched) : nodes_(nodes), launched_(launched) {
  const ConcreteLaunch& launch = *launched.launch;
  static constexpr const char* kAxes[] = {"x", "y", "z"};
  for (int axis = 0; axis < 3; ++axis) {
    block[axis] = nodes.new_symbol(fmt::format("blockIdx.{}", kAxes[axis]), launch.grid[axis]);
    thread[axis] = nodes.new_symbol(fmt::format("threadIdx.{}", kAxes[axis]), launch.block[axis]);
  }
  if (launched.in_lockstep) {
    lanes_ = static_cast<std::size_t>(launch.block[0] * launch.block[1] * launch.block[2]);
  }
}

void Executor::refuse(std::string reason, int position) const {
  throw Refusal{std::move(reason), position >= 0 ? position : position_};
}

void Executor::begin(int position) {
  if (position >= 0) position_ = position;
  nodes_.work(1 + (path_.size() + exits_.size() + frames_.size()) / 4);
  if (nodes_.size() > kMostNodes) throw TooMuchWork{};
}

namespace {

/// The text of a range as one line of at most 60 characters in quotes.
std::string in_quotes(const syntax::TranslationUnit& unit, const syntax::SourceRange& range,
                      const std::string& otherwise) {
  constexpr std::size_t kMostLetters = 60;
  std::string line;
  if (range.valid()) {
    for (const char c : unit.text(range)) {
      const bool blank = std::isspace(static_cast<unsigned char>(c)) != 0;
      if (blank && (line.empty() || line.back() == ' ')) continue;
      line += blank ? ' ' : c;
    }
  }
  if (line.empty()) line = otherwise;
  if (line.size() > kMostLetters) {
    std::size_t end = kMostLetters;
    while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xC0) == 0x80) --end;
    line = line.substr(0, end) + " …";
  }
  return line.empty() ? "text of a macro" : "'" + line + "'";
}

}  // namespace

std::string Executor::quoted(const Expr& expr) const {
  return in_quotes(*launched_.unit, expr.range, expr.text);
}

std::string Executor::quoted(const Stmt& statement) const {
  return in_quotes(*launched_.unit, statement.range, "");
}

std::string Executor::doing() const {
  std::string text;
  for (const auto& [position, rounds] : unrolled_) {
    text += fmt::format("{}the loop at line {} is done round by round, {} so far",
                        text.empty() ? "" : ", in it ", launched_.unit->line_of(position), rounds);
  }
  return text;
}

void Executor::shrink(Lanes& lanes) {
  if (lanes.size() > 1 && std::ranges::all_of(lanes, [&](Ref a) { return a == lanes[0]; })) {
    lanes.resize(1);
  }
}

std::optional<bool> Executor::decided(const Lanes& condition) {
  for (const Ref value : condition) {
    if (!value->is_constant() || value->constant != condition[0]->constant) return std::nullopt;
  }
  return condition[0]->constant != 0;
}

Lanes Executor::choose(const Lanes& condition, const Lanes& then, const Lanes& otherwise) {
  if (const auto known = decided(condition)) return *known ? then : otherwise;
  Lanes result;
  const std::size_t width = std::max({condition.size(), then.size(), otherwise.size()});
  for (std::size_t i = 0; i < width; ++i) {
    result.push_back(nodes_.select(lane(condition, i), lane(then, i), lane(otherwise, i)));
  }
  shrink(result);
  return result;
}

Lanes Executor::active() {
  Lanes all = uniform(nodes_.boolean(true));
  const auto add = [&](const Lanes& condition) {
    if (condition.size() == 1 && condition[0]->is_constant() && condition[0]->constant != 0) return;
    all = map([&](Ref a, Ref b) { return nodes_.both(a, b); }, all, condition);
  };
  for (const Lanes& condition : path_) add(condition);
  for (const Lanes& exit : exits_) add(exit);
  for (const Frame& frame : frames_) add(frame.live);
  return all;
}

Value Executor::merge(const Lanes& condition, const Value& then, const Value& otherwise) {
  if (then.kind == Value::Kind::kNone) return otherwise;
  if (otherwise.kind == Value::Kind::kNone) return then;
  if (then.kind != otherwise.kind) return {};
  Value result = then;
  if (then.kind == Value::Kind::kFields) {
    for (auto& [name, field] : result.fields) {
      const auto other = otherwise.fields.find(name);
      if (other != otherwise.fields.end()) field = merge(condition, field, other->second);
    }
    return result;
  }
  if (then.kind == Value::Kind::kPointer && then.memory != otherwise.memory) {
    refuse(fmt::format("a pointer that points into '{}' or into '{}', as a condition says",
                       memories[then.memory].name, memories[otherwise.memory].name));
  }
  result.lanes = choose(condition, then.lanes, otherwise.lanes);
  return result;
}

/// Copies cost by what is in them.
Executor::State Executor::copied() const {
  std::size_t parts = state_.variables.size() + state_.shared_guards.size() + state_.cells.size();
  for (const auto& [memory, cells] : state_.local) parts += cells.size();
  for (const auto& [memory, cells] : state_.shared) parts += cells.size();
  nodes_.work(parts / 4);
  return state_;
}

Executor::State Executor::merge(const Lanes& condition, State then, State otherwise) {
  State result = std::move(then);
  for (auto& [variable, value] : otherwise.variables) {
    const auto found = result.variables.find(variable);
    if (found == result.variables.end()) {
      result.variables.emplace(variable, std::move(value));
    } else {
      found->second = merge(condition, found->second, value);
    }
  }
  for (auto& [memory, cells] : otherwise.local) {
    for (auto& [element, value] : cells) {
      Lanes& mine = result.local[memory][element];
      mine = mine.empty() ? value : choose(condition, mine, value);
    }
  }
  // Shared stores carry their conditions themselves, and so do cells.
  return result;
}

/// What the list leaves out is zero.
void Executor::initialise(int memory, std::int64_t first, const syntax::Type& type,
                          const Expr& init) {
  const Expr& list = syntax::without_casts(init);
  if (list.kind != Expr::Kind::kInitList) {
    refuse("an array's initialiser that is no list: " + quoted(list), list.position);
  }
  const ScalarType as = memories[memory].type;
  const std::int64_t size = scalars_in(*type.element);
  for (std::int64_t i = 0; i < type.extent; ++i) {
    const std::int64_t at = first + i * size;
    if (static_cast<std::size_t>(i) >= list.operands.size()) {
      const Ref zero = is_float(as) ? nodes_.number(0, as) : nodes_.integer(0);
      for (std::int64_t j = 0; j < size; ++j) state_.local[memory][at + j] = uniform(zero);
    } else if (type.element->kind == syntax::Type::Kind::kArray) {
      initialise(memory, at, *type.element, *list.operands[i]);
    } else {
      state_.local[memory][at] =
          map([&](Ref a) { return nodes_.cast(a, as); }, scalar(*list.operands[i]));
    }
  }
}

void Executor::declare(const Variable& variable) {
  if (variable.type.kind == syntax::Type::Kind::kArray) {
    if (variable.storage != Variable::Storage::kLocal) return;
    const int memory = memory_of(variable);
    state_.local[memory].clear();
    if (variable.init == nullptr) return;
    initialise(memory, 0, variable.type, *variable.init);
    return;
  }
  if (variable.storage != Variable::Storage::kLocal) return;
  if (variable.is_reference) return;  // followed to its initialiser where it is used
  if (in_memory(variable)) {
    const int memory = memory_of(variable);
    state_.local[memory].clear();
    if (variable.init == nullptr) return;
    const Value first =
        converted(evaluate(*variable.init), variable.type, variable.name_range.begin);
    state_.local[memory][0] = first.lanes;
    return;
  }
  if (variable.init == nullptr) {
    state_.variables[&variable] = {};
    return;
  }
  state_.variables[&variable] =
      converted(evaluate(*variable.init), variable.type, variable.name_range.begin);
}

void Executor::run_if(const Stmt& statement) {
  run_choice(truth(*statement.expr), *statement.children[0],
             statement.children.size() > 1 ? statement.children[1] : nullptr);
}

void Executor::run_choice(const Lanes& condition, const Stmt& first, const Stmt* second) {
  if (const auto known = decided(condition)) {
    if (*known) {
      run(first);
    } else if (second != nullptr) {
      run(*second);
    }
    return;
  }
  State before = copied();
  path_.push_back(condition);
  run(first);
  State then = std::move(state_);
  // What was stored in shared memory stays stored: it carries its condition.
  state_ = std::move(before);
  state_.shared = then.shared;
  state_.shared_guards = then.shared_guards;
  state_.cells = then.cells;
  path_.back() = map([&](Ref a) { return nodes_.negate(a); }, condition);
  if (second != nullptr) run(*second);
  path_.pop_back();
  then.shared = state_.shared;
  then.shared_guards = state_.shared_guards;
  then.cells = state_.cells;
  state_ = merge(condition, std::move(then), std::move(state_));
}

void Executor::run_return(const Stmt& statement) {
  const Lanes here = active();
  if (statement.expr != nullptr) {
    Value value = evaluate(*statement.expr);
    Frame& now = frames_.back();
    now.result = now.result.kind == Value::Kind::kNone ? value : merge(now.live, value, now.result);
  }
  Frame& frame = frames_.back();
  for (std::size_t i = frame.loops; i < loop_unrolls_.size(); ++i) {
    if (!loop_unrolls_[i]) throw Refusal{"a return inside a loop", statement.position, 64};
  }
  frame.live =
      map([&](Ref a, Ref b) { return nodes_.both(a, nodes_.negate(b)); }, frame.live, here);
}

void Executor::run(const Stmt& statement) {
  using Kind = Stmt::Kind;
  begin(statement.position);
  if (const auto runs = decided(active()); runs && !*runs) return;
  switch (statement.kind) {
    case Kind::kCompound:
      for (const Stmt* child : statement.children) run(*child);
      return;
    case Kind::kDeclaration:
      for (const Variable* variable : statement.variables) declare(*variable);
      return;
    case Kind::kExpression:
      evaluate(*statement.expr);
      return;
    case Kind::kIf:
      run_if(statement);
      return;
    case Kind::kFor:
    case Kind::kWhile:
    case Kind::kDo:
      run_loop(statement);
      return;
    case Kind::kReturn:
      run_return(statement);
      return;
    case Kind::kNull:
      return;
    case Kind::kSwitch:
      run_switch(statement);
      return;
    case Kind::kContinue:
    case Kind::kBreak:
      run_jump(statement);
      return;
    default:
      break;
  }
  refuse("a statement that hone does not follow: " + quoted(statement), statement.position);
}

void Executor::run() {
  const syntax::Function& kernel = *launched_.kernel;
  const ConcreteLaunch& launch = *launched_.launch;
  if (kernel.parameters.size() != launch.args.size()) {
    refuse(fmt::format("it has {} parameters, and the launch gives {} arguments",
                       kernel.parameters.size(), launch.args.size()),
           kernel.name_range.begin);
  }
  std::map<int, int> buffers;  // one memory per buffer, whoever names it
  for (std::size_t i = 0; i < launch.args.size(); ++i) {
    const Variable& parameter = *kernel.parameters[i];
    Value value;
    if (const auto* buffer = std::get_if<BufferIndex>(&launch.args[i])) {
      if (!buffers.contains(buffer->index)) {
        const ConcreteBuffer& of = launched_.program->buffers[buffer->index];
        // Integers are followed as signed ones of 64 bits.
        if (of.type == ScalarType::kU64)
          refuse(fmt::format("the buffer '{}' of u64", of.name), parameter.name_range.begin);
        memories.push_back({Memory::Kind::kGlobal, of.name, of.type});
        buffers[buffer->index] = static_cast<int>(memories.size() - 1);
      }
      value = {Value::Kind::kPointer, uniform(nodes_.integer(0)), buffers[buffer->index], {}};
    } else if (std::holds_alternative<ConcreteTensorMap>(launch.args[i])) {
      refuse("bulk copies by a tensor map", parameter.name_range.begin);
    } else if (const auto* whole = std::get_if<std::int64_t>(&launch.args[i])) {
      value = {Value::Kind::kScalar, uniform(nodes_.integer(*whole)), -1, {}};
      value = converted(value, parameter.type, parameter.name_range.begin);
    } else {
      const double number = std::get<double>(launch.args[i]);
      Ref node = nodes_.number(number, ScalarType::kF64);
      value = {Value::Kind::kScalar, uniform(node), -1, {}};
      value = converted(value, parameter.type, parameter.name_range.begin);
    }
    if (in_memory(parameter) && value.kind == Value::Kind::kScalar) {
      state_.local[memory_of(parameter)][0] = value.lanes;
      continue;
    }
    state_.variables[&parameter] = std::move(value);
  }
  Frame frame;
  frame.function = &kernel;
  frame.live = uniform(nodes_.boolean(true));
  frames_.push_back(std::move(frame));
  run(*kernel.body);
  check_in_place();
}

}  // namespace hone::nest
