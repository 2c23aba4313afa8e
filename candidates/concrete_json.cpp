// JSON of a ConcreteProgram: what travels to a runner.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "candidates/program_detail.h"

namespace hone {
namespace {

// In the order of Fill::Kind.
constexpr std::array<std::string_view, 20> kFillKinds = {"uniform",
                                                         "normal",
                                                         "integers",
                                                         "constant",
                                                         "iota",
                                                         "file",
                                                         "tails",
                                                         "either",
                                                         "edges",
                                                         "multiples",
                                                         "sorted",
                                                         "permutation",
                                                         "one_hot",
                                                         "lower_triangular",
                                                         "upper_triangular",
                                                         "equal",
                                                         "falling",
                                                         "runs",
                                                         "sparse",
                                                         "ties"};

std::optional<Fill::Kind> parse_fill_kind(std::string_view text) {
  for (std::size_t i = 0; i < kFillKinds.size(); ++i) {
    if (kFillKinds[i] == text) return static_cast<Fill::Kind>(i);
  }
  return std::nullopt;
}

Dim3 decode_dim3(const JsonCursor& cursor) {
  Dim3 dimensions{1, 1, 1};
  const auto elements = cursor.elements();
  if (!cursor.ok()) return dimensions;
  if (elements.size() != 3) {
    cursor.fail(fmt::format("has {} entries; must have 3", elements.size()));
    return dimensions;
  }
  for (std::size_t i = 0; i < 3; ++i) dimensions[i] = elements[i].integer_in(1, INT32_MAX);
  return dimensions;
}

ConcreteBuffer decode_buffer(const JsonCursor& cursor) {
  ConcreteBuffer buffer;
  if (!cursor.expect_keys({"name",    "type",    "shape",  "role",   "fill",
                           "a",       "b",       "path",   "offset", "step",
                           "form",    "through", "tf32",   "exact",  "unstated",
                           "pattern", "like",    "like_a", "like_b", "like_count"})) {
    return buffer;
  }
  buffer.name = cursor.at("name").string();
  buffer.type = cursor.at("type").choice<ScalarType>(parse_scalar_type, kScalarTypeNames);
  std::int64_t elements = 1;
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  const JsonCursor shape = cursor.at("shape");
  for (const JsonCursor& extent : shape.elements()) {
    buffer.shape.push_back(extent.integer_in(1, kMost));
    if (__builtin_mul_overflow(elements, buffer.shape.back(), &elements) || elements > kMost) {
      shape.fail("has more than 2^40 elements");
      break;
    }
  }
  buffer.role = cursor.at("role").choice<Role>(parse_role, kRoleNames);
  buffer.fill.kind = cursor.at("fill").choice<Fill::Kind>(
      parse_fill_kind, fmt::format("{}", fmt::join(kFillKinds, ", ")));
  buffer.fill.a = cursor.at("a").number();
  buffer.fill.b = cursor.at("b").number();
  if (const auto path = cursor.find("path")) buffer.fill.path = path->string();
  if (const auto offset = cursor.find("offset"))
    buffer.fill.offset = offset->integer_in(0, std::int64_t{1} << 50);
  if (const auto step = cursor.find("step")) buffer.fill.step = step->number();
  if (const auto form = cursor.find("form"))
    buffer.fill.form = static_cast<int>(form->integer_in(0, 9));
  if (const auto pattern = cursor.find("pattern"))
    buffer.fill.pattern = static_cast<int>(pattern->integer_in(0, 15));
  if (const auto like = cursor.find("like")) buffer.fill.like = like->string();
  if (const auto count = cursor.find("like_count")) {
    buffer.fill.like_count = count->integer_in(1, kMost);
    buffer.fill.like_a = cursor.at("like_a").number();
    buffer.fill.like_b = cursor.at("like_b").number();
  }
  if (const auto through = cursor.find("through"))
    buffer.fill.through = through->choice<ScalarType>(parse_scalar_type, "a type");
  if (const auto tf32 = cursor.find("tf32")) buffer.fill.tf32 = tf32->boolean();
  if (const auto unstated = cursor.find("unstated")) buffer.fill.unstated = unstated->boolean();
  if (const auto exact = cursor.find("exact")) {
    const auto ends = exact->elements();
    if (ends.size() != 2) {
      exact->fail("must be two integers");
      return buffer;
    }
    buffer.fill.exact = {ends[0].unsigned_integer(), ends[1].unsigned_integer()};
  }
  return buffer;
}

std::vector<std::int64_t> decode_extents(const JsonCursor& cursor) {
  std::vector<std::int64_t> extents;
  for (const JsonCursor& extent : cursor.elements_up_to(5))
    extents.push_back(extent.integer_in(1, std::int64_t{1} << 40));
  return extents;
}

ConcreteTensorMap decode_tensor_map(const JsonCursor& cursor, int buffer) {
  ConcreteTensorMap map;
  if (!cursor.expect_keys({"tensor_map", "shape", "strides", "box", "swizzle", "as_tf32"}))
    return map;
  map.buffer = buffer;
  map.shape = decode_extents(cursor.at("shape"));
  map.strides = decode_extents(cursor.at("strides"));
  map.box = decode_extents(cursor.at("box"));
  const JsonCursor swizzle = cursor.at("swizzle");
  map.swizzle = static_cast<int>(swizzle.integer_in(0, 128));
  if (!is_swizzle(map.swizzle)) swizzle.fail("must be 0, 32, 64 or 128");
  if (const auto as_tf32 = cursor.find("as_tf32")) map.as_tf32 = as_tf32->boolean();
  return map;
}

ConcreteLaunch decode_launch(const JsonCursor& cursor, const std::vector<ConcreteBuffer>& buffers) {
  ConcreteLaunch launch;
  if (!cursor.expect_keys({"kernel", "grid", "block", "shared_bytes", "args"})) return launch;
  launch.kernel = cursor.at("kernel").string();
  launch.grid = decode_dim3(cursor.at("grid"));
  launch.block = decode_dim3(cursor.at("block"));
  launch.shared_bytes = cursor.at("shared_bytes").integer_in(0, INT32_MAX);
  const auto index_in = [&](const JsonCursor& index) {
    const std::int64_t value = index.integer();
    if (value < 0 || static_cast<std::size_t>(value) >= buffers.size())
      index.fail(fmt::format("is {}; there are {} buffers", value, buffers.size()));
    return static_cast<int>(value);
  };
  for (const JsonCursor& argument : cursor.at("args").elements()) {
    if (const auto index = argument.find("buffer")) {
      argument.expect_keys({"buffer"});
      launch.args.emplace_back(BufferIndex{index_in(*index)});
    } else if (const auto mapped = argument.find("tensor_map")) {
      ConcreteTensorMap map = decode_tensor_map(argument, index_in(*mapped));
      if (!cursor.ok()) break;
      const ConcreteBuffer& buffer = buffers[static_cast<std::size_t>(map.buffer)];
      std::string mistake = mistake_in(map, buffer.type);
      if (mistake.empty() && elements_reached(map) > buffer.elements())
        mistake = "it reaches beyond its buffer";
      if (!mistake.empty()) argument.fail(mistake);
      launch.args.emplace_back(std::move(map));
    } else if (argument.value().is_number_integer()) {
      launch.args.emplace_back(argument.integer());
    } else {
      launch.args.emplace_back(argument.number());
    }
  }
  return launch;
}

}  // namespace

void to_json(nlohmann::json& json, const ConcreteProgram& program) {
  auto buffers = nlohmann::json::array();
  for (const ConcreteBuffer& buffer : program.buffers) {
    nlohmann::json item{{"name", buffer.name},
                        {"type", to_string(buffer.type)},
                        {"shape", buffer.shape},
                        {"role", to_string(buffer.role)},
                        {"fill", kFillKinds[static_cast<std::size_t>(buffer.fill.kind)]},
                        {"a", buffer.fill.a},
                        {"b", buffer.fill.b}};
    if (!buffer.fill.path.empty()) item["path"] = buffer.fill.path;
    if (buffer.fill.offset != 0) item["offset"] = buffer.fill.offset;
    if (buffer.fill.step != 0) item["step"] = buffer.fill.step;
    if (buffer.fill.form != 0) item["form"] = buffer.fill.form;
    if (buffer.fill.pattern != 0) item["pattern"] = buffer.fill.pattern;
    if (!buffer.fill.like.empty()) item["like"] = buffer.fill.like;
    if (buffer.fill.like_count != 0) {
      item["like_count"] = buffer.fill.like_count;
      item["like_a"] = buffer.fill.like_a;
      item["like_b"] = buffer.fill.like_b;
    }
    if (buffer.fill.exact) item["exact"] = *buffer.fill.exact;
    if (buffer.fill.unstated) item["unstated"] = true;
    if (buffer.fill.tf32) item["tf32"] = true;
    if (buffer.fill.through) item["through"] = to_string(*buffer.fill.through);
    buffers.push_back(std::move(item));
  }
  auto launches = nlohmann::json::array();
  for (const ConcreteLaunch& launch : program.launches) {
    auto args = nlohmann::json::array();
    for (const ConcreteArgument& argument : launch.args) {
      if (const auto* buffer = std::get_if<BufferIndex>(&argument)) {
        args.push_back({{"buffer", buffer->index}});
      } else if (const auto* integer = std::get_if<std::int64_t>(&argument)) {
        args.push_back(*integer);
      } else if (const auto* map = std::get_if<ConcreteTensorMap>(&argument)) {
        nlohmann::json item{{"tensor_map", map->buffer},
                            {"shape", map->shape},
                            {"strides", map->strides},
                            {"box", map->box},
                            {"swizzle", map->swizzle}};
        if (map->as_tf32) item["as_tf32"] = true;
        args.push_back(std::move(item));
      } else {
        args.push_back(std::get<double>(argument));
      }
    }
    launches.push_back({{"kernel", launch.kernel},
                        {"grid", launch.grid},
                        {"block", launch.block},
                        {"shared_bytes", launch.shared_bytes},
                        {"args", std::move(args)}});
  }
  json = nlohmann::json{{"source", program.source},
                        {"defines", program.defines},
                        {"buffers", std::move(buffers)},
                        {"launches", std::move(launches)}};
}

Result<ConcreteProgram> concrete_program_from_json(const nlohmann::json& json) {
  return decode<ConcreteProgram>(json, [](const JsonCursor& cursor) {
    ConcreteProgram program;
    if (!cursor.expect_keys({"source", "defines", "buffers", "launches"})) return program;
    program.source = cursor.at("source").string();
    for (const auto& [name, value] : cursor.at("defines").members()) {
      program.defines[name] = value.string();
    }
    for (const JsonCursor& buffer : cursor.at("buffers").elements()) {
      program.buffers.push_back(decode_buffer(buffer));
    }
    for (const JsonCursor& launch : cursor.at("launches").elements()) {
      program.launches.push_back(decode_launch(launch, program.buffers));
    }
    return program;
  });
}

}  // namespace hone
