#include "evaluator/protocol/library_messages.h"

#include <climits>

#include "evaluator/protocol/channel.h"
#include "evaluator/protocol/take.h"

namespace hone::protocol {
namespace {

using Json = nlohmann::json;

/// Whether `count` matrices of `rows` x `columns`, `stride` elements apart, lie in the buffer.
bool fits(const ConcreteBuffer& buffer, std::int64_t rows, std::int64_t columns,
          std::int64_t stride, std::int64_t count) {
  std::int64_t matrix = 0, last = 0, end = 0;
  return !__builtin_mul_overflow(rows, columns, &matrix) &&
         !__builtin_mul_overflow(stride, count - 1, &last) &&
         !__builtin_add_overflow(last, matrix, &end) && end <= buffer.elements();
}

}  // namespace

Json to_message(const MatmulCall& c) {
  return {{"library", static_cast<int>(c.library)},
          {"a", c.a},
          {"b", c.b},
          {"out", c.out},
          {"m", c.m},
          {"n", c.n},
          {"k", c.k},
          {"batch", c.batch},
          {"a_stride", c.a_stride},
          {"b_stride", c.b_stride},
          {"a_transposed", c.a_transposed},
          {"b_transposed", c.b_transposed},
          {"tf32", c.tf32}};
}

Result<MatmulCall> matmul_call_from(const Json& m, const ConcreteProgram& program) {
  MatmulCall c;
  std::int64_t number = 0;
  HONE_TAKE(number, get_int(m, "library"));
  if (number < 0 || number > static_cast<int>(Library::kCublasLt)) return malformed("library");
  c.library = static_cast<Library>(number);
  for (const auto& [key, index] : {std::pair("a", &c.a), {"b", &c.b}, {"out", &c.out}}) {
    HONE_TAKE(number, get_int(m, key));
    if (number < 0 || number >= static_cast<std::int64_t>(program.buffers.size()))
      return malformed(key);
    *index = static_cast<int>(number);
  }
  for (const auto& [key, extent] :
       {std::pair("m", &c.m), {"n", &c.n}, {"k", &c.k}, {"batch", &c.batch}}) {
    HONE_TAKE(*extent, get_int(m, key));
    if (*extent < 1 || *extent > INT_MAX) return malformed(key);
  }
  for (const auto& [key, stride] :
       {std::pair("a_stride", &c.a_stride), {"b_stride", &c.b_stride}}) {
    HONE_TAKE(*stride, get_int(m, key));
    if (*stride < 0) return malformed(key);
  }
  HONE_TAKE(c.a_transposed, get_bool(m, "a_transposed"));
  HONE_TAKE(c.b_transposed, get_bool(m, "b_transposed"));
  HONE_TAKE(c.tf32, get_bool(m, "tf32"));
  const auto buffer = [&](int i) -> const ConcreteBuffer& {
    return program.buffers[static_cast<std::size_t>(i)];
  };
  if (!fits(buffer(c.a), c.m, c.k, c.a_stride, c.batch) ||
      !fits(buffer(c.b), c.k, c.n, c.b_stride, c.batch) ||
      !fits(buffer(c.out), c.m, c.n, c.m * c.n, c.batch))
    return malformed("library call: it leaves its buffers");
  return c;
}

}  // namespace hone::protocol
