// A reply's parts: fenced blocks and the prose around them, without what the model thought aloud.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "candidates/result.h"

namespace hone::llm {

struct Block {
  std::string tag;   ///< first word behind the opening fence, in lower case: "cuda", "json", ""
  std::string text;  ///< with \n for each end of line
  bool closed = true;
};

struct ReplyParts {
  std::vector<Block> blocks;
  std::string prose;
  std::string text;       ///< all but the thoughts
  bool thinking = false;  ///< the reply ends within its thoughts
};

[[nodiscard]] ReplyParts parts_of(std::string_view reply);

/// parts_of() a reply that is worth it. Errors: kRefused, it is empty, too long or ends in thought.
[[nodiscard]] Result<ReplyParts> readable_parts(std::string_view reply);

[[nodiscard]] bool is_code(const Block& block);
[[nodiscard]] bool is_json(const Block& block);

/// The last {…} in the text, of those that begin a line and hold `word`; "" where there is none.
[[nodiscard]] std::string_view last_object(std::string_view text, std::string_view word);

}  // namespace hone::llm
