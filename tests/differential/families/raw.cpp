#include "tests/differential/families/raw.h"

#include <fmt/format.h>

namespace hone::differential {

void add_raw(std::vector<Case>& cases, const Raw& raw) {
  Case c;
  c.name = raw.name;
  c.grid = raw.grid;
  c.block = raw.block;
  c.shared_bytes = raw.shared_bytes;
  c.buffers = raw.buffers;
  c.words = raw.words;
  std::string parameters;
  std::string loads;
  for (std::size_t i = 0; i < raw.buffers.size(); ++i) {
    parameters += fmt::format("{}.param .u64 in{}", i ? ", " : "", i);
    loads += fmt::format("  ld.param.u64 %p{0}, [in{0}];\n", i);
  }
  for (std::size_t i = 0; i < raw.words.size(); ++i)
    parameters += fmt::format(", .param .b64 w{}", i);
  c.ptx = fmt::format(
      ".version {}\n.target {}\n.address_size 64\n{}\n"
      ".visible .entry k({}){}\n{{\n"
      "  .reg .b64 %p<8>, %x<24>;\n  .reg .b32 %i, %n, %ti, %lane, %cta, %r<64>;\n"
      "  .reg .b16 %h<24>;\n  .reg .f32 %f<48>;\n  .reg .f64 %d<16>;\n  .reg .pred %q<16>;\n{}"
      "  mov.u32 %ti, %tid.x;\n  mov.u32 %cta, %ctaid.x;\n  mov.u32 %n, %ntid.x;\n"
      "  mad.lo.u32 %i, %cta, %n, %ti;\n  and.b32 %lane, %ti, 31;\n{}\n  ret;\n}}\n",
      raw.version, raw.target, raw.module, parameters,
      raw.directives.empty() ? "" : "\n" + raw.directives, loads, raw.body);
  cases.push_back(std::move(c));
}

}  // namespace hone::differential
