#include "engine/service/export_cuda.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <cctype>

#include "candidates/task_reader.h"

namespace hone {
namespace {

std::string identifier(std::string_view name) {
  std::string result;
  for (const char c : name) result += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  if (result.empty() || std::isdigit(static_cast<unsigned char>(result[0])) != 0)
    result = "task_" + result;
  return result;
}

/// A comment must not be ended by what it quotes.
std::string one_line(std::string text) {
  for (char& c : text) {
    if (c == '\n' || c == '\r' || c == '\\') c = ' ';
  }
  return text;
}

std::string header_of(const BoardRow& row, const Task& task) {
  const Measurement& m = row.evaluation.measurement;
  std::string text = fmt::format("// {} for task {}, made by hone {}.\n", row.candidate.id,
                                 one_line(task.name), row.provenance.hone_version);
  text += fmt::format("// {}: {:.2f} us, {:.2f}x the reference [{:.2f}, {:.2f}], {}.\n",
                      row.provenance.modelled ? "Modelled" : "Measured", m.time_us, m.speedup,
                      m.ci95_low, m.ci95_high, one_line(row.provenance.device_name));
  text += fmt::format("// Largest relative error seen: {:.2e}; math: {}.\n",
                      row.evaluation.max_rel_error, to_string(required_math(row.candidate.recipe)));
  std::vector<std::string> sizes;
  for (const auto& [name, value] : task.sizes) sizes.push_back(fmt::format("{} = {}", name, value));
  if (!sizes.empty()) text += fmt::format("// Made for {}.\n", fmt::join(sizes, ", "));
  for (const Step& step : row.candidate.recipe) {
    text += fmt::format("//   {}\n", one_line(to_string(step)));
  }
  return text + "// Compile: nvcc -std=c++17 -O3 -c FILE.cu\n";
}

std::string headers_needed(const Program& program) {
  // NVRTC has the runtime's declarations built in; nvcc gets them by itself. Half types do not come
  // by themselves in either.
  std::string text = "#include <cuda_runtime.h>\n";
  for (const Buffer& buffer : program.buffers) {
    if (buffer.type == ScalarType::kF16 && text.find("fp16") == std::string::npos) {
      text += "#include <cuda_fp16.h>\n";
    }
    if (buffer.type == ScalarType::kBf16 && text.find("bf16") == std::string::npos) {
      text += "#include <cuda_bf16.h>\n";
    }
  }
  return text;
}

std::string dim3_text(const Dim3& d) { return fmt::format("dim3({}, {}, {})", d[0], d[1], d[2]); }

}  // namespace

Result<std::string> export_cuda(const BoardRow& row, const Task& task, Rewriting& rewriting) {
  const Program& program = row.candidate.program;
  auto concrete = instantiate(program, task.sizes);
  if (!concrete) return std::unexpected(concrete.error());

  std::string source = program.source;
  // The task comment is replaced by our own header; a variant's too.
  if (const auto comment = find_task_comment(source)) {
    source.erase(comment->comment_begin, comment->comment_end - comment->comment_begin);
  }
  std::string text = header_of(row, task) + headers_needed(program) + "\n";
  for (const auto& [name, value] : program.defines)
    text += fmt::format("#define {} {}\n", name, value);
  text += source;
  if (!text.ends_with('\n')) text += '\n';

  std::vector<std::string> parameters;
  std::string allocate, release;
  for (const ConcreteBuffer& buffer : concrete->buffers) {
    const std::string type(cuda_name(buffer.type));
    const std::string shape = fmt::format("{}", fmt::join(buffer.shape, " x "));
    if (buffer.role == Role::kScratch) {
      allocate += fmt::format(
          "  {0}* {1} = nullptr;  // scratch, {2}\n"
          "  if (cudaError_t error = cudaMallocAsync((void**)&{1}, {3}, stream)) return error;\n",
          type, buffer.name, shape, buffer.bytes());
      release += fmt::format("  if (cudaError_t error = cudaFreeAsync({}, stream)) return error;\n",
                             buffer.name);
    } else {
      parameters.push_back(fmt::format("{}{}* {} /* {}, {} */",
                                       buffer.role == Role::kIn ? "const " : "", type, buffer.name,
                                       to_string(buffer.role), shape));
    }
  }
  parameters.emplace_back("cudaStream_t stream");

  const std::string launcher = identifier(task.name) + "_launch";
  text += fmt::format(
      "\n// All pointers are device memory, row-major and dense, of the shapes given.\n"
      "cudaError_t {}({}) {{\n{}",
      launcher, fmt::join(parameters, ", "), allocate);
  for (const ConcreteLaunch& launch : concrete->launches) {
    std::vector<std::string> arguments;
    for (const ConcreteArgument& argument : launch.args) {
      if (const auto* index = std::get_if<BufferIndex>(&argument)) {
        const ConcreteBuffer& buffer = concrete->buffers[static_cast<std::size_t>(index->index)];
        // Kernels may declare inputs without const.
        arguments.push_back(
            buffer.role == Role::kIn
                ? fmt::format("const_cast<{}*>({})", cuda_name(buffer.type), buffer.name)
                : buffer.name);
      } else if (const auto* integer = std::get_if<std::int64_t>(&argument)) {
        arguments.push_back(fmt::format("{}", *integer));
      } else {
        arguments.push_back(fmt::format("{:.17g}", std::get<double>(argument)));
      }
    }
    if (launch.shared_bytes > 48 * 1024) {
      text += fmt::format(
          "  if (cudaError_t error = cudaFuncSetAttribute({}, "
          "cudaFuncAttributeMaxDynamicSharedMemorySize, {})) return error;\n",
          launch.kernel, launch.shared_bytes);
    }
    text +=
        fmt::format("  {}<<<{}, {}, {}, stream>>>({});\n", launch.kernel, dim3_text(launch.grid),
                    dim3_text(launch.block), launch.shared_bytes, fmt::join(arguments, ", "));
    text += "  if (cudaError_t error = cudaGetLastError()) return error;\n";
  }
  text += release + "  return cudaSuccess;\n}\n";
  return rewriting.formatted(text);
}

}  // namespace hone
