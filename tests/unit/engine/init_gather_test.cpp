// The file and its headers, as `hone init` reads them.
#include "tests/unit/engine/init_fixture.h"

namespace hone {
namespace {

using namespace init_test;

/// A folder that goes with the test.
class Gather : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "hone-init-XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path write(const fs::path& name, const std::string& text) {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }
  fs::path folder_;
};

TEST_F(Gather, TakesHeadersBesideAndOfFolders) {
  const fs::path file =
      write("a.cu",
            "#include \"b.h\"\n#include <far.h>\n#include <vector>\n#include \"no.h\"\nint end;\n");
  write("b.h", "#pragma once\n#include \"a.cu\"\nint b;\n");
  write("inc/far.h", "#include \"../b.h\"\nint far;\n");
  const auto gathered = init::gather(file, {folder_ / "inc"});
  ASSERT_TRUE(gathered) << gathered.error().message;
  EXPECT_TRUE(has(gathered->text, "int b;"));
  EXPECT_TRUE(has(gathered->text, "int far;"));
  EXPECT_TRUE(has(gathered->text, "#ifndef HONE_ONCE_"));
  EXPECT_FALSE(has(gathered->text, "#include \"no.h\""));
  ASSERT_EQ(gathered->notes.size(), 1U);
  EXPECT_TRUE(has(gathered->notes[0], "no.h"));
  EXPECT_FALSE(has(init::gather(file, {})->text, "int far;"));
}

TEST_F(Gather, AFolderThatIsNotThereIsAnError) {
  const auto gathered = init::gather(write("a.cu", "int end;\n"), {folder_, folder_ / "gone"});
  ASSERT_FALSE(gathered);
  EXPECT_EQ(gathered.error().message, "-I " + (folder_ / "gone").string() + ": no such folder");
}

TEST_F(Gather, MessagesNameTheHeaderAndItsLine) {
  const fs::path file =
      write("a.cu", "#include \"k.h\"\n__global__ void ok(float* y) { y[0] = f(1); }\n");
  write("k.h", "\n__device__ float f(float x) { return wrong; }\n");
  const auto gathered = init::gather(file, {});
  ASSERT_TRUE(gathered);
  const auto result = init_task({gathered->text, file.string(), {}, ""});
  ASSERT_FALSE(result);
  EXPECT_TRUE(has(result.error().message, (folder_ / "k.h").string() + ":2: use of undeclared"))
      << result.error().message;
}

TEST_F(Gather, ReadsNoDevicesNoAbsolutePathsAndNoMoreThanItsLimit) {
  const fs::path file =
      write("a.cu", "#include \"/etc/passwd\"\n#include \"big.h\"\n/*\n#include \"b.h\"\n*/\n");
  write("b.h", "int commented;\n");
  write("big.h", std::string((1 << 20) + 1, 'x'));
  const auto gathered = init::gather(file, {});
  ASSERT_TRUE(gathered);
  EXPECT_FALSE(has(gathered->text, "root:"));
  EXPECT_FALSE(has(gathered->text, "xxxx"));
  EXPECT_FALSE(has(gathered->text, "int commented"));
  const fs::path many = write("many.cu", [] {
    std::string text;
    for (int i = 0; i < 20; ++i) text += "#include \"half.h\"\n";
    return text;
  }());
  write("half.h", "//" + std::string((1 << 19), 'x') + "\n");
  EXPECT_FALSE(init::gather(many, {}));
}

TEST_F(Gather, JoinsLaunchesThatAnEditorTookApart) {
  const auto gathered =
      init::gather(write("a.cu", "k << < 1, 32 >> > (x);\nA<B<C<int>> > y;\n"), {});
  ASSERT_TRUE(gathered);
  EXPECT_TRUE(has(gathered->text, "k <<< 1, 32 >>> (x);"));
  EXPECT_TRUE(has(gathered->text, "A<B<C<int>> > y;"));
}

TEST_F(Gather, SkipsByteOrderMarksAndReadsWhatIsNoUtf8AsLatin1) {
  write("h.h", "\xEF\xBB\xBFint h;  // \xB5s\n");
  const auto gathered = init::gather(write("a.cu",
                                           "\xEF\xBB\xBF#include \"h.h\"\nint a;  // Gr\xF6\xDF"
                                           "e\n"),
                                     {});
  ASSERT_TRUE(gathered) << gathered.error().message;
  EXPECT_FALSE(has(gathered->text, "\xEF\xBB\xBF"));
  EXPECT_TRUE(has(gathered->text, "int h;  // \xC2\xB5s\n")) << gathered->text;
  EXPECT_TRUE(has(gathered->text,
                  "int a;  // Gr\xC3\xB6\xC3\x9F"
                  "e\n"))
      << gathered->text;
  EXPECT_TRUE(gathered->notes.empty());
  // UTF-8 stays as it is; a NUL is still no text.
  const auto good = init::gather(write("u.cu",
                                       "// Gr\xC3\xB6\xC3\x9F"
                                       "e\n"),
                                 {});
  ASSERT_TRUE(good);
  EXPECT_TRUE(has(good->text,
                  "// Gr\xC3\xB6\xC3\x9F"
                  "e\n"));
  EXPECT_FALSE(init::gather(write("n.cu", std::string("int\0a;\xFF", 8)), {}));
}

}  // namespace
}  // namespace hone
