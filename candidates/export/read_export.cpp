#include "candidates/export/read_export.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

#include "candidates/export/program_marks.h"
#include "candidates/export/source.h"
#include "candidates/located_json.h"
#include "candidates/program_detail.h"
#include "candidates/source_scan.h"
#include "candidates/task_file.h"
#include "candidates/task_reader.h"

namespace hone {
namespace exporting {
namespace {

constexpr std::size_t kMostEntries = 256;  // of a list in a program's comment

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kBlank);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

/// A `//` comment that is a mark.
struct Mark {
  bool begins = false;
  std::string_view tag;
  std::size_t begin = 0, end = 0;  ///< the comment in the text
};

std::vector<Mark> marks_of(std::string_view text) {
  std::vector<Mark> marks;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t next = skip_comment_or_literal(text, at);
    if (next > at && text.substr(at).starts_with("//")) {
      const std::string_view said = trimmed(text.substr(at + 2, next - at - 2));
      for (const std::string_view word : {kProgramBegins, kProgramEnds}) {
        if (said.starts_with(word))
          marks.push_back({word == kProgramBegins, trimmed(said.substr(word.size())), at, next});
      }
    }
    at = std::max(next, at + 1);
  }
  return marks;
}

class ExportReader {
 public:
  ExportReader(std::string_view text, const std::filesystem::path& path, const Task& task)
      : text_(text), file_(path.string()), task_(task), marks_(marks_of(text)) {}

  Result<std::vector<Variant>> read() {
    if (marks_.empty()) {
      return wrong(0,
                   fmt::format("`hone export` wrote this file, but its lines `// {} …` are gone; "
                               "export the candidate again",
                               kProgramBegins));
    }
    std::vector<Variant> variants;
    for (auto begin = marks_.begin(); begin != marks_.end();) {
      if (!begin->begins) {
        return wrong(begin->begin,
                     fmt::format("nothing begins that could end here; the line `// {} {}` stood "
                                 "before it",
                                 kProgramBegins, printable(std::string(begin->tag))));
      }
      // A source may hold lines of other tags: they are its own.
      const auto end = std::find_if(begin + 1, marks_.end(), [&](const Mark& mark) {
        return !mark.begins && mark.tag == begin->tag;
      });
      if (end == marks_.end()) {
        return wrong(begin->begin,
                     fmt::format("the program that begins here has no end; the line `// {} {}` "
                                 "stood before its functions hone_launch_0, …",
                                 kProgramEnds, printable(std::string(begin->tag))));
      }
      if (auto good = add(*begin, *end); !good) return std::unexpected(good.error());
      begin = end + 1;
    }
    add_includes();
    for (Part& part : parts_) variants.push_back(std::move(part.variant));
    return variants;
  }

 private:
  struct Part {
    Variant variant;
    std::string body;
    std::vector<std::string> includes;
  };

  [[nodiscard]] std::unexpected<Error> wrong(std::size_t offset, std::string_view what) const {
    return invalid(fmt::format("{}: {}", place_in(text_, offset, file_), what));
  }

  Result<void> add(const Mark& begin, const Mark& end) {
    std::size_t at = begin.end;
    const auto line_comment = [&](std::string_view said) {
      const std::size_t next = skip_blank(at);
      if (!text_.substr(next).starts_with("//")) return;
      const std::size_t stop = skip_comment_or_literal(text_, next);
      if (trimmed(text_.substr(next + 2, stop - next - 2)) == said) at = stop;
    };
    line_comment(kFormatOff);
    at = skip_blank(at);
    const std::size_t close = skip_comment_or_literal(text_, at);
    std::string_view comment = text_.substr(at, close - at);
    const bool is_comment = comment.starts_with("/*") && comment.ends_with("*/") &&
                            trimmed(comment.substr(2)).starts_with(kProgramComment) &&
                            close < end.begin;
    if (!is_comment) {
      return wrong(at, fmt::format("the comment `/* {} {{…}} */`, which says how the kernels below "
                                   "are launched, stood here; export the candidate again",
                                   kProgramComment));
    }
    const std::size_t brace = text_.find('{', at);
    Part part;
    part.variant.exported = true;
    if (brace >= close) return wrong(at, "the comment holds no JSON object; export again");
    const std::string_view json = text_.substr(brace, close - 2 - brace);
    const auto located = parse_located_json(json);
    if (!located) {
      return wrong(brace + located.error().offset,
                   fmt::format("{}: {}", located.error().path, located.error().message));
    }
    at = close;
    line_comment(kFormatOn);

    std::optional<JsonError> error;
    const JsonCursor root(located->value, "$", error);
    const auto macro_names = read_head(root, part);
    const auto misplaced = [&](const JsonError& what) {
      const LocatedJson::Place place = located->find(what.path);
      return wrong(brace + (what.at_key ? place.key : place.value),
                   fmt::format("{}: {}", what.path, what.message));
    };
    if (error) return misplaced(*error);
    if (auto good = take_macros(macro_names, at, end.begin, part.variant.program); !good) {
      return good;
    }
    read_program(root, part.variant);
    if (error) return misplaced(*error);
    auto body = without_guards(text_.substr(at, end.begin - at), guard_mark(begin.tag));
    if (!body) {
      return wrong(at + body.error(),
                   fmt::format("this directive has lost its partner, which ended with `// {}`, "
                               "too; export the candidate again",
                               guard_mark(begin.tag)));
    }
    part.body = std::move(*body);
    parts_.push_back(std::move(part));
    return {};
  }

  [[nodiscard]] std::size_t skip_blank(std::size_t at) const {
    return std::min(text_.find_first_not_of(" \t\r\n", at), text_.size());
  }

  static std::vector<std::string> read_names(const JsonCursor& list) {
    std::vector<std::string> names;
    for (const JsonCursor& element : list.elements_up_to(kMostEntries))
      names.push_back(element.string_up_to(200));
    return names;
  }

  /// All that does not need the macros' values; their names.
  static std::vector<std::string> read_head(const JsonCursor& root, Part& part) {
    root.expect_keys({"arch", "includes", "macros", "buffers", "launches", "recipe"});
    if (const auto arch = root.find("arch")) part.variant.arch = arch->string_up_to(40);
    part.includes = read_names(root.at("includes"));
    const JsonCursor list = root.at("macros");
    std::vector<std::string> names = read_names(list);
    if (!list.ok()) return {};
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (!is_c_identifier(names[i])) list.elements()[i].fail("is no name of a macro");
    }
    if (const auto recipe = root.find("recipe")) {
      (void)recipe->elements_up_to(kMostEntries);
      auto steps = recipe_from_json(recipe->value());
      if (!steps) {
        recipe->fail(steps.error().message);
      } else {
        part.variant.recipe = std::move(*steps);
      }
    }
    return names;
  }

  /// The #define lines at `at`, which moves behind them.
  Result<void> take_macros(std::vector<std::string> names, std::size_t& at, std::size_t end,
                           Program& program) const {
    while (!names.empty()) {
      const std::size_t line = skip_blank(at);
      const std::string_view rest = text_.substr(line, std::max(end, line) - line);
      std::string_view text = rest.substr(0, rest.find('\n'));
      const std::size_t length = text.size();
      constexpr std::string_view kDefine = "#define";
      const bool defines = text.starts_with(kDefine);
      text = defines ? trimmed(text.substr(kDefine.size())) : "";
      const std::string_view name = text.substr(0, text.find_first_of(" \t"));
      const auto found = std::ranges::find(names, name);
      if (found == names.end()) {
        return wrong(line, fmt::format("expected `#define {} …` here, with its value in this line",
                                       names.front()));
      }
      const std::string_view value = trimmed(text.substr(name.size()));
      if (value.empty() || value.size() > 200 || value.ends_with('\\')) {
        return wrong(
            line, fmt::format("'{}' must have a value in this line, of at most 200 bytes", *found));
      }
      program.defines[*found] = std::string(value);
      names.erase(found);
      at = line + length;
    }
    return {};
  }

  void read_program(const JsonCursor& root, Variant& variant) const {
    NameScope scope;
    for (const auto& [name, value] : task_.sizes) scope.sizes.push_back(name);
    for (const auto& [name, text] : variant.program.defines) {
      std::int64_t value = 0;
      const auto [stop, code] = std::from_chars(text.data(), text.data() + text.size(), value);
      if (code == std::errc() && stop == text.data() + text.size()) scope.tunables.push_back(name);
    }
    const JsonCursor list = root.at("buffers");
    const auto elements = list.elements_up_to(kMostEntries);
    if (!list.ok()) return;
    std::vector<Buffer>& buffers = variant.program.buffers;
    buffers = decode_buffers(list, &scope);
    if (!list.ok()) return;
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      const Buffer* known = task_.reference.find_buffer(buffers[i].name);
      const bool given = known != nullptr && known->role != Role::kScratch;
      if (!given && buffers[i].role != Role::kScratch) {
        elements[i].at("name").fail(fmt::format(
            "the task has no buffer '{}' with role \"{}\"; is this an export of another task?",
            buffers[i].name, to_string(buffers[i].role)));
        return;
      }
      if (!given) continue;
      if (known->type != buffers[i].type || known->role != buffers[i].role ||
          known->shape != buffers[i].shape) {
        elements[i].at("name").fail(
            fmt::format("buffer '{}' differs in type, shape or role from the task's; a variant "
                        "takes and gives the same data",
                        buffers[i].name));
        return;
      }
      buffers[i] = *known;
    }
    for (const Buffer& buffer : task_.reference.buffers) {
      if (buffer.role == Role::kScratch || variant.program.find_buffer(buffer.name) != nullptr)
        continue;
      list.fail(fmt::format("the task's buffer '{}' is missing; is this an export of another task?",
                            buffer.name));
      return;
    }
    const JsonCursor launches = root.at("launches");
    for (const JsonCursor& launch : launches.elements_up_to(kMostEntries)) {
      if (const auto args = launch.find("args"); args && args->value().is_array())
        (void)args->elements_up_to(kMostEntries);
    }
    if (!launches.ok()) return;
    variant.program.launches = decode_launches(launches, buffers, &scope);
    if (launches.ok() && variant.program.launches.empty())
      launches.fail("is empty; there must be at least 1 launch");
  }

  /// To each program the includes that it brought and the file still has, and those that somebody
  /// has added to the file since.
  void add_includes() {
    const auto file = split_includes(text_.substr(0, marks_.front().begin)).includes;
    std::set<std::string> known = {"<cuda_runtime.h>"};
    for (const Buffer& buffer : task_.reference.buffers) {
      if (!header_of(buffer.type).empty())
        known.insert(fmt::format("<{}>", header_of(buffer.type)));
    }
    for (const std::string& header : split_includes(task_.reference.source).includes)
      known.insert(header);
    for (const Part& part : parts_) known.insert(part.includes.begin(), part.includes.end());
    for (Part& part : parts_) {
      std::vector<std::string> includes;
      for (const std::string& header : part.includes) {
        if (std::ranges::find(file, header) != file.end()) includes.push_back(header);
      }
      for (const std::string& header : file) {
        if (!known.contains(header)) includes.push_back(header);
      }
      part.variant.program.source = source_of(includes, part.body);
    }
  }

  std::string_view text_;
  std::string file_;
  const Task& task_;
  std::vector<Mark> marks_;
  std::vector<Part> parts_;
};

}  // namespace
}  // namespace exporting

bool is_export(std::string_view text) {
  // The functions of this version, and of those before it.
  return text.find("static inline hone_error hone_launch_0(") != text.npos ||
         text.find("static inline cudaError_t hone_launch_0(") != text.npos ||
         !exporting::marks_of(text).empty();
}

Result<std::vector<Variant>> read_export(std::string_view text, const std::filesystem::path& path,
                                         const Task& task) {
  return exporting::ExportReader(text, path, task).read();
}

std::string as_exported(std::string_view source) {
  const auto split = exporting::split_includes(without_task_comment(source));
  return exporting::source_of(split.includes, exporting::with_cpp_linkage(split.body));
}

}  // namespace hone
