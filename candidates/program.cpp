#include "candidates/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>

#include "candidates/fill_json.h"
#include "candidates/program_detail.h"

namespace hone {
namespace {

constexpr std::int64_t kMaxElements = std::int64_t{1} << 40;
constexpr std::int64_t kMaxSharedBytes = (std::int64_t{1} << 31) - 1;  // a launch passes an int

std::unexpected<JsonError> error_at(std::string path, std::string message) {
  return std::unexpected(JsonError{std::move(path), std::move(message)});
}

std::expected<std::int64_t, JsonError> eval(const Expr& expr, const Bindings& bindings,
                                            const std::string& path) {
  auto value = expr.eval(bindings);
  if (!value) return error_at(path, value.error().message);
  return *value;
}

// "is 0" for a literal, "\"N/64\" is 0" for an expression.
std::string shown(const Expr& expr, std::int64_t value) {
  if (expr.text() == std::to_string(value)) return fmt::format("is {}", value);
  return fmt::format("\"{}\" is {}", expr.text(), value);
}

std::expected<ConcreteBuffer, JsonError> instantiate_buffer(const Buffer& buffer,
                                                            const Bindings& bindings,
                                                            const std::string& path) {
  ConcreteBuffer concrete{buffer.name, buffer.type, {}, buffer.role, buffer.fill};
  std::int64_t elements = 1;
  for (std::size_t i = 0; i < buffer.shape.size(); ++i) {
    const std::string place = fmt::format("{}.shape[{}]", path, i);
    const auto extent = eval(buffer.shape[i], bindings, place);
    if (!extent) return std::unexpected(extent.error());
    if (*extent <= 0) {
      return error_at(
          place, fmt::format("{}; an extent must be at least 1", shown(buffer.shape[i], *extent)));
    }
    if (__builtin_mul_overflow(elements, *extent, &elements) || elements > kMaxElements) {
      return error_at(fmt::format("{}.shape", path),
                      fmt::format("buffer '{}' has more than 2^40 elements", buffer.name));
    }
    concrete.shape.push_back(*extent);
  }
  if (buffer.role != Role::kIn && buffer.role != Role::kInOut) return concrete;
  std::vector<std::int64_t> ends;
  for (const Expr& end : buffer.fill_ends) {
    const auto value = eval(end, bindings, path + ".fill");
    if (!value) return std::unexpected(value.error());
    ends.push_back(*value);
  }
  std::string mistake = set_fill_ends(concrete.fill, buffer.type, ends);
  if (mistake.empty()) mistake = fill_mistake(concrete);
  if (!mistake.empty()) return error_at(path + ".fill", std::move(mistake));
  return concrete;
}

std::expected<Dim3, JsonError> instantiate_dimensions(const std::vector<Expr>& entries,
                                                      const Dim3& most, const Bindings& bindings,
                                                      const std::string& path) {
  if (entries.empty() || entries.size() > 3) {
    return error_at(path, fmt::format("has {} entries; must have 1 to 3", entries.size()));
  }
  Dim3 dimensions{1, 1, 1};
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::string place = fmt::format("{}[{}]", path, i);
    const auto value = eval(entries[i], bindings, place);
    if (!value) return std::unexpected(value.error());
    if (*value < 1 || *value > most[i]) {
      return error_at(place, fmt::format("{}; CUDA allows 1 to {} in {}", shown(entries[i], *value),
                                         most[i], "xyz"[i]));
    }
    dimensions[i] = *value;
  }
  return dimensions;
}

std::expected<std::vector<std::int64_t>, JsonError> instantiate_extents(
    const std::vector<Expr>& entries, const Bindings& bindings, const std::string& path) {
  std::vector<std::int64_t> extents;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::string place = fmt::format("{}[{}]", path, i);
    const auto value = eval(entries[i], bindings, place);
    if (!value) return std::unexpected(value.error());
    if (*value < 1 || *value > kMaxElements)
      return error_at(place, fmt::format("{}; must be 1 to 2^40", shown(entries[i], *value)));
    extents.push_back(*value);
  }
  return extents;
}

std::expected<ConcreteTensorMap, JsonError> instantiate_tensor_map(const TensorMap& map,
                                                                   int buffer_index,
                                                                   const ConcreteBuffer& buffer,
                                                                   const Bindings& bindings,
                                                                   const std::string& path) {
  auto shape = instantiate_extents(map.shape, bindings, path + ".shape");
  if (!shape) return std::unexpected(shape.error());
  auto strides = instantiate_extents(map.strides, bindings, path + ".strides");
  if (!strides) return std::unexpected(strides.error());
  auto box = instantiate_extents(map.box, bindings, path + ".box");
  if (!box) return std::unexpected(box.error());
  ConcreteTensorMap concrete{buffer_index,    std::move(*shape), std::move(*strides),
                             std::move(*box), map.swizzle,       map.as_tf32};
  const std::size_t rank = concrete.shape.size();
  if (rank > 5)
    return error_at(path, fmt::format("has {} dimensions; a tensor map has 1 to 5", rank));
  if (concrete.strides.size() != rank - 1) {
    return error_at(path + ".strides",
                    fmt::format("has {} entries; a tensor map of {} dimensions has {}",
                                concrete.strides.size(), rank, rank - 1));
  }
  if (concrete.box.size() != rank) {
    return error_at(path + ".box", fmt::format("has {} entries; the tensor map has {} dimensions",
                                               concrete.box.size(), rank));
  }
  if (const std::string mistake = mistake_in(concrete, buffer.type); !mistake.empty())
    return error_at(path, "no tensor map can have this: " + mistake);
  if (const std::int64_t reached = elements_reached(concrete); reached > buffer.elements()) {
    return error_at(path, fmt::format("reaches element {}; buffer '{}' has {} elements",
                                      reached - 1, buffer.name, buffer.elements()));
  }
  return concrete;
}

std::expected<ConcreteLaunch, JsonError> instantiate_launch(
    const Launch& launch, const Program& program, const std::vector<ConcreteBuffer>& buffers,
    const Bindings& bindings, const std::string& path) {
  ConcreteLaunch concrete;
  concrete.kernel = launch.kernel;
  const auto grid = instantiate_dimensions(launch.grid, kMaxGrid, bindings, path + ".grid");
  if (!grid) return std::unexpected(grid.error());
  const auto block = instantiate_dimensions(launch.block, kMaxBlock, bindings, path + ".block");
  if (!block) return std::unexpected(block.error());
  concrete.grid = *grid;
  concrete.block = *block;
  const std::int64_t threads = concrete.block[0] * concrete.block[1] * concrete.block[2];
  if (threads > kMaxBlockThreads) {
    return error_at(path + ".block",
                    fmt::format("{} x {} x {} is {} threads; CUDA allows at most {} in a block",
                                concrete.block[0], concrete.block[1], concrete.block[2], threads,
                                kMaxBlockThreads));
  }
  const auto shared = eval(launch.shared_bytes, bindings, path + ".shared_bytes");
  if (!shared) return std::unexpected(shared.error());
  if (*shared < 0 || *shared > kMaxSharedBytes) {
    return error_at(
        path + ".shared_bytes",
        fmt::format("{}; must be 0 to {}", shown(launch.shared_bytes, *shared), kMaxSharedBytes));
  }
  concrete.shared_bytes = *shared;
  for (std::size_t i = 0; i < launch.args.size(); ++i) {
    const Argument& argument = launch.args[i];
    const std::string place = fmt::format("{}.args[{}]", path, i);
    switch (argument.kind) {
      case Argument::Kind::kBuffer:
      case Argument::Kind::kTensorMap: {
        const Buffer* buffer = program.find_buffer(argument.buffer);
        if (buffer == nullptr) {
          return error_at(place, fmt::format("there is no buffer '{}'", argument.buffer));
        }
        const auto index = buffer - program.buffers.data();
        if (argument.kind == Argument::Kind::kBuffer) {
          concrete.args.emplace_back(BufferIndex{static_cast<int>(index)});
          break;
        }
        auto map = instantiate_tensor_map(
            spelled_out(argument.tensor_map, *buffer), static_cast<int>(index),
            buffers[static_cast<std::size_t>(index)], bindings, place);
        if (!map) return std::unexpected(map.error());
        concrete.args.emplace_back(std::move(*map));
        break;
      }
      case Argument::Kind::kExpr: {
        const auto value = eval(argument.expr, bindings, place);
        if (!value) return std::unexpected(value.error());
        concrete.args.emplace_back(*value);
        break;
      }
      case Argument::Kind::kNumber:
        concrete.args.emplace_back(argument.number);
        break;
    }
  }
  return concrete;
}

}  // namespace

TensorMap spelled_out(const TensorMap& map, const Buffer& buffer) {
  TensorMap all = map;
  if (all.shape.empty()) all.shape = buffer.shape;
  if (!all.strides.empty()) return all;
  for (std::size_t i = 1; i < all.shape.size(); ++i) {
    std::string product;
    for (std::size_t k = i; k < all.shape.size(); ++k)
      product += fmt::format("{}({})", product.empty() ? "" : " * ", all.shape[k].text());
    all.strides.push_back(Expr::parse(product).value_or(Expr(0)));
  }
  return all;
}

const Buffer* Program::find_buffer(std::string_view name) const {
  const auto found = std::ranges::find(buffers, name, &Buffer::name);
  return found == buffers.end() ? nullptr : &*found;
}

namespace {

/// is_one(extent)
template <class Buffers, class IsOne>
bool fp8_alone(const Buffers& buffers, IsOne is_one) {
  int eight_bits = 0, vectors = 0;
  for (const auto& buffer : buffers) {
    if ((buffer.role != Role::kIn && buffer.role != Role::kInOut) || !is_float(buffer.type))
      continue;
    if (is_fp8(buffer.type)) {
      ++eight_bits;
    } else if (std::ranges::count_if(buffer.shape, std::not_fn(is_one)) > 1) {
      return false;
    } else {
      ++vectors;
    }
  }
  return eight_bits >= 2 || (eight_bits == 1 && vectors == 0);
}

}  // namespace

bool multiplies_fp8(const std::vector<Buffer>& buffers) {
  return fp8_alone(buffers, [](const Expr& extent) { return extent.text() == "1"; });
}

bool multiplies_fp8(const std::vector<ConcreteBuffer>& buffers) {
  return fp8_alone(buffers, [](std::int64_t extent) { return extent == 1; });
}

bool Program::uses(std::string_view name) const {
  return std::ranges::any_of(launches, [&](const Launch& launch) {
    return std::ranges::any_of(launch.args, [&](const Argument& a) { return a.gives(name); });
  });
}

std::int64_t ConcreteBuffer::elements() const {
  std::int64_t product = 1;
  for (const std::int64_t extent : shape) product *= extent;
  return product;
}

std::int64_t ConcreteBuffer::bytes() const {
  return elements() * static_cast<std::int64_t>(size_of(type));
}

std::expected<ConcreteProgram, JsonError> instantiate_placed(const Program& program,
                                                             const Bindings& sizes) {
  Bindings bindings = sizes;
  for (const auto& [name, value] : sizes) {
    if (value <= 0) {
      return error_at("sizes." + name, fmt::format("is {}; a size must be at least 1", value));
    }
  }
  for (const auto& [name, text] : program.defines) {
    std::int64_t value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code == std::errc() && end == text.data() + text.size()) bindings[name] = value;
  }
  ConcreteProgram concrete{program.source, program.defines, {}, {}};
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    auto buffer = instantiate_buffer(program.buffers[i], bindings, fmt::format("buffers[{}]", i));
    if (!buffer) return std::unexpected(buffer.error());
    if (buffer->role == Role::kScratch && !program.uses(buffer->name)) buffer->shape = {1};
    concrete.buffers.push_back(std::move(*buffer));
  }
  for (std::size_t i = 0; i < program.launches.size(); ++i) {
    auto launch = instantiate_launch(program.launches[i], program, concrete.buffers, bindings,
                                     fmt::format("launches[{}]", i));
    if (!launch) return std::unexpected(launch.error());
    concrete.launches.push_back(std::move(*launch));
  }
  return concrete;
}

Result<ConcreteProgram> instantiate(const Program& program, const Bindings& sizes) {
  auto concrete = instantiate_placed(program, sizes);
  if (!concrete) return invalid(concrete.error().path + ": " + concrete.error().message);
  return std::move(*concrete);
}

}  // namespace hone
