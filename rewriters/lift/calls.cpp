// Calls: CUDA's functions by name, the program's own by running them.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

#include "rewriters/lift/executor.h"
#include "rewriters/lift/executor_lanes.h"
#include "rewriters/lift/types.h"
#include "rewriters/syntax/intrinsics.h"

namespace hone::nest {
namespace {

/// CUDA's names of a mathematical function without type: "expf" and "exp" are "exp".
std::optional<std::string> math_name(std::string name) {
  if (name.starts_with("__")) return name;
  const auto is_known = [](std::string_view asked) {
    return operation_named(asked) || function_named(asked) != nullptr;
  };
  if (!is_known(name) && name.ends_with("f")) name.pop_back();
  if (name == "fmin" || name == "fmax") name.erase(0, 1);
  return is_known(name) ? std::optional(name) : std::nullopt;
}

}  // namespace

using syntax::Expr;
using syntax::Type;
using syntax::Variable;

Value Executor::evaluate_call(const Expr& expr) {
  using syntax::CallKind;
  const std::string& name = expr.text;
  static const std::set<std::string_view> infinite = {"__builtin_inff", "__builtin_inf",
                                                      "__builtin_huge_valf", "__builtin_huge_val"};
  if (infinite.contains(name)) {
    const ScalarType type = scalar_type(expr.type, *this, expr.position);
    return {Value::Kind::kScalar, uniform(nodes_.number(HUGE_VAL, type)), -1, {}};
  }
  switch (syntax::call_kind(expr)) {
    case CallKind::kUser:
      return call_function(expr);
    case CallKind::kBarrier:
      barrier(expr.position);
      return {};
    case CallKind::kWarp:
      return shuffle(expr);
    case CallKind::kAtomic:
      return atomic(expr);
    case CallKind::kLoad: {
      const Value pointer = evaluate(*expr.operands[0]);
      if (pointer.kind != Value::Kind::kPointer) {
        refuse(the_call(expr) + " of no pointer that hone follows", expr.position);
      }
      return read({nullptr, {}, pointer.memory, pointer.lanes}, expr.type, expr.position);
    }
    case CallKind::kStore: {
      const Value pointer = evaluate(*expr.operands[0]);
      const Value value = evaluate(*expr.operands[1]);
      if (pointer.kind != Value::Kind::kPointer) {
        refuse(the_call(expr) + " of no pointer that hone follows", expr.position);
      }
      write({nullptr, {}, pointer.memory, pointer.lanes}, value, expr.operands[1]->type,
            expr.position);
      return {};
    }
    case CallKind::kPure:
      break;
    default:
      refuse(
          the_call(expr) +
              (name.empty() ? " of an operator, an object or a pointer, which hone does not follow"
                            : ", which hone does not follow"),
          expr.position);
  }
  if (auto vector = vector_call(expr)) return *vector;
  if (name.starts_with("make_")) {
    Value made;
    made.kind = Value::Kind::kFields;
    for (std::size_t i = 0; i < expr.operands.size() && i < 4; ++i) {
      made.fields[kFields[i]] =
          converted(evaluate(*expr.operands[i]), pointee(expr.type), expr.position);
    }
    return made;
  }
  std::vector<Lanes> args;
  for (const Expr* operand : expr.operands) args.push_back(scalar(*operand));
  if (name == "__int_as_float" && args.size() == 1 && args[0].size() == 1 &&
      args[0][0]->is_constant()) {
    const auto bits = static_cast<std::uint32_t>(args[0][0]->constant);
    return {Value::Kind::kScalar,
            uniform(nodes_.number(std::bit_cast<float>(bits), ScalarType::kF32)),
            -1,
            {}};
  }
  if (args.empty() || args.size() > 3) {
    refuse(fmt::format("{} with {} arguments", the_call(expr), args.size()), expr.position);
  }
  const ScalarType type = scalar_type(expr.type, *this, expr.position);
  for (std::size_t i = 0; i < args.size(); ++i)
    wrapped(args[i], expr.operands[i]->type, expr.position);
  static const std::set<std::string, std::less<>> conversions = {
      "__half2float",     "__float2half",        "__float2half_rn", "__bfloat162float",
      "__float2bfloat16", "__float2bfloat16_rn", "__int2float_rn",  "__uint2float_rn",
      "__double2half",    "__int2half_rn"};
  static const std::map<std::string, std::string, std::less<>> operators = {
      {"__hadd", "+"},    {"__hsub", "-"},    {"__hmul", "*"},      {"__hdiv", "/"},
      {"__hmax", "max"},  {"__hmin", "min"},  {"__fadd_rn", "+"},   {"__fmul_rn", "*"},
      {"__fsub_rn", "-"}, {"__fdiv_rn", "/"}, {"__fmaf_rn", "fma"}, {"__fsqrt_rn", "sqrt"},
      {"__mul24", "*"}};
  const auto apply = [&](const std::string& op, std::size_t count) {
    Value made{Value::Kind::kScalar, {}, -1, {}};
    std::size_t width = 1;
    for (const Lanes& arg : args) width = std::max(width, arg.size());
    for (std::size_t i = 0; i < width; ++i) {
      std::vector<Ref> operands;
      for (std::size_t j = 0; j < count; ++j) {
        Ref operand = lane(args[j], i);
        if (is_float(type) && operand->type != type) operand = nodes_.cast(operand, type);
        operands.push_back(operand);
      }
      made.lanes.push_back(nodes_.call(op, type, std::move(operands)));
    }
    shrink(made.lanes);
    return made;
  };
  if (conversions.contains(name)) {
    Value made{Value::Kind::kScalar, {}, -1, {}};
    made.lanes = map([&](Ref a) { return nodes_.cast(a, type); }, args[0]);
    return made;
  }
  if (const auto found = operators.find(name); found != operators.end()) {
    return apply(found->second, args.size());
  }
  if (name == "abs" || name == "labs" || name == "llabs") {
    if (is_float(type)) return apply("fabs", 1);
    Value made{Value::Kind::kScalar, {}, -1, {}};
    made.lanes =
        map([&](Ref a) { return nodes_.select(nodes_.non_negative(a), a, nodes_.scale(a, -1)); },
            args[0]);
    return made;
  }
  if (name == "__saturatef") {
    Value made = apply("max", 1);
    made.lanes = map(
        [&](Ref a) {
          return nodes_.op(
              Op::kMin, type,
              {nodes_.op(Op::kMax, type, {a, nodes_.number(0, type)}), nodes_.number(1, type)});
        },
        args[0]);
    return made;
  }
  const auto math = math_name(name);
  const bool integers = !is_float(type) && type != ScalarType::kBool;
  if (!math || (integers && *math != "min" && *math != "max")) {
    refuse(the_call(expr) + ", which hone does not follow", expr.position);
  }
  return apply(*math, args.size());
}

std::string Executor::the_call(const Expr& expr) const {
  if (expr.text.empty() || expr.text.starts_with(".")) return "the call " + quoted(expr);
  return "the call of '" + expr.text + "'";
}

Value Executor::call_function(const Expr& expr) {
  const syntax::Function* callee = expr.callee;
  if (expr.type.kind == Type::Kind::kStruct && expr.text == expr.type.name) {
    refuse(the_call(expr) + ", a constructor, which hone does not follow", expr.position);
  }
  if (expr.text.empty() || expr.text.starts_with(".")) {
    refuse(the_call(expr) + ", a function of a struct, which hone does not follow", expr.position);
  }
  if (callee == nullptr || callee->body == nullptr) {
    refuse(the_call(expr) + ", whose body is not in the source", expr.position);
  }
  if (callee->is_template) {
    refuse(the_call(expr) + ", a template of which hone does not follow one instantiation",
           expr.position);
  }
  constexpr std::size_t kMostFrames = 8;
  if (frames_.size() > kMostFrames) {
    refuse(fmt::format("{}: calls nested more than {} deep", the_call(expr), kMostFrames),
           expr.position);
  }
  for (const Frame& above : frames_) {
    if (above.function == callee) {
      refuse(fmt::format("'{}' calls itself", callee->name), expr.position);
    }
  }
  Frame frame;
  frame.function = callee;
  frame.live = uniform(nodes_.boolean(true));
  frame.loops = loop_unrolls_.size();
  // A reference parameter writes back to its argument when the call ends.
  std::vector<std::pair<const Variable*, Place>> references;
  if (callee->parameters.size() != expr.operands.size()) {
    refuse(fmt::format("{} with {} of {} arguments", the_call(expr), expr.operands.size(),
                       callee->parameters.size()),
           expr.position);
  }
  std::map<const Variable*, Value> parameters;
  for (std::size_t i = 0; i < expr.operands.size(); ++i) {
    const Variable* parameter = callee->parameters[i];
    const Expr& operand = *expr.operands[i];
    if (parameter->is_reference && !parameter->type.is_const) {
      const Place place = place_of(operand);
      // It may be there to be written.
      const bool unset =
          place.variable != nullptr
              ? place.fields.empty() && state_.variables[place.variable].kind == Value::Kind::kNone
              : memories[place.memory].kind == Memory::Kind::kLocal && place.element.size() == 1 &&
                    place.element[0]->is_constant() &&
                    !state_.local[place.memory].contains(place.element[0]->constant);
      parameters[parameter] = unset ? Value{} : read(place, parameter->type, expr.position);
      references.emplace_back(parameter, place);
    } else {
      parameters[parameter] = converted(evaluate(operand), parameter->type, expr.position);
    }
  }
  for (auto& [parameter, value] : parameters) {
    if (in_memory(*parameter) && value.kind == Value::Kind::kScalar) {
      if (parameter->is_reference) {
        refuse(fmt::format("the address of '{}', a reference", parameter->name),
               parameter->name_range.begin);
      }
      state_.local[memory_of(*parameter)].clear();
      state_.local[memory_of(*parameter)][0] = value.lanes;
    } else {
      state_.variables[parameter] = std::move(value);
    }
  }
  frames_.push_back(std::move(frame));
  run(*callee->body);
  Frame done = std::move(frames_.back());
  frames_.pop_back();
  for (const auto& [parameter, place] : references) {
    const Value& last = state_.variables[parameter];
    if (last.kind != Value::Kind::kNone) write(place, last, parameter->type, expr.position);
  }
  if (done.result.kind == Value::Kind::kScalar) {
    return converted(done.result, expr.type, expr.position);
  }
  return done.result;
}

}  // namespace hone::nest
