#include "rewriters/llm/client/sse.h"

#include <gtest/gtest.h>

namespace hone::llm {
namespace {

using Events = std::vector<std::string>;

Events parsed(const std::string& text, std::size_t piece) {
  SseParser parser(1000);
  Events events;
  for (std::size_t at = 0; at < text.size(); at += piece)
    EXPECT_TRUE(parser.add(std::string_view(text).substr(at, piece), events));
  return events;
}

TEST(Sse, WhateverThePieces) {
  const std::pair<std::string, Events> streams[] = {
      {"data: a\n\ndata: b\n\n", {"a", "b"}},
      {"data: a\r\n\r\ndata: b\r\n\r\n", {"a", "b"}},
      {"data: a\r\rdata: b\r\r", {"a", "b"}},
      {"data: a\ndata: b\n\n", {"a\nb"}},
      {"data: a\ndata\ndata:\n\n", {"a\n\n"}},
      {": comment\n\nevent: x\nid: 1\nretry: 5\ndata:  a\n\n", {" a"}},
      {"data:a\n\n", {"a"}},
      {"dat: a\n\ndatas: b\n\n data: c\n\n", {}},
      {"\n\n\n\r\n\r\r\n", {}},
      {"data\n\n", {""}},
      {"\xEF\xBB\xBF"
       "data: a\n\n",
       {"a"}},
      {"data: a\n\ndata: cut off", {"a"}},
      {"data: a\n\ndata: cut off\n", {"a"}},
      {"data: a: b\n\n", {"a: b"}}};
  for (const auto& [text, expected] : streams)
    for (std::size_t piece = 1; piece <= text.size(); ++piece)
      EXPECT_EQ(parsed(text, piece), expected) << text << " in pieces of " << piece;
}

TEST(Sse, LongEventsEndIt) {
  SseParser parser(100);
  Events events;
  EXPECT_TRUE(parser.add("data: " + std::string(94, 'x'), events));
  EXPECT_FALSE(parser.add("x", events));
  SseParser lines(100);
  std::string many;
  for (int i = 0; i < 100; ++i) many += "data: x\n";
  EXPECT_FALSE(lines.add(many, events));
  EXPECT_TRUE(events.empty());
}

}  // namespace
}  // namespace hone::llm
