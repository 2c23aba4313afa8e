// A planned task as JSON at given sizes, with the role and the fill of every buffer.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "engine/rewriting/init/writer.h"

namespace hone::init {
namespace {

using syntax::HostEvent;
using syntax::HostFill;
using syntax::HostInt;
using Json = nlohmann::ordered_json;

std::string host_values(const HostFill& fill) {
  switch (fill.kind) {
    case HostFill::Kind::kConstant:
      return fmt::format("{}", fill.low);
    case HostFill::Kind::kIota:
      return "0, 1, 2 and so on";
    case HostFill::Kind::kUniform:
    case HostFill::Kind::kIntegers:
      return fmt::format("values from {} to {}", fill.low, fill.high);
    default:
      return "values that are not followed here";
  }
}

}  // namespace

std::string Writer::role_of(const BufferPlan& buffer, Guesses::Roles roles,
                            std::vector<std::string>& notes) const {
  if (!buffer.written) return "in";
  // What the host does with it before and after.
  bool before = false;
  bool filled = false;
  bool copied_back = false;
  bool anything_back = false;
  bool launched = false;
  for (const HostEvent& event : unit_.facts.events) {
    if (event.kind == HostEvent::Kind::kLaunch) {
      for (const Stage& stage : stages_)
        launched = launched || stage.id == static_cast<std::size_t>(event.index);
      continue;
    }
    if (event.kind == HostEvent::Kind::kRead) {
      if (!launched) continue;
      anything_back = true;
      copied_back = copied_back || event.index == buffer.host;
    } else if (event.index == buffer.host && buffer.host >= 0 && !launched) {
      before = true;
      filled = filled || event.kind == HostEvent::Kind::kWrite;
    }
  }
  if (buffer.read_first) {
    if (!buffer.written_first || filled) return "inout";
    if (roles != Guesses::Roles::kBold) {
      notes.push_back(
          fmt::format("buffer {}: inout, since the kernel may read elements before it writes them",
                      buffer.name));
      return "inout";
    }
  }
  const bool several = launches_.size() > 1;
  if (several && buffer.read && anything_back && !copied_back && buffer.host >= 0) return "scratch";
  if (roles == Guesses::Roles::kCareful) {
    notes.push_back(fmt::format("buffer {}: inout, since the kernel may leave elements unwritten{}",
                                buffer.name, before && filled ? "; the host fills it before" : ""));
    return "inout";
  }
  return "out";
}

/// Stored at without atomics, equal indices would race: the task's result needs distinct ones.
bool Writer::takes_permutation(const BufferPlan& buffer) const {
  if (is_float(buffer.type) || buffer.type == ScalarType::kBool || buffer.sorted) return false;
  if (buffer.scattered_into.empty()) return false;
  return std::ranges::all_of(buffer.indexes, [&](const int target) {
    return target >= 0 && sizes_.text(buffers_[static_cast<std::size_t>(target)].elements) ==
                              sizes_.text(buffer.elements);
  });
}

/// Where a default stands for what the host does not say, or says otherwise.
void Writer::note_default_fills(const std::vector<const BufferPlan*>& buffers,
                                std::vector<std::string>& notes) const {
  std::map<std::string, std::vector<std::string>> unsaid;  // by what stands there
  for (const BufferPlan* buffer : buffers) {
    const std::string here = is_float(buffer->type)              ? "-1 to 1"
                             : buffer->type == ScalarType::kBool ? "false and true"
                                                                 : "0 to 100";
    std::optional<HostFill> said;
    if (buffer->host >= 0) said = unit_.facts.buffers[static_cast<std::size_t>(buffer->host)].fill;
    if (!said) {
      unsaid[here].push_back(buffer->name);
      continue;
    }
    notes.push_back(fmt::format("buffer {}: the host fills it with {}; {} stands here",
                                buffer->name, host_values(*said), here));
  }
  for (const auto& [here, names] : unsaid)
    notes.push_back(fmt::format("{} {}: nothing in the file says the values; {} is a guess",
                                names.size() == 1 ? "buffer" : "buffers", fmt::join(names, ", "),
                                here));
}

Json Writer::fill_of(const BufferPlan& buffer, const std::vector<Values>& all, bool permutations,
                     std::vector<std::string>& notes) const {
  const bool integer = !is_float(buffer.type);
  if (permutations && takes_permutation(buffer)) {
    std::vector<std::string> into;
    for (const int target : buffer.scattered_into)
      into.push_back(buffers_[static_cast<std::size_t>(target)].name);
    std::ranges::sort(into);
    into.erase(std::unique(into.begin(), into.end()), into.end());
    notes.push_back(
        fmt::format("buffer {}: a permutation, since its values are where {} is stored to: equal "
                    "ones would race",
                    buffer.name, fmt::join(into, ", ")));
    return "permutation";
  }
  if (integer && (!buffer.indexes.empty() || buffer.sorted)) {
    std::optional<std::int64_t> last;
    std::vector<std::string> into, lengths;
    for (const int target : buffer.indexes) {
      if (target < 0) continue;
      const BufferPlan& other = buffers_[static_cast<std::size_t>(target)];
      into.push_back(other.name);
      lengths.push_back(sizes_.text(other.elements));
      for (const Values& at : all) {
        const auto length = sizes_.value(other.elements, at);
        if (length) last = std::min(last.value_or(*length), *length);
      }
    }
    if (last && *last > 0) {
      std::ranges::sort(into);
      into.erase(std::unique(into.begin(), into.end()), into.end());
      // At every size the whole of what is indexed, and no more.
      std::ranges::sort(lengths);
      lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
      const std::string length =
          lengths.size() == 1 ? lengths.front() : fmt::format("min({})", fmt::join(lengths, ", "));
      const bool number = length.find_first_not_of("0123456789") == length.npos;
      const std::string end =
          number ? std::to_string(*last - 1)
          : length.find_first_of("+-*/%<>=&|") == length.npos || lengths.size() > 1
              ? length + " - 1"
              : fmt::format("({}) - 1", length);
      if (buffer.sorted) {
        notes.push_back(
            fmt::format("buffer {}: sorted from 0 to {}, since its values are where loops over {} "
                        "begin and end",
                        buffer.name, length, fmt::join(into, ", ")));
        return {{"sorted", {Json(0), number ? Json(*last) : Json(length)}}};
      }
      notes.push_back(
          fmt::format("buffer {}: integers from 0 to {}, since its values are indices into {}",
                      buffer.name, end, fmt::join(into, ", ")));
      return {{"integers", {Json(0), number ? Json(*last - 1) : Json(end)}}};
    }
    if (!buffer.indexes.empty())
      notes.push_back(fmt::format(
          "buffer {}: its values are indices, and the range 0 to 100 is a guess", buffer.name));
    return nullptr;
  }
  std::optional<HostFill> said;
  if (buffer.host >= 0) said = unit_.facts.buffers[static_cast<std::size_t>(buffer.host)].fill;
  if (buffer.written && said && said->kind == HostFill::Kind::kConstant &&
      said->low == said->high && std::abs(said->low) <= 1e5)
    return {
        {"constant", integer ? std::trunc(said->low) : said->low}};  // what it starts from counts
  const bool useful =
      said && (said->kind == HostFill::Kind::kUniform || said->kind == HostFill::Kind::kIntegers) &&
      said->high > said->low && std::abs(said->low) <= 1e5 && std::abs(said->high) <= 1e5;
  if (integer) {
    const bool small = buffer.type == ScalarType::kI8 || buffer.type == ScalarType::kU8;
    if (useful && std::floor(said->high) > std::ceil(said->low) && (!small || said->high <= 127) &&
        buffer.type != ScalarType::kBool)
      return {{"integers",
               {static_cast<std::int64_t>(std::ceil(said->low)),
                static_cast<std::int64_t>(std::floor(said->high))}}};
    return nullptr;
  }
  if (useful && !(buffer.wants_positive && said->low <= 0))
    return {{"uniform", {said->low, said->high}}};
  if (buffer.wants_positive) {
    notes.push_back(fmt::format(
        "buffer {}: filled from 0.1 to 1, since the kernel takes roots, logarithms or quotients{}",
        buffer.name, said ? "; the host fills it with " + host_values(*said) : ""));
    return {{"uniform", {0.1, 1}}};
  }
  return nullptr;
}

Json Writer::task_at(const Values& timed, const std::vector<Values>& checks,
                     const std::set<std::string>& constraints, const Guesses& guesses,
                     std::vector<std::string>& notes) const {
  Json task;
  task["name"] = std::filesystem::path(path_).stem().string();
  Json sizes = Json::object();
  for (const std::string& name : sizes_.all()) sizes[name] = timed.at(name);
  task["sizes"] = sizes;
  if (!checks.empty() && !sizes_.all().empty()) {
    Json list = Json::array();
    for (const Values& at : checks) {
      Json one = Json::object();
      for (const std::string& name : sizes_.all()) one[name] = at.at(name);
      list.push_back(one);
    }
    task["check_sizes"] = list;
  }
  if (!constraints.empty()) task["constraints"] = constraints;
  std::vector<Values> all = checks;
  all.push_back(timed);
  Json buffers = Json::array();
  std::vector<const BufferPlan*> by_default;
  for (const BufferPlan& buffer : buffers_) {
    Json one = {{"name", buffer.name}, {"type", to_string(buffer.type)}};
    Json shape = Json::array();
    for (const std::string& factor : sizes_.factors(buffer.elements)) {
      const bool number = factor.find_first_not_of("0123456789") == std::string::npos;
      if (number) {
        shape.push_back(std::stoll(factor));
      } else {
        shape.push_back(factor);
      }
    }
    one["shape"] = shape;
    const std::string role = role_of(buffer, guesses.roles, notes);
    if (role != "in") one["role"] = role;
    if (role == "in" || role == "inout") {
      const Json fill = fill_of(buffer, all, guesses.permutations, notes);
      if (!fill.is_null()) one["fill"] = fill;
      if (fill.is_null() && (is_float(buffer.type) || buffer.indexes.empty()))
        by_default.push_back(&buffer);
    }
    if (buffer.guessed_length)
      notes.push_back(
          fmt::format("buffer {}: its length {} is a guess", buffer.name, shape.dump()));
    buffers.push_back(one);
  }
  note_default_fills(by_default, notes);
  task["buffers"] = buffers;
  Json launches = Json::array();
  for (const LaunchPlan& plan : launches_) {
    const auto extents = [&](const HostInt(&values)[3]) {
      Json list = Json::array();
      int last = 2;
      while (last > 0 && !sizes_.is_symbolic(values[last]) && values[last]->value == 1) --last;
      for (int d = 0; d <= last; ++d) {
        if (sizes_.is_symbolic(values[d])) {
          list.push_back(sizes_.text(values[d]));
        } else {
          list.push_back(values[d]->value);
        }
      }
      return list;
    };
    Json one = {
        {"kernel", plan.kernel}, {"grid", extents(plan.grid)}, {"block", extents(plan.block)}};
    if (plan.shared->value > 0) one["shared_bytes"] = plan.shared->value;
    Json args = Json::array();
    for (const ArgumentPlan& argument : plan.args) {
      if (argument.buffer >= 0) {
        args.push_back(buffers_[static_cast<std::size_t>(argument.buffer)].name);
      } else if (argument.integer != nullptr) {
        if (sizes_.is_symbolic(argument.integer)) {
          args.push_back(sizes_.text(argument.integer));
        } else {
          args.push_back(argument.integer->value);
        }
      } else {
        args.push_back(argument.real.value_or(0));
      }
    }
    one["args"] = args;
    launches.push_back(one);
  }
  task["launches"] = launches;
  task["math"] = "reassociate";
  return task;
}

}  // namespace hone::init
