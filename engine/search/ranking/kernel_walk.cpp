// Statements, loops and branches.
#include "engine/search/ranking/kernel_walk.h"

#include <algorithm>
#include <cmath>

namespace hone::ranking {
namespace {

constexpr double kMostRounds = 1e9;

bool is_header(const Token& token) {
  return token.is("for") || token.is("while") || token.is("if");
}

/// Where the statement at `at` ends: the token after it.
std::size_t statement_end(const std::vector<Token>& tokens, std::size_t at, std::size_t end) {
  while (at < end && tokens[at].kind == Token::Kind::kPragma) ++at;
  if (at >= end) return end;
  if (tokens[at].is("{") && tokens[at].partner < end) return tokens[at].partner + 1;
  if (is_header(tokens[at])) {
    const bool is_if = tokens[at].is("if");
    std::size_t open = at + 1;
    if (open < end && tokens[open].is("constexpr")) ++open;
    if (open >= end || tokens[open].partner >= end) return end;
    std::size_t after = statement_end(tokens, tokens[open].partner + 1, end);
    if (is_if && after < end && tokens[after].is("else"))
      after = statement_end(tokens, after + 1, end);
    return after;
  }
  while (at < end && !tokens[at].is(";")) {
    const bool opens = tokens[at].partner != Token::kNone && tokens[at].partner > at;
    at = opens ? std::min(tokens[at].partner, end) : at + 1;
    if (opens && at < end) ++at;
  }
  return std::min(at + 1, end);
}

/// How often a loop from `first` with `compare` to `limit` runs.
double rounds_of(double first, double limit, double step, std::string_view compare,
                 std::string_view advance) {
  const bool inclusive = compare == "<=" || compare == ">=";
  if (advance == "*=" || advance == "<<=" || advance == "/=" || advance == ">>=") {
    const double factor = advance == "<<=" || advance == ">>=" ? std::exp2(step) : step;
    const double low = std::max(std::min(first, limit), 1.0);
    const double high = std::max(std::max(first, limit), low);
    return factor > 1 ? std::ceil(std::log(high / low) / std::log(factor) + (inclusive ? 1 : 0))
                      : 1;
  }
  if (step == 0) return kUnknownRounds;
  const bool down = advance == "-=" || advance == "--";
  const double span = (down ? first - limit : limit - first) + (inclusive ? 1 : 0);
  return std::clamp(std::ceil(span / std::abs(step)), 0.0, kMostRounds);
}

}  // namespace

KernelWalk::KernelWalk(const std::vector<Token>& tokens,
                       const std::vector<SourceReader::Function>& functions,
                       const ConcreteProgram& program, const ConcreteLaunch& launch)
    : tokens_(tokens), functions_(functions), program_(program), launch_(launch) {}

KernelProfile KernelWalk::run(const SourceReader::Function& kernel) {
  Scope scope;
  bind_parameters(kernel, scope);
  profile_.min_blocks = kernel.min_blocks;
  walk({kernel.body + 1, tokens_[kernel.body].partner}, 1, scope);
  return profile_;
}

void KernelWalk::bind_parameters(const SourceReader::Function& kernel, Scope& scope) const {
  for (const auto& [name, text] : program_.defines) {
    std::int64_t number = 0;
    const auto parsed = Expr::parse(text);
    if (!parsed) continue;
    const auto known = parsed->eval({});
    number = known ? *known : 0;
    if (known) scope.values.emplace(name, number);
  }
  const std::string_view instance = launch_.kernel;
  const std::size_t open = instance.find('<');
  if (open != std::string_view::npos && !kernel.template_names.empty()) {
    std::size_t from = open + 1;
    for (const std::string_view name : kernel.template_names) {
      const std::size_t to = std::min(instance.find_first_of(",>", from), instance.size());
      if (from >= to) break;
      const auto parsed = Expr::parse(instance.substr(from, to - from));
      if (parsed && parsed->is_constant())
        if (const auto number = parsed->eval({})) scope.values[std::string(name)] = *number;
      from = to + 1;
    }
  }
  const auto parameters = split({kernel.parameters + 1, tokens_[kernel.parameters].partner}, ",");
  for (std::size_t i = 0; i < std::min(parameters.size(), launch_.args.size()); ++i) {
    const auto [begin, end] = parameters[i];
    if (begin >= end || !tokens_[end - 1].is_name()) continue;
    const std::string_view name = tokens_[end - 1].text;
    if (std::holds_alternative<BufferIndex>(launch_.args[i])) {
      scope.pointers[name] = {Space::kGlobal, type_bytes({begin, end}, scope)};
    } else if (const auto* number = std::get_if<std::int64_t>(&launch_.args[i])) {
      scope.values[std::string(name)] = *number;
    }
  }
}

std::size_t KernelWalk::after(std::size_t open) const {
  const std::size_t partner = tokens_[open].partner;
  return partner == Token::kNone || partner < open ? open + 1 : partner + 1;
}

/// Indices of a thread's own arrays are worked out by the compiler where the loops are unrolled.
bool KernelWalk::places_memory(std::size_t bracket, const Scope& scope) const {
  return bracket > 0 && scope.pointers.contains(tokens_[bracket - 1].text);
}

void KernelWalk::walk(Range range, double weight, Scope& scope) {
  std::size_t at = range.begin;
  const std::size_t end = std::min(range.end, tokens_.size());
  while (at < end && budget_ > 0) {
    spend(1);
    at = statement(at, end, weight, scope);
  }
}

std::size_t KernelWalk::statement(std::size_t at, std::size_t end, double weight, Scope& scope) {
  const Token& token = tokens_[at];
  switch (token.kind) {
    case Token::Kind::kPragma:
      is_unrolled_ =
          token.text.find("unroll") != std::string_view::npos && !token.text.ends_with("unroll 1");
      return at + 1;
    case Token::Kind::kSymbol:
      if (token.is("[") && !places_memory(at, scope)) return after(at);
      count_symbol(token, weight);
      return at + 1;
    case Token::Kind::kName:
      break;
    default:
      return at + 1;
  }
  const bool opens = at + 1 < end;
  if (token.is("for") && opens) return run_for(at, end, weight, scope);
  if (token.is("while") && opens) return run_while(at, end, weight, scope);
  if (token.is("if") && opens) return run_if(at, end, weight, scope);
  if (token.is("using") && at + 2 < end && tokens_[at + 2].is("=")) {
    const std::size_t stop = statement_end(tokens_, at, end);
    scope.types[tokens_[at + 1].text] = type_bytes({at + 3, stop}, scope);
    return stop;
  }
  return name(at, end, weight, scope);
}

KernelWalk::Loop KernelWalk::loop_of(Range header, Scope& scope) const {
  Loop loop;
  const auto parts = split(header, ";");
  if (parts.size() != 3) return loop;
  std::optional<std::int64_t> first;
  for (std::size_t i = parts[0].begin + 1; i < parts[0].end; ++i) {
    if (!tokens_[i].is("=") || !tokens_[i - 1].is_name()) continue;
    loop.variable = tokens_[i - 1].text;
    first = value(split({i + 1, parts[0].end}, ",").front(), scope);
    break;
  }
  if (loop.variable.empty()) return loop;
  const std::string key(loop.variable);
  if (first) scope.values[key] = *first;
  if (!first) scope.values.erase(key);
  const Range condition = split(parts[1], "&&").front();
  if (condition.end < condition.begin + 3 || !tokens_[condition.begin].is(loop.variable))
    return loop;
  const std::string_view compare = tokens_[condition.begin + 1].text;
  const auto limit = value({condition.begin + 2, condition.end}, scope);
  std::string_view advance = "++";
  std::optional<std::int64_t> step = 1;
  for (std::size_t i = parts[2].begin; i < parts[2].end; ++i) {
    const Token& token = tokens_[i];
    if (token.is("++") || token.is("--")) advance = token.text;
    if (token.kind == Token::Kind::kSymbol && token.text.size() > 1 && token.text.back() == '=') {
      advance = token.text;
      step = value({i + 1, parts[2].end}, scope);
      break;
    }
  }
  if (first && limit && step)
    loop.rounds = rounds_of(static_cast<double>(*first), static_cast<double>(*limit),
                            static_cast<double>(*step), compare, advance);
  if (!(first && limit && step)) loop.variable = {};
  return loop;
}

std::size_t KernelWalk::run_for(std::size_t at, std::size_t end, double weight, Scope& scope) {
  const std::size_t open = at + 1;
  const std::size_t close = tokens_[open].partner;
  if (!tokens_[open].is("(") || close == Token::kNone || close >= end) return at + 1;
  const bool unrolls = std::exchange(is_unrolled_, false);
  const Loop loop = loop_of({open + 1, close}, scope);
  if (loop.variable.empty()) ++profile_.unknown_loops;
  const std::size_t stop = statement_end(tokens_, close + 1, end);
  if (loop.rounds <= 0) return stop;
  const double around = unrolled_;
  if (unrolls) {
    unrolled_ *= loop.rounds;
    profile_.unrolled = std::max(profile_.unrolled, unrolled_);
  } else {
    profile_.loop_rounds += weight * loop.rounds;
    profile_.arithmetic += weight * loop.rounds;
  }
  profile_.deepest = std::max(profile_.deepest, ++loops_);
  if (!loop.variable.empty()) scope.rounds[loop.variable] = loop.rounds;
  walk({close + 1, stop}, weight * loop.rounds, scope);
  if (!loop.variable.empty()) scope.rounds.erase(loop.variable);
  --loops_;
  unrolled_ = around;
  return stop;
}

std::size_t KernelWalk::run_while(std::size_t at, std::size_t end, double weight, Scope& scope) {
  const std::size_t open = at + 1;
  const std::size_t close = tokens_[open].partner;
  if (!tokens_[open].is("(") || close == Token::kNone || close >= end) return at + 1;
  const std::size_t stop = statement_end(tokens_, close + 1, end);
  if (stop == close + 2) return stop;  // "while (…);", of a wait or of a "do"
  ++profile_.unknown_loops;
  profile_.loop_rounds += weight * kUnknownRounds;
  walk({open + 1, stop}, weight * kUnknownRounds, scope);
  return stop;
}

/// Of the rounds around, those in which a condition holds that asks for one round of a loop.
double KernelWalk::share_of(Range condition, const Scope& scope) const {
  if (condition.end != condition.begin + 3 && condition.end != condition.begin + 5) return 1;
  if (!tokens_[condition.begin + 1].is("==")) return 1;
  const auto rounds = scope.rounds.find(tokens_[condition.begin].text);
  return rounds == scope.rounds.end() ? 1 : 1 / rounds->second;
}

std::size_t KernelWalk::run_if(std::size_t at, std::size_t end, double weight, Scope& scope) {
  std::size_t open = at + 1;
  const bool fixed = tokens_[open].is("constexpr");
  if (fixed) ++open;
  if (open >= end || !tokens_[open].is("(") || tokens_[open].partner >= end) return at + 1;
  const Range condition{open + 1, tokens_[open].partner};
  const std::size_t stop = statement_end(tokens_, at, end);
  const std::size_t then = statement_end(tokens_, condition.end + 1, end);
  const auto known = fixed ? value(condition, scope) : std::nullopt;
  const double share = share_of(condition, scope);
  if (!fixed) walk(condition, weight, scope);
  if (!known || *known != 0) walk({condition.end + 1, then}, weight * share, scope);
  // What stands after "else" is another way through, of which one is counted in full.
  const bool other = then < stop && tokens_[then].is("else");
  if (other && known && *known == 0) walk({then + 1, stop}, weight, scope);
  if (other && !known && share < 1) walk({then + 1, stop}, weight * (1 - share), scope);
  return stop;
}

}  // namespace hone::ranking
