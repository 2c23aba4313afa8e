#include "rewriters/llm/reply/blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "rewriters/llm/reply/reply.h"

namespace hone::llm {
namespace {

constexpr std::string_view kBlank = " \t";

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") + 1 - begin);
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

std::string with_plain_line_ends(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\r') {
      out += text[i];
    } else if (!text.substr(i + 1).starts_with('\n')) {
      out += '\n';
    }
  }
  return out;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

struct Fence {
  char mark = '`';
  std::size_t length = 0;
  std::string_view info;  // behind it
};

std::optional<Fence> fence_of(std::string_view line) {
  const std::size_t begin = line.find_first_not_of(kBlank);
  if (begin == std::string_view::npos || (line[begin] != '`' && line[begin] != '~')) {
    return std::nullopt;
  }
  line.remove_prefix(begin);
  const std::size_t length = std::min(line.find_first_not_of(line[0]), line.size());
  const Fence fence{line[0], length, trimmed(line.substr(length))};
  if (length < 3 || (fence.mark == '`' && fence.info.contains('`'))) return std::nullopt;
  return fence;
}

std::string tag_of(std::string_view info) {
  if (info.starts_with('{')) info.remove_prefix(1);  // {.cuda}
  if (info.starts_with('.')) info.remove_prefix(1);
  return lower(info.substr(0, info.find_first_of(" \t{}:,")));
}

struct ThoughtTags {
  std::string_view open, close;
};
constexpr ThoughtTags kThoughts[] = {{"<think>", "</think>"},
                                     {"<thinking>", "</thinking>"},
                                     {"<thought>", "</thought>"},
                                     {"<reasoning>", "</reasoning>"}};

// A thought begins where a line does. One that has only an end began before the reply.
std::string without_thoughts(std::string_view text, bool& unfinished) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    const std::string_view line = trimmed(text.substr(at, end - at));
    bool thought = false;
    for (const ThoughtTags& tags : kThoughts) {
      if (line.starts_with(tags.close)) {
        out.clear();
        at = text.find(tags.close, at) + tags.close.size();
        thought = true;
        break;
      }
      if (!line.starts_with(tags.open)) continue;
      const std::size_t close = text.find(tags.close, at);
      unfinished = close == std::string_view::npos;
      if (unfinished) return out;
      at = close + tags.close.size();
      thought = true;
      break;
    }
    if (thought) continue;
    out += text.substr(at, end - at);
    at = end;
  }
  return out;
}

// A block that is open, with the fences that were opened within it: no code holds one but in a
// comment or where the block's own end is missing, and then the block never ends.
struct Open {
  Block block;
  Fence fence;
  std::size_t inner = 0;
};

void read_blocks(std::string_view text, ReplyParts& parts) {
  std::optional<Open> open;
  for (const std::string_view line : lines_of(text)) {
    const auto fence = fence_of(line);
    if (!open) {
      if (fence) {
        open = Open{{tag_of(fence->info), "", false}, *fence, 0};
      } else {
        parts.prose += line;
        parts.prose += '\n';
      }
      continue;
    }
    if (fence && fence->mark == open->fence.mark && fence->length >= open->fence.length) {
      if (!fence->info.empty()) {
        ++open->inner;
      } else if (open->inner > 0) {
        --open->inner;
      } else {
        open->block.closed = true;
        parts.blocks.push_back(std::move(open->block));
        open.reset();
        continue;
      }
    }
    open->block.text += line;
    open->block.text += '\n';
  }
  if (open) parts.blocks.push_back(std::move(open->block));
}

}  // namespace

bool is_code(const Block& block) {
  static constexpr std::string_view kTags[] = {
      "cuda",     "cu",       "c++",   "cpp",    "cxx", "cc", "c",  "cuda-cpp",
      "cuda_cpp", "cuda-c++", "cudac", "cuda-c", "cuh", "h",  "hpp"};
  if (std::ranges::find(kTags, block.tag) != std::end(kTags)) return true;
  const bool unknown =
      block.tag.empty() || block.tag == "text" || block.tag == "plaintext" || block.tag == "code";
  return unknown && !is_json(block) && block.text.contains("__global__");
}

bool is_json(const Block& block) {
  if (block.tag == "json" || block.tag == "jsonc" || block.tag == "json5") return true;
  const bool unknown = block.tag.empty() || block.tag == "text" || block.tag == "plaintext" ||
                       block.tag == "javascript" || block.tag == "js";
  return unknown && trimmed(block.text).starts_with('{');
}

ReplyParts parts_of(std::string_view reply) {
  ReplyParts parts;
  parts.text = without_thoughts(with_plain_line_ends(reply), parts.thinking);
  read_blocks(parts.text, parts);
  // Some put all that they say into a fence.
  const std::vector<Block> outer = std::exchange(parts.blocks, {});
  for (const Block& block : outer) {
    if (block.closed && (block.tag == "markdown" || block.tag == "md")) {
      read_blocks(block.text, parts);
    } else {
      parts.blocks.push_back(block);
    }
  }
  return parts;
}
Result<ReplyParts> readable_parts(std::string_view reply) {
  if (reply.size() > kMaxReplyBytes) {
    return refused(
        fmt::format("the reply has {} bytes; at most {} are read", reply.size(), kMaxReplyBytes));
  }
  ReplyParts parts = parts_of(reply);
  if (!trimmed(parts.text).empty()) return parts;
  if (parts.thinking) return refused("half a reply: it ends within its thoughts");
  return refused("the reply is empty");
}

std::string_view last_object(std::string_view text, std::string_view word) {
  std::string_view last;
  std::size_t begin = std::string_view::npos;
  int depth = 0;
  bool in_string = false, line_begins = true;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (in_string) {
      if (c == '\\') ++at;
      // No JSON string holds a line's end: it was an apostrophe of prose.
      in_string = c != '"' && c != '\n';
      continue;
    }
    if (depth == 0 && c == '{' && line_begins) {
      begin = at;
      depth = 1;
    } else if (depth > 0) {
      if (c == '"') in_string = true;
      if (c == '{') ++depth;
      if (c == '}' && --depth == 0) {
        const std::string_view object = text.substr(begin, at + 1 - begin);
        if (object.contains(word)) last = object;
      }
    }
    line_begins = c == '\n' || (line_begins && (c == ' ' || c == '\t'));
  }
  return last;
}

}  // namespace hone::llm
