// What several rules need: walking the tree, where a thread's global index is computed, what a
// pointer points into, values at given sizes. Pure functions over one TranslationUnit.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rewriters/core/rewriter.h"
#include "rewriters/rules/cooperative/patch.h"
#include "rewriters/syntax/analysis.h"
#include "rewriters/syntax/ast.h"
#include "rewriters/syntax/parse.h"

namespace hone::rules::coop {

/// A parsed program with the facts about its kernels.
struct Parsed {
  std::shared_ptr<const syntax::TranslationUnit> unit;
  std::vector<syntax::KernelInfo> kernels;

  [[nodiscard]] const syntax::KernelInfo* find(std::string_view kernel) const;
};
/// Keeps pointers into `program`.
[[nodiscard]] Result<Parsed> parse_program(const Program& program);

/// The program with this new source, after making sure that it still parses.
[[nodiscard]] Result<Program> with_source(const Program& program, std::string source);

/// Looks through implicit and explicit casts.
[[nodiscard]] const syntax::Expr* strip_casts(const syntax::Expr* expr);
[[nodiscard]] const syntax::Expr* strip_implicit(const syntax::Expr* expr);
/// The nearest parent that is no implicit cast.
[[nodiscard]] const syntax::Expr* written_parent(const syntax::Expr* expr);
/// The variable that the expression is, casts aside; or null.
[[nodiscard]] const syntax::Variable* as_variable(const syntax::Expr* expr);

void for_each_expr(const syntax::Expr* expr, const std::function<void(const syntax::Expr&)>& visit);
/// Every expression in the statement, the initialisers of declarations included.
void for_each_expr(const syntax::Stmt& stmt, const std::function<void(const syntax::Expr&)>& visit);
void for_each_stmt(const syntax::Stmt& stmt, const std::function<void(const syntax::Stmt&)>& visit);
[[nodiscard]] bool inside(const syntax::Stmt* stmt, const syntax::Stmt& ancestor);
[[nodiscard]] bool declared_inside(const syntax::Variable& variable, const syntax::Stmt& ancestor);

/// Is the expression evaluated every time its statement is (not under ?:, && or ||)?
[[nodiscard]] bool unconditional(const syntax::Expr& expr);

/// Do any functions other than kernels look at threadIdx and its kin? Then a rule that moves
/// threads must not touch the file.
[[nodiscard]] bool helpers_see_threads(const syntax::TranslationUnit& unit);

/// `blockIdx.d * blockDim.d + threadIdx.d` wherever it is written out in a kernel.
struct ThreadIndex {
  std::vector<const syntax::Expr*> global[3];  ///< the whole sums, outermost
  std::vector<const syntax::Expr*> rest;       ///< every other use of a builtin index or extent
  /// Does the kernel see thread and block index of this dimension only as the sum?
  [[nodiscard]] bool only_global(int dimension) const;
};
[[nodiscard]] ThreadIndex thread_index(const syntax::Function& kernel, const Dim3& block);

/// What an access touches: a pointer parameter (through single-assignment pointer locals), or an
/// array variable itself; and the element index from its start, where known.
struct Place {
  const syntax::Variable* root = nullptr;
  std::optional<syntax::Polynomial> index;
};
[[nodiscard]] Place place_of(const syntax::Access& access);
[[nodiscard]] bool is_global(const Place& place);  ///< not a local or shared array
/// May two places overlap, whatever their indices?
[[nodiscard]] bool may_overlap(const syntax::KernelInfo& info, const Place& a, const Place& b);

/// Integer values of symbols at these sizes: parameters, blockDim, gridDim.
[[nodiscard]] std::map<std::string, std::int64_t> symbol_values(const syntax::KernelInfo& info,
                                                                const Bindings& sizes);
/// The polynomial with known symbols replaced by their values.
[[nodiscard]] syntax::Polynomial at_sizes(const syntax::Polynomial& polynomial,
                                          const std::map<std::string, std::int64_t>& values);
/// Is the value a multiple of `factor` whatever the unknown symbols are?
[[nodiscard]] bool is_multiple(const syntax::Polynomial& polynomial, std::int64_t factor,
                               const std::map<std::string, std::int64_t>& values);

/// "float4" for float and 4; empty when CUDA has no such vector or it exceeds 16 bytes.
[[nodiscard]] std::string vector_type(const syntax::Type& element, int lanes);
inline constexpr const char* kVectorFields[] = {"x", "y", "z", "w"};

/// The launches of `kernel` in `program`, to be changed.
[[nodiscard]] std::vector<Launch*> launches_of(Program& program, const syntax::KernelInfo& info,
                                               const Program& original);
/// Entry `dimension` of a launch dimension list, 1 when absent.
[[nodiscard]] hone::Expr entry(const std::vector<hone::Expr>& list, std::size_t dimension);
/// Expression from text that is right by construction.
[[nodiscard]] hone::Expr make_expr(const std::string& text);

/// Must floating sums keep their order?
[[nodiscard]] bool exact_only(const RewriteContext& context);

/// Writes the bound of an existing __launch_bounds__ anew, as the block has changed.
void set_launch_bounds(Patch& patch, const syntax::Function& kernel, std::int64_t threads);

}  // namespace hone::rules::coop
