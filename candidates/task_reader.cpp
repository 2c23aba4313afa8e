#include "candidates/task_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "candidates/check_sizes.h"
#include "candidates/export/read_export.h"
#include "candidates/program_detail.h"
#include "candidates/pytorch/import.h"
#include "candidates/source_scan.h"
#include "candidates/task_file.h"
#include "candidates/variant.h"

namespace hone {
namespace {

constexpr std::int64_t kMaxSize = std::int64_t{1} << 40;
// More than any real task has; keeps a hostile file from costing minutes.
constexpr std::size_t kMaxEntries = 256;
// A network as PyTorch exports it has a launch for each operation, a buffer for each result.
constexpr std::size_t kMostSizes = 1024, kMostLaunches = 8192;
constexpr std::size_t kMaxTunableValues = 1024;

template <class Items>
bool expect_count(const JsonCursor& cursor, const Items& items, std::size_t least, std::size_t most,
                  std::string_view what) {
  if (!cursor.ok()) return false;
  if (items.size() < least) {
    cursor.fail(fmt::format("is empty; there must be at least {} {}", least, what));
  } else if (items.size() > most) {
    cursor.fail(fmt::format("has {} entries; at most {} are accepted", items.size(), most));
  }
  return cursor.ok();
}

void expect_name(const JsonCursor& cursor, const std::string& name, std::string_view what) {
  if (!is_c_identifier(name)) {
    cursor.fail_at_key(
        fmt::format("'{}' is not a name for a {} (letters, digits and _, no digit first)",
                    printable(name), what));
  } else if (is_reserved_name(name)) {
    cursor.fail_at_key(fmt::format("'{}' is a reserved word; choose another name", name));
  }
}

Bindings read_sizes(const JsonCursor& cursor) {
  Bindings sizes;
  const auto members = cursor.members();
  if (!expect_count(cursor, members, 0, kMostSizes, "size")) return sizes;
  for (const auto& [name, value] : members) {
    expect_name(value, name, "size");
    sizes[name] = value.integer_in(1, kMaxSize);
  }
  return sizes;
}

void read_tunables(const JsonCursor& cursor, Task& task) {
  const auto members = cursor.members();
  if (!expect_count(cursor, members, 0, kMaxEntries, "tunable")) return;
  for (const auto& [name, list] : members) {
    expect_name(list, name, "tunable");
    if (task.sizes.contains(name)) {
      list.fail_at_key(fmt::format("'{}' is also a size; names must differ", name));
    }
    const auto elements = list.elements();
    if (!expect_count(list, elements, 1, kMaxTunableValues, "value")) return;
    std::vector<std::int64_t>& values = task.tunables[name];
    for (const JsonCursor& element : elements) {
      values.push_back(element.integer());
      if (std::ranges::count(values, values.back()) > 1) {
        element.fail(fmt::format("the value {} is given twice", values.back()));
      }
    }
    task.reference.defines[name] = std::to_string(values.front());
  }
}

void read_check_sizes(const JsonCursor& cursor, Task& task, const NameScope& scope) {
  const auto elements = cursor.elements();
  if (!expect_count(cursor, elements, 1, kMaxEntries, "set of sizes")) return;
  for (const JsonCursor& element : elements) {
    Bindings& sizes = task.check_sizes.emplace_back(task.sizes);
    for (const auto& [name, value] : element.members()) {
      if (!task.sizes.contains(name)) {
        const std::string hint = suggestion(name, scope.sizes);
        value.fail_at_key(fmt::format(
            "unknown size '{}'{} {}", printable(name), hint.empty() ? "." : hint,
            scope.sizes.empty() ? "The task has no sizes."
                                : fmt::format("Sizes are {}.", join_names(scope.sizes))));
      }
      sizes[name] = value.integer_in(1, kMaxSize);
    }
  }
}

void read_constraints(const JsonCursor& cursor, Task& task, const NameScope& scope) {
  const auto elements = cursor.elements();
  if (!expect_count(cursor, elements, 0, kMaxEntries, "constraint")) return;
  for (const JsonCursor& element : elements) {
    Expr constraint = decode_expr(element, &scope);
    if (element.ok() && !constraint.is_condition()) {
      element.fail(fmt::format("\"{}\" is no condition; write one such as \"N % 256 == 0\"",
                               printable(constraint.text())));
    }
    task.constraints.push_back(std::move(constraint));
  }
}

double read_tolerance(const JsonCursor& cursor) {
  const double value = cursor.number();
  if (cursor.ok() && value < 0) cursor.fail(fmt::format("is {}; must not be negative", value));
  return value;
}

// Operands that are off by up to 2^-11 of their own value leave a sum of their products off by
// 0.0003 of its size (rms), and one in millions by six times that.
constexpr double kTf32Rtol = 2e-3;
// Tensor cores add products of 8-bit floats with 13 places and cut off the rest. Sums of 128 of
// them, added up in f32, were off by up to 0.0025 among a few thousand (rms 0.0005; emulated).
constexpr double kFp8Rtol = 1e-2;

// The loosest of the outputs' types: an error of one output should not fail for another's type.
Tolerance default_tolerance(const std::vector<Buffer>& buffers, MathLevel math) {
  Tolerance loosest{0, 0};
  const bool of_fp8 = multiplies_fp8(buffers);
  for (const Buffer& buffer : buffers) {
    if (buffer.role != Role::kOut && buffer.role != Role::kInOut) continue;
    Tolerance tolerance{0, 0};
    switch (buffer.type) {
      case ScalarType::kF32:
        tolerance = {of_fp8 ? kFp8Rtol : math == MathLevel::kTf32 ? kTf32Rtol : 1e-4, 1e-5};
        break;
      case ScalarType::kF64:
        tolerance = {1e-10, 1e-12};
        break;
      case ScalarType::kF16:
      case ScalarType::kBf16:
        tolerance = {1e-2, 1e-2};
        break;
      case ScalarType::kE4m3:
        tolerance = {0.13, 1e-2};
        break;
      case ScalarType::kE5m2:
        tolerance = {0.26, 1e-2};
        break;
      default:
        break;
    }
    loosest = {std::max(loosest.rtol, tolerance.rtol), std::max(loosest.atol, tolerance.atol)};
  }
  return loosest;
}

std::string read_line(const JsonCursor& cursor, std::size_t most) {
  std::string text = cursor.string();
  if (!cursor.ok()) return text;
  const bool control = std::ranges::any_of(
      text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
  if (text.find_first_not_of(' ') == std::string::npos) cursor.fail("is empty");
  if (control) cursor.fail("must be one line without control characters");
  if (text.size() > most) {
    cursor.fail(fmt::format("has {} bytes; at most {} are accepted", text.size(), most));
  }
  return text;
}

Expr read_flops(const JsonCursor& cursor, const Task& task, const NameScope& scope) {
  // 1.2e12 is how people write such a number.
  if (cursor.value().is_number_float()) {
    const double value = cursor.number();
    if (value >= 0 && value < 9e18) return Expr(static_cast<std::int64_t>(value));
    cursor.fail(fmt::format("is {}; must be 0 to 9e18", value));
    return {};
  }
  Expr flops = decode_expr(cursor, &scope);
  if (!cursor.ok()) return flops;
  Bindings bindings = task.sizes;
  for (const auto& [name, values] : task.tunables) bindings[name] = values.front();
  const auto value = flops.eval(bindings);
  if (!value) {
    cursor.fail(value.error().message);
  } else if (*value < 0) {
    cursor.fail(
        fmt::format("\"{}\" is {} at the timed sizes; must not be negative", flops.text(), *value));
  }
  return flops;
}

void check_outputs(const JsonCursor& root, const Task& task) {
  bool any = false;
  const auto buffers = root.at("buffers").elements();
  for (std::size_t i = 0; i < task.reference.buffers.size() && i < buffers.size(); ++i) {
    const Buffer& buffer = task.reference.buffers[i];
    if (buffer.role != Role::kOut && buffer.role != Role::kInOut) continue;
    any = true;
    if (!task.reference.uses(buffer.name)) {
      buffers[i].at("name").fail(fmt::format("no launch takes '{}', so its role {} cannot be right",
                                             buffer.name, to_string(buffer.role)));
    }
  }
  if (!any) {
    root.at("buffers").fail(
        "no buffer has role \"out\" or \"inout\"; at least one must, or there is nothing to check");
  }
}

void check_kernels(const JsonCursor& launches, const Program& program) {
  const SourceNames names = scan_source(program.source);
  if (names.pastes_tokens) return;
  const auto elements = launches.elements();
  for (std::size_t i = 0; i < program.launches.size() && i < elements.size(); ++i) {
    std::string name = program.launches[i].kernel;
    name = name.substr(0, name.find('<'));
    name = name.substr(0, name.find_last_not_of(' ') + 1);
    if (const auto colon = name.rfind(':'); colon != std::string::npos) name.erase(0, colon + 1);
    if (names.identifiers.contains(name)) continue;
    const std::string hint = suggestion(name, names.kernels);
    elements[i].at("kernel").fail(
        fmt::format("the source has no kernel '{}'{} {}", name, hint.empty() ? "." : hint,
                    names.kernels.empty() ? "It has no __global__ function at all."
                                          : fmt::format("It has {}.", join_names(names.kernels))));
  }
}

void check_fill_files(const JsonCursor& buffers, const ConcreteProgram& program) {
  const auto elements = buffers.elements();
  for (std::size_t i = 0; i < program.buffers.size() && i < elements.size(); ++i) {
    const ConcreteBuffer& buffer = program.buffers[i];
    if (buffer.fill.kind != Fill::Kind::kFile || buffer.fill.path.empty()) continue;
    std::error_code code;
    const std::uintmax_t bytes = std::filesystem::file_size(buffer.fill.path, code);
    const std::int64_t needed = buffer.fill.offset + buffer.bytes();
    if (!code && bytes >= static_cast<std::uintmax_t>(needed)) continue;
    elements[i].at("fill").at("file").fail(
        code ? fmt::format("cannot be read: {}", code.message())
             : fmt::format("holds {} bytes; '{}' needs {}", bytes, buffer.name, needed));
  }
}

std::string list_bindings(const Bindings& bindings) {
  std::string out;
  for (const auto& [name, value] : bindings) {
    out += fmt::format("{}{} = {}", out.empty() ? "" : ", ", name, value);
  }
  return out;
}

// Constraints and every expression, with the first tunable values, at one set of sizes.
void check_at(const JsonCursor& root, const Task& task, const Bindings& sizes,
              const std::string& where) {
  if (!root.ok()) return;
  if (const auto broken = broken_constraint(task, sizes)) {
    root.at("constraints")
        .elements()[broken->index]
        .fail(fmt::format("{} at {}{}", broken->message, where,
                          task.tunables.empty() ? "" : " and the first value of every tunable"));
    return;
  }
  const auto program = instantiate_placed(task.reference, sizes);
  if (!program) {
    const std::string at =
        sizes.empty() ? "" : fmt::format(" at {} ({})", where, list_bindings(sizes));
    root.fail_at_path("$." + program.error().path, program.error().message + at);
    return;
  }
  check_fill_files(root.at("buffers"), *program);
}

NameScope scope_of(const Task& task, const std::filesystem::path& path,
                   FillFiles files = FillFiles::kOfThisMachine) {
  NameScope scope;
  scope.files = files;
  for (const auto& [name, value] : task.sizes) scope.sizes.push_back(name);
  for (const auto& [name, values] : task.tunables) scope.tunables.push_back(name);
  scope.folder = path.parent_path();
  return scope;
}

bool expect_task_keys(const JsonCursor& root, bool in_comment) {
  if (in_comment) {
    if (const auto source = root.find("source")) {
      source->fail_at_key("a task comment needs no \"source\": its file is the source");
      return false;
    }
  }
  return root.expect_keys({"name", "source", "sizes", "check_sizes", "buffers", "launches",
                           "tunables", "constraints", "tolerance", "non_finite", "math",
                           "specialize", "flops", "torch"});
}

// The text and the path of the CUDA source that a .json task names.
void read_source(const JsonCursor& root, const std::filesystem::path& path, Program& program,
                 std::string& source_path) {
  const JsonCursor cursor = root.at("source");
  const std::string name = read_line(cursor, 4096);
  if (!cursor.ok()) return;
  if (std::filesystem::path(name).is_absolute()) {
    cursor.fail(fmt::format("'{}' is absolute; name the .cu file relative to the task's folder",
                            printable(name)));
    return;
  }
  const std::filesystem::path file = path.parent_path() / name;
  source_path = file.string();
  auto text = read_text_file(file);
  if (!text) {
    cursor.fail(text.error().message);
    return;
  }
  if (auto good = check_text(*text, source_path); !good) {
    cursor.fail(good.error().message);
    return;
  }
  program.source = std::move(*text);
}

std::vector<Buffer> read_buffers(const JsonCursor& root, const NameScope& scope) {
  const JsonCursor list = root.at("buffers");
  if (!expect_count(list, list.elements(), 1, kMostLaunches, "buffer")) return {};
  return decode_buffers(list, &scope);
}

std::vector<Launch> read_launches(const JsonCursor& root, const std::vector<Buffer>& buffers,
                                  const NameScope& scope) {
  const JsonCursor list = root.at("launches");
  const auto elements = list.elements();
  if (!expect_count(list, elements, 1, kMostLaunches, "launch")) return {};
  for (const JsonCursor& element : elements) {
    if (const auto args = element.find("args"); args && args->value().is_array()) {
      expect_count(*args, args->value(), 0, kMaxEntries, "argument");
    }
  }
  return decode_launches(list, buffers, &scope);
}

Task read_root(const JsonCursor& root, bool in_comment, std::string_view text,
               const std::filesystem::path& path, FillFiles files) {
  Task task;
  if (!expect_task_keys(root, in_comment)) return task;
  task.name = read_line(root.at("name"), 200);
  task.source_path = path.string();
  if (in_comment) {
    task.reference.source = std::string(text);
  } else if (root.ok()) {
    read_source(root, path, task.reference, task.source_path);
  }
  if (const auto sizes = root.find("sizes")) task.sizes = read_sizes(*sizes);
  if (const auto tunables = root.find("tunables")) read_tunables(*tunables, task);
  if (!root.ok()) return task;

  const NameScope scope = scope_of(task, path, files);
  task.reference.buffers = read_buffers(root, scope);
  if (!root.ok()) return task;
  task.reference.launches = read_launches(root, task.reference.buffers, scope);
  if (const auto constraints = root.find("constraints"))
    read_constraints(*constraints, task, scope);
  if (const auto math = root.find("math")) {
    task.math = math->choice<MathLevel>(parse_math_level, kMathLevelNames);
  }
  task.tolerance = default_tolerance(task.reference.buffers, task.math);
  if (const auto tolerance = root.find("tolerance")) {
    if (tolerance->expect_keys({"rtol", "atol"})) {
      if (const auto rtol = tolerance->find("rtol")) task.tolerance.rtol = read_tolerance(*rtol);
      if (const auto atol = tolerance->find("atol")) task.tolerance.atol = read_tolerance(*atol);
    }
  }
  if (const auto non_finite = root.find("non_finite"))
    task.tolerance.non_finite = read_non_finite(*non_finite);
  if (const auto specialize = root.find("specialize")) task.specialize = specialize->boolean();
  if (!root.ok()) return task;
  if (const auto flops = root.find("flops")) task.flops = read_flops(*flops, task, scope);
  if (const auto torch = root.find("torch")) task.torch = read_line(*torch, 4096);
  if (const auto list = root.find("check_sizes")) read_check_sizes(*list, task, scope);
  if (!root.ok()) return task;

  check_outputs(root, task);
  check_kernels(root.at("launches"), task.reference);
  check_at(root, task, task.sizes, "the timed sizes");
  if (!root.ok()) return task;
  if (!root.find("check_sizes")) {
    task.check_sizes = task.sizes.empty() ? std::vector<Bindings>{{}} : derive_check_sizes(task);
    if (task.check_sizes.empty()) {
      root.fail("no small sizes were found that hold every constraint; give \"check_sizes\"");
    }
  }
  for (std::size_t i = 0; i < task.check_sizes.size(); ++i) {
    check_at(root, task, task.check_sizes[i], fmt::format("check_sizes[{}]", i));
  }
  return task;
}

// What a variant's own task comment may replace: launches, scratch buffers, tunables' values.
void read_variant_root(const JsonCursor& root, const Task& task, const std::filesystem::path& path,
                       Program& program) {
  if (!expect_task_keys(root, /*in_comment=*/false)) return;
  Task names;
  names.sizes = task.sizes;
  if (const auto tunables = root.find("tunables")) read_tunables(*tunables, names);
  if (!root.ok()) return;
  for (const auto& [name, value] : names.reference.defines) program.defines[name] = value;
  for (const auto& [name, values] : task.tunables) names.tunables.emplace(name, values);
  const NameScope scope = scope_of(names, path);

  if (root.find("buffers")) {
    const auto elements = root.at("buffers").elements();
    const std::vector<Buffer> buffers = read_buffers(root, scope);
    if (!root.ok()) return;
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      const Buffer* known = task.reference.find_buffer(buffers[i].name);
      if (known == nullptr) {
        if (buffers[i].role != Role::kScratch) {
          elements[i].at("name").fail(fmt::format(
              "the task has no buffer '{}'; a variant may add only buffers with role \"scratch\"",
              buffers[i].name));
          return;
        }
        program.buffers.push_back(buffers[i]);
      } else if (known->type != buffers[i].type || known->role != buffers[i].role ||
                 known->shape.size() != buffers[i].shape.size()) {
        elements[i].at("name").fail(fmt::format(
            "buffer '{}' differs in type, rank or role from the task's; a variant takes and gives "
            "the same data",
            buffers[i].name));
        return;
      }
    }
  }
  if (root.find("launches")) program.launches = read_launches(root, program.buffers, scope);
}

}  // namespace

Result<Task> parse_task(std::string_view text, const std::filesystem::path& path, FillFiles files) {
  const auto file = TaskFile::parse(text, path);
  if (!file) return std::unexpected(file.error());
  std::optional<JsonError> error;
  Task task =
      read_root(JsonCursor(file->json(), "$", error), file->in_comment(), text, path, files);
  if (error) return file->error(*error);
  return task;
}

Result<Task> read_task(const std::filesystem::path& path, FillFiles files) {
  if (path.extension() == ".pt2") {
    const auto imported = pytorch::import_pt2(path, std::filesystem::absolute(path).string());
    if (!imported) return std::unexpected(imported.error());
    return parse_task(imported->text, path, files);
  }
  const auto text = read_text_file(path);
  if (!text) return std::unexpected(text.error());
  return parse_task(*text, path, files);
}

namespace {

/// A variant that is no export.
Result<Program> read_one_variant(std::string text, const std::filesystem::path& path,
                                 const Task& task) {
  Program program = task.reference;
  const bool is_json = path.extension() == ".json";
  if (is_json || find_task_comment(text)) {
    const auto file = TaskFile::parse(text, path);
    if (!file) return std::unexpected(file.error());
    std::optional<JsonError> error;
    const JsonCursor root(file->json(), "$", error);
    read_variant_root(root, task, path, program);
    if (is_json && !error) {
      std::string source_path;
      read_source(root, path, program, source_path);
    }
    if (error) return file->error(*error);
    if (is_json) return program;
  }
  program.source = std::move(text);
  return program;
}

/// The forms of `hone export` that no program can be taken out of.
bool is_other_export(const std::filesystem::path& path, std::string_view text) {
  if (path.extension() == ".py") return true;
  return path.extension() == ".json" && text.find("\"hone_export\":") != text.npos;
}

}  // namespace

Result<std::vector<Variant>> read_variants(const std::filesystem::path& path, const Task& task) {
  auto text = read_text_file(path);
  if (!text) return std::unexpected(text.error());
  if (auto good = check_text(*text, path.string()); !good) return std::unexpected(good.error());
  if (is_other_export(path, *text)) {
    return invalid(
        fmt::format("{}: of what `hone export` writes only the formats cu and hpp can be a variant",
                    path.string()));
  }
  if (path.extension() != ".json" && is_export(*text)) return read_export(*text, path, task);
  auto program = read_one_variant(std::move(*text), path, task);
  if (!program) return std::unexpected(program.error());
  return std::vector<Variant>{{.program = std::move(*program)}};
}

Result<Variant> variant_for(const std::vector<Variant>& variants, std::string_view arch,
                            const std::filesystem::path& path) {
  if (variants.size() == 1) return variants.front();
  std::vector<std::string> known;
  for (const Variant& variant : variants) {
    if (variant.arch == arch) return variant;
    known.push_back(variant.arch);
  }
  return invalid(fmt::format(
      "{}: holds candidates for {}, and none for {}; name a device of one of these with --device",
      path.string(), join_names(known), arch));
}

}  // namespace hone
