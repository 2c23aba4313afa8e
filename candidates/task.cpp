#include "candidates/task.h"

#include <fmt/format.h>

#include <filesystem>

#include "candidates/fill_json.h"
#include "candidates/hash.h"
#include "candidates/program_detail.h"
#include "candidates/sent_file.h"
#include "candidates/task_reader.h"

namespace hone {
namespace {

Bindings decode_bindings(const JsonCursor& cursor) {
  Bindings bindings;
  for (const auto& [name, value] : cursor.members()) bindings[name] = value.integer();
  return bindings;
}

}  // namespace

NonFinite read_non_finite(const JsonCursor& cursor) {
  const std::string text = cursor.string();
  if (cursor.ok() && text != "same")
    cursor.fail(
        fmt::format("'{}' is not \"same\", which says that NaN and infinities in the "
                    "outputs are meant; leave the key out where they are not",
                    printable(text)));
  return NonFinite::kSame;
}

namespace {

Task decode_task(const JsonCursor& cursor) {
  Task task;
  if (!cursor.expect_keys({"name", "source_path", "reference", "sizes", "check_sizes", "tunables",
                           "constraints", "tolerance", "non_finite", "math", "specialize", "flops",
                           "torch"})) {
    return task;
  }
  task.name = cursor.at("name").string();
  task.source_path = cursor.at("source_path").string();
  task.reference = decode_program(cursor.at("reference"));
  task.sizes = decode_bindings(cursor.at("sizes"));
  for (const JsonCursor& element : cursor.at("check_sizes").elements()) {
    task.check_sizes.push_back(decode_bindings(element));
  }
  for (const auto& [name, values] : cursor.at("tunables").members()) {
    for (const JsonCursor& value : values.elements()) {
      task.tunables[name].push_back(value.integer());
    }
  }
  for (const JsonCursor& element : cursor.at("constraints").elements()) {
    task.constraints.push_back(element.expr());
  }
  const JsonCursor tolerance = cursor.at("tolerance");
  if (tolerance.expect_keys({"rtol", "atol"})) {
    task.tolerance.rtol = tolerance.at("rtol").number();
    task.tolerance.atol = tolerance.at("atol").number();
  }
  if (const auto non_finite = cursor.find("non_finite"))
    task.tolerance.non_finite = read_non_finite(*non_finite);
  task.math = cursor.at("math").choice<MathLevel>(parse_math_level, kMathLevelNames);
  task.specialize = cursor.at("specialize").boolean();
  if (const auto flops = cursor.find("flops")) task.flops = flops->expr();
  if (const auto torch = cursor.find("torch")) task.torch = torch->string();
  return task;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return "";
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

// The source without its task comment, which holds the name and repeats what is hashed below.
std::string bare_source(const std::string& source) {
  const auto comment = find_task_comment(source);
  if (!comment) return std::string(trimmed(source));
  const std::string_view text = source;
  return std::string(trimmed(text.substr(0, comment->comment_begin))) +
         std::string(trimmed(text.substr(comment->comment_end)));
}

std::string hash_of(const nlohmann::json& json) {
  return content_hash(json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace

std::vector<std::string> Task::input_files() const {
  std::vector<std::string> files;
  for (const Buffer& buffer : reference.buffers)
    if (buffer.fill.kind == Fill::Kind::kFile && !sent_file(buffer.fill.path))
      files.push_back(buffer.fill.path);
  return files;
}

void to_json(nlohmann::json& json, const Task& task) {
  auto constraints = nlohmann::json::array();
  for (const Expr& constraint : task.constraints) constraints.push_back(expr_to_json(constraint));
  json =
      nlohmann::json{{"name", task.name},
                     {"source_path", task.source_path},
                     {"reference", task.reference},
                     {"sizes", task.sizes},
                     {"check_sizes", task.check_sizes},
                     {"tunables", task.tunables},
                     {"constraints", std::move(constraints)},
                     {"tolerance", {{"rtol", task.tolerance.rtol}, {"atol", task.tolerance.atol}}},
                     {"math", to_string(task.math)},
                     {"specialize", task.specialize}};
  // Only where it stands: the hash of other tasks stays what it was.
  if (task.tolerance.non_finite == NonFinite::kSame) json["non_finite"] = "same";
  if (task.flops) json["flops"] = expr_to_json(*task.flops);
  if (task.torch) json["torch"] = *task.torch;
}

Result<Task> task_from_json(const nlohmann::json& json) { return decode<Task>(json, decode_task); }

nlohmann::json Task::identity() const {
  nlohmann::json json = *this;
  for (const char* key : {"name", "source_path", "flops", "torch"}) json.erase(key);
  json["reference"]["source"] = bare_source(reference.source);
  for (std::size_t i = 0; i < reference.buffers.size(); ++i) {
    nlohmann::json& buffer = json["reference"]["buffers"][i];
    // A fill that the task leaves out counts like the same fill written out.
    if (reference.buffers[i].fill.unstated) buffer["fill"] = fill_to_json(reference.buffers[i]);
    // The same data may lie elsewhere on another machine or on a server, and weights of another
    // training make no other task: only the file's own name counts.
    if (!buffer.contains("fill") || !buffer["fill"].contains("file")) continue;
    nlohmann::json& file = buffer["fill"]["file"];
    file = std::filesystem::path(file.get<std::string>()).filename().string();
  }
  return json;
}

std::string Task::hash() const { return hash_of(identity()); }

std::string Task::family() const {
  nlohmann::json json = identity();
  for (const char* key : {"sizes", "check_sizes", "tolerance", "non_finite", "math"})
    json.erase(key);
  return hash_of(json);
}

}  // namespace hone
