#include "evaluator/device/emulator/ptx/parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <cstring>

#include "evaluator/device/emulator/ptx/cfg.h"
#include "evaluator/device/emulator/ptx/cost.h"
#include "evaluator/device/emulator/ptx/loads.h"
#include "evaluator/device/emulator/ptx/straight.h"

namespace hone::emulator {

std::optional<Type> parse_type(std::string_view w) {
  static const std::unordered_map<std::string_view, Type> kTypes = {
      {"u8", {Type::kUnsigned, 8}},
      {"u16", {Type::kUnsigned, 16}},
      {"u32", {Type::kUnsigned, 32}},
      {"u64", {Type::kUnsigned, 64}},
      {"s8", {Type::kSigned, 8}},
      {"s16", {Type::kSigned, 16}},
      {"s32", {Type::kSigned, 32}},
      {"s64", {Type::kSigned, 64}},
      {"b8", {Type::kBits, 8}},
      {"b16", {Type::kBits, 16}},
      {"b32", {Type::kBits, 32}},
      {"b64", {Type::kBits, 64}},
      {"b128", {Type::kBits, 128}},
      {"f16", {Type::kFloat, 16}},
      {"f32", {Type::kFloat, 32}},
      {"f64", {Type::kFloat, 64}},
      {"bf16", {Type::kBFloat, 16}},
      {"f16x2", {Type::kFloat, 32, true}},
      {"bf16x2", {Type::kBFloat, 32, true}},
      {"pred", {Type::kPred, 1}},
      {"u16x2", {Type::kUnsigned, 32, true}},
      {"s16x2", {Type::kSigned, 32, true}},
      {"tf32", {Type::kOther, 32}},
      {"e4m3x2", {Type::kOther, 16}},
      {"e5m2x2", {Type::kOther, 16}},
      {"f32x2", {Type::kFloat, 64, true}}};
  const auto it = kTypes.find(w);
  if (it == kTypes.end()) return std::nullopt;
  return it->second;
}

std::vector<std::string_view> split_opcode(std::string_view opcode) {
  std::vector<std::string_view> words;
  std::size_t start = 0;
  while (start <= opcode.size()) {
    const std::size_t dot = opcode.find('.', start);
    words.push_back(opcode.substr(start, dot - start));
    if (dot == std::string_view::npos) break;
    start = dot + 1;
  }
  return words;
}

Parser::Parser(std::string_view text, ModuleImpl& module)
    : text_(text), tokens_(tokenize(text)), module_(module) {
  scopes_.emplace_back();
}

const Token& Parser::peek(int ahead) const {
  return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
}
Token Parser::next() { return tokens_[at_ < tokens_.size() - 1 ? at_++ : at_]; }
bool Parser::accept(std::string_view text) {
  if (peek().text != text || peek().kind == Token::Kind::kEnd) return false;
  ++at_;
  return true;
}
void Parser::expect(std::string_view text) {
  if (!accept(text)) error(fmt::format("expected '{}', found '{}'", text, peek().text));
}
void Parser::error(const std::string& what) const {
  throw ParseError(fmt::format("PTX line {}: {}", peek().line, what));
}
void Parser::skip_to_semicolon() {
  while (peek().kind != Token::Kind::kEnd && !accept(";")) ++at_;
}

std::uint64_t Parser::integer(std::string_view word) const {
  std::string s(word);
  int base = 10;
  if (s.size() > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X')) {
    base = 16;
  } else if (s.size() > 2 && s[0] == '0' && (s[1] == 'b' || s[1] == 'B')) {
    s = s.substr(2);
    base = 2;
  } else if (s.size() > 1 && s[0] == '0') {
    base = 8;
  }
  while (!s.empty() && s.back() == 'U') s.pop_back();
  char* end = nullptr;
  const std::uint64_t value = std::strtoull(s.c_str(), &end, base);
  if (s.empty() || *end != 0) error(fmt::format("'{}' is not an integer", word));
  return value;
}

std::int64_t Parser::signed_integer() {
  const bool negative = accept("-");
  if (!negative) accept("+");
  const auto value = static_cast<std::int64_t>(integer(next().text));
  return negative ? -value : value;
}

void Parser::parse() {
  static std::atomic<std::uint64_t> ids{0};
  module_.id = ids.fetch_add(1) % 4096;
  if (peek().text != ".version") error("a module starts with .version");
  // The user's file is the one the first entry's body begins in; helpers may come from headers.
  for (std::size_t i = 0, entry = 0; i + 1 < tokens_.size() && user_file_ < 0; ++i) {
    if (tokens_[i].text == ".entry") entry = 1;
    if (tokens_[i].text == ".loc" && entry)
      user_file_ = static_cast<int>(integer(tokens_[i + 1].text));
  }
  module_.user_file = user_file_;
  while (peek().kind != Token::Kind::kEnd) {
    const Token t = next();
    if (t.text == ".version" || t.text == ".address_size") {
      next();
    } else if (t.text == ".target") {
      next();
      while (accept(",")) next();
    } else if (t.text == ".visible" || t.text == ".extern" || t.text == ".weak" ||
               t.text == ".common") {
      continue;
    } else if (t.text == ".global" || t.text == ".const" || t.text == ".shared") {
      variable(t.text == ".global"  ? Space::kGlobal
               : t.text == ".const" ? Space::kConst
                                    : Space::kShared,
               true);
    } else if (t.text == ".entry" || t.text == ".func") {
      function(t.text == ".entry");
    } else if (t.text == ".file") {
      file_name();
    } else if (t.text == ".section") {
      while (peek().kind != Token::Kind::kEnd && !accept("{")) ++at_;
      while (peek().kind != Token::Kind::kEnd && !accept("}")) ++at_;
    } else if (t.text == ".pragma" || t.text == ".alias" || t.text == ".attribute") {
      skip_to_semicolon();
    } else if (t.text == ";") {
      continue;
    } else {
      --at_;
      error(fmt::format("unexpected '{}'", t.text));
    }
  }
  for (Function& f : module_.functions) {
    if (!f.defined) continue;
    find_reconvergence(f);
    find_unread(f);
    find_guesses(f);
    find_choices(f);
    plan_issue(f);
    straighten(f);
  }
}

std::uint64_t Parser::scalar_initialiser() {
  const bool negative = accept("-");
  const Token t = next();
  std::uint64_t value = 0;
  if (t.text == "generic") {
    expect("(");
    value = scalar_initialiser();
    expect(")");
  } else if (t.text.size() > 2 && t.text[0] == '0' &&
             (t.text[1] == 'f' || t.text[1] == 'F' || t.text[1] == 'd' || t.text[1] == 'D')) {
    value = std::strtoull(std::string(t.text.substr(2)).c_str(), nullptr, 16);
  } else if (std::isdigit(static_cast<unsigned char>(t.text[0]))) {
    value = integer(t.text);
  } else if (const Symbol* symbol = lookup(t.text)) {
    value = symbol->address;
  } else {
    value = kFunctionBase + function_index(t.text);
  }
  if (peek().text == "+" || peek().text == "-") value += signed_integer();
  return negative ? 0 - value : value;
}

void Parser::initialiser(std::uint64_t element, std::vector<std::uint8_t>& out) {
  if (accept("{")) {
    while (!accept("}")) {
      initialiser(element, out);
      accept(",");
    }
    return;
  }
  const std::uint64_t value = scalar_initialiser();
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(&value);
  out.insert(out.end(), bytes, bytes + element);
}

void Parser::variable(Space space, bool module_scope) {
  std::uint64_t align = 0;
  std::uint64_t element = 0;
  std::uint64_t vector = 1;
  while (peek().text.starts_with(".")) {
    const Token t = next();
    if (t.text == ".align") {
      align = integer(next().text);
    } else if (t.text == ".v2" || t.text == ".v4") {
      vector = t.text == ".v2" ? 2 : 4;
    } else if (t.text == ".attribute") {
      expect("(");
      while (!accept(")")) ++at_;
    } else if (auto type = parse_type(t.text.substr(1))) {
      element = std::max(1, type->bits / 8);
    } else if (t.text == ".texref" || t.text == ".surfref" || t.text == ".samplerref") {
      element = 8;
    }
  }
  if (element == 0) error("variable without a type");
  do {
    const std::string_view name = next().text;
    std::uint64_t count = 1;
    bool unsized = false;
    while (accept("[")) {
      if (accept("]")) {
        unsized = true;
        continue;
      }
      count *= integer(next().text);
      expect("]");
    }
    Symbol symbol;
    symbol.kind = Symbol::Kind::kVariable;
    symbol.space = space;
    const std::uint64_t bytes = unsized ? 0 : element * vector * count;
    const std::uint64_t alignment = std::max<std::uint64_t>(align, element);
    std::vector<std::uint8_t> init;
    const auto round = [&](auto value) { return (value + alignment - 1) / alignment * alignment; };
    std::uint64_t address = 0;
    std::uint32_t padding = 0;
    switch (space) {
      case Space::kGlobal:
        address = kModuleBase + module_.id % kModules * kWindowBytes + global_bytes_;
        global_bytes_ = (global_bytes_ + bytes + 1024) / 512 * 512;
        break;
      case Space::kConst:
        module_.const_bank.resize(round(module_.const_bank.size()) + bytes);
        address = kConstBase + module_.const_bank.size() - bytes;
        break;
      case Space::kShared: {
        // A device function's own variables are placed like the module's: any kernel may call it.
        const bool module_wide = module_scope || !module_.functions[current_].entry;
        if (unsized) {
          // Dynamic shared memory starts after the static part, known once the kernel is read:
          // marked, and resolved by the run.
          address = UINT32_MAX;
          module_.dynamic_alignment =
              std::max(module_.dynamic_alignment, static_cast<std::uint32_t>(alignment));
          break;
        }
        std::uint32_t& top = module_wide ? module_shared_bytes_ : shared_bytes_;
        top = static_cast<std::uint32_t>(round(top));
        address = top;
        const std::uint64_t vector = std::min<std::uint64_t>(alignment, 16);
        padding = static_cast<std::uint32_t>((vector - bytes % vector) % vector);
        top += static_cast<std::uint32_t>(bytes) + padding;
        module_.shared.push_back({std::string(name), static_cast<std::uint32_t>(address),
                                  static_cast<std::uint32_t>(bytes), module_wide ? -1 : current_});
        break;
      }
      case Space::kLocal: {
        Function& f = module_.functions[current_];
        f.local_bytes = static_cast<std::uint32_t>(round(f.local_bytes));
        address = f.local_bytes;
        f.local_bytes += static_cast<std::uint32_t>(bytes);
        break;
      }
      case Space::kParam:
      case Space::kFormal:
        symbol.space = Space::kFormal;
        address = formal_area(bytes, alignment);
        break;
      default:
        error("variable in an unknown space");
    }
    symbol.address = address;
    symbol.bytes = bytes;
    symbol.padding = padding;
    scopes_[scope_].symbols[name] = symbol;  // before the initialiser: it may name itself
    if (accept("=")) initialiser(element, init);
    if (space == Space::kConst && !init.empty()) {
      init.resize(bytes);
      std::memcpy(module_.const_bank.data() + (address - kConstBase), init.data(), bytes);
    }
    if (space == Space::kGlobal) {
      init.resize(bytes);
      module_.globals.push_back({std::string(name), address, bytes, std::move(init)});
    }
  } while (accept(","));
  expect(";");
}

std::uint32_t Parser::formal_area(std::uint64_t bytes, std::uint64_t align) {
  Function& f = module_.functions[current_];
  align = std::max<std::uint64_t>(align, 8);
  f.formal_bytes = static_cast<std::uint32_t>((f.formal_bytes + align - 1) / align * align);
  const std::uint32_t at = f.formal_bytes;
  f.formal_bytes += static_cast<std::uint32_t>(bytes);
  return at;
}

int Parser::function_index(std::string_view name) {
  const auto [it, fresh] =
      function_names_.try_emplace(name, static_cast<int>(module_.functions.size()));
  if (fresh) {
    module_.functions.emplace_back();
    module_.functions.back().name = std::string(name);
  }
  return it->second;
}

std::vector<Parser::Formal> Parser::parameter_list(bool entry, Kernel* kernel) {
  std::vector<Formal> list;
  std::uint32_t offset = 0;
  expect("(");
  while (!accept(")")) {
    std::uint64_t align = 0;
    std::uint64_t element = 1;
    Parameter parameter;
    bool array = false;
    Formal formal;
    while (peek().text.starts_with(".")) {
      const Token t = next();
      if (t.text == ".align") {
        const std::uint64_t value = integer(next().text);
        if (!parameter.pointer) align = value;  // after .ptr it is the pointee's
      } else if (t.text == ".ptr") {
        parameter.pointer = true;
      } else if (auto type = parse_type(t.text.substr(1))) {
        element = std::max(1, type->bits / 8);
        formal.type = *type;
        parameter.kind = type->kind == Type::kFloat                     ? Parameter::Kind::kFloat
                         : type->kind == Type::kBits && type->bits < 32 ? Parameter::Kind::kBits
                                                                        : Parameter::Kind::kInteger;
      } else if (t.text == ".reg") {
        formal.in_register = true;
      }
    }
    const std::string_view name = next().text;
    std::uint64_t count = 1;
    while (accept("[")) {
      array = true;
      count *= peek().text == "]" ? 0 : integer(next().text);
      expect("]");
    }
    if (array) parameter.kind = Parameter::Kind::kBits;
    align = std::max(align, element);
    const auto bytes = static_cast<std::uint32_t>(element * count);
    std::uint32_t at;
    if (entry) {
      offset = static_cast<std::uint32_t>((offset + align - 1) / align * align);
      at = offset;
      offset += bytes;
      parameter.offset = static_cast<int>(at);
      parameter.bytes = static_cast<int>(bytes);
      kernel->parameters.push_back(parameter);
      kernel->parameter_bytes = static_cast<int>(offset);
    } else {
      at = formal_area(bytes, align);
    }
    formal.name = name;
    formal.area = {at, at, bytes};
    list.push_back(formal);
    accept(",");
  }
  return list;
}

bool Parser::body_has(std::size_t body_begin, std::string_view opcode) const {
  int depth = 0;
  for (std::size_t i = body_begin; i < tokens_.size(); ++i) {
    if (tokens_[i].text == "{") ++depth;
    if (tokens_[i].text == "}" && --depth == 0) break;
    if (tokens_[i].kind == Token::Kind::kWord && tokens_[i].text.starts_with(opcode)) return true;
  }
  return false;
}

bool Parser::uses_module_shared(std::size_t body_begin) const {
  int depth = 0;
  for (std::size_t i = body_begin; i < tokens_.size(); ++i) {
    if (tokens_[i].text == "{") ++depth;
    if (tokens_[i].text == "}" && --depth == 0) break;
    if (tokens_[i].kind != Token::Kind::kWord) continue;
    if (tokens_[i].text == "call" || tokens_[i].text.starts_with("call.")) return true;
    const auto it = scopes_[0].symbols.find(tokens_[i].text);
    if (it != scopes_[0].symbols.end() && it->second.space == Space::kShared &&
        it->second.address != UINT32_MAX) {
      return true;
    }
  }
  return false;
}

void Parser::function(bool entry) {
  Kernel kernel;
  std::vector<Formal> returns, formals;
  // The name decides the function, and comes after the return list: look ahead.
  std::size_t save = at_;
  if (!entry && peek().text == "(")
    while (peek().kind != Token::Kind::kEnd && !accept(")")) ++at_;
  const std::string_view name = next().text;
  at_ = save;
  const int index = function_index(name);
  current_ = index;
  module_.functions[index].formal_bytes = 0;
  if (!entry && peek().text == "(") returns = parameter_list(false, nullptr);
  next();  // the name
  kernel.name = std::string(name);
  if (peek().text == "(") formals = parameter_list(entry, &kernel);
  {
    Function& f = module_.functions[index];
    f.entry = entry;
    f.formals.clear();
    f.returns.clear();
    for (const Formal& p : formals) f.formals.push_back(p.area);
    for (const Formal& p : returns) f.returns.push_back(p.area);
  }
  while (peek().text.starts_with(".")) {
    const Token t = next();
    if (t.text == ".maxntid" || t.text == ".reqntid") {
      kernel.max_threads = static_cast<int>(integer(next().text));
      while (accept(",")) kernel.max_threads *= static_cast<int>(integer(next().text));
    } else if (t.text == ".reqnctapercluster") {
      kernel.cluster = {static_cast<std::uint32_t>(integer(next().text)), 1, 1};
      for (int i = 1; i < 3 && accept(","); ++i)
        kernel.cluster[i] = static_cast<std::uint32_t>(integer(next().text));
    } else {
      while (peek().text != "{" && peek().text != ";" && !peek().text.starts_with(".")) ++at_;
    }
  }
  if (accept(";")) return;  // a prototype
  if (peek().text != "{") error("expected a function body");
  // Module-scope shared variables come first, where this kernel can reach them.
  const bool module_shared = entry && module_shared_bytes_ > 0 && uses_module_shared(at_);
  shared_bytes_ = module_shared ? module_shared_bytes_ : 0;
  module_.functions[index].module_shared = module_shared;
  while (scopes_.size() > 1) scopes_.pop_back();
  tables_.clear();
  uses_.clear();
  seeds_.clear();
  declared_.clear();
  for (auto& [name, symbol] : scopes_[0].symbols) symbol.variable = 0;
  slot_bytes_ = 0;
  line_ = 0;
  location_ = -1;
  scopes_.emplace_back();
  scopes_.back().parent = 0;
  scope_ = 1;
  const auto add = [&](const Formal& p) {
    if (p.in_register) {
      scopes_[1].symbols[p.name] = make_register(p.type);
      return;
    }
    Symbol symbol;
    symbol.kind = Symbol::Kind::kVariable;
    symbol.space = entry ? Space::kParam : Space::kFormal;
    symbol.address = p.area.from;
    symbol.bytes = p.area.bytes;
    scopes_[1].symbols[p.name] = symbol;
  };
  register_results_.clear();
  for (const Formal& p : formals) add(p);
  for (const Formal& p : returns) {
    add(p);
    if (p.in_register) register_results_.push_back(p);
  }
  Decoder(*this).begin_function(formals, body_has(at_, "alloca"));
  body();
  resolve_labels();
  layout_frame();
  Function& f = module_.functions[index];
  declared_.resize(f.reg_slots.size(), 0);
  find_live_in(f, declared_);
  find_variables(f, seeds_);
  find_unset_formals(f);
  f.defined = true;
  if (entry) {
    kernel.static_shared_bytes = static_cast<int>(shared_bytes_);
    f.kernel = static_cast<int>(module_.kernels_.size());
    module_.kernels_.push_back(std::move(kernel));
    module_.kernel_functions.push_back(index);
  }
  scope_ = 0;
  current_ = -1;
}

}  // namespace hone::emulator
