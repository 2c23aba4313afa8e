// Operators on single elements. Each is a line: the operator and what it computes, in a small
// language that becomes CUDA:
//   $self, $other, ...   an argument, a tensor's element or a number
//   $alpha=1             likewise, with the schema's default
//   expf, fmaxf, ...     the f32 functions; f64 gets those without the f
//   1.0f                 numbers of the type that is computed in
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <limits>

#include "candidates/pytorch/operations.h"
#include "candidates/pytorch/promotion.h"
#include "candidates/pytorch/refusal.h"

namespace hone::pytorch {
namespace pointwise {
namespace {

/// What the operands are converted to before the formula.
enum class Computes {
  kAsResult,    ///< the result's type
  kAsOperands,  ///< the widest of the operands': comparisons
};

struct Formula {
  std::string_view target;
  std::string_view text;
  Computes computes = Computes::kAsResult;
};

// Source of the formulas: the pages of torch and torch.nn.functional in PyTorch's documentation.
constexpr Formula kFormulas[] = {
    {"aten.relu.default", "$self < 0.0f ? 0.0f : $self"},
    {"aten.relu6.default", "$self < 0.0f ? 0.0f : $self > 6.0f ? 6.0f : $self"},
    {"aten.leaky_relu.default", "$self > 0.0f ? $self : $self * $negative_slope=0.01"},
    {"aten.elu.default",
     "($self > 0.0f ? $self : expm1f($self * $input_scale=1) * $alpha=1) * $scale=1"},
    {"aten.celu.default", "$self > 0.0f ? $self : expm1f($self / $alpha=1) * $alpha=1"},
    {"aten.selu.default",
     "1.0507009873554805f * ($self > 0.0f ? $self : 1.6732632423543772f * expm1f($self))"},
    {"aten.sigmoid.default", "1.0f / (1.0f + expf(-$self))"},
    {"aten.silu.default", "$self / (1.0f + expf(-$self))"},
    {"aten.log_sigmoid.default", "fminf($self, 0.0f) - log1pf(expf(-fabsf($self)))"},
    // tanh(log1p(e)) is e (e + 2) / (e (e + 2) + 2): of three functions one is left.
    {"aten.mish.default",
     "$self * (expf(fminf($self, 20.0f)) * (expf(fminf($self, 20.0f)) + 2.0f) / "
     "(expf(fminf($self, 20.0f)) * (expf(fminf($self, 20.0f)) + 2.0f) + 2.0f))"},
    {"aten.softplus.default",
     "$self * $beta=1 > $threshold=20 ? $self : log1pf(expf($self * $beta=1)) / $beta=1"},
    {"aten.hardtanh.default",
     "$self < $min_val=-1 ? $min_val=-1 : $self > $max_val=1 ? $max_val=1 : $self"},
    {"aten.hardsigmoid.default",
     "($self < -3.0f ? 0.0f : $self > 3.0f ? 6.0f : $self + 3.0f) / 6.0f"},
    {"aten.hardswish.default",
     "$self * ($self < -3.0f ? 0.0f : $self > 3.0f ? 6.0f : $self + 3.0f) / 6.0f"},
    {"aten.threshold.default", "$self <= $threshold ? $value : $self"},
    {"aten.tanh.default", "tanhf($self)"},
    {"aten.exp.default", "expf($self)"},
    {"aten.exp2.default", "exp2f($self)"},
    {"aten.expm1.default", "expm1f($self)"},
    {"aten.log.default", "logf($self)"},
    {"aten.log2.default", "log2f($self)"},
    {"aten.log10.default", "log10f($self)"},
    {"aten.log1p.default", "log1pf($self)"},
    {"aten.sqrt.default", "sqrtf($self)"},
    {"aten.rsqrt.default", "1.0f / sqrtf($self)"},
    {"aten.reciprocal.default", "1.0f / $self"},
    {"aten.sin.default", "sinf($self)"},
    {"aten.cos.default", "cosf($self)"},
    {"aten.tan.default", "tanf($self)"},
    {"aten.asin.default", "asinf($self)"},
    {"aten.acos.default", "acosf($self)"},
    {"aten.atan.default", "atanf($self)"},
    {"aten.sinh.default", "sinhf($self)"},
    {"aten.cosh.default", "coshf($self)"},
    {"aten.erf.default", "erff($self)"},
    {"aten.neg.default", "-$self"},
    {"aten.square.default", "$self * $self"},
    {"aten.sign.default", "$self > 0 ? 1 : ($self < 0 ? -1 : 0)"},
    {"aten.logical_not.default", "!$self", Computes::kAsOperands},
    {"aten.isnan.default", "$self != $self", Computes::kAsOperands},
    {"aten.isinf.default", "fabsf($self) == INFINITY", Computes::kAsOperands},
    {"aten.add.Tensor", "$self + $other * $alpha=1"},
    {"aten.add.Scalar", "$self + $other * $alpha=1"},
    {"aten.sub.Tensor", "$self - $other * $alpha=1"},
    {"aten.sub.Scalar", "$self - $other * $alpha=1"},
    {"aten.rsub.Scalar", "$other - $self * $alpha=1"},
    {"aten.rsub.Tensor", "$other - $self * $alpha=1"},
    {"aten.mul.Tensor", "$self * $other"},
    {"aten.mul.Scalar", "$self * $other"},
    {"aten.div.Tensor", "$self / $other"},
    {"aten.div.Scalar", "$self / $other"},
    {"aten.true_divide.Tensor", "$self / $other"},
    {"aten.maximum.default", "$self > $other || $self != $self ? $self : $other"},
    {"aten.minimum.default", "$self < $other || $self != $self ? $self : $other"},
    {"aten.max.other", "$self > $other || $self != $self ? $self : $other"},
    {"aten.min.other", "$self < $other || $self != $self ? $self : $other"},
    {"aten.atan2.default", "atan2f($self, $other)"},
    {"aten.lerp.Scalar", "$self + $weight * ($end - $self)"},
    {"aten.addcmul.default", "$self + $tensor1 * $tensor2 * $value=1"},
    {"aten.addcdiv.default", "$self + $tensor1 / $tensor2 * $value=1"},
    {"aten.where.self", "$condition ? $self : $other"},
    {"aten.where.ScalarOther", "$condition ? $self : $other"},
    {"aten.where.ScalarSelf", "$condition ? $self : $other"},
    {"aten.masked_fill.Scalar", "$mask ? $value : $self"},
    {"aten.masked_fill.Tensor", "$mask ? $value : $self"},
    {"aten.eq.Scalar", "$self == $other", Computes::kAsOperands},
    {"aten.eq.Tensor", "$self == $other", Computes::kAsOperands},
    {"aten.ne.Scalar", "$self != $other", Computes::kAsOperands},
    {"aten.ne.Tensor", "$self != $other", Computes::kAsOperands},
    {"aten.lt.Scalar", "$self < $other", Computes::kAsOperands},
    {"aten.lt.Tensor", "$self < $other", Computes::kAsOperands},
    {"aten.le.Scalar", "$self <= $other", Computes::kAsOperands},
    {"aten.le.Tensor", "$self <= $other", Computes::kAsOperands},
    {"aten.gt.Scalar", "$self > $other", Computes::kAsOperands},
    {"aten.gt.Tensor", "$self > $other", Computes::kAsOperands},
    {"aten.ge.Scalar", "$self >= $other", Computes::kAsOperands},
    {"aten.ge.Tensor", "$self >= $other", Computes::kAsOperands},
    {"aten.logical_and.default", "$self && $other", Computes::kAsOperands},
    {"aten.logical_or.default", "$self || $other", Computes::kAsOperands},
    {"aten.logical_xor.default", "!$self != !$other", Computes::kAsOperands},
    {"aten.bitwise_and.Tensor", "$self & $other"},
    {"aten.bitwise_or.Tensor", "$self | $other"},
    {"aten.bitwise_xor.Tensor", "$self ^ $other"},
    {"aten.bitwise_and.Scalar", "$self & $other"},
    {"aten.bitwise_or.Scalar", "$self | $other"},
    {"aten.bitwise_xor.Scalar", "$self ^ $other"},
    {"aten.__and__.Tensor", "$self & $other"},
    {"aten.__or__.Tensor", "$self | $other"},
    {"aten.__xor__.Tensor", "$self ^ $other"},
    {"aten.__and__.Scalar", "$self & $other"},
    {"aten.__or__.Scalar", "$self | $other"},
    {"aten.__xor__.Scalar", "$self ^ $other"},
    {"aten.multiply.Tensor", "$self * $other"},
    {"aten.multiply.Scalar", "$self * $other"},
    {"aten.subtract.Tensor", "$self - $other * $alpha=1"},
    {"aten.subtract.Scalar", "$self - $other * $alpha=1"},
    {"aten.divide.Tensor", "$self / $other"},
    {"aten.divide.Scalar", "$self / $other"},
    {"aten.negative.default", "-$self"},
    {"aten.xlogy.Tensor",
     "$other != $other ? $other : $self == 0.0f ? 0.0f : $self * logf($other)"},
    {"aten.lerp.Tensor", "$self + $weight * ($end - $self)"},
    {"aten.isfinite.default", "fabsf($self) < INFINITY", Computes::kAsOperands},
    {"aten.erfc.default", "erfcf($self)"},
    {"aten.erfinv.default", "erfinvf($self)"},
    {"aten.lgamma.default", "lgammaf($self)"},
    {"aten.asinh.default", "asinhf($self)"},
    {"aten.acosh.default", "acoshf($self)"},
    {"aten.atanh.default", "atanhf($self)"},
    {"aten.frac.default", "$self - truncf($self)"},
    {"aten.sinc.default",
     "$self == 0.0f ? 1.0f : sinf(3.141592653589793f * $self) / (3.141592653589793f * $self)"},
    {"aten.hardshrink.default", "$self >= -$lambd=0.5 && $self <= $lambd=0.5 ? 0.0f : $self"},
    {"aten.softshrink.default",
     "$self > $lambd=0.5 ? $self - $lambd=0.5 : $self < -$lambd=0.5 ? $self + $lambd=0.5 : $self * "
     "0.0f"},
    {"aten.logaddexp.default",
     "fabsf($self) == INFINITY && $self == $other ? $self : ($self > $other || $self != $self ? "
     "$self : $other) + log1pf(expf(-fabsf($self - $other)))"},
    {"aten.hypot.default", "hypotf($self, $other)"},
    {"aten.copysign.Tensor", "copysignf($self, $other)"},
    {"aten.copysign.Scalar", "copysignf($self, $other)"},
    {"aten.fmax.default", "fmaxf($self, $other)"},
    {"aten.fmin.default", "fminf($self, $other)"},
    {"aten.bitwise_left_shift.Tensor", "$self << $other"},
    {"aten.bitwise_left_shift.Tensor_Scalar", "$self << $other"},
    {"aten.bitwise_right_shift.Tensor", "$self >> $other"},
    {"aten.bitwise_right_shift.Tensor_Scalar", "$self >> $other"},
    {"aten.__lshift__.Scalar", "$self << $other"},
    {"aten.__lshift__.Tensor", "$self << $other"},
    {"aten.__rshift__.Scalar", "$self >> $other"},
    {"aten.__rshift__.Tensor", "$self >> $other"},
    {"aten.true_divide.Scalar", "$self / $other"},
    {"aten.where.Scalar", "$condition ? $self : $other"},
    {"aten.deg2rad.default", "$self * 0.017453292519943295f"},
    {"aten.rad2deg.default", "$self * 57.29577951308232f"},
    {"aten.isposinf.default", "$self == INFINITY", Computes::kAsOperands},
    {"aten.isneginf.default", "$self == -INFINITY", Computes::kAsOperands},
    {"aten.heaviside.default", "$self == 0.0f ? $values : $self > 0.0f ? 1.0f : 0.0f"},
    {"aten.ldexp.Tensor", "$self * exp2f($other)"},
    {"aten.logaddexp2.default",
     "fabsf($self) == INFINITY && $self == $other ? $self : ($self > $other || $self != $self ? "
     "$self : $other) + 1.4426950408889634f * log1pf(exp2f(-fabsf($self - $other)))"},
    {"aten.xlogy.Scalar_Self",
     "$other != $other ? $other : $self == 0.0f ? 0.0f : $self * logf($other)"},
    {"aten.xlogy.Scalar_Other",
     "$other != $other ? $other : $self == 0.0f ? 0.0f : $self * logf($other)"},
    {"aten.special_xlog1py.default",
     "$other != $other ? $other : $self == 0.0f ? 0.0f : $self * log1pf($other)"},
    {"aten.special_entr.default",
     "$self != $self ? $self : $self > 0.0f ? -$self * logf($self) : $self == 0.0f ? 0.0f : "
     "-INFINITY"},
    {"aten.special_ndtr.default", "0.5f * erfcf($self * -0.7071067811865476f)"},
    {"aten.angle.default", "$self != $self ? $self : $self < 0.0f ? 3.141592653589793f : 0.0f"},
    {"aten.float_power.Scalar", "powf($self, $exponent)"},
    {"aten.float_power.Tensor_Scalar", "powf($self, $exponent)"},
    {"aten.float_power.Tensor_Tensor", "powf($self, $exponent)"},
    {"aten.bitwise_and.Scalar_Tensor", "$self & $other"},
    {"aten.bitwise_or.Scalar_Tensor", "$self | $other"},
    {"aten.bitwise_xor.Scalar_Tensor", "$self ^ $other"},
    {"aten.bitwise_left_shift.Scalar_Tensor", "$self << $other"},
    {"aten.bitwise_right_shift.Scalar_Tensor", "$self >> $other"},
    {"aten._to_copy.default", "$self"},
    {"aten.clone.default", "$self"},
};

/// The largest number of a floating type.
double largest_of(ScalarType type) {
  switch (type) {
    case ScalarType::kF64:
      return std::numeric_limits<double>::max();
    case ScalarType::kF16:
      return 65504;
    case ScalarType::kBf16:
      return 3.3895313892515355e38;
    default:
      return std::numeric_limits<float>::max();
  }
}

/// Arguments of which some forms exist under one name, decided by what is given.
std::string formula_of(const Call& call, std::string_view target) {
  if (target == "aten.gelu.default") {
    return call.text("approximate", "none") == "tanh"
               ? "0.5f * $self * (1.0f + tanhf(0.7978845608028654f * ($self + 0.044715f * $self * "
                 "$self * $self)))"
               : "0.5f * $self * (1.0f + erff($self * 0.7071067811865476f))";
  }
  if (target.starts_with("aten.clamp") || target.starts_with("aten.clip")) {
    const bool low = call.has("min"), high = call.has("max");
    // A bound that is NaN makes all NaN; as a number it is none.
    const bool tensors = is_float(call.type()) && (call.is_tensor("min") || call.is_tensor("max"));
    if (low && high) {
      return tensors ? "$min != $min ? $min : $max != $max ? $max : $self < $min ? ($min > $max ? "
                       "$max : $min) : $self > $max ? $max : $self"
                     : "$self < $min ? ($min > $max ? $max : $min) : $self > $max ? $max : $self";
    }
    if (low) {
      return tensors ? "$self < $min || $min != $min ? $min : $self"
                     : "$self < $min ? $min : $self";
    }
    return tensors ? "$self > $max || $max != $max ? $max : $self" : "$self > $max ? $max : $self";
  }
  if (target.starts_with("aten.abs"))
    return is_float(call.type()) ? "fabsf($self)" : "$self < 0 ? -$self : $self";
  if (target.starts_with("aten.floor_divide") || target.starts_with("aten.div.")) {
    const std::string mode =
        target.starts_with("aten.div.") ? call.text("rounding_mode", "") : "floor";
    if (mode.empty()) return "$self / $other";
    if (mode == "trunc") return is_float(call.type()) ? "truncf($self / $other)" : "$self / $other";
    return is_float(call.type())
               ? "$other == 0.0f ? $self / $other : rintf(($self - fmodf($self, $other)) / $other) "
                 "- "
                 "(fmodf($self, $other) != 0.0f && (fmodf($self, $other) < 0.0f) != ($other < "
                 "0.0f) ? "
                 "1.0f : 0.0f)"
               : "$self / $other - ($self % $other != 0 && ($self < 0) != ($other < 0) ? 1 : 0)";
  }
  if (target.starts_with("aten.remainder")) {
    return is_float(call.type())
               ? "fmodf($self, $other) + (fmodf($self, $other) != 0.0f && "
                 "(fmodf($self, $other) < 0.0f) != ($other < 0.0f) ? $other : 0.0f)"
               : "$self % $other + ($self % $other != 0 && ($self % $other < 0) != ($other < 0) ? "
                 "$other : 0)";
  }
  if (target == "aten.nan_to_num.default") {
    if (!is_float(call.type())) return "$self";
    const double most = largest_of(call.type());
    return fmt::format(
        "$self != $self ? $nan=0 : $self == INFINITY ? {} : $self == -INFINITY ? {} : $self",
        call.has("posinf") ? "$posinf" : literal(most, call.type()),
        call.has("neginf") ? "$neginf" : fmt::format("({})", literal(-most, call.type())));
  }
  if (target == "aten.logit.default") {
    return call.has("eps") ? "logf(($self < $eps ? $eps : $self > 1.0f - $eps ? 1.0f - $eps : "
                             "$self) / (1.0f - ($self < $eps ? $eps : $self > 1.0f - $eps ? 1.0f - "
                             "$eps : $self)))"
                           : "logf($self / (1.0f - $self))";
  }
  if (target == "aten.bitwise_not.default") {
    return call.type() == ScalarType::kBool ? "!$self" : "~$self";
  }
  if (target == "aten.round.decimals" && call.whole("decimals", 0) != 0) {
    const std::int64_t decimals = call.whole("decimals", 0);
    constexpr std::int64_t kMost = 15;  // digits of a double
    if (!is_float(call.type()) || decimals > kMost || decimals < -kMost) {
      refuse("rounds {} to {} decimals", torch_name(call.type()), decimals);
    }
    const std::string power =
        literal(std::pow(10, static_cast<double>(std::abs(decimals))), call.type());
    return decimals > 0 ? fmt::format("rintf($self * {0}) / {0}", power)
                        : fmt::format("rintf($self / {0}) * {0}", power);
  }
  if (target.starts_with("aten.floor.") || target.starts_with("aten.ceil.") ||
      target.starts_with("aten.round.") || target.starts_with("aten.trunc.")) {
    if (!is_float(call.type())) return "$self";
    return target.starts_with("aten.floor.")   ? "floorf($self)"
           : target.starts_with("aten.ceil.")  ? "ceilf($self)"
           : target.starts_with("aten.round.") ? "rintf($self)"
                                               : "truncf($self)";
  }
  if (target.starts_with("aten.fmod.")) {
    return is_float(call.type()) ? "fmodf($self, $other)" : "$self % $other";
  }
  if (target.starts_with("aten.pow.Tensor_Scalar")) {
    const double exponent = call.number("exponent");
    if (exponent == 1) return "$self";
    if (exponent == 2) return "$self * $self";
    if (exponent == 3) return "$self * $self * $self";
    if (exponent == 0.5) return "sqrtf($self)";
    return "powf($self, $exponent)";
  }
  if (target.starts_with("aten.pow")) return "powf($self, $exponent)";
  if (target == "aten.signbit.default") {
    return is_float(call.tensor("self").type) ? "signbit($self)" : "$self < 0";
  }
  if (target == "aten.isclose.default") {
    if (!is_float(call.tensor("self").type)) refuse("compares whole numbers within a tolerance");
    const std::string close =
        "$self == $other || (fabsf($other) < INFINITY && fabsf($self - $other) <= "
        "$atol=0.00000001 + $rtol=0.00001 * fabsf($other))";
    return call.flag("equal_nan", false) ? close + " || ($self != $self && $other != $other)"
                                         : close;
  }
  refuse("has no formula (a bug of hone's)");
}

constexpr std::string_view kByArguments[] = {
    "aten.gelu.default",        "aten.clamp.default",           "aten.clamp.Tensor",
    "aten.clip.default",        "aten.clamp_min.default",       "aten.clamp_max.default",
    "aten.clamp_min.Tensor",    "aten.clamp_max.Tensor",        "aten.abs.default",
    "aten.bitwise_not.default", "aten.pow.Tensor_Scalar",       "aten.pow.Tensor_Tensor",
    "aten.pow.Scalar",          "aten.floor.default",           "aten.ceil.default",
    "aten.round.default",       "aten.trunc.default",           "aten.fmod.Scalar",
    "aten.fmod.Tensor",         "aten.floor_divide.default",    "aten.floor_divide.Scalar",
    "aten.div.Tensor_mode",     "aten.div.Scalar_mode",         "aten.remainder.Tensor",
    "aten.remainder.Scalar",    "aten.nan_to_num.default",      "aten.logit.default",
    "aten.round.decimals",      "aten.remainder.Scalar_Tensor", "aten.signbit.default",
    "aten.isclose.default"};

/// One kernel: its operands and the text that becomes its formula.
class Writer {
 public:
  Writer(Call& call, std::string_view formula, Computes computes)
      : call_(call), formula_(formula), computes_(computes) {}

  /// The result is something between, in a buffer with this in its name.
  Writer& into(std::string_view between) {
    between_ = between;
    return *this;
  }

  Tensor write(std::string_view name) {
    collect();
    if (tensors_.empty()) refuse("has no tensor among its arguments");
    std::vector<Dim> shape = tensors_.front().shape;
    for (const Tensor& tensor : tensors_) shape = broadcast(call_.to.sizes, shape, tensor.shape);
    type_ = computes_ == Computes::kAsResult ? call_.type() : operands_type();
    Tensor result = between_.empty() ? call_.make(shape) : call_.between(type_, shape, between_);
    const Tensor whole = result;
    std::vector<Tensor*> all = {&result};
    for (Tensor& tensor : tensors_) {
      tensor = expanded(call_.to.sizes, tensor, shape);
      all.push_back(&tensor);
    }
    merge_dimensions(call_.to.sizes, all);
    Kernel kernel(call_.to, std::string(name), "");
    std::vector<Kernel::Operand> operands;
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      operands.push_back(kernel.in(names_[i], tensors_[i]));
    }
    const auto out = kernel.out("y", result);
    const auto at = kernel.each_element(result);
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const ScalarType from = tensors_[i].type;
      // A mask stays one; where bools are numbers of a floating result, they are 0 and 1 of it.
      const bool is_mask = names_[i] == "mask" || names_[i] == "condition";
      const ScalarType as =
          from == ScalarType::kBool && (is_mask || !is_float(type_)) ? from : type_;
      std::string value = converted(kernel.load(operands[i], at), from, as);
      // A comparison tells what rounding makes equal.
      const bool rounds = computes_ == Computes::kAsOperands && is_short(as) && from != as;
      if (rounds && from != ScalarType::kBool) value = rounded_to(as, value);
      kernel.line(fmt::format("{} v_{} = {};", computed_in(as), names_[i], value));
    }
    kernel.store(out, at, stored_as(result.type, text()));
    kernel.launch();
    if (category(result.type) == 1) call_.to.set_whole(whole, whole_made_by(name));
    return whole;
  }

 private:
  /// Names of arguments and their defaults, in the order of the formula.
  template <class Visit>
  void each_argument(Visit visit) const {
    for (std::size_t at = 0; at < formula_.size(); ++at) {
      if (formula_[at] != '$') continue;
      std::size_t end = at + 1;
      while (
          end < formula_.size() &&
          (std::isalnum(static_cast<unsigned char>(formula_[end])) != 0 || formula_[end] == '_')) {
        ++end;
      }
      const std::string_view name = formula_.substr(at + 1, end - at - 1);
      std::size_t after = end;
      std::string_view otherwise;
      if (after < formula_.size() && formula_[after] == '=' && formula_[after + 1] != '=') {
        ++after;
        while (after < formula_.size() &&
               std::string_view("+-.0123456789").contains(formula_[after])) {
          ++after;
        }
        otherwise = formula_.substr(end + 1, after - end - 1);
      }
      visit(at, after, name, otherwise);
    }
  }

  [[nodiscard]] Whole whole_operand(std::string_view name) const {
    if (call_.is_tensor(name)) return call_.to.whole_of(call_.tensor(name));
    if (!call_.is_whole(name)) return nullptr;
    const std::int64_t value = call_.whole_value(name);
    constexpr std::int64_t kMost = std::int64_t{1} << 31;  // no index is beyond
    return value < -kMost || value > kMost ? nullptr : whole_between({value, value});
  }

  /// What is known of the result's whole numbers, by the operator's name.
  [[nodiscard]] Whole whole_made_by(std::string_view name) const {
    const auto of = [&](std::string_view operation, std::string_view other) {
      return whole_made(operation, {whole_operand("self"), whole_operand(other)});
    };
    if (formula_ == "$self") return whole_made("same", {whole_operand("self")});
    if (name == "neg" || name == "abs") return whole_made(name, {whole_operand("self")});
    if (name == "add" || name == "sub" || name == "rsub") {
      return call_.number("alpha", 1) == 1 ? of(name, "other") : nullptr;
    }
    if (name == "mul" || name == "remainder" || name == "maximum" || name == "minimum" ||
        name == "floor_divide") {
      return of(name, "other");
    }
    if (name == "where") return of("either", "other");
    if (name == "masked_fill") return of("either", "value");
    if (name.starts_with("clamp") || name == "clip") {
      Whole made = whole_operand("self");
      if (call_.has("min")) made = whole_made("clamp_min", {made, whole_operand("min")});
      if (call_.has("max")) made = whole_made("clamp_max", {made, whole_operand("max")});
      return made;
    }
    return nullptr;
  }

  /// Of all operands, numbers among them.
  [[nodiscard]] ScalarType operands_type() const {
    Promotion promotion;
    for (const Tensor& tensor : tensors_) promotion.add(tensor);
    each_argument([&](std::size_t, std::size_t, std::string_view name, std::string_view) {
      if (call_.is_tensor(name) || !call_.has(name)) return;
      promotion.add_number(call_.is_whole(name)  ? ScalarType::kI64
                           : call_.is_flag(name) ? ScalarType::kBool
                                                 : ScalarType::kF32);
    });
    return promotion.type();
  }

  void collect() {
    each_argument([&](std::size_t, std::size_t, std::string_view name, std::string_view) {
      if (!call_.is_tensor(name)) return;
      if (std::ranges::find(names_, name) != names_.end()) return;
      names_.emplace_back(name);
      tensors_.push_back(call_.tensor(name));
    });
  }

  /// A number beside elements of a short type wraps around as they do.
  [[nodiscard]] std::int64_t as_element(std::int64_t value) const {
    switch (type_) {
      case ScalarType::kI32:
        return static_cast<std::int32_t>(value);
      case ScalarType::kI8:
        return static_cast<std::int8_t>(value);
      case ScalarType::kU8:
        return static_cast<std::uint8_t>(value);
      default:
        return value;
    }
  }

  static std::string whole_literal(std::int64_t value) {
    constexpr std::int64_t kMostInt = 2147483647;
    if (value == std::numeric_limits<std::int64_t>::min()) return "(-9223372036854775807ll - 1)";
    const std::string text =
        fmt::format("{}{}", value, value > kMostInt || -value > kMostInt ? "ll" : "");
    return value < 0 ? "(" + text + ")" : text;
  }

  [[nodiscard]] std::string argument(std::string_view name, std::string_view otherwise) const {
    if (call_.is_tensor(name)) return fmt::format("v_{}", name);
    // Whole numbers of 64 bits are no doubles.
    if (!is_float(type_) && call_.is_whole(name)) {
      return whole_literal(as_element(call_.whole_value(name)));
    }
    const double value = otherwise.empty() ? call_.number(name)
                                           : call_.number(name, std::stod(std::string(otherwise)));
    std::string text = literal(value, type_);
    if (computes_ == Computes::kAsOperands && is_short(type_) && !is_exact(value, type_)) {
      return rounded_to(type_, text);
    }
    return text.starts_with('-') ? "(" + text + ")" : text;
  }

  [[nodiscard]] std::string text() const {
    std::string text;
    std::size_t done = 0;
    each_argument(
        [&](std::size_t begin, std::size_t end, std::string_view name, std::string_view otherwise) {
          text += formula_.substr(done, begin - done);
          text += argument(name, otherwise);
          done = end;
          // What is multiplied or divided by 1 is itself.
          for (const std::string_view one : {" * 1.0f", " / 1.0f", " * 1", " / 1"}) {
            if (!otherwise.empty() && text.ends_with(one)) text.resize(text.size() - one.size());
          }
        });
    text += formula_.substr(done);
    return type_ == ScalarType::kF64 ? without_f(text) : is_float(type_) ? text : whole(text);
  }

  /// expf -> exp, 1.0f -> 1.0.
  static std::string without_f(const std::string& text) {
    std::string wide;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const bool ends =
          i + 1 == text.size() ||
          (std::isalnum(static_cast<unsigned char>(text[i + 1])) == 0 && text[i + 1] != '_');
      const bool function = i + 1 < text.size() && text[i + 1] == '(';
      const bool number = i > 0 && (std::isdigit(static_cast<unsigned char>(text[i - 1])) != 0);
      const bool suffix = text[i] == 'f' && ends && (function || number) && text.substr(i) != "if";
      // erff has the suffix, erf has not.
      const bool own = function && i >= 2 && text.substr(i - 2, 3) == "erf";
      if (!suffix || own) wide += text[i];
    }
    return wide;
  }

  /// Integers: min() and max() in place of fminf() and fmaxf(), whole numbers.
  static std::string whole(std::string text) {
    for (const auto& [from, to] : {std::pair<std::string_view, std::string_view>{"fminf", "min"},
                                   {"fmaxf", "max"},
                                   {".0f", ""}}) {
      for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from)) {
        text.replace(at, from.size(), to);
      }
    }
    return text;
  }

  Call& call_;
  std::string_view formula_;
  Computes computes_;
  std::string between_;
  ScalarType type_ = ScalarType::kF32;
  std::vector<std::string> names_;
  std::vector<Tensor> tensors_;
};

/// "aten.leaky_relu.default" -> "leaky_relu".
std::string_view short_name(std::string_view target) {
  target.remove_prefix(target.find('.') + 1);
  return target.substr(0, target.find('.'));
}

/// Where an operator is defined on a part of the numbers alone.
void keep_defined(Call& call, std::string_view name) {
  constexpr std::string_view kPositive[] = {"log", "log2", "log10", "log1p", "sqrt", "rsqrt"};
  if (std::ranges::find(kPositive, name) != std::end(kPositive)) {
    call.to.keep_within(call.tensor("self"), 0.05, 1);
  }
  if (name == "asin" || name == "acos") call.to.keep_within(call.tensor("self"), -1, 1);
}

/// The power of whole numbers as a product of some factors; empty: it is none.
std::string product_of_factors(const Call& call) {
  constexpr std::int64_t kMost = 8;
  if (!call.is_whole("exponent") || !call.is_tensor("self")) return "";
  const std::int64_t exponent = call.whole_value("exponent");
  if (exponent < 1 || exponent > kMost) return "";
  std::string product = "$self";
  for (std::int64_t i = 1; i < exponent; ++i) product += " * $self";
  return product;
}

void translate_formula(Call& call, std::string_view target) {
  keep_defined(call, short_name(target));
  if (target.starts_with("aten.pow.") && !is_float(call.type())) {
    const std::string product = product_of_factors(call);
    if (product.empty()) return write_whole_power(call);
    Writer(call, product, Computes::kAsResult).write(short_name(target));
    return;
  }
  for (const Formula& formula : kFormulas) {
    if (formula.target == target) {
      Writer(call, formula.text, formula.computes).write(short_name(target));
      return;
    }
  }
  const bool compares = target == "aten.signbit.default" || target == "aten.isclose.default";
  Writer(call, formula_of(call, target), compares ? Computes::kAsOperands : Computes::kAsResult)
      .write(short_name(target));
}

template <std::size_t I>
constexpr Operation by_formula() {
  return {kFormulas[I].target, [](Call& call) { translate_formula(call, kFormulas[I].target); }};
}
template <std::size_t I>
constexpr Operation by_arguments() {
  return {kByArguments[I], [](Call& call) { translate_formula(call, kByArguments[I]); }};
}

template <std::size_t... I, std::size_t... J>
constexpr auto all(std::index_sequence<I...>, std::index_sequence<J...>) {
  return std::array{by_formula<I>()..., by_arguments<J>()...};
}

constexpr auto kOperations = all(std::make_index_sequence<std::size(kFormulas)>(),
                                 std::make_index_sequence<std::size(kByArguments)>());

}  // namespace
}  // namespace pointwise

std::span<const Operation> pointwise_operations() { return pointwise::kOperations; }

void write_pointwise(Call& call, std::string_view name, std::string_view formula) {
  pointwise::Writer(call, formula, pointwise::Computes::kAsResult).write(name);
}

Tensor write_pointwise_between(Call& call, std::string_view name, std::string_view formula) {
  return pointwise::Writer(call, formula, pointwise::Computes::kAsResult).into(name).write(name);
}

}  // namespace hone::pytorch
