// Two halves at once: CUDA's functions on half2 and bfloat162, field by field.
#include <fmt/format.h>

#include <map>
#include <set>

#include "rewriters/lift/executor.h"
#include "rewriters/lift/executor_lanes.h"
#include "rewriters/lift/types.h"

namespace hone::nest {

using syntax::Expr;
using syntax::Type;

namespace {

using Names = std::map<std::string, std::string, std::less<>>;

const Names kElementwise = {{"__hadd2", "+"},    {"__hadd2_rn", "+"}, {"__hsub2", "-"},
                            {"__hsub2_rn", "-"}, {"__hmul2", "*"},    {"__hmul2_rn", "*"},
                            {"__h2div", "/"},    {"__hmax2", "max"},  {"__hmin2", "min"},
                            {"__hfma2", "fma"},  {"__hneg2", "neg"},  {"__habs2", "fabs"},
                            {"h2exp", "exp"},    {"h2exp2", "exp2"},  {"h2log", "log"},
                            {"h2sqrt", "sqrt"},  {"h2rsqrt", "rsqrt"}};
/// One number for both fields.
const std::set<std::string_view> kSpread = {"__float2half2_rn", "__half2half2",
                                            "__float2bfloat162_rn", "__bfloat162bfloat162"};
const std::set<std::string_view> kPacked = {"__floats2half2_rn", "__halves2half2",
                                            "__floats2bfloat162_rn", "__halves2bfloat162"};
const std::set<std::string_view> kConverted = {"__half22float2", "__float22half2_rn",
                                               "__bfloat1622float2", "__float22bfloat162_rn"};
const Names kField = {{"__low2float", "x"}, {"__high2float", "y"},   {"__low2half", "x"},
                      {"__high2half", "y"}, {"__low2bfloat16", "x"}, {"__high2bfloat16", "y"}};

}  // namespace

/// Nothing: it is no such function.
std::optional<Value> Executor::vector_call(const Expr& expr) {
  const std::string& name = expr.text;
  const auto op = kElementwise.find(name);
  const bool known = op != kElementwise.end() || kSpread.contains(name) || kPacked.contains(name) ||
                     kConverted.contains(name) || kField.contains(name);
  if (!known) return std::nullopt;
  std::vector<Value> args;
  for (const Expr* operand : expr.operands) args.push_back(evaluate(*operand));
  if (args.empty()) refuse(the_call(expr) + " without arguments", expr.position);
  if (op != kElementwise.end()) return fieldwise(op->second, args, expr.type, expr.position);
  if (const auto field = kField.find(name); field != kField.end()) {
    return converted(field_of(args[0], field->second, expr.position), expr.type, expr.position);
  }
  Value made;
  made.kind = Value::Kind::kFields;
  for (int i = 0; i < 2; ++i) {
    const Value part = kConverted.contains(name) ? field_of(args[0], kFields[i], expr.position)
                       : kPacked.contains(name)  ? args.at(i)
                                                 : args[0];
    made.fields[kFields[i]] = converted(part, pointee(expr.type), expr.position);
  }
  return made;
}

Value Executor::field_of(const Value& value, const std::string& name, int position) {
  const auto field = value.fields.find(name);
  if (field == value.fields.end()) {
    refuse(fmt::format("a vector of which '.{}' is not known", name), position);
  }
  return field->second;
}

Value Executor::fieldwise(const std::string& op, const std::vector<Value>& args, const Type& type,
                          int position) {
  Value made;
  made.kind = Value::Kind::kFields;
  const ScalarType as = scalar_type(pointee(type), *this, position);
  for (int i = 0; i < type.lanes; ++i) {
    std::vector<Lanes> parts;
    std::size_t width = 1;
    for (const Value& arg : args) {
      const Value part = field_of(arg, kFields[i], position);
      if (part.kind != Value::Kind::kScalar) {
        refuse(fmt::format("a vector of which '.{}' is not known", kFields[i]), position);
      }
      parts.push_back(part.lanes);
      width = std::max(width, part.lanes.size());
    }
    Lanes lanes;
    for (std::size_t j = 0; j < width; ++j) {
      std::vector<Ref> operands;
      for (const Lanes& part : parts) operands.push_back(nodes_.cast(lane(part, j), as));
      lanes.push_back(nodes_.call(op, as, std::move(operands)));
    }
    shrink(lanes);
    made.fields[kFields[i]] = Value{Value::Kind::kScalar, std::move(lanes), -1, {}};
  }
  return made;
}

}  // namespace hone::nest
