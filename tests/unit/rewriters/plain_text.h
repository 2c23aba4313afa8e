// What every printed kernel has to be: text that a person would keep.
#pragma once

#include <gtest/gtest.h>

#include <string>

namespace hone::schedules {

/// No templates of lambdas in place of loops, and no lambda that is left before its end.
inline void expect_plain(const std::string& source) {
  EXPECT_FALSE(source.contains("(auto ")) << "a template of a lambda:\n" << source;
  for (auto at = source.find("= [&]("); at != source.npos; at = source.find("= [&](", at + 1)) {
    // It ends with a brace below its first line's first letter.
    const auto line = source.rfind('\n', at) + 1, first = source.find_first_not_of(' ', line);
    const auto end = source.find("\n" + std::string(first - line, ' ') + "};", at);
    ASSERT_NE(end, source.npos) << source;
    const std::string lambda = source.substr(at, end - at);
    EXPECT_FALSE(lambda.contains(" return;")) << "a lambda left early:\n" << lambda;
  }
}

}  // namespace hone::schedules
