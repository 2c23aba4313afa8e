// Names, calls, declarations and what is counted of them.
#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <string>
#include <utility>

#include "engine/search/ranking/kernel_walk.h"

namespace hone::ranking {
namespace {

constexpr int kDeepestCalls = 6;
constexpr std::size_t kLongestValue = 48;  // tokens

constexpr std::array<std::pair<std::string_view, double>, 37> kTypeBytes = {{
    {"char", 1},        {"bool", 1},     {"int8_t", 1},         {"uint8_t", 1},
    {"short", 2},       {"half", 2},     {"__half", 2},         {"__nv_bfloat16", 2},
    {"int16_t", 2},     {"uint16_t", 2}, {"half2", 4},          {"__half2", 4},
    {"int", 4},         {"unsigned", 4}, {"__nv_bfloat162", 4}, {"float", 4},
    {"int32_t", 4},     {"uint32_t", 4}, {"double", 8},         {"long", 8},
    {"int64_t", 8},     {"uint64_t", 8}, {"size_t", 8},         {"float2", 8},
    {"int2", 8},        {"uint2", 8},    {"float3", 12},        {"float4", 16},
    {"int4", 16},       {"uint4", 16},   {"double2", 16},       {"longlong2", 16},
    {"short2", 4},      {"short4", 8},   {"char4", 4},          {"ushort4", 8},
    {"ulonglong2", 16},
}};

constexpr std::array<std::string_view, 27> kSpecialFunctions = {
    "exp",    "expf",   "__expf", "exp2f", "log",    "logf",      "__logf",     "log2f", "sqrt",
    "sqrtf",  "rsqrtf", "sinf",   "cosf",  "__sinf", "__cosf",    "tanhf",      "erff",  "powf",
    "__powf", "expm1f", "log1pf", "rcp",   "erfcf",  "__frcp_rn", "__fdividef", "tanh",  "erf"};

bool is_special(std::string_view name) {
  return std::ranges::find(kSpecialFunctions, name) != kSpecialFunctions.end();
}

bool holds(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// Multiplications and additions of "….m16n8k8.…"; 0: no such shape.
double operations_of_shape(std::string_view text) {
  for (std::size_t at = text.find(".m"); at != std::string_view::npos;
       at = text.find(".m", at + 1)) {
    std::array<double, 3> extents{};
    std::size_t i = at + 1;
    for (std::size_t part = 0; part < 3 && i < text.size() && text[i] == "mnk"[part]; ++part) {
      ++i;
      while (i < text.size() && std::isdigit(static_cast<unsigned char>(text[i])) != 0)
        extents[part] = 10 * extents[part] + (text[i++] - '0');
    }
    if (extents[0] > 0 && extents[1] > 0 && extents[2] > 0)
      return 2 * extents[0] * extents[1] * extents[2];
  }
  return 0;
}

/// Of "ld.global.v4.f32" [B].
double bytes_of_instruction(std::string_view text) {
  double bytes = 4;
  for (const auto& [suffix, size] : {std::pair{"64", 8.0}, {"16", 2.0}, {"128", 16.0}})
    if (holds(text, std::string(".b") + suffix) || holds(text, std::string(".u") + suffix))
      bytes = size;
  return holds(text, ".v4") ? 4 * bytes : holds(text, ".v2") ? 2 * bytes : bytes;
}

}  // namespace

std::vector<KernelWalk::Range> KernelWalk::split(Range range, std::string_view separator) const {
  std::vector<Range> parts(1, {range.begin, range.begin});
  std::size_t i = range.begin;
  const std::size_t end = std::min(range.end, tokens_.size());
  while (i < end && budget_ > 0) {
    spend(1);
    if (tokens_[i].is(separator)) {
      parts.back().end = i++;
      parts.push_back({i, i});
    } else {
      i = std::min(after(i), end);
    }
  }
  parts.back().end = end;
  return parts;
}

/// A thread of the first block, the first of it, asks.
std::optional<std::int64_t> KernelWalk::value(Range range, const Scope& scope) const {
  if (range.begin >= range.end || range.end - range.begin > kLongestValue) return std::nullopt;
  std::string text;
  for (std::size_t i = range.begin; i < range.end; ++i) {
    const Token& token = tokens_[i];
    const std::string_view name = token.text;
    if (token.kind == Token::Kind::kText) return std::nullopt;
    if (name.starts_with("threadIdx.") || name.starts_with("blockIdx.")) {
      text += "0";
    } else if (name.starts_with("blockDim.") || name.starts_with("gridDim.")) {
      const Dim3& extents = name[0] == 'b' ? launch_.block : launch_.grid;
      text +=
          std::to_string(extents[static_cast<std::size_t>(std::clamp(name.back() - 'x', 0, 2))]);
    } else if (token.kind == Token::Kind::kNumber) {
      if (holds(name, ".") || holds(name, "x")) return std::nullopt;
      text += name.substr(0, name.find_first_not_of("0123456789"));
    } else if (token.is("(") && token.partner == i + 2 && type_bytes({i + 1, i + 2}, scope) > 0) {
      i += 2;  // "(int)"
    } else if (token.is("sizeof") && i + 1 < range.end && tokens_[i + 1].partner < range.end) {
      const auto variable = scope.sizes.find(tokens_[i + 2].text);
      const double bytes = variable != scope.sizes.end()
                               ? variable->second
                               : type_bytes({i + 2, tokens_[i + 1].partner}, scope);
      if (bytes <= 0) return std::nullopt;
      text += std::to_string(static_cast<int>(bytes));
      i = tokens_[i + 1].partner;
    } else if (token.is("static_cast") && i + 3 < range.end && tokens_[i + 3].is(">")) {
      i += 3;
    } else {
      text += name;
    }
    text += ' ';
  }
  const auto parsed = Expr::parse(text);
  if (!parsed) return std::nullopt;
  const auto number = parsed->eval(scope.values);
  return number ? std::optional(*number) : std::nullopt;
}

/// The first type or variable that is named, of "T<type, count>" all of it [B]; 0: none is.
double KernelWalk::type_bytes(Range range, const Scope& scope) const {
  for (std::size_t i = range.begin; i < std::min(range.end, tokens_.size()); ++i) {
    if (!tokens_[i].is_name()) continue;
    double bytes = 0;
    const auto known =
        std::ranges::find(kTypeBytes, tokens_[i].text, &std::pair<std::string_view, double>::first);
    if (known != kTypeBytes.end()) bytes = known->second;
    if (const auto named = scope.types.find(tokens_[i].text); named != scope.types.end())
      bytes = named->second;
    if (bytes <= 0) continue;
    const bool packed =
        i + 3 < range.end && i > 1 && tokens_[i - 1].is("<") && tokens_[i + 1].is(",");
    std::size_t close = i + 2;
    while (packed && close + 1 < range.end && !tokens_[close].is(">")) ++close;
    const auto count = packed ? value({i + 2, close}, scope) : std::nullopt;
    return bytes * static_cast<double>(count.value_or(1));
  }
  return 0;
}

const KernelWalk::Pointer* KernelWalk::pointer_in(Range range, const Scope& scope) const {
  for (std::size_t i = range.begin; i < std::min(range.end, tokens_.size()); ++i) {
    spend(1);
    if (!tokens_[i].is_name()) continue;
    const auto found = scope.pointers.find(tokens_[i].text);
    if (found != scope.pointers.end()) return &found->second;
  }
  return nullptr;
}

std::size_t KernelWalk::name(std::size_t at, std::size_t end, double weight, Scope& scope) {
  const std::string_view text = tokens_[at].text;
  if (at + 1 >= end) return at + 1;
  const Token& next = tokens_[at + 1];
  if (text == "asm") {
    std::size_t open = at + 1;
    while (open < end && !tokens_[open].is("(")) ++open;
    if (open >= end) return end;
    for (std::size_t i = open; i + 3 < after(open); ++i)
      if (tokens_[i].is("\"n\"") && tokens_[i + 1].is("("))
        if (const auto bytes = value({i + 2, tokens_[i + 1].partner}, scope))
          copy_bytes_ = static_cast<double>(*bytes);
    for (std::size_t i = open; i < after(open); ++i)
      if (tokens_[i].kind == Token::Kind::kText) count_text(tokens_[i].text, weight);
    return after(open);
  }
  const bool dereferenced = at > 0 && tokens_[at - 1].is("*");
  if (text == "reinterpret_cast" && dereferenced) return reinterpreted(at, end, weight, scope);
  if (next.is("(")) return call(at, at + 1, weight, scope);
  if (next.is("<")) {
    std::size_t open = at + 2;
    while (open < end && open < at + 24 && !tokens_[open].is("(") && !tokens_[open].is(";")) ++open;
    const bool calls = open < end && tokens_[open].is("(") && tokens_[open - 1].is(">");
    return calls ? call(at, open, weight, scope) : at + 1;
  }
  const Token& before = tokens_[at > 0 ? at - 1 : 0];
  const bool declared =
      before.is_name() || before.is(">") || before.is("*") || before.is(",") || before.is("&");
  const bool sized = (next.is("=") || next.is(";") || next.is("[")) &&
                     (before.is(">") || (before.is_name() && !before.is("return")));
  if (sized && !scope.pointers.contains(text)) {
    std::size_t begin = at;
    while (begin > 0 && at - begin < 10 && !tokens_[begin - 1].is(";") &&
           !tokens_[begin - 1].is("{") && !tokens_[begin - 1].is("}"))
      --begin;
    if (const double bytes = type_bytes({begin, at}, scope); bytes > 0) scope.sizes[text] = bytes;
  }
  if (next.is("=") && declared) {
    declare(at, end, scope);
    const std::size_t lambda = at + 2;
    const auto known = scope.lambdas.find(text);
    if (lambda < end && tokens_[lambda].is("[") && known != scope.lambdas.end())
      return after(known->second.body);
    return at + 1;
  }
  if (!next.is("[")) return at + 1;
  const auto pointer = scope.pointers.find(text);
  if (pointer == scope.pointers.end()) {
    if (declared && !before.is("return")) declare_array(at, end, scope);
    return at + 1;
  }
  // "&x[i]" is a place; who reads there counts it.
  const bool address = before.is("&") && at > 1 && tokens_[at - 2].kind == Token::Kind::kSymbol &&
                       !tokens_[at - 2].is(")") && !tokens_[at - 2].is("]");
  if (!address) count_access(pointer->second, pointer->second.element_bytes, weight);
  return at + 1;
}

/// "__ldcs(reinterpret_cast<const uint4*>(from) + i)", "__stcg(&y[i], …)". False: it is another.
bool KernelWalk::count_hinted(std::string_view name, Range arguments, double weight,
                              const Scope& scope) {
  if (!name.starts_with("__ld") && !name.starts_with("__st")) return false;
  const Range place = split(arguments, ",").front();
  const Pointer* const pointer = pointer_in(place, scope);
  if (pointer == nullptr) return false;
  bool cast = false;
  for (std::size_t i = place.begin; i < place.end; ++i)
    cast = cast || tokens_[i].is("reinterpret_cast");
  const double bytes = cast ? type_bytes(place, scope) : 0;
  count_access(*pointer, bytes > 0 ? bytes : pointer->element_bytes, weight);
  return true;
}

/// The arguments are walked by the caller.
std::size_t KernelWalk::call(std::size_t at, std::size_t open, double weight, Scope& scope) {
  const std::string_view text = tokens_[at].text;
  if (count_function(text, weight) || tokens_[open].partner == Token::kNone) return at + 1;
  const Range arguments{open + 1, tokens_[open].partner};
  if (count_hinted(text, arguments, weight, scope)) return at + 1;
  if (const auto lambda = scope.lambdas.find(text); lambda != scope.lambdas.end()) {
    enter(lambda->second.parameters, lambda->second.body, arguments, weight, scope);
    return at + 1;
  }
  const auto function = std::ranges::find(functions_, text, &SourceReader::Function::name);
  if (function == functions_.end()) return at + 1;
  Scope inside;
  inside.types = scope.types;
  inside.rounds = scope.rounds;
  if (open > at + 2) {
    const auto given = split({at + 2, open - 1}, ",");
    for (std::size_t i = 0; i < std::min(given.size(), function->template_names.size()); ++i)
      if (const auto number = value(given[i], scope))
        inside.values[std::string(function->template_names[i])] = *number;
  }
  bind_arguments(*function, arguments, scope, inside);
  enter(Token::kNone, function->body, {}, weight, std::move(inside));
  return at + 1;
}

/// Those of a function or lambda; "const Pack<T, kN>& pack" is one.
std::vector<KernelWalk::Range> KernelWalk::parameters_at(std::size_t open) const {
  std::vector<Range> parameters(1, {open + 1, open + 1});
  int depth = 0;
  bool given = false;  // after "=", which is no part of it
  for (std::size_t i = open + 1; i < tokens_[open].partner && budget_ > 0; ++i) {
    spend(1);
    if (tokens_[i].is("<")) ++depth;
    if (tokens_[i].is(">")) --depth;
    if (tokens_[i].is("=")) given = true;
    if (tokens_[i].is(",") && depth == 0) {
      parameters.push_back({i + 1, i + 1});
      given = false;
    } else if (!given) {
      parameters.back().end = i + 1;
    }
  }
  return parameters;
}

/// Values, places in memory and types; of a template also what follows from them.
void KernelWalk::bind_arguments(const SourceReader::Function& function, Range arguments,
                                const Scope& scope, Scope& inside) const {
  const auto parameters = parameters_at(function.parameters);
  const auto given = split(arguments, ",");
  const auto is_template_name = [&](std::size_t at) {
    return std::ranges::find(function.template_names, tokens_[at].text) !=
           function.template_names.end();
  };
  for (std::size_t i = 0; i < std::min(parameters.size(), given.size()); ++i) {
    const Range parameter = parameters[i];
    if (parameter.end <= parameter.begin || !tokens_[parameter.end - 1].is_name()) continue;
    const std::string_view name = tokens_[parameter.end - 1].text;
    if (const auto number = value(given[i], scope)) inside.values[std::string(name)] = *number;
    if (const Pointer* const pointer = pointer_in(given[i], scope)) {
      inside.pointers[name] = *pointer;
      for (std::size_t at = parameter.begin; at + 1 < parameter.end; ++at)
        if (is_template_name(at)) inside.types.emplace(tokens_[at].text, pointer->element_bytes);
      if (const double bytes = type_bytes(parameter, inside); bytes > 0)
        inside.pointers[name].element_bytes = bytes;
    }
    if (given[i].begin >= given[i].end) continue;
    const auto size = scope.sizes.find(tokens_[given[i].begin].text);
    if (size == scope.sizes.end()) continue;
    inside.sizes[name] = size->second;
    for (std::size_t at = parameter.begin + 2; at + 1 < parameter.end; ++at) {
      const double element = type_bytes({at - 1, at}, inside);
      if (tokens_[at].is(",") && element > 0 && is_template_name(at + 1))
        inside.values.emplace(tokens_[at + 1].text,
                              static_cast<std::int64_t>(size->second / element));
    }
  }
}

/// A body with the values of its parameters; `scope` is a copy, which ends with it.
void KernelWalk::enter(std::size_t parameters, std::size_t body, Range arguments, double weight,
                       Scope scope) {
  if (depth_ >= kDeepestCalls || weight <= 0) return;
  if (parameters != Token::kNone) {
    const auto names = parameters_at(parameters);
    const auto given = split(arguments, ",");
    for (std::size_t i = 0; i < std::min(names.size(), given.size()); ++i) {
      if (names[i].end <= names[i].begin) continue;
      const std::string_view name = tokens_[names[i].end - 1].text;
      if (const auto number = value(given[i], scope)) scope.values[std::string(name)] = *number;
    }
  }
  ++depth_;
  walk({body + 1, tokens_[body].partner}, weight, scope);
  --depth_;
}

/// "*reinterpret_cast<const float4*>(&x[i])".
std::size_t KernelWalk::reinterpreted(std::size_t at, std::size_t end, double weight,
                                      Scope& scope) {
  std::size_t open = at + 1;
  while (open < end && !tokens_[open].is("(")) ++open;
  if (open >= end) return end;
  const Range argument{open + 1, tokens_[open].partner};
  const Pointer* const pointer = pointer_in(argument, scope);
  const double bytes = type_bytes({at + 1, open}, scope);
  if (pointer != nullptr) count_access(*pointer, bytes > 0 ? bytes : 4, weight);
  return after(open);
}

/// "int n = …", "const float* p = …", "const auto f = [&](int i) {…}".
void KernelWalk::declare(std::size_t at, std::size_t end, Scope& scope) {
  const std::string_view text = tokens_[at].text;
  const std::size_t first = at + 2;
  if (first >= end) return;
  if (tokens_[first].is("[")) {
    const std::size_t parameters = after(first);
    if (parameters >= end || !tokens_[parameters].is("(")) return;
    std::size_t body = after(parameters);
    const std::size_t far = std::min(end, body + kLongestValue);
    while (body < far && !tokens_[body].is("{") && !tokens_[body].is(";")) ++body;
    if (body == far) return;
    if (body < end && tokens_[body].is("{") && tokens_[body].partner != Token::kNone)
      scope.lambdas[text] = {parameters, body};
    return;
  }
  std::size_t last = first;
  while (last < end && budget_ > 0 && !tokens_[last].is(";") && !tokens_[last].is(",")) {
    spend(1);
    last = after(last);
  }
  const Range right{first, std::min(last, end)};
  std::size_t begin = at;
  while (begin > 0 && at - begin < 10 && tokens_[begin - 1].kind != Token::Kind::kPragma &&
         !tokens_[begin - 1].is(";") && !tokens_[begin - 1].is("{") && !tokens_[begin - 1].is("}"))
    --begin;
  std::size_t kind = at - 1;
  while (kind > begin && (tokens_[kind].is("const") || tokens_[kind].is("__restrict__"))) --kind;
  if (tokens_[kind].is("*")) {
    const Pointer* const from = pointer_in(right, scope);
    if (from == nullptr) return;
    Pointer made = *from;
    if (const double bytes = type_bytes({begin, at}, scope); bytes > 0) made.element_bytes = bytes;
    scope.pointers[text] = made;
  } else if (const auto number = value(right, scope)) {
    scope.values[std::string(text)] = *number;
  } else {
    scope.values.erase(std::string(text));
  }
}

/// "__shared__ float tile[2][64]", "float sums[8][4]".
void KernelWalk::declare_array(std::size_t at, std::size_t end, Scope& scope) {
  std::size_t begin = at;
  while (begin > 0 && at - begin < 16 && !tokens_[begin - 1].is(";") &&
         !tokens_[begin - 1].is("{") && !tokens_[begin - 1].is("}"))
    --begin;
  bool shared = false, outside = false;
  for (std::size_t i = begin; i < at; ++i) {
    shared = shared || tokens_[i].is("__shared__");
    outside = outside || tokens_[i].is("extern");
  }
  const double element = type_bytes({begin, at}, scope);
  if (element <= 0) return;
  if (shared) scope.pointers[tokens_[at].text] = {Space::kShared, element};
  if (outside) return;
  double bytes = element;
  for (std::size_t i = at + 1; i < end && tokens_[i].is("["); i = after(i))
    bytes *= static_cast<double>(value({i + 1, tokens_[i].partner}, scope).value_or(1));
  (shared ? profile_.static_shared : profile_.local_bytes) += bytes;
}

void KernelWalk::count_access(const Pointer& pointer, double bytes, double weight) {
  if (pointer.space == Space::kGlobal) {
    profile_.global_accesses += weight;
    profile_.global_bytes += weight * bytes;
    profile_.widest_global = std::max(profile_.widest_global, bytes);
  } else if (pointer.space == Space::kShared) {
    profile_.shared_accesses += weight;
    profile_.shared_bytes += weight * bytes;
  }
}

void KernelWalk::count_symbol(const Token& token, double weight) {
  static constexpr std::array<std::string_view, 6> kAdding = {"+", "-", "*", "+=", "-=", "*="};
  if (std::ranges::find(kAdding, token.text) != kAdding.end()) profile_.arithmetic += weight;
  if (token.is("/") || token.is("%") || token.is("/=")) profile_.divisions += weight;
}

bool KernelWalk::count_function(std::string_view name, double weight) {
  if (is_special(name)) {
    profile_.special += weight;
  } else if (name.starts_with("fma")) {
    profile_.arithmetic += 2 * weight;
  } else if (name.starts_with("fmax") || name.starts_with("fmin")) {
    profile_.arithmetic += weight;
  } else if (name.starts_with("__syncthreads")) {
    profile_.barriers += weight;
  } else if (name.starts_with("__shfl") || name.starts_with("__reduce_")) {
    profile_.shuffles += weight;
  } else if (name.starts_with("atomic")) {
    profile_.atomics += weight;
  } else {
    return false;
  }
  return true;
}

void KernelWalk::count_text(std::string_view text, double weight) {
  if (holds(text, "wgmma.mma_async")) {
    profile_.tensor += weight * operations_of_shape(text) / 128;
    profile_.warpgroup = 1;
  } else if (holds(text, "mma.sync")) {
    profile_.tensor += weight * operations_of_shape(text) / 32;
  }
  if (holds(text, "cp.async.bulk")) {
    profile_.bulk_copies += weight;
  } else if (holds(text, "cp.async.c") && !holds(text, "commit")) {
    profile_.async_copies += weight;
    profile_.async_bytes += weight * (holds(text, ", 16") ? 16 : copy_bytes_);
  }
  if (holds(text, "ldmatrix")) profile_.matrix_loads += weight;
  if (holds(text, "bar.sync") || holds(text, "barrier.sync") || holds(text, "try_wait"))
    profile_.barriers += weight;
  if (holds(text, "cluster")) profile_.clusters = 1;
  if (holds(text, "\"red.") || holds(text, "atom.") || holds(text, " red."))
    profile_.atomics += weight;
  if (holds(text, "ex2.") || holds(text, "rcp.")) profile_.special += weight;
  const bool loads = holds(text, "ld.global") || holds(text, "st.global");
  if (loads) count_access({Space::kGlobal, 4}, bytes_of_instruction(text), weight);
}

}  // namespace hone::ranking
