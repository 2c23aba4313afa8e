#include "rewriters/llm/client/key.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <type_traits>

namespace hone::llm {
namespace {

constexpr const char* kText = "sk-0123456789";

static_assert(!std::is_copy_constructible_v<Key> && !std::is_copy_assignable_v<Key>);
static_assert(std::is_nothrow_move_constructible_v<Key>);
template <class T>
concept Streams = requires(std::ostream& stream, const T& value) { stream << value; };
static_assert(!Streams<Key> && Streams<int>);
static_assert(!fmt::is_formattable<Key>::value);

class KeyTest : public ::testing::Test {
 protected:
  KeyTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "hone-key-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~KeyTest() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path(const char* name = "key") const { return folder_ / name; }
  [[nodiscard]] std::string file(const std::string& text, mode_t mode = 0600) const {
    std::ofstream(path()) << text;
    chmod(path().c_str(), mode);
    return path();
  }
  static void expect_error(const Result<Key>& key, std::string_view words) {
    ASSERT_FALSE(key);
    EXPECT_EQ(key.error().code, ErrorCode::kInvalidInput);
    EXPECT_TRUE(key.error().message.contains(words)) << key.error().message;
    EXPECT_FALSE(key.error().message.contains("0123456789")) << key.error().message;
  }

  std::filesystem::path folder_;
};

TEST_F(KeyTest, FromAFileWithOrWithoutALineEnd) {
  for (const char* end : {"", "\n", "\r\n"}) {
    const auto key = Key::from_file(file(std::string(kText) + end));
    ASSERT_TRUE(key) << key.error().message;
    EXPECT_EQ(key->reveal(), kText);
  }
  EXPECT_TRUE(Key::from_file(file(kText, 0400)));
}

TEST_F(KeyTest, FilesThatOthersMayUse) {
  for (const mode_t mode : {0640, 0604, 0620, 0602, 0610, 0601, 0777})
    expect_error(Key::from_file(file(kText, mode)), fmt::format("(mode {:03o})", mode));
}

TEST_F(KeyTest, FilesThatAreNone) {
  expect_error(Key::from_file(path("missing")), "No such file");
  std::filesystem::create_symlink(file(kText), path("link"));
  expect_error(Key::from_file(path("link")), "a symbolic link");
  expect_error(Key::from_file(folder_), "not a regular file");
  expect_error(Key::from_file("/dev/null"), "not a regular file");
  ASSERT_EQ(mkfifo(path("fifo").c_str(), 0600), 0);
  expect_error(Key::from_file(path("fifo")), "not a regular file");  // and does not hang
}

TEST_F(KeyTest, FilesOfAnotherUser) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to give a file away";
  const std::string given = file(kText);
  ASSERT_EQ(chown(given.c_str(), 65534, 65534), 0);
  expect_error(Key::from_file(given), "belongs to user 65534");
}

TEST_F(KeyTest, TextsThatAreNoKey) {
  expect_error(Key::from_file(file("")), "has 0 characters");
  expect_error(Key::from_file(file("short")), "has 5 characters");
  expect_error(Key::from_file(file(std::string(5000, 'x'))), "more than 4096");
  expect_error(Key::from_file(file("sk-0123456789\r\nX-Injected: yes\n")), "character 14");
  expect_error(Key::from_file(file("sk-0123456789\n\n")), "character 14");
  expect_error(Key::from_file(file("sk 0123456789")), "character 3");
  expect_error(Key::from_text("sk-\xC3\xA9-0123456789", "here"), "character 4");
  expect_error(Key::from_text(std::string_view("sk-\0-0123456789", 15), "here"), "character 4");
}

TEST_F(KeyTest, TheEnvironmentForgetsIt) {
  setenv("HONE_TEST_KEY", kText, 1);
  const char* const place = getenv("HONE_TEST_KEY");
  const auto key = Key::from_environment("HONE_TEST_KEY");
  ASSERT_TRUE(key);
  EXPECT_EQ(key->reveal(), kText);
  EXPECT_EQ(getenv("HONE_TEST_KEY"), nullptr);
  EXPECT_EQ(*place, '\0') << "overwritten, not only taken off the list";
  EXPECT_TRUE(Key::from_environment("HONE_TEST_KEY").value().empty());
}

TEST_F(KeyTest, AWrongOneIsForgottenToo) {
  setenv("HONE_TEST_KEY", "sk-0123456789\nX: y", 1);
  expect_error(Key::from_environment("HONE_TEST_KEY"), "HONE_TEST_KEY");
  EXPECT_EQ(getenv("HONE_TEST_KEY"), nullptr);
}

TEST_F(KeyTest, ChildrenAndProcHaveItNoMore) {
  if (std::getenv(kKeyVariable) == nullptr) {
    // This very test once more, in a process that was started with the key.
    const std::string self = std::filesystem::read_symlink("/proc/self/exe");
    const std::string command =
        fmt::format("{}={} '{}' --gtest_filter='KeyTest.ChildrenAndProcHaveItNoMore' >/dev/null",
                    kKeyVariable, kText, self);
    EXPECT_EQ(std::system(command.c_str()), 0);
    return;
  }
  const auto key = Key::from_environment();
  ASSERT_TRUE(key && key->reveal() == kText);
  for (const char* place : {"/proc/self/environ", "/proc/self/cmdline"}) {
    std::ifstream stream(place);
    const std::string text((std::istreambuf_iterator<char>(stream)), {});
    EXPECT_FALSE(text.empty());
    EXPECT_FALSE(text.contains(kText)) << place;
  }
  EXPECT_NE(std::system("env | grep -q 0123456789"), 0);
}

TEST_F(KeyTest, MovedFromIsEmpty) {
  Key a = Key::from_text(kText, "here").value();
  Key b = std::move(a);
  EXPECT_TRUE(a.empty());  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(b.reveal(), kText);
  b = Key();
  EXPECT_TRUE(b.empty());
}

}  // namespace
}  // namespace hone::llm
