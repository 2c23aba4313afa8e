#include "rewriters/llm/client/scrubber.h"

#include <gtest/gtest.h>

#include <random>

namespace hone::llm {
namespace {

std::string in_pieces(const Key& key, const std::string& text, std::size_t size) {
  Scrubber scrubber(key);
  std::string out;
  for (std::size_t at = 0; at < text.size(); at += size)
    out += scrubber.add(std::string_view(text).substr(at, size));
  return out + scrubber.finish();
}

std::string replaced(std::string text, const std::string& key) {
  for (std::size_t at = 0; (at = text.find(key, at)) != text.npos; at += kScrubbed.size())
    text.replace(at, key.size(), kScrubbed);
  return text;
}

TEST(Scrubber, WhateverThePieces) {
  const Key key = Key::from_text("abcabcabd", "the test").value();
  const std::string text = "x abcabcabcabd abcabcab abcabcabdabcabcabd abc";
  for (std::size_t size = 1; size <= text.size(); ++size)
    EXPECT_EQ(in_pieces(key, text, size), "x abc[key] abcabcab [key][key] abc") << size;
}

TEST(Scrubber, LikeAPlainSearchOnRandomTexts) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    std::string secret, text;
    for (int i = 0; i < 8; ++i) secret += static_cast<char>('a' + random() % 2);
    for (int i = 0; i < 200; ++i) text += static_cast<char>('a' + random() % 2);
    const Key key = Key::from_text(secret, "the test").value();
    ASSERT_EQ(in_pieces(key, text, 1 + random() % 20), replaced(text, secret)) << secret;
  }
}

TEST(Scrubber, WithoutAKeyNothingChanges) {
  EXPECT_EQ(in_pieces(Key(), "some text", 3), "some text");
}

TEST(OneLine, IsFitForATerminal) {
  const Key key = Key::from_text("sk-0123456789", "the test").value();
  EXPECT_EQ(one_line(key, "a\nb\x1b[31m\x7f sk-0123456789"), "a?b?[31m? [key]");
  EXPECT_EQ(one_line(key, "\xC3\xA9 \xF0\x9F\x98\x80 \xE2\x82\xAC"),
            "\xC3\xA9 \xF0\x9F\x98\x80 \xE2\x82\xAC");
  EXPECT_EQ(one_line(key, "\xC2\x9B \xFF \xC3 \xED\xA0\x80 \xC0\x80"), "?? ? ? ??? ??");
  EXPECT_EQ(one_line(key, "abcdef", 3), "abc...");
  EXPECT_EQ(one_line(key, "ab\xC3\xA9", 3), "ab...") << "no half characters";
}

}  // namespace
}  // namespace hone::llm
