#include "candidates/export/cpp.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "candidates/export/cpp_support.h"
#include "candidates/export/program_marks.h"
#include "candidates/export/source.h"
#include "candidates/expr_spelling.h"

namespace hone::exporting {
namespace {

std::string integer(std::int64_t value) {
  if (value == INT64_MIN) return "(-9223372036854775807LL - 1)";
  return value < 0 ? fmt::format("({}LL)", value) : fmt::format("{}LL", value);
}

std::string floating(double value) {
  std::string text = fmt::format("{:.17g}", value);
  if (text.find_first_of(".en") == text.npos) text += ".0";
  return text;
}

/// Macros that sources ask for with #ifndef, and go on with where a header has them.
bool is_library_macro(std::string_view name) {
  constexpr std::string_view kPrefixes[] = {
      "M_",    "FLT_", "DBL_",  "INT",     "UINT", "LONG_", "LLON",     "ULLONG",
      "SHRT_", "CHAR", "SIZE_", "CUDART_", "NAN",  "HUGE_", "INFINITY", "__"};
  return std::ranges::any_of(kPrefixes, [&](auto prefix) { return name.starts_with(prefix); });
}

std::string guard_condition(const Part& part, bool exactly) {
  if (part.arch_features) {
    return fmt::format("!defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM{}_ALL)",
                       part.capability);
  }
  return fmt::format("!defined(__CUDA_ARCH__) || __CUDA_ARCH__ {} {}",
                     exactly ? "==" : ">=", part.capability * 10);
}

std::string hone_run(const Part& part) {
  return "hone_run" + part.name.substr(std::string_view("hone").size());
}

bool has_tensor_maps(const Part& part) {
  return std::ranges::any_of(part.program->launches, [](const Launch& launch) {
    return std::ranges::any_of(launch.args, [](const Argument& argument) {
      return argument.kind == Argument::Kind::kTensorMap;
    });
  });
}

/// What the functions that launch take from CUDA and from this file, by names that the source has
/// not: it may call something of its own `cudaStream_t`. Stands before the source and its macros.
std::string own_names(const Part& part) {
  const std::string tensor_map =
      has_tensor_maps(part) ? fmt::format("using {}_tensor_map = hone_tensor_map;\n", part.prefix)
                            : "";
  return tensor_map +
         fmt::format(
             "using {0}_pointer = hone_pointer;\nusing {0}_error = cudaError_t;\n"
             "using {0}_stream_type = cudaStream_t;\nusing {0}_dim3 = dim3;\nusing {0}_bytes = "
             "size_t;\n"
             "template <class T>\nstatic inline {0}_error {0}_allow_shared(T* kernel, size_t "
             "bytes) {{\n"
             "  if (bytes == 0) return cudaSuccess;\n"
             "  return ::cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), "
             "cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));\n}}\n"
             "static inline {0}_error {0}_last_error() {{ return ::cudaGetLastError(); }}\n",
             part.prefix);
}

/// cudaFuncGetAttributes() shows by it which code the file was compiled to.
std::string code_test(const Part& part, const std::string& condition) {
  return fmt::format(
      "#if {1}\n#define HONE_THREADS 64\n#else\n#define HONE_THREADS 32\n#endif\n"
      "__global__ void __launch_bounds__(HONE_THREADS) {0}_built_for() {{}}\n"
      "#undef HONE_THREADS\n"
      "static inline bool {0}_has_code() {{\n  cudaFuncAttributes attributes;\n"
      "  return cudaFuncGetAttributes(&attributes, {0}_built_for) == cudaSuccess &&\n"
      "         attributes.maxThreadsPerBlock == 64;\n}}\n",
      part.prefix, condition);
}

/// The functions that launch: within the program's macros, which a template's arguments may name.
std::string launch_functions(const Part& part) {
  const std::string& own = part.prefix;
  std::string text;
  for (std::size_t i = 0; i < part.program->launches.size(); ++i) {
    const Launch& launch = part.program->launches[i];
    std::vector<std::string> parameters, arguments;
    for (std::size_t a = 0; a < launch.args.size(); ++a) {
      const std::string types[] = {own + "_pointer", "long long", "double", own + "_tensor_map"};
      parameters.push_back(
          fmt::format(", {} {}_a{}", types[static_cast<std::size_t>(launch.args[a].kind)], own, a));
      arguments.push_back(fmt::format("{}_a{}", own, a));
    }
    text += fmt::format(
        "static inline {0}_error {0}_launch_{1}({0}_dim3 {0}_grid, {0}_dim3 {0}_block, {0}_bytes "
        "{0}_shared, {0}_stream_type {0}_stream{2}) {{\n",
        own, i, fmt::join(parameters, ""));
    if (!launch.shared_bytes.is_constant() || part.concrete.launches[i].shared_bytes > 0) {
      text += fmt::format(
          "  if ({0}_error {0}_failed = {0}_allow_shared({1}, {0}_shared)) return {0}_failed;\n",
          own, launch.kernel);
    }
    text += fmt::format(
        "  {1}<<<{0}_grid, {0}_block, {0}_shared, {0}_stream>>>({2});\n"
        "  return {0}_last_error();\n}}\n",
        own, launch.kernel, fmt::join(arguments, ", "));
  }
  return text;
}

/// Of CU_TENSOR_MAP_DATA_TYPE_…
std::string_view type_text(TensorMapSpec::Type type) {
  using Type = TensorMapSpec::Type;
  switch (type) {
    case Type::kU8:
      return "UINT8";
    case Type::kU16:
      return "UINT16";
    case Type::kU32:
      return "UINT32";
    case Type::kS32:
      return "INT32";
    case Type::kU64:
      return "UINT64";
    case Type::kS64:
      return "INT64";
    case Type::kF16:
      return "FLOAT16";
    case Type::kF32:
      return "FLOAT32";
    case Type::kF64:
      return "FLOAT64";
    case Type::kBF16:
      return "BFLOAT16";
    case Type::kTf32:
      return "TFLOAT32";
  }
  return {};
}

}  // namespace

std::string tensor_map_text(const std::string& name, const std::string& address, ScalarType type,
                            const TensorMapText& map) {
  const auto list = [](const std::vector<std::string>& values, const char* to,
                       const std::string& factor) {
    std::vector<std::string> reversed;
    for (std::size_t i = values.size(); i-- > 0;)
      reversed.push_back(fmt::format("static_cast<{}>({}{})", to, values[i], factor));
    return fmt::format("{{{}}}", fmt::join(reversed, ", "));
  };
  return fmt::format(
      "  hone_tensor_map {0};\n"
      "  if (cudaError_t hone_error = {0}.encode({1}, CU_TENSOR_MAP_DATA_TYPE_{2}, "
      "CU_TENSOR_MAP_SWIZZLE_{3}, "
      "{{{4}, {5}, {6}, {7}}})) return hone_error;\n",
      name, address, type_text(spec_type(type, map.as_tf32)),
      map.swizzle == 0 ? "NONE" : fmt::format("{}B", map.swizzle), map.shape.size(),
      list(map.shape, "cuuint64_t", ""),
      list(map.strides, "cuuint64_t", fmt::format(" * {}", size_of(type))),
      list(map.box, "cuuint32_t", ""));
}

CppWriter::CppWriter(const Plan& plan) : plan_(plan) {
  Names names(Names::Language::kCpp);
  for (const Buffer* buffer : plan.buffers()) names_[buffer->name] = names.fresh(buffer->name);
  for (const auto& [name, value] : plan.task->sizes) {
    if (!names_.contains(name)) names_[name] = names.fresh(name);
  }
}

std::string CppWriter::header() const {
  std::string text;
  for (const Part& part : plan_.candidates) {
    for (const std::string& line : about(*part.row, *plan_.task)) text += "// " + line + "\n";
  }
  text +=
      "// `hone evaluate TASK FILE` checks and times it again, also after edits of the kernels. "
      "It\n"
      "// takes their launches from the JSON comment before them; edits of the launchers below do "
      "not\n"
      "// count.\n";
  return text;
}

std::string CppWriter::includes(bool with_reference) const {
  // nvcc gets the runtime's declarations by itself; half types do not come by themselves.
  std::vector<std::string> headers = {"<cuda_runtime.h>"};
  const auto add = [&](const std::string& header) {
    if (std::ranges::find(headers, header) == headers.end()) headers.push_back(header);
  };
  for (const Buffer* buffer : plan_.buffers()) {
    const std::string_view header = header_of(buffer->type);
    if (!header.empty()) add(fmt::format("<{}>", header));
  }
  const auto add_of = [&](const Part& part) {
    if (has_tensor_maps(part)) {
      add("<cuda.h>");
      add("<string.h>");
    }
    for (const std::string& header : split_includes(part.source).includes) add(header);
  };
  for (const Part& part : plan_.candidates) add_of(part);
  if (with_reference) add_of(plan_.reference);
  std::string text;
  for (const std::string& header : headers) {
    const std::string line = fmt::format("#include {}\n", header);
    // It has parameters called N.
    text += header == "<cuda.h>"
                ? "#pragma push_macro(\"N\")\n#undef N\n" + line + "#pragma pop_macro(\"N\")\n"
                : line;
  }
  return text;
}

std::string CppWriter::support(bool with_reference) const {
  std::string text(kCppSupport);
  bool scratch = with_reference && !plan_.reference.scratch(*plan_.task).empty();
  bool maps = with_reference && has_tensor_maps(plan_.reference);
  for (const Part& part : plan_.candidates) {
    scratch |= !part.scratch(*plan_.task).empty();
    maps |= has_tensor_maps(part);
  }
  if (maps) text += kCppTensorMaps;
  if (scratch) text += kCppScratch;
  if (with_reference) text += kCppArithmetic;
  return text;
}

std::string_view CppWriter::quiet(bool restore) {
  if (restore) return "#pragma GCC diagnostic pop\n#pragma nv_diagnostic pop\n";
  return "\n#pragma nv_diagnostic push\n#pragma nv_diag_suppress 177\n#pragma nv_diag_suppress "
         "550\n"
         "#pragma GCC diagnostic push\n#pragma GCC diagnostic ignored \"-Wunused-function\"\n"
         "#pragma GCC diagnostic ignored \"-Wunused-variable\"\n";
}

std::string CppWriter::program(const Part& part, bool with_reference) const {
  const bool guarded =
      with_reference && part.row != nullptr && (plan_.dispatches() || part.arch_specific);
  std::set<std::string> macros = macros_of(part.source);
  for (const auto& [name, value] : part.program->defines) macros.insert(name);
  std::string source = with_cpp_linkage(split_includes(part.source).body);
  const std::string tag = part.row == nullptr ? "" : tag_of(part, plan_);
  if (guarded) {
    source = guard_bodies(source, guard_condition(part, plan_.dispatches()), guard_mark(tag));
  }
  const std::string space = fmt::format("namespace {} {{\nnamespace {{\n", part.name);
  const std::string space_ends = fmt::format("}}  // namespace\n}}  // namespace {}\n", part.name);
  std::string text = space + own_names(part);
  if (guarded) text += code_test(part, guard_condition(part, plan_.dispatches()));
  text += space_ends;
  for (const std::string& name : macros) {
    text += fmt::format("#pragma push_macro(\"{}\")\n", name);
    if (!is_library_macro(name)) text += fmt::format("#undef {}\n", name);
  }
  text += space;
  for (const std::string& name : overloaded_builtins(part.source))
    text += fmt::format("using ::{};\n", name);
  if (part.row != nullptr) text += begin_program(part, tag);
  for (const auto& [name, value] : part.program->defines) {
    text += fmt::format("#define {} {}\n", name, value);
  }
  text += source + (part.row != nullptr ? end_program(tag) : "\n") + launch_functions(part);
  text += space_ends;
  for (const std::string& name : macros) text += fmt::format("#pragma pop_macro(\"{}\")\n", name);
  return text;
}

Result<std::string> CppWriter::spell(const Expr& expr, const Bindings& tunables) const {
  std::string unknown;
  ExprSpelling spelling;
  spelling.literal = integer;
  spelling.name = [&](const std::string& name) {
    if (plan_.task->sizes.contains(name)) return names_.at(name);
    const auto found = tunables.find(name);
    if (found == tunables.end()) unknown = name;
    return found == tunables.end() ? std::string("0") : integer(found->second);
  };
  spelling.operation = [](std::string_view op, const std::vector<std::string>& operands) {
    using Row = std::pair<std::string_view, std::string_view>;
    constexpr Row kCalls[] = {{"neg", "neg"}, {"+", "add"},   {"-", "sub"},
                              {"*", "mul"},   {"/", "div"},   {"%", "rem"},
                              {"min", "min"}, {"max", "max"}, {"ceildiv", "ceildiv"}};
    for (const auto& [name, call] : kCalls) {
      if (name != op) continue;
      std::string text = operands[0];
      if (operands.size() == 1) return fmt::format("hone_n.{}({})", call, text);
      for (std::size_t i = 1; i < operands.size(); ++i) {
        text = fmt::format("hone_n.{}({}, {})", call, text, operands[i]);
      }
      return text;
    }
    if (op == "&&" || op == "||") {
      return fmt::format("(({} != 0) {} ({} != 0))", operands[0], op, operands[1]);
    }
    return fmt::format("({} {} {})", operands[0], op, operands[1]);
  };
  auto text = hone::spell(expr, spelling);
  if (text && !unknown.empty()) {
    return invalid(fmt::format("\"{}\": unknown name '{}'", expr.text(), unknown));
  }
  return text;
}

Result<std::string> CppWriter::run_candidate(const Part& part) const {
  std::string text =
      fmt::format("static inline cudaError_t {}({}) {{\n", hone_run(part), parameters());
  const auto scratch = part.scratch(*plan_.task);
  std::map<std::string, std::string> pointers;
  for (const Buffer* buffer : plan_.buffers()) pointers[buffer->name] = names_.at(buffer->name);
  for (std::size_t i = 0; i < scratch.size(); ++i) {
    const auto index = static_cast<std::size_t>(scratch[i] - part.program->buffers.data());
    const ConcreteBuffer& buffer = part.concrete.buffers[index];
    pointers[buffer.name] = fmt::format("hone_scratch_{}.address", i);
    text += fmt::format(
        "  hone_scratch hone_scratch_{0}(stream);  // {1}, {2} {3}\n"
        "  if (cudaError_t hone_error = hone_scratch_{0}.allocate({4})) return hone_error;\n",
        i, buffer.name, to_string(buffer.type), fmt::join(buffer.shape, " x "),
        integer(buffer.bytes()));
  }
  int maps = 0;
  const auto literals = [](const std::vector<std::int64_t>& values) {
    std::vector<std::string> texts;
    for (const std::int64_t value : values) texts.push_back(integer(value));
    return texts;
  };
  for (std::size_t i = 0; i < part.concrete.launches.size(); ++i) {
    const ConcreteLaunch& launch = part.concrete.launches[i];
    std::string arguments;
    for (const ConcreteArgument& argument : launch.args) {
      if (const auto* map = std::get_if<ConcreteTensorMap>(&argument)) {
        const ConcreteBuffer& buffer = part.concrete.buffers[static_cast<std::size_t>(map->buffer)];
        const std::string name = fmt::format("hone_map_{}", maps++);
        text += tensor_map_text(name, pointers.at(buffer.name), buffer.type,
                                {literals(map->shape), literals(map->strides), literals(map->box),
                                 map->swizzle, map->as_tf32});
        arguments += ", " + name;
      } else if (const auto* buffer = std::get_if<BufferIndex>(&argument)) {
        const auto index = static_cast<std::size_t>(buffer->index);
        arguments += fmt::format(", hone_any({})", pointers.at(part.concrete.buffers[index].name));
      } else if (const auto* value = std::get_if<std::int64_t>(&argument)) {
        arguments += ", " + integer(*value);
      } else {
        arguments += ", " + floating(std::get<double>(argument));
      }
    }
    text += fmt::format(
        "  if (cudaError_t hone_error = {}::{}_launch_{}(dim3({}), dim3({}), {}, stream{})) "
        "return hone_error;\n",
        part.name, part.prefix, i, fmt::join(launch.grid, ", "), fmt::join(launch.block, ", "),
        launch.shared_bytes, arguments);
  }
  return text + "  return cudaSuccess;\n}\n";
}

Result<std::string> CppWriter::run_reference() const {
  const Part& part = plan_.reference;
  const Bindings tunables = Plan::tunables(*part.program);
  std::string why;
  const auto write = [&](const Expr& expr) {
    auto text = spell(expr, tunables);
    if (!text && why.empty()) why = text.error().message;
    return text.value_or("0");
  };
  const auto dimensions = [&](const std::vector<Expr>& entries) {
    std::vector<std::string> texts;
    for (const Expr& entry : entries) texts.push_back(write(entry));
    while (texts.size() < 3) texts.emplace_back("1");
    return fmt::format("{}", fmt::join(texts, ", "));
  };
  // Whatever can be wrong with the sizes is found before anything runs.
  std::string before, allocate, launch_text;
  for (const auto& [name, value] : plan_.task->sizes) {
    before += fmt::format("  hone_n.extent({});\n", names_.at(name));
  }
  for (const Expr& constraint : plan_.task->constraints) {
    before += fmt::format("  if (({}) == 0) return cudaErrorInvalidValue;\n", write(constraint));
  }
  const auto elements = [&](const Buffer& buffer) {
    std::string text;
    for (const Expr& extent : buffer.shape) {
      const std::string one = fmt::format("hone_n.extent({})", write(extent));
      text = text.empty() ? one : fmt::format("hone_n.mul({}, {})", text, one);
    }
    return fmt::format("hone_n.extent({})", text.empty() ? "1" : text);
  };
  for (const Buffer* buffer : plan_.buffers()) {
    before += fmt::format("  {};  // elements of {}\n", elements(*buffer), buffer->name);
  }
  std::map<std::string, std::string> pointers;
  for (const Buffer* buffer : plan_.buffers()) pointers[buffer->name] = names_.at(buffer->name);
  const auto scratch = part.scratch(*plan_.task);
  for (std::size_t i = 0; i < scratch.size(); ++i) {
    pointers[scratch[i]->name] = fmt::format("hone_scratch_{}.address", i);
    before += fmt::format("  const long long hone_bytes_{} = hone_n.mul({}, {});\n", i,
                          elements(*scratch[i]), size_of(scratch[i]->type));
    allocate += fmt::format(
        "  hone_scratch hone_scratch_{0}(stream);  // {1}\n"
        "  if (cudaError_t hone_error = hone_scratch_{0}.allocate(hone_bytes_{0})) return "
        "hone_error;\n",
        i, scratch[i]->name);
  }
  int extents = 0;
  for (std::size_t i = 0; i < part.program->launches.size(); ++i) {
    const Launch& launch = part.program->launches[i];
    before +=
        fmt::format("  const dim3 hone_grid_{} = hone_n.grid({});\n", i, dimensions(launch.grid));
    before += fmt::format("  const dim3 hone_block_{} = hone_n.block({});\n", i,
                          dimensions(launch.block));
    before += fmt::format("  const size_t hone_shared_{} = hone_n.shared({});\n", i,
                          write(launch.shared_bytes));
    std::string arguments;
    for (std::size_t a = 0; a < launch.args.size(); ++a) {
      const Argument& argument = launch.args[a];
      if (argument.kind == Argument::Kind::kBuffer) {
        arguments += fmt::format(", hone_any({})", pointers.at(argument.buffer));
      } else if (argument.kind == Argument::Kind::kNumber) {
        arguments += ", " + floating(argument.number);
      } else if (argument.kind == Argument::Kind::kTensorMap) {
        const Buffer& buffer = *part.program->find_buffer(argument.buffer);
        const TensorMap map = spelled_out(argument.tensor_map, buffer);
        const auto texts = [&](const std::vector<Expr>& exprs) {
          std::vector<std::string> all;
          for (const Expr& expr : exprs) {
            all.push_back(fmt::format("hone_extent_{}", extents++));
            before +=
                fmt::format("  const long long {} = hone_n.extent({});\n", all.back(), write(expr));
          }
          return all;
        };
        const std::string name = fmt::format("hone_map_{}_{}", i, a);
        const auto shape = texts(map.shape), strides = texts(map.strides), box = texts(map.box);
        std::string reached = shape.back();
        for (std::size_t d = 0; d < strides.size(); ++d)
          reached =
              fmt::format("hone_n.add({}, hone_n.mul({} - 1, {}))", reached, shape[d], strides[d]);
        before += fmt::format("  hone_n.within({}, 1, {});  // the map's last element\n", reached,
                              elements(buffer));
        for (const std::string& extent : box)
          before += fmt::format("  hone_n.within({}, 1, 256);\n", extent);
        allocate += tensor_map_text(name, pointers.at(argument.buffer), buffer.type,
                                    {shape, strides, box, map.swizzle, map.as_tf32});
        arguments += ", " + name;
      } else {
        before +=
            fmt::format("  const long long hone_value_{}_{} = {};\n", i, a, write(argument.expr));
        arguments += fmt::format(", hone_value_{}_{}", i, a);
      }
    }
    launch_text += fmt::format(
        "  if (cudaError_t hone_error = {0}::{3}_launch_{1}(hone_grid_{1}, hone_block_{1}, "
        "hone_shared_{1}, stream{2})) return hone_error;\n",
        part.name, i, arguments, part.prefix);
  }
  if (!why.empty()) return invalid("the reference: " + why);
  return fmt::format(
      "static inline cudaError_t {}({}) {{\n  hone_checked hone_n;\n{}"
      "  if (!hone_n.ok) return cudaErrorInvalidValue;\n{}{}  return cudaSuccess;\n}}\n",
      hone_run(part), parameters(), before, allocate, launch_text);
}

std::string CppWriter::parameters() const {
  std::string text;
  for (const Buffer* buffer : plan_.buffers()) {
    text += fmt::format("{}{}* {}, ", buffer->role == Role::kIn ? "const " : "",
                        cuda_name(buffer->type), names_.at(buffer->name));
  }
  for (const auto& [name, value] : plan_.task->sizes) {
    text += fmt::format("long long {}, ", names_.at(name));
  }
  return text + "cudaStream_t stream";
}

std::string CppWriter::arguments() const {
  std::string text;
  for (const Buffer* buffer : plan_.buffers()) text += names_.at(buffer->name) + ", ";
  for (const auto& [name, value] : plan_.task->sizes) text += names_.at(name) + ", ";
  return text + "stream";
}

std::string CppWriter::made_for() const {
  std::vector<std::string> terms;
  for (const auto& [name, value] : plan_.task->sizes) {
    terms.push_back(fmt::format("{} == {}", names_.at(name), integer(value)));
  }
  return terms.empty() ? "true" : fmt::format("{}", fmt::join(terms, " && "));
}

std::string CppWriter::aligned() const {
  std::vector<std::string> terms;
  for (const Buffer* buffer : plan_.buffers()) {
    terms.push_back(fmt::format("hone_aligned({})", names_.at(buffer->name)));
  }
  return terms.empty() ? "true" : fmt::format("{}", fmt::join(terms, " && "));
}

std::string CppWriter::shapes() const {
  std::string text;
  for (const Buffer* buffer : plan_.buffers()) {
    std::vector<std::string> extents;
    for (const Expr& extent : buffer->shape) extents.push_back(extent.text());
    text += fmt::format("//   {}: {}, {}, [{}]\n", names_.at(buffer->name), to_string(buffer->role),
                        to_string(buffer->type),
                        comment_text(fmt::format("{}", fmt::join(extents, ", "))));
  }
  return text;
}

std::string CppWriter::dispatch() const {
  std::string text = fmt::format(
      "  if ({} && {}) {{\n"
      "    int hone_device = 0, hone_major = 0, hone_minor = 0;\n"
      "    if (cudaError_t hone_error = cudaGetDevice(&hone_device)) return hone_error;\n"
      "    if (cudaError_t hone_error = cudaDeviceGetAttribute(&hone_major, "
      "cudaDevAttrComputeCapabilityMajor, hone_device)) return hone_error;\n"
      "    if (cudaError_t hone_error = cudaDeviceGetAttribute(&hone_minor, "
      "cudaDevAttrComputeCapabilityMinor, hone_device)) return hone_error;\n"
      "    const int hone_capability = 10 * hone_major + hone_minor;\n",
      made_for(), aligned());
  for (const Part& part : plan_.candidates) {
    const bool exactly = plan_.dispatches() || part.arch_features;
    const bool guarded = plan_.dispatches() || part.arch_specific;
    text += fmt::format("    if (hone_capability {} {}{}) return {}({});\n",
                        exactly ? "==" : ">=", part.capability,
                        guarded ? fmt::format(" && {}::{}_has_code()", part.name, part.prefix) : "",
                        hone_run(part), arguments());
  }
  return text + fmt::format("  }}\n  return {}({});\n", hone_run(plan_.reference), arguments());
}

std::string CppWriter::hide_macros() const {
  std::string text;
  for (const auto& [name, shown] : names_) {
    text += fmt::format("#pragma push_macro(\"{0}\")\n#undef {0}\n", shown);
  }
  return text;
}

std::string CppWriter::restore_macros() const {
  std::string text;
  for (const auto& [name, shown] : names_)
    text += fmt::format("#pragma pop_macro(\"{}\")\n", shown);
  return text;
}

}  // namespace hone::exporting
