// Operators that PyTorch has under several names: the other names, and the one that has a rule.
#include "candidates/pytorch/operations.h"

namespace hone::pytorch {
namespace other_names {
namespace {

struct Alias {
  std::string_view other, target;  ///< the arguments of both have the same names
};

constexpr Alias kAliases[] = {
    {"aten.absolute.default", "aten.abs.default"},
    {"aten.arccos.default", "aten.acos.default"},
    {"aten.arccosh.default", "aten.acosh.default"},
    {"aten.arcsin.default", "aten.asin.default"},
    {"aten.arcsinh.default", "aten.asinh.default"},
    {"aten.arctan.default", "aten.atan.default"},
    {"aten.arctan2.default", "aten.atan2.default"},
    {"aten.arctanh.default", "aten.atanh.default"},
    {"aten.broadcast_to.default", "aten.expand.default"},
    {"aten.clip.Tensor", "aten.clamp.Tensor"},
    {"aten.divide.Scalar_mode", "aten.div.Scalar_mode"},
    {"aten.divide.Tensor_mode", "aten.div.Tensor_mode"},
    {"aten.fix.default", "aten.trunc.default"},
    {"aten.ger.default", "aten.outer.default"},
    {"aten.greater.Scalar", "aten.gt.Scalar"},
    {"aten.greater.Tensor", "aten.gt.Tensor"},
    {"aten.greater_equal.Scalar", "aten.ge.Scalar"},
    {"aten.greater_equal.Tensor", "aten.ge.Tensor"},
    {"aten.less.Scalar", "aten.lt.Scalar"},
    {"aten.less.Tensor", "aten.lt.Tensor"},
    {"aten.less_equal.Scalar", "aten.le.Scalar"},
    {"aten.less_equal.Tensor", "aten.le.Tensor"},
    {"aten.linalg_matmul.default", "aten.matmul.default"},
    {"aten.not_equal.Scalar", "aten.ne.Scalar"},
    {"aten.not_equal.Tensor", "aten.ne.Tensor"},
    {"aten.sgn.default", "aten.sign.default"},
    {"aten.special_erf.default", "aten.erf.default"},
    {"aten.special_erfc.default", "aten.erfc.default"},
    {"aten.special_erfinv.default", "aten.erfinv.default"},
    {"aten.special_exp2.default", "aten.exp2.default"},
    {"aten.special_expit.default", "aten.sigmoid.default"},
    {"aten.special_expm1.default", "aten.expm1.default"},
    {"aten.special_gammaln.default", "aten.lgamma.default"},
    {"aten.special_log1p.default", "aten.log1p.default"},
    {"aten.special_log_softmax.default", "aten.log_softmax.int"},
    {"aten.special_logit.default", "aten.logit.default"},
    {"aten.special_logsumexp.default", "aten.logsumexp.default"},
    {"aten.special_round.default", "aten.round.decimals"},
    {"aten.special_sinc.default", "aten.sinc.default"},
    {"aten.special_softmax.default", "aten.softmax.int"},
    {"aten.special_xlogy.default", "aten.xlogy.Tensor"},
    {"aten.special_xlogy.other_scalar", "aten.xlogy.Scalar_Other"},
    {"aten.special_xlogy.self_scalar", "aten.xlogy.Scalar_Self"},
    {"aten.unsafe_chunk.default", "aten.chunk.default"},
    {"aten.unsafe_split.Tensor", "aten.split.Tensor"},
    {"aten.unsafe_split_with_sizes.default", "aten.split_with_sizes.default"},
};

}  // namespace
}  // namespace other_names

std::string_view without_alias(std::string_view target) {
  for (const other_names::Alias& alias : other_names::kAliases) {
    if (alias.other == target) return alias.target;
  }
  return target;
}

std::vector<std::string_view> aliases() {
  std::vector<std::string_view> names;
  for (const other_names::Alias& alias : other_names::kAliases) names.push_back(alias.other);
  return names;
}

}  // namespace hone::pytorch
