// The inside of a function: registers, scopes, labels, statements.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "evaluator/device/emulator/ptx/parser.h"

namespace hone::emulator {

const Symbol* Parser::lookup(std::string_view name) const {
  for (int s = scope_; s >= 0; s = scopes_[s].parent) {
    const auto it = scopes_[s].symbols.find(name);
    if (it != scopes_[s].symbols.end()) return &it->second;
  }
  return nullptr;
}

Symbol Parser::make_register(Type type) {
  if (type.bits == 128) {
    Symbol wide = make_register({Type::kBits, 64});
    make_register({Type::kBits, 64});
    wide.type = type;
    return wide;
  }
  Function& f = module_.functions[current_];
  Symbol symbol;
  symbol.type = type;
  symbol.number = static_cast<std::uint32_t>(f.reg_slots.size());
  // Predicates take 8 bytes; everything else starts on a cache line, or vector loads would
  // straddle.
  if (type.kind != Type::kPred) slot_bytes_ = (slot_bytes_ + 63) / 64 * 64;
  symbol.slot = static_cast<Slot>(slot_bytes_);
  slot_bytes_ += type.kind == Type::kPred ? 8 : type.bits == 64 ? kWideHalf : 128;
  f.reg_slots.push_back(symbol.slot);
  return symbol;
}

void Parser::registers() {
  const Token t = next();
  if (!t.text.starts_with(".")) error("expected a register type");
  std::string_view word = t.text.substr(1);
  const int lanes = word == "v2" ? 2 : word == "v4" ? 4 : 0;
  if (lanes) word = next().text.substr(1);
  const auto type = parse_type(word);
  if (!type) error(fmt::format("unknown register type '{}'", t.text));
  const auto declare = [&](std::string_view name) {
    const std::size_t first = module_.functions[current_].reg_slots.size();
    const auto declared = [&] {
      declared_.resize(first, 0);
      declared_.resize(module_.functions[current_].reg_slots.size(), 1);
    };
    if (!lanes) {
      scopes_[scope_].symbols[name] = make_register(*type);
      return declared();
    }
    Symbol whole;
    whole.type = *type;
    whole.lanes = static_cast<std::uint8_t>(lanes);
    scopes_[scope_].symbols[name] = whole;
    for (int k = 0; k < lanes; ++k) {
      const Symbol part = make_register(*type);
      for (const char letter : {"xyzw"[k], "rgba"[k]}) {
        module_.names.push_back(fmt::format("{}.{}", name, letter));
        scopes_[scope_].symbols[module_.names.back()] = part;
      }
    }
    declared();
  };
  do {
    const std::string_view name = next().text;
    if (accept("<")) {
      const std::uint64_t count = integer(next().text);
      expect(">");
      if (count > 1'000'000) error("too many registers");
      for (std::uint64_t i = 0; i < count; ++i) {
        module_.names.push_back(fmt::format("{}{}", name, i));
        declare(module_.names.back());
      }
    } else {
      declare(name);
    }
  } while (accept(","));
  expect(";");
}

// .loc file line column [, function_name X, inlined_at file line column]
// A place inlined from a header is reported as the line of the user's file that it was inlined at.
void Parser::location() {
  const auto file = static_cast<std::uint32_t>(integer(next().text));
  const auto line = static_cast<std::uint32_t>(integer(next().text));
  const std::uint64_t column = integer(next().text);
  const auto key = [](std::uint64_t f, std::uint64_t l, std::uint64_t c) {
    return f << 52 | (l & 0xFFFFFFFF) << 20 | (c & 0xFFFFF);
  };
  SourceLocation here{file, line, -1};
  const bool user = static_cast<int>(file) == user_file_;
  if (user && line) line_ = line;
  while (accept(",")) {
    const Token t = next();
    if (t.text == "function_name") {
      next();
      if (peek().text == "+") {
        next();
        next();
      }
    } else if (t.text == "inlined_at") {
      const auto at_file = static_cast<std::uint32_t>(integer(next().text));
      const auto at_line = static_cast<std::uint32_t>(integer(next().text));
      const std::uint64_t at_column = integer(next().text);
      if (!user && static_cast<int>(at_file) == user_file_ && at_line) line_ = at_line;
      // The compiler writes the place of the call before what was inlined there.
      const auto [it, fresh] = location_of_.try_emplace(key(at_file, at_line, at_column), -1);
      if (fresh) {
        it->second = static_cast<std::int32_t>(module_.locations.size());
        module_.locations.push_back({at_file, at_line, -1});
      }
      here.inlined_at = it->second;
    }
  }
  location_ = static_cast<std::int32_t>(module_.locations.size());
  module_.locations.push_back(here);
  location_of_[key(file, line, column)] = location_;
}

// .file number "name" [, time, size]
void Parser::file_name() {
  const auto number = static_cast<std::uint32_t>(integer(next().text));
  std::string_view name = next().text;
  if (name.size() >= 2 && name.front() == '"') name = name.substr(1, name.size() - 2);
  module_.files[number] = std::string(name);
  while (accept(",")) next();
}

void Parser::body() {
  expect("{");
  int depth = 1;
  while (depth > 0) {
    const Token t = peek();
    if (t.kind == Token::Kind::kEnd) error("the function body does not end");
    if (accept("{")) {
      ++depth;
      scopes_.emplace_back();
      scopes_.back().parent = scope_;
      scope_ = static_cast<int>(scopes_.size()) - 1;
    } else if (accept("}")) {
      --depth;
      if (depth > 0) scope_ = scopes_[scope_].parent;
    } else if (accept(";")) {
      continue;
    } else if (t.text.starts_with(".")) {
      directive();
    } else if (t.kind == Token::Kind::kWord && peek(1).text == ":") {
      next();
      next();
      if (peek().text == ".branchtargets") {
        next();
        TargetTable table;
        do table.labels.push_back(next().text);
        while (accept(","));
        expect(";");
        tables_[t.text] = std::move(table);
      } else if (peek().text == ".callprototype" || peek().text == ".calltargets") {
        skip_to_semicolon();
      } else {
        scopes_[scope_].labels[t.text] =
            static_cast<std::int32_t>(module_.functions[current_].code.size());
      }
    } else {
      statement();
    }
  }
  // Falling off the end is a return.
  if (!register_results_.empty()) Decoder(*this).store_results({});
  Inst end;
  end.kind = module_.functions[current_].entry ? Kind::kExit : Kind::kRet;
  end.line = line_;
  end.place = static_cast<std::uint32_t>(module_.places.size());
  module_.places.push_back(here());
  module_.functions[current_].code.push_back(end);
}

void Parser::directive() {
  const Token t = next();
  if (t.text == ".reg") {
    registers();
  } else if (t.text == ".loc") {
    location();
  } else if (t.text == ".shared") {
    variable(Space::kShared, false);
  } else if (t.text == ".local") {
    variable(Space::kLocal, false);
  } else if (t.text == ".param") {
    variable(Space::kFormal, false);
  } else if (t.text == ".global") {
    variable(Space::kGlobal, false);
  } else if (t.text == ".const") {
    variable(Space::kConst, false);
  } else if (t.text == ".pragma") {
    Function& f = module_.functions[current_];
    if (peek().text.find("nounroll") != std::string_view::npos)
      f.nounroll.push_back(static_cast<std::int32_t>(f.code.size()));
    skip_to_semicolon();
  } else if (t.text == ".file") {
    file_name();
  } else {
    error(fmt::format("unexpected directive '{}'", t.text));
  }
}

Operand Parser::operand() {
  Operand o;
  if (accept("{")) {
    o.kind = Operand::Kind::kVector;
    while (!accept("}")) {
      o.parts.push_back(operand());
      accept(",");
    }
    return o;
  }
  if (accept("(")) {
    o.kind = Operand::Kind::kList;
    while (!accept(")")) {
      o.parts.push_back(operand());
      accept(",");
    }
    return o;
  }
  if (accept("[")) {
    o.kind = Operand::Kind::kAddress;
    const Token t = next();
    if (t.kind == Token::Kind::kWord && std::isdigit(static_cast<unsigned char>(t.text[0]))) {
      o.offset = static_cast<std::int64_t>(integer(t.text));
    } else {
      o.symbol = lookup(t.text);
      o.name = t.text;
    }
    while (peek().text == "+" || peek().text == "-") {
      const bool minus = next().text == "-";
      const std::int64_t value = signed_integer();
      o.offset += minus ? -value : value;
    }
    while (accept(",")) o.parts.push_back(operand());  // tensor coordinates
    if (!accept("]")) {                                // kept as an unknown operand
      while (peek().kind != Token::Kind::kEnd && !accept("]")) ++at_;
      o.symbol = nullptr;
      o.name = {};
    }
    return o;
  }
  if (accept("!")) {
    o = operand();
    o.negated = true;
    return o;
  }
  const bool minus = accept("-");
  const Token t = next();
  if (t.kind != Token::Kind::kWord) error(fmt::format("unexpected '{}' in an operand", t.text));
  const std::string_view w = t.text;
  if (w == "_") return o;
  if (std::isdigit(static_cast<unsigned char>(w[0]))) {
    o.kind = Operand::Kind::kImmediate;
    const char second = w.size() > 1 ? w[1] : '\0';
    if (w[0] == '0' && (second == 'f' || second == 'F') && w.size() == 10) {
      o.float_kind = 'f';
      o.value = std::strtoull(std::string(w.substr(2)).c_str(), nullptr, 16);
      if (minus) o.value ^= 0x80000000u;
    } else if (w[0] == '0' && (second == 'd' || second == 'D') && w.size() == 18) {
      o.float_kind = 'd';
      o.value = std::strtoull(std::string(w.substr(2)).c_str(), nullptr, 16);
      if (minus) o.value ^= 0x8000000000000000u;
    } else if (w.find('.') != std::string_view::npos) {
      double value = std::strtod(std::string(w).c_str(), nullptr);
      if (minus) value = -value;
      o.float_kind = 'd';
      o.value = std::bit_cast<std::uint64_t>(value);
    } else {
      o.value = integer(w);
      if (minus) o.value = 0 - o.value;
    }
    return o;
  }
  o.name = w;
  if (const Symbol* symbol = lookup(w)) {
    if (symbol->lanes) {
      o.kind = Operand::Kind::kVector;
      for (int k = 0; k < symbol->lanes; ++k) {
        Operand part;
        part.kind = Operand::Kind::kRegister;
        part.symbol = lookup(fmt::format("{}.{}", w, "xyzw"[k]));
        o.parts.push_back(part);
      }
      return o;
    }
    if (symbol->kind == Symbol::Kind::kRegister) {
      o.kind = Operand::Kind::kRegister;
      o.symbol = symbol;
      if (accept("|")) {  // %r1|%p1
        Operand pair;
        pair.kind = Operand::Kind::kList;
        pair.parts.push_back(o);
        pair.parts.push_back(operand());
        return pair;
      }
      return o;
    }
    o.symbol = symbol;
  }
  o.kind = Operand::Kind::kName;
  if (peek().text == "+") {  // mov %rd, symbol+8
    next();
    o.offset = signed_integer();
  }
  if (accept("|")) {  // _|%p1 has been handled as a sink
    operand();
  }
  return o;
}

StatementPlace Parser::here() const {
  const Token& t = peek();
  const auto at = t.kind == Token::Kind::kEnd ? static_cast<std::ptrdiff_t>(text_.size())
                                              : t.text.data() - text_.data();
  return {static_cast<std::uint32_t>(t.line), location_, static_cast<std::uint32_t>(at)};
}

void Parser::statement() {
  Statement s;
  const std::size_t first = module_.functions[current_].code.size();
  module_.places.push_back(here());
  if (accept("@")) {
    s.guard_negated = accept("!");
    s.guard = lookup(next().text);
    if (!s.guard || s.guard->type.kind != Type::kPred) error("the guard is no predicate register");
  }
  const Token t = next();
  if (t.kind != Token::Kind::kWord) error(fmt::format("unexpected '{}'", t.text));
  s.opcode = t.text;
  s.words = split_opcode(t.text);
  while (!accept(";")) {
    if (peek().kind == Token::Kind::kEnd || peek().text == "}") error("expected ';'");
    if (peek().text == "_" && peek(1).text == "|") {
      next();
      next();
      Operand pair;
      pair.kind = Operand::Kind::kList;
      pair.parts.push_back(Operand{});
      pair.parts.push_back(operand());
      s.operands.push_back(std::move(pair));
    } else {
      s.operands.push_back(operand());
    }
    accept(",");
  }
  Decoder(*this).decode(s);
  auto& code = module_.functions[current_].code;
  for (std::size_t i = first; i < code.size(); ++i)
    code[i].place = static_cast<std::uint32_t>(module_.places.size() - 1);
}

void Parser::resolve_labels() {
  Function& f = module_.functions[current_];
  for (const LabelUse& use : uses_) {
    std::int32_t target = -1;
    for (int s = use.scope; s >= 0 && target < 0; s = scopes_[s].parent) {
      const auto it = scopes_[s].labels.find(use.label);
      if (it != scopes_[s].labels.end()) target = it->second;
    }
    if (target < 0) error(fmt::format("label '{}' is not defined", use.label));
    if (use.table < 0)
      f.code[use.inst].target = target;
    else
      f.branch_targets[use.table][use.entry] = target;
  }
}

void Parser::layout_frame() {
  Function& f = module_.functions[current_];
  const auto round = [](std::uint32_t v) { return (v + 255) / 256 * 256; };
  f.taint_offset = round(slot_bytes_);
  f.formal_bytes = (f.formal_bytes + 15) / 16 * 16;
  f.formal_offset = round(f.taint_offset + taint_words(f) * 4);
  f.frame_bytes = round(f.formal_offset + f.formal_bytes * 32);
  f.local_bytes = (f.local_bytes + 15) / 16 * 16;
}

}  // namespace hone::emulator
