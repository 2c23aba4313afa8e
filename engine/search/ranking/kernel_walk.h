// The walk through a kernel's tokens that counts. Internal to engine/search/ranking.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "candidates/expr.h"
#include "engine/search/ranking/kernel_profile.h"

namespace hone::ranking {

class KernelWalk {
 public:
  KernelWalk(const std::vector<Token>& tokens, const std::vector<SourceReader::Function>& functions,
             const ConcreteProgram& program, const ConcreteLaunch& launch);
  /// Once.
  [[nodiscard]] KernelProfile run(const SourceReader::Function& kernel);

 private:
  enum class Space { kGlobal, kShared, kLocal };
  struct Pointer {
    Space space = Space::kLocal;
    double element_bytes = 4;  // [B]
  };
  struct Range {
    std::size_t begin = 0, end = 0;  ///< of tokens
  };
  struct Lambda {
    std::size_t parameters = 0;  ///< the token "("
    std::size_t body = 0;        ///< the token "{"
  };
  /// What names mean where the walk is.
  struct Scope {
    Bindings values;
    std::map<std::string_view, Pointer> pointers;
    std::map<std::string_view, Lambda> lambdas;
    std::map<std::string_view, double> rounds;  ///< of the loops around, by their variable
    std::map<std::string_view, double> types;   // of aliases [B]
    std::map<std::string_view, double> sizes;   // of variables, of arrays an element's [B]
  };
  struct Loop {
    double rounds = kUnknownRounds;
    std::string_view variable;
  };

  void bind_parameters(const SourceReader::Function& kernel, Scope& scope) const;
  [[nodiscard]] std::vector<Range> split(Range range, std::string_view separator) const;
  [[nodiscard]] std::optional<std::int64_t> value(Range range, const Scope& scope) const;
  [[nodiscard]] double type_bytes(Range range, const Scope& scope) const;

  // Each begins at token `at` and returns the token after what it looked at.
  void walk(Range range, double weight, Scope& scope);
  std::size_t statement(std::size_t at, std::size_t end, double weight, Scope& scope);
  std::size_t run_for(std::size_t at, std::size_t end, double weight, Scope& scope);
  std::size_t run_while(std::size_t at, std::size_t end, double weight, Scope& scope);
  std::size_t run_if(std::size_t at, std::size_t end, double weight, Scope& scope);
  std::size_t name(std::size_t at, std::size_t end, double weight, Scope& scope);
  std::size_t call(std::size_t at, std::size_t open, double weight, Scope& scope);
  std::size_t reinterpreted(std::size_t at, std::size_t end, double weight, Scope& scope);

  [[nodiscard]] std::vector<Range> parameters_at(std::size_t open) const;
  void bind_arguments(const SourceReader::Function& function, Range arguments, const Scope& scope,
                      Scope& inside) const;
  void enter(std::size_t parameters, std::size_t body, Range arguments, double weight, Scope scope);
  void declare(std::size_t at, std::size_t end, Scope& scope);
  void declare_array(std::size_t at, std::size_t end, Scope& scope);
  void count_access(const Pointer& pointer, double bytes, double weight);
  void count_symbol(const Token& token, double weight);
  void count_text(std::string_view text, double weight);
  bool count_hinted(std::string_view name, Range arguments, double weight, const Scope& scope);
  bool count_function(std::string_view name, double weight);
  [[nodiscard]] Loop loop_of(Range header, Scope& scope) const;
  [[nodiscard]] const Pointer* pointer_in(Range range, const Scope& scope) const;
  [[nodiscard]] bool places_memory(std::size_t bracket, const Scope& scope) const;
  [[nodiscard]] double share_of(Range condition, const Scope& scope) const;
  [[nodiscard]] std::size_t after(std::size_t open) const;
  void spend(std::size_t tokens) const { budget_ -= std::min(budget_, tokens); }

  const std::vector<Token>& tokens_;
  const std::vector<SourceReader::Function>& functions_;
  const ConcreteProgram& program_;
  const ConcreteLaunch& launch_;
  KernelProfile profile_;
  mutable std::size_t budget_ = 400'000;  ///< tokens that it still looks at: a bound for any text
  int depth_ = 0;                         ///< of calls
  double loops_ = 0;                      ///< around where it is
  double unrolled_ = 1;
  double copy_bytes_ = 16;    // of the next cp.async [B]
  bool is_unrolled_ = false;  ///< the next loop
};

}  // namespace hone::ranking
