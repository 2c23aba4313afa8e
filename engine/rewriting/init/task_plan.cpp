// What the buffers, launches and sizes of a task will be: from the host's calls where these say it,
// from the kernels' own text or by a guess, which a note tells, where they do not.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "engine/rewriting/init/writer.h"

namespace hone::init {
namespace {

using syntax::HostArgument;
using syntax::HostExpr;
using syntax::HostInt;
using syntax::Variable;
using Op = HostExpr::Op;

HostInt number(std::int64_t value) {
  auto result = std::make_shared<HostExpr>();
  result->value = value;
  return result;
}

HostInt node(Op op, const HostInt& a, const HostInt& b, std::int64_t value) {
  auto result = std::make_shared<HostExpr>();
  result->op = op;
  result->operands = {a, b};
  result->value = value;
  return result;
}

HostInt times(const HostInt& a, const HostInt& b) {
  if (a == nullptr || b == nullptr) return nullptr;
  if (a->op == Op::kConstant && a->value == 1) return b;
  if (b->op == Op::kConstant && b->value == 1) return a;
  return node(Op::kMul, a, b, a->value * b->value);
}

/// bytes / size, where it leaves nothing: n*4 / 4 is n.
HostInt elements_of(const HostInt& bytes, std::int64_t size) {
  if (bytes == nullptr || size == 1) return bytes;
  if (bytes->op == Op::kConstant) return number(std::max<std::int64_t>(1, bytes->value / size));
  if (bytes->op == Op::kMul) {
    for (const int i : {0, 1}) {
      const HostInt& a = bytes->operands[static_cast<std::size_t>(i)];
      const HostInt& b = bytes->operands[static_cast<std::size_t>(1 - i)];
      const bool divides = a->op == Op::kConstant && a->value % size == 0;
      if (divides) return times(b, number(a->value / size));
    }
    for (const int i : {0, 1}) {
      const HostInt& a = bytes->operands[static_cast<std::size_t>(i)];
      const HostInt inner = a->op == Op::kMul ? elements_of(a, size) : nullptr;
      if (inner != nullptr && inner->op != Op::kDiv)
        return i == 0 ? times(inner, bytes->operands[1]) : times(bytes->operands[0], inner);
    }
  }
  return node(Op::kDiv, bytes, number(size), bytes->value / size);
}

}  // namespace

HostInt Writer::guessed_integer(const std::string& name) {
  auto leaf = std::make_shared<HostExpr>();
  leaf->op = Op::kName;
  leaf->value = 1024;
  const auto& names = unit_.facts.names;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].name == name && names[i].guessed) {
      leaf->name = static_cast<int>(i);
      return leaf;
    }
  }
  leaf->name = static_cast<int>(names.size());
  unit_.facts.names.push_back({name, "the kernel's parameter", true, false});
  return leaf;
}

Result<int> Writer::plan_buffer(const Stage& stage, std::size_t index) {
  const Variable& parameter = *stage.kernel.info->function->parameters[index];
  const HostArgument& argument = stage.launch->args[index];
  const ParameterFacts& facts = stage.kernel.parameters[index];
  std::optional<ScalarType> type;
  int record_bytes = 0;  // of a struct that is spread over numbers
  if (parameter.type.element != nullptr) {
    type = scalar_of(*parameter.type.element);
    const auto record = unit_.device.records.find(parameter.type.element->name);
    if (!type && record != unit_.device.records.end()) {
      type = parse_scalar_type(record->second);
      record_bytes = parameter.type.element->bytes;
    }
  }
  if (!type) {
    return invalid(fmt::format(
        "{}: parameter '{}' of kernel '{}' is '{}', which no buffer of a task holds: make it a "
        "pointer to one number type",
        stage.launch->place.empty() ? path_ : stage.launch->place, parameter.name,
        stage.launch->plain, parameter.type.spelling));
  }
  const bool known = argument.kind == HostArgument::Kind::kBuffer;
  const std::int64_t offset = known && argument.integer ? argument.integer->value : 0;
  int found = -1;
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    const BufferPlan& one = buffers_[i];
    const bool same =
        known ? one.host == argument.buffer && (one.offset ? one.offset->value : 0) == offset
              : one.host < 0 && one.parameter == parameter.name;
    if (same) found = static_cast<int>(i);
  }
  if (found < 0) {
    BufferPlan one;
    one.parameter = one.name = parameter.name;
    one.type = *type;
    if (known) {
      const syntax::HostBuffer& host =
          unit_.facts.buffers[static_cast<std::size_t>(argument.buffer)];
      one.host = argument.buffer;
      one.place = host.place;
      one.offset = argument.integer;
      HostInt bytes = host.bytes;
      if (bytes != nullptr && offset > 0 && bytes->value > offset)
        bytes = node(Op::kSub, bytes, argument.integer, bytes->value - offset);
      one.elements = elements_of(bytes, static_cast<std::int64_t>(size_of(*type)));
      if (offset > 0)
        notes_.push_back(fmt::format(
            "buffer {}: begins inside '{}' of the host, so it is a buffer of its own here",
            one.name, host.name));
    }
    // Names that are taken: the host's own, then with a number.
    const auto taken = [&](const std::string& name) {
      return std::ranges::any_of(buffers_, [&](const BufferPlan& b) { return b.name == name; });
    };
    if (taken(one.name) && known) {
      const std::string& host = unit_.facts.buffers[static_cast<std::size_t>(argument.buffer)].name;
      if (!host.empty()) one.name = host;
    }
    const std::string stem = one.name;
    for (int i = 2; taken(one.name); ++i) one.name = fmt::format("{}_{}", stem, i);
    if (record_bytes > 0)
      notes_.push_back(fmt::format(
          "buffer {}: a {} is {} numbers of type {} here", one.name, parameter.type.element->name,
          record_bytes / static_cast<int>(size_of(*type)), to_string(*type)));
    one.read_first = facts.read;
    one.written_first = facts.written_first;
    found = static_cast<int>(buffers_.size());
    buffers_.push_back(std::move(one));
  }
  BufferPlan& buffer = buffers_[static_cast<std::size_t>(found)];
  const bool may_write = parameter.type.element == nullptr || !parameter.type.element->is_const;
  buffer.read = buffer.read || facts.read;
  buffer.written = buffer.written || (facts.written && may_write);
  buffer.wants_positive = buffer.wants_positive || (stage.kernel.wants_positive && facts.read);
  buffer.sorted = buffer.sorted || facts.bounds_loops;
  return found;
}

Result<void> Writer::plan_launch(const Stage& stage) {
  const syntax::Function& kernel = *stage.kernel.info->function;
  LaunchPlan plan;
  plan.kernel = stage.launch->kernel;
  for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
    const Variable& parameter = *kernel.parameters[i];
    const HostArgument& argument = stage.launch->args[i];
    ArgumentPlan one;
    if (parameter.type.is_pointer()) {
      const auto buffer = plan_buffer(stage, i);
      if (!buffer) return std::unexpected(buffer.error());
      one.buffer = *buffer;
    } else if (argument.kind == HostArgument::Kind::kInteger) {
      one.integer = argument.integer;
    } else if (argument.kind == HostArgument::Kind::kReal) {
      one.real = argument.real;
    } else if (parameter.type.is_integer()) {
      one.integer = guessed_integer(parameter.name);
    } else if (parameter.type.is_float() || parameter.type.kind == syntax::Type::Kind::kOther) {
      one.real = 1.0;
      notes_.push_back(
          fmt::format("argument {} of {}: 1.0 is a guess", parameter.name, kernel.name));
    } else {
      return invalid(
          fmt::format("{}: parameter '{}' of kernel '{}' is '{}'; a task passes pointers "
                      "and scalars only",
                      stage.launch->place.empty() ? path_ : stage.launch->place, parameter.name,
                      kernel.name, parameter.type.spelling));
    }
    if (argument.from_arguments && one.buffer < 0)
      notes_.push_back(fmt::format(
          "argument {} of {}: `{}` depends on the arguments of the program ({}); {} is its value "
          "without any",
          parameter.name, kernel.name, argument.text, stage.launch->place,
          one.integer ? static_cast<double>(one.integer->value) : one.real.value_or(0)));
    if (one.real && parameter.type.is_integer()) one.real = std::trunc(*one.real);
    plan.args.push_back(one);
  }
  // Index buffers: which buffers their values point into.
  for (std::size_t i = 0; i < plan.args.size(); ++i) {
    if (plan.args[i].buffer < 0) continue;
    auto& indexes = buffers_[static_cast<std::size_t>(plan.args[i].buffer)].indexes;
    for (const int target : stage.kernel.parameters[i].indexes)
      indexes.push_back(target < 0 ? -1 : plan.args[static_cast<std::size_t>(target)].buffer);
    auto& scattered = buffers_[static_cast<std::size_t>(plan.args[i].buffer)].scattered_into;
    for (const int target : stage.kernel.parameters[i].scattered_into)
      scattered.push_back(plan.args[static_cast<std::size_t>(target)].buffer);
  }
  for (int d = 0; d < 3; ++d) {
    plan.grid[d] = stage.launch->grid[d];
    plan.block[d] = stage.launch->block[d];
  }
  plan.shared = stage.launch->shared_bytes;
  plan_geometry(stage, plan);
  plan_lengths(stage, plan);
  if (stage.launch->in_loop)
    notes_.push_back(fmt::format("{} is launched in a loop ({}): its first round is the task",
                                 kernel.name, stage.launch->place));
  launches_.push_back(std::move(plan));
  return {};
}

HostInt Writer::product(const Stage& stage, const LaunchPlan& plan, const Product& names) {
  HostInt result;
  for (const std::string& name : names) {
    HostInt factor;
    const auto& parameters = stage.kernel.info->function->parameters;
    for (std::size_t i = 0; i < parameters.size(); ++i)
      if (parameters[i]->name == name) factor = plan.args[i].integer;
    if (factor == nullptr) return nullptr;
    result = result == nullptr ? factor : times(result, factor);
  }
  return result;
}

void Writer::plan_geometry(const Stage& stage, LaunchPlan& plan) {
  const Signature signature(*stage.kernel.info);
  const std::string& kernel = stage.launch->plain;
  if (plan.block[0] == nullptr || plan.block[0]->value < 1) {
    const auto block = signature.block();
    for (int d = 0; d < 3; ++d) plan.block[d] = number(block[static_cast<std::size_t>(d)]);
    notes_.push_back(fmt::format("block of {}: {} is a guess", kernel, fmt::join(block, " x ")));
  }
  if (plan.grid[0] == nullptr || plan.grid[0]->value < 1) {
    std::string shown;
    for (int d = 0; d < 3; ++d) {
      plan.grid[d] = number(1);
      if (d >= signature.axes()) continue;
      HostInt extent = product(stage, plan, signature.extent(d));
      if (extent == nullptr) {
        for (const ArgumentPlan& one : plan.args)
          if (extent == nullptr && one.integer != nullptr && one.integer->op == Op::kName)
            extent = one.integer;
      }
      if (extent == nullptr) extent = guessed_integer("n");
      const std::int64_t width = plan.block[d] ? plan.block[d]->value : 1;
      plan.grid[d] = width == 1 ? extent
                                : node(Op::kCeilDiv, extent, number(width),
                                       (extent->value + width - 1) / width);
    }
    notes_.push_back(fmt::format(
        "grid of {}: one thread for each element of what its guard bounds is a guess", kernel));
  }
  for (int d = 1; d < 3; ++d) {
    if (plan.grid[d] == nullptr) plan.grid[d] = number(1);
    if (plan.block[d] == nullptr) plan.block[d] = number(1);
  }
  bool dynamic = false;
  int bytes = 4;
  for (const syntax::Function* function : code_of(*stage.kernel.info)) {
    for (const Variable* local : function->locals) {
      if (local->storage != Variable::Storage::kDynamicShared) continue;
      dynamic = true;
      if (local->type.element != nullptr && local->type.element->bytes > 0)
        bytes = local->type.element->bytes;
    }
  }
  if (dynamic && (plan.shared == nullptr || plan.shared->value == 0)) {
    const std::int64_t threads = plan.block[0]->value * plan.block[1]->value * plan.block[2]->value;
    plan.shared = number(threads * bytes);
    notes_.push_back(fmt::format(
        "shared_bytes of {}: extern __shared__, and {} B, one element a thread, is a guess", kernel,
        threads * bytes));
  }
  if (plan.shared == nullptr) plan.shared = number(0);
}

void Writer::plan_lengths(const Stage& stage, const LaunchPlan& plan) {
  const Signature signature(*stage.kernel.info);
  const auto& parameters = stage.kernel.info->function->parameters;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (plan.args[i].buffer < 0) continue;
    BufferPlan& buffer = buffers_[static_cast<std::size_t>(plan.args[i].buffer)];
    if (buffer.elements != nullptr) continue;
    buffer.guessed_length = true;
    const Product names = signature.length_of(*parameters[i]);
    buffer.elements = product(stage, plan, names);
    if (buffer.elements == nullptr) {
      // As many as threads.
      buffer.elements = number(1);
      for (int d = 0; d < 3; ++d)
        buffer.elements = times(buffer.elements, times(plan.grid[d], plan.block[d]));
    }
    const int lanes =
        parameters[i]->type.element ? std::max(1, parameters[i]->type.element->lanes) : 1;
    if (lanes > 1) buffer.elements = times(buffer.elements, number(lanes));
  }
}

/// Guesses that became plain numbers, so that no size shows them. A block's have notes already.
void Writer::note_fixed_guesses() {
  std::map<std::string, std::pair<HostInt, std::set<std::string>>> uses;  // by name
  const auto look = [&](auto&& self, const HostInt& part, const std::string& use) -> void {
    if (part == nullptr) return;
    if (part->op == Op::kName && !sizes_.is_symbolic(part)) {
      const syntax::HostName& name = unit_.facts.names[static_cast<std::size_t>(part->name)];
      if (name.guessed) {
        auto& [leaf, all] = uses[name.name];
        leaf = part;
        if (!use.empty()) all.insert(use);
      }
    }
    for (const HostInt& inner : part->operands) self(self, inner, use);
  };
  std::set<std::string> told;
  for (const LaunchPlan& launch : launches_) {
    for (const HostInt& extent : launch.block) look(look, extent, "");
    for (const auto& [name, use] : uses) told.insert(name);
  }
  for (const BufferPlan& buffer : buffers_)
    look(look, buffer.elements, fmt::format("the length of {}", buffer.name));
  for (const LaunchPlan& launch : launches_) {
    look(look, launch.shared, "shared_bytes of " + launch.kernel);
    for (const HostInt& extent : launch.grid) look(look, extent, "the grid of " + launch.kernel);
    for (const ArgumentPlan& one : launch.args)
      look(look, one.integer, "an argument of " + launch.kernel);
  }
  for (const auto& [name, use] : uses) {
    if (told.contains(name)) continue;
    notes_.push_back(
        fmt::format("{}: nothing in the file says its value ({}); {} is a guess, in {}", name,
                    unit_.facts.names[static_cast<std::size_t>(use.first->name)].place,
                    use.first->value, fmt::join(use.second, ", ")));
  }
}

void Writer::settle_sizes() {
  std::set<std::string> taken;
  for (const BufferPlan& buffer : buffers_) {
    taken.insert(buffer.name);
    sizes_.want(buffer.elements);
  }
  for (const LaunchPlan& launch : launches_) {
    for (const HostInt& extent : launch.block) sizes_.fix(extent);
    sizes_.fix(launch.shared);
    // A number that nothing says is better seen among the sizes than buried in a launch.
    const auto want_guess = [&](const HostInt& value) {
      if (value != nullptr && value->op == Op::kName &&
          unit_.facts.names[static_cast<std::size_t>(value->name)].guessed)
        sizes_.want(value);
    };
    for (const ArgumentPlan& one : launch.args) want_guess(one.integer);
    for (const HostInt& extent : launch.grid)
      if (extent != nullptr)
        for (const HostInt& part : extent->operands) want_guess(part);
  }
  sizes_.settle(taken);
  // A length that no launch follows cannot change alone.
  std::set<std::string> followed;
  for (const LaunchPlan& launch : launches_) {
    for (const HostInt& extent : launch.grid) followed.merge(sizes_.names_in(extent));
    for (const ArgumentPlan& one : launch.args) followed.merge(sizes_.names_in(one.integer));
  }
  bool changed = false;
  for (const BufferPlan& buffer : buffers_) {
    const auto fix_unfollowed = [&](auto&& self, const HostInt& part) -> void {
      if (part == nullptr) return;
      if (part->op == Op::kName) {
        for (const std::string& name : sizes_.names_in(part)) {
          if (followed.contains(name)) continue;
          sizes_.fix(part);
          changed = true;
        }
      }
      for (const HostInt& inner : part->operands) self(self, inner);
    };
    fix_unfollowed(fix_unfollowed, buffer.elements);
  }
  if (changed) sizes_.settle(taken);
  timed_ = sizes_.timed();
  note_fixed_guesses();
  for (const BufferPlan& buffer : buffers_)
    sizes_.exact_divisions(buffer.elements, constraints_, divisions_);
  for (const LaunchPlan& launch : launches_) {
    for (const HostInt& extent : launch.grid)
      sizes_.exact_divisions(extent, constraints_, divisions_);
    for (const ArgumentPlan& one : launch.args)
      sizes_.exact_divisions(one.integer, constraints_, divisions_);
  }
}

}  // namespace hone::init
