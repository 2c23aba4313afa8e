#include "engine/rewriting/init/task_writer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "candidates/task_reader.h"
#include "engine/rewriting/init/cost.h"
#include "engine/rewriting/init/signature.h"
#include "engine/rewriting/init/sizes.h"

namespace hone::init {
namespace {

using syntax::HostArgument;
using syntax::HostEvent;
using syntax::HostExpr;
using syntax::HostFill;
using syntax::HostInt;
using syntax::HostLaunch;
using syntax::Variable;
using Json = nlohmann::ordered_json;
using Op = HostExpr::Op;

constexpr double kShortest_us = 100;              // of one run: less is mostly overhead
constexpr std::int64_t kMostBytes = 2LL << 30;    // of all buffers, when sizes grow
constexpr std::int64_t kMostChecked = 1LL << 21;  // elements and threads at a check size

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

class Writer {
 public:
  Writer(const std::string& path, syntax::WholeUnit& unit, const std::vector<Stage>& stages,
         std::vector<std::string> notes)
      : path_(path),
        unit_(unit),
        stages_(stages),
        notes_(std::move(notes)),
        sizes_(unit.facts.names) {}

  Result<InitResult> run();

 private:
  struct BufferPlan {
    std::string name;
    int host = -1;   ///< index into the host's buffers; -1: unknown to it
    HostInt offset;  ///< [B] into it
    ScalarType type = ScalarType::kF32;
    HostInt elements;
    bool guessed_length = false;
    bool read_first = false;  ///< by the first launch that uses it
    bool read = false;
    bool written = false;
    bool wants_positive = false;
    bool sorted = false;       ///< row starts
    std::vector<int> indexes;  ///< buffers into which its values point; -1: unknown
    std::string parameter;
    std::string place;
  };
  struct ArgumentPlan {
    int buffer = -1;
    HostInt integer;
    std::optional<double> real;
  };
  struct LaunchPlan {
    std::string kernel;
    HostInt grid[3];
    HostInt block[3];
    HostInt shared;
    std::vector<ArgumentPlan> args;
  };

  Result<void> plan_launch(const Stage& stage);
  Result<int> plan_buffer(const Stage& stage, std::size_t index);
  HostInt guessed_integer(const std::string& name);
  HostInt product(const Stage& stage, const LaunchPlan& plan, const Product& names);
  void plan_lengths(const Stage& stage, const LaunchPlan& plan);
  void plan_geometry(const Stage& stage, LaunchPlan& plan);
  void settle_sizes();
  std::string role_of(const BufferPlan& buffer, bool careful,
                      std::vector<std::string>& notes) const;
  Json fill_of(const BufferPlan& buffer,
               const std::vector<std::map<std::string, std::int64_t>>& all,
               std::vector<std::string>& notes) const;
  using Values = std::map<std::string, std::int64_t>;
  bool holds(const Values& at, std::int64_t most) const;
  std::optional<Values> check_values(std::int64_t multiple, int round) const;
  /// How the check sizes are chosen, from the boldest.
  enum class Checks { kOdd, kMultiples, kEqual, kAsTheFile };
  InitResult::Attempt attempt(Checks kind, bool careful) const;
  std::optional<Values> file_values() const;
  void grow(Values& timed, std::vector<std::string>& notes);
  Json task_at(const Values& timed, const std::vector<Values>& checks,
               const std::set<std::string>& constraints, bool careful,
               std::vector<std::string>& notes) const;
  double bytes_at(const Values& at) const;
  std::int64_t coarse_multiple() const;

  const std::string path_;
  syntax::WholeUnit& unit_;
  const std::vector<Stage>& stages_;
  std::vector<std::string> notes_;
  Sizes sizes_;
  std::vector<BufferPlan> buffers_;
  std::vector<LaunchPlan> launches_;
  Values timed_;
  std::set<std::string> constraints_;
  std::vector<std::pair<HostInt, HostInt>> divisions_;
};

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
  if (parameter.type.element != nullptr) {
    type = scalar_of(*parameter.type.element);
    const auto record = unit_.device.records.find(parameter.type.element->name);
    if (!type && record != unit_.device.records.end()) type = parse_scalar_type(record->second);
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
    one.read_first = facts.read;
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
    if (one.real && parameter.type.is_integer()) one.real = std::trunc(*one.real);
    plan.args.push_back(one);
  }
  // Index buffers: which buffers their values point into.
  for (std::size_t i = 0; i < plan.args.size(); ++i) {
    if (plan.args[i].buffer < 0) continue;
    auto& indexes = buffers_[static_cast<std::size_t>(plan.args[i].buffer)].indexes;
    for (const int target : stage.kernel.parameters[i].indexes)
      indexes.push_back(target < 0 ? -1 : plan.args[static_cast<std::size_t>(target)].buffer);
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
  for (const syntax::Function* function : stage.kernel.info->unit->functions) {
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
  for (const BufferPlan& buffer : buffers_)
    sizes_.exact_divisions(buffer.elements, constraints_, divisions_);
  for (const LaunchPlan& launch : launches_) {
    for (const HostInt& extent : launch.grid)
      sizes_.exact_divisions(extent, constraints_, divisions_);
    for (const ArgumentPlan& one : launch.args)
      sizes_.exact_divisions(one.integer, constraints_, divisions_);
  }
}

bool Writer::holds(const Values& at, std::int64_t most) const {
  for (const auto& [a, b] : divisions_) {
    const auto x = sizes_.value(a, at);
    const auto y = sizes_.value(b, at);
    if (!x || !y || *y == 0 || *x % *y != 0) return false;
  }
  for (const BufferPlan& buffer : buffers_) {
    const auto length = sizes_.value(buffer.elements, at);
    if (!length || *length < 1 || *length > most) return false;
  }
  for (const LaunchPlan& launch : launches_) {
    std::int64_t threads = 1;
    for (int d = 0; d < 3; ++d) {
      const auto extent = sizes_.value(launch.grid[d], at);
      if (!extent || *extent < 1 || *extent > (d == 0 ? 2147483647 : 65535)) return false;
      threads *= *extent * launch.block[d]->value;
      if (threads > most * 16) return false;
    }
    if (threads > most) return false;
  }
  return true;
}

/// Every size a little over or under one or two blocks, or a multiple of `multiple`.
std::optional<Writer::Values> Writer::check_values(std::int64_t multiple, int round) const {
  std::int64_t block = 1;
  bool products = false;
  for (const LaunchPlan& launch : launches_)
    for (const HostInt& extent : launch.block) block = std::max(block, extent->value);
  for (const BufferPlan& buffer : buffers_)
    products = products || sizes_.names_in(buffer.elements).size() > 1;
  for (std::int64_t g = std::max<std::int64_t>(1, multiple); g <= 65536; g *= 2) {
    for (const std::int64_t want : {products ? std::min<std::int64_t>(2 * block, 64) : 2 * block,
                                    std::int64_t{24}, std::int64_t{6}, std::int64_t{1}}) {
      Values values;
      std::int64_t i = 0;
      for (const std::string& name : sizes_.all()) {
        std::int64_t value =
            round == 0 ? want + 5 + 2 * i : std::max<std::int64_t>(1, want - 1 + i);
        value = std::max<std::int64_t>(1, g == 1 ? value : value / g + (round == 0 ? 1 : 0)) * g;
        values[name] = std::min(value, std::max(timed_.at(name), g));
        ++i;
      }
      if (holds(values, kMostChecked)) return values;
    }
  }
  return std::nullopt;
}

double Writer::bytes_at(const Values& at) const {
  double bytes = 0;
  for (const BufferPlan& buffer : buffers_) {
    const auto length = sizes_.value(buffer.elements, at);
    if (length) bytes += static_cast<double>(*length) * static_cast<double>(size_of(buffer.type));
  }
  return bytes;
}

std::string Writer::role_of(const BufferPlan& buffer, bool careful,
                            std::vector<std::string>& notes) const {
  if (!buffer.written) return "in";
  // What the host does with it before and after.
  bool before = false;
  bool filled = false;
  bool copied_back = false;
  bool anything_back = false;
  bool launched = false;
  for (const HostEvent& event : unit_.facts.events) {
    if (event.kind == HostEvent::Kind::kLaunch) {
      for (const Stage& stage : stages_)
        launched = launched || stage.id == static_cast<std::size_t>(event.index);
      continue;
    }
    if (event.kind == HostEvent::Kind::kRead) {
      if (!launched) continue;
      anything_back = true;
      copied_back = copied_back || event.index == buffer.host;
    } else if (event.index == buffer.host && buffer.host >= 0 && !launched) {
      before = true;
      filled = filled || event.kind == HostEvent::Kind::kWrite;
    }
  }
  if (buffer.read_first) return "inout";
  const bool several = launches_.size() > 1;
  if (several && buffer.read && anything_back && !copied_back && buffer.host >= 0) return "scratch";
  if (careful) {
    notes.push_back(fmt::format("buffer {}: inout, since the kernel may leave elements unwritten{}",
                                buffer.name, before && filled ? "; the host fills it before" : ""));
    return "inout";
  }
  return "out";
}

Json Writer::fill_of(const BufferPlan& buffer, const std::vector<Values>& all,
                     std::vector<std::string>& notes) const {
  const bool integer = !is_float(buffer.type);
  if (integer && (!buffer.indexes.empty() || buffer.sorted)) {
    std::optional<std::int64_t> last;
    std::vector<std::string> into;
    for (const int target : buffer.indexes) {
      if (target < 0) continue;
      const BufferPlan& other = buffers_[static_cast<std::size_t>(target)];
      into.push_back(other.name);
      for (const Values& at : all) {
        const auto length = sizes_.value(other.elements, at);
        if (length) last = std::min(last.value_or(*length), *length);
      }
    }
    if (last && *last > 0) {
      std::ranges::sort(into);
      into.erase(std::unique(into.begin(), into.end()), into.end());
      if (buffer.sorted) {
        notes.push_back(
            fmt::format("buffer {}: sorted from 0 to {}, since its values are where loops over {} "
                        "begin and end",
                        buffer.name, *last, fmt::join(into, ", ")));
        return {{"sorted", {0, *last}}};
      }
      notes.push_back(
          fmt::format("buffer {}: integers from 0 to {}, since its values are indices into {}",
                      buffer.name, *last - 1, fmt::join(into, ", ")));
      return {{"integers", {0, *last - 1}}};
    }
    if (!buffer.indexes.empty())
      notes.push_back(fmt::format(
          "buffer {}: its values are indices, and the range 0 to 100 is a guess", buffer.name));
    return nullptr;
  }
  std::optional<HostFill> said;
  if (buffer.host >= 0) said = unit_.facts.buffers[static_cast<std::size_t>(buffer.host)].fill;
  if (buffer.written && said && said->kind == HostFill::Kind::kConstant &&
      said->low == said->high && std::abs(said->low) <= 1e5)
    return {
        {"constant", integer ? std::trunc(said->low) : said->low}};  // what it starts from counts
  const bool useful =
      said && (said->kind == HostFill::Kind::kUniform || said->kind == HostFill::Kind::kIntegers) &&
      said->high > said->low && std::abs(said->low) <= 1e5 && std::abs(said->high) <= 1e5;
  if (integer) {
    const bool small = buffer.type == ScalarType::kI8 || buffer.type == ScalarType::kU8;
    if (useful && std::floor(said->high) > std::ceil(said->low) && (!small || said->high <= 127) &&
        buffer.type != ScalarType::kBool)
      return {{"integers",
               {static_cast<std::int64_t>(std::ceil(said->low)),
                static_cast<std::int64_t>(std::floor(said->high))}}};
    return nullptr;
  }
  if (useful && !(buffer.wants_positive && said->low <= 0))
    return {{"uniform", {said->low, said->high}}};
  if (buffer.wants_positive) {
    notes.push_back(fmt::format(
        "buffer {}: filled from 0.1 to 1, since the kernel takes roots, logarithms or quotients",
        buffer.name));
    return {{"uniform", {0.1, 1}}};
  }
  return nullptr;
}

Json Writer::task_at(const Values& timed, const std::vector<Values>& checks,
                     const std::set<std::string>& constraints, bool careful,
                     std::vector<std::string>& notes) const {
  Json task;
  task["name"] = std::filesystem::path(path_).stem().string();
  Json sizes = Json::object();
  for (const std::string& name : sizes_.all()) sizes[name] = timed.at(name);
  task["sizes"] = sizes;
  if (!checks.empty() && !sizes_.all().empty()) {
    Json list = Json::array();
    for (const Values& at : checks) {
      Json one = Json::object();
      for (const std::string& name : sizes_.all()) one[name] = at.at(name);
      list.push_back(one);
    }
    task["check_sizes"] = list;
  }
  if (!constraints.empty()) task["constraints"] = constraints;
  std::vector<Values> all = checks;
  all.push_back(timed);
  Json buffers = Json::array();
  for (const BufferPlan& buffer : buffers_) {
    Json one = {{"name", buffer.name}, {"type", to_string(buffer.type)}};
    Json shape = Json::array();
    for (const std::string& factor : sizes_.factors(buffer.elements)) {
      const bool number = factor.find_first_not_of("0123456789") == std::string::npos;
      if (number) {
        shape.push_back(std::stoll(factor));
      } else {
        shape.push_back(factor);
      }
    }
    one["shape"] = shape;
    const std::string role = role_of(buffer, careful, notes);
    if (role != "in") one["role"] = role;
    if (role == "in" || role == "inout") {
      const Json fill = fill_of(buffer, all, notes);
      if (!fill.is_null()) one["fill"] = fill;
    }
    if (buffer.guessed_length)
      notes.push_back(
          fmt::format("buffer {}: its length {} is a guess", buffer.name, shape.dump()));
    buffers.push_back(one);
  }
  task["buffers"] = buffers;
  Json launches = Json::array();
  for (const LaunchPlan& plan : launches_) {
    const auto extents = [&](const HostInt(&values)[3]) {
      Json list = Json::array();
      int last = 2;
      while (last > 0 && !sizes_.is_symbolic(values[last]) && values[last]->value == 1) --last;
      for (int d = 0; d <= last; ++d) {
        if (sizes_.is_symbolic(values[d])) {
          list.push_back(sizes_.text(values[d]));
        } else {
          list.push_back(values[d]->value);
        }
      }
      return list;
    };
    Json one = {
        {"kernel", plan.kernel}, {"grid", extents(plan.grid)}, {"block", extents(plan.block)}};
    if (plan.shared->value > 0) one["shared_bytes"] = plan.shared->value;
    Json args = Json::array();
    for (const ArgumentPlan& argument : plan.args) {
      if (argument.buffer >= 0) {
        args.push_back(buffers_[static_cast<std::size_t>(argument.buffer)].name);
      } else if (argument.integer != nullptr) {
        if (sizes_.is_symbolic(argument.integer)) {
          args.push_back(sizes_.text(argument.integer));
        } else {
          args.push_back(argument.integer->value);
        }
      } else {
        args.push_back(argument.real.value_or(0));
      }
    }
    one["args"] = args;
    launches.push_back(one);
  }
  task["launches"] = launches;
  task["math"] = "reassociate";
  return task;
}

void Writer::grow(Values& timed, std::vector<std::string>& notes) {
  const auto cost = [&](const Values& at) {
    std::vector<std::string> ignored;
    const Json task = task_at(at, {}, {}, true, ignored);
    const std::string text = "/* hone " + task.dump() + " */\n" + unit_.device.text;
    return estimated_us(text, path_);
  };
  const Values before = timed;
  auto time = cost(timed);
  std::set<std::string> movers;
  for (const LaunchPlan& launch : launches_)
    for (const HostInt& extent : launch.grid) movers.merge(sizes_.names_in(extent));
  for (int round = 0; time && *time < kShortest_us && !movers.empty() && round < 40; ++round) {
    // The smallest of those that widen the grid: matrices stay about square.
    const std::string name = *std::ranges::min_element(
        movers, {}, [&](const std::string& one) { return timed.at(one); });
    Values next = timed;
    next[name] *= 2;
    const auto more =
        bytes_at(next) <= static_cast<double>(kMostBytes) && holds(next, std::int64_t{1} << 40)
            ? cost(next)
            : std::nullopt;
    if (!more) {
      movers.erase(name);
      continue;
    }
    timed = next;
    time = more;
  }
  std::vector<std::string> grown;
  for (const auto& [name, value] : timed)
    if (value != before.at(name))
      grown.push_back(fmt::format("{} = {} (the file says {})", name, value, before.at(name)));
  for (const auto& [name, value] : timed)
    if (sizes_.guessed(name))
      notes.push_back(fmt::format("size {}: nothing in the file says its value ({}); {} is a guess",
                                  name, sizes_.place(name), value));
  if (!grown.empty())
    notes.push_back(fmt::format("made larger, to take about {:.0f} us and more: {}", kShortest_us,
                                fmt::join(grown, ", ")));
  if (time && *time < kShortest_us)
    notes.push_back(fmt::format(
        "one run takes about {:.1f} us, less than {:.0f} us, at the sizes that the {} fixes", *time,
        kShortest_us, sizes_.all().empty() ? "source" : "launch"));
}

std::int64_t Writer::coarse_multiple() const {
  std::int64_t multiple = 1;
  for (const LaunchPlan& launch : launches_)
    for (const HostInt& extent : launch.block) multiple = std::max(multiple, extent->value);
  std::int64_t power = 1;
  while (power < multiple) power *= 2;
  return power;
}

/// The file's own sizes, halved together until they are small.
std::optional<Writer::Values> Writer::file_values() const {
  Values values = sizes_.timed();
  for (int i = 0; i < 30; ++i) {
    if (holds(values, kMostChecked)) return values;
    for (auto& [name, value] : values) {
      if (value % 2 != 0) return std::nullopt;
      value /= 2;
    }
  }
  return std::nullopt;
}

InitResult::Attempt Writer::attempt(Checks kind, bool careful) const {
  InitResult::Attempt result;
  result.notes = notes_;
  std::set<std::string> constraints = constraints_;
  const std::int64_t multiple =
      kind == Checks::kMultiples || kind == Checks::kEqual ? coarse_multiple() : 1;
  if (multiple > 1 && !sizes_.all().empty()) {
    for (const std::string& name : sizes_.all())
      if (timed_.at(name) % multiple == 0)
        constraints.insert(fmt::format("{} % {} == 0", name, multiple));
    result.notes.push_back(fmt::format(
        "sizes are kept multiples of {}: the kernel has no guard for others", multiple));
  }
  std::vector<Values> checks;
  if (kind == Checks::kAsTheFile) {
    if (const auto values = file_values()) {
      checks.push_back(*values);
      for (const auto& [name, value] : *values)
        if (value > 1 && timed_.at(name) % value == 0)
          constraints.insert(fmt::format("{} % {} == 0", name, value));
      result.notes.emplace_back(
          "check_sizes: the file's own, or these halved; the kernel does not hold at others");
    }
  } else {
    for (const int round : {0, 1}) {
      auto values = check_values(multiple, round);
      if (values && kind == Checks::kEqual) {
        const std::int64_t least =
            std::ranges::min_element(*values, {}, [](const auto& v) { return v.second; })->second;
        for (auto& [name, value] : *values) value = least;
        if (!holds(*values, kMostChecked)) values = std::nullopt;
      }
      if (values && std::ranges::find(checks, *values) == checks.end()) checks.push_back(*values);
    }
  }
  if (kind == Checks::kEqual) {
    const std::string& first = sizes_.all().front();
    for (const std::string& name : sizes_.all())
      if (name != first && timed_.at(name) == timed_.at(first))
        constraints.insert(fmt::format("{} == {}", name, first));
    result.notes.emplace_back("sizes are kept equal: the kernel does not hold for others");
  }
  if (checks.empty() && !sizes_.all().empty())
    result.notes.emplace_back(
        "check_sizes: no small sizes were found that hold everything; give some");
  result.task = task_at(timed_, checks, constraints, careful, result.notes);
  return result;
}

Result<InitResult> Writer::run() {
  for (const Stage& stage : stages_)
    if (auto planned = plan_launch(stage); !planned) return std::unexpected(planned.error());
  settle_sizes();
  grow(timed_, notes_);
  InitResult result;
  result.source = unit_.device.text;
  const bool guarded =
      std::ranges::any_of(stages_, [](const Stage& stage) { return stage.kernel.compares_index; });
  const bool has_sizes = !sizes_.all().empty();
  std::vector<Checks> kinds = {Checks::kOdd};
  if (has_sizes) {
    kinds.insert(guarded ? kinds.end() : kinds.begin(), Checks::kMultiples);
    kinds.push_back(Checks::kAsTheFile);
    std::set<std::int64_t> values;
    for (const auto& [name, value] : timed_) values.insert(value);
    if (sizes_.all().size() > 1 && values.size() == 1) kinds.push_back(Checks::kEqual);
  }
  for (const Checks kind : kinds) {
    for (const bool careful : {false, true}) {
      InitResult::Attempt one = attempt(kind, careful);
      const bool known = std::ranges::any_of(
          result.attempts, [&](const auto& other) { return other.task == one.task; });
      if (!known) result.attempts.push_back(std::move(one));
    }
  }
  return result;
}

}  // namespace

Result<InitResult> write_task(const std::string& path, syntax::WholeUnit& unit,
                              const std::vector<Stage>& stages, std::vector<std::string> notes) {
  return Writer(path, unit, stages, std::move(notes)).run();
}

}  // namespace hone::init
