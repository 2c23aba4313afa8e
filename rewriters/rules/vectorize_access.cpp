#include "rewriters/rules/vectorize_access.h"

#include <algorithm>
#include <string>
#include <vector>

#include "rewriters/rules/cooperative/kernel_tools.h"
#include "rewriters/rules/memory/vectorize_loop.h"
#include "rewriters/rules/memory/vectorize_threads.h"

namespace hone {
namespace {

using rules::coop::Parsed;
using syntax::KernelInfo;
using syntax::Loop;

/// Widths that some buffer of the kernel could use: 16 bytes is the widest access.
std::vector<int> widths_of(const KernelInfo& info) {
  int smallest = 16;
  for (const syntax::Variable* parameter : info.function->parameters) {
    if (!parameter->type.is_pointer() || !parameter->type.element) continue;
    const int bytes = parameter->type.element->bytes;
    if (bytes > 0) smallest = std::min(smallest, bytes);
  }
  std::vector<int> widths;
  for (int width = 2; width * smallest <= 16; width *= 2) widths.push_back(width);
  return widths;
}

std::string threads_site(const KernelInfo& info) { return info.function->name + "/threads"; }

class VectorizeAccess final : public Rewriter {
 public:
  std::string_view name() const override { return "vectorize-access"; }
  std::string_view summary() const override {
    return "a[i], a[i + 1], ... of neighbouring threads or iterations => one float4 access, legal "
           "when threads are independent, or nothing else in the loop touches the elements; "
           "unaligned accesses stay scalar";
  }

  std::vector<Proposal> propose(const Program& program,
                                const RewriteContext& context) const override {
    std::vector<Proposal> proposals;
    const auto parsed = rules::coop::parse_program(program);
    if (!parsed) return proposals;
    for (const KernelInfo& info : parsed->kernels) {
      if (info.function->is_template) continue;
      const std::vector<int> widths = widths_of(info);
      Parameter threads{.name = "width"};
      for (const int width : widths) {
        const auto result =
            rules::memory::vectorize_threads(program, *parsed, info, width, context.sizes);
        if (result && result->accesses > 0) threads.domain.emplace_back(std::int64_t{width});
      }
      add(proposals, threads_site(info), threads,
          "neighbouring threads of " + info.function->name + " as vector lanes");
      for (const auto& loop : info.loops) {
        Parameter strips{.name = "width"};
        const auto trips = info.trip_count(*loop, context.sizes);
        for (const int width : widths) {
          if (trips && *trips < width) continue;
          const auto result =
              rules::memory::vectorize_loop(*parsed, info, *loop, width, context.sizes);
          if (result && result->accesses > 0) strips.domain.emplace_back(std::int64_t{width});
        }
        add(proposals, loop->site, strips, "consecutive iterations of " + loop->site);
      }
    }
    return proposals;
  }

  Result<Program> apply(const Program& program, const Step& step,
                        const RewriteContext& context) const override {
    const auto parsed = rules::coop::parse_program(program);
    if (!parsed) return refused(parsed.error().message);
    const auto width = static_cast<int>(step.int_param("width", 0));
    for (const KernelInfo& info : parsed->kernels) {
      if (info.function->is_template) continue;
      const bool threads = step.site == threads_site(info);
      const Loop* loop = info.find_loop(step.site);
      if (!threads && loop == nullptr) continue;
      const std::vector<int> widths = widths_of(info);
      if (std::ranges::find(widths, width) == widths.end()) {
        return refused("no vector of " + std::to_string(width) + " elements here");
      }
      if (threads) {
        auto result =
            rules::memory::vectorize_threads(program, *parsed, info, width, context.sizes);
        if (!result) return std::unexpected(result.error());
        return std::move(result->program);
      }
      auto result = rules::memory::vectorize_loop(*parsed, info, *loop, width, context.sizes);
      if (!result) return std::unexpected(result.error());
      return rules::coop::with_source(program, std::move(result->source));
    }
    return refused("no site \"" + step.site + "\"");
  }

 private:
  void add(std::vector<Proposal>& proposals, const std::string& site, const Parameter& width,
           std::string description) const {
    if (width.domain.empty()) return;
    proposals.push_back({.rewriter = std::string(name()),
                         .version = version(),
                         .site = site,
                         .parameters = {width},
                         .math = MathLevel::kExact,
                         .description = std::move(description)});
  }
};

}  // namespace

std::unique_ptr<Rewriter> make_vectorize_access() { return std::make_unique<VectorizeAccess>(); }

}  // namespace hone
