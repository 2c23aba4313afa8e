#include "candidates/task_reader.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/unit/candidates/helpers.h"

namespace hone {
namespace {

using test::as_comment;
using test::kScaleJson;
using test::kScaleSource;
using test::replaced;
using test::TempDir;

// "3:14" of the first occurrence of `what`, counted without the reader's help.
std::string place_of(std::string_view text, std::string_view what) {
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string_view::npos) << what;
  std::size_t line = 1, column = 1;
  for (const char c : text.substr(0, at)) {
    column = c == '\n' ? 1 : column + 1;
    line += c == '\n';
  }
  return std::to_string(line) + ":" + std::to_string(column);
}

TEST(TaskReader, ReadsTheCommentForm) {
  const Task task = test::scale_task();
  EXPECT_EQ(task.name, "scale");
  EXPECT_EQ(task.source_path, "scale.cu");
  EXPECT_EQ(task.reference.source, as_comment(kScaleJson));
  EXPECT_EQ(task.sizes, (Bindings{{"N", 4096}}));
  EXPECT_EQ(task.check_sizes, (std::vector<Bindings>{{{"N", 64}}, {{"N", 33}}}));
  ASSERT_EQ(task.reference.buffers.size(), 2u);
  EXPECT_EQ(task.reference.buffers[0].role, Role::kIn);
  EXPECT_EQ(task.reference.buffers[0].fill, (Fill{Fill::Kind::kUniform, -1, 1, ""}));
  EXPECT_EQ(task.reference.buffers[1].role, Role::kOut);
  const Launch& launch = task.reference.launches.at(0);
  EXPECT_EQ(launch.kernel, "scale");
  EXPECT_EQ(launch.grid[0].text(), "ceildiv(N,BLOCK)");
  EXPECT_EQ(launch.shared_bytes, Expr(0));
  ASSERT_EQ(launch.args.size(), 4u);
  EXPECT_EQ(launch.args[1].kind, Argument::Kind::kBuffer);
  EXPECT_EQ(launch.args[1].buffer, "C");
  EXPECT_EQ(launch.args[2].kind, Argument::Kind::kExpr);
  EXPECT_EQ(launch.args[3].kind, Argument::Kind::kNumber);
  EXPECT_EQ(launch.args[3].number, 2.5);
  EXPECT_EQ(task.reference.defines, (std::map<std::string, std::string>{{"BLOCK", "64"}}));
  EXPECT_EQ(task.tunables.at("BLOCK"), (std::vector<std::int64_t>{64, 128, 256}));
  EXPECT_EQ(task.tolerance, (Tolerance{1e-4, 1e-5}));
  EXPECT_EQ(task.math, MathLevel::kReassociate);
  EXPECT_TRUE(task.specialize);
  EXPECT_FALSE(task.flops);
  EXPECT_FALSE(task.torch);
}

TEST(TaskReader, BothFormsAreTheSameTask) {
  const TempDir dir;
  const auto cu = dir.write("scale.cu", as_comment(kScaleJson));
  dir.write("kernels/plain.cu", kScaleSource);
  const auto json =
      dir.write("scale.json",
                replaced(kScaleJson, "\"sizes\"", "\"source\": \"kernels/plain.cu\", \"sizes\""));
  const auto from_cu = read_task(cu);
  const auto from_json = read_task(json);
  ASSERT_TRUE(from_cu) << from_cu.error().message;
  ASSERT_TRUE(from_json) << from_json.error().message;
  EXPECT_EQ(from_json->reference.source, kScaleSource);
  EXPECT_EQ(from_json->source_path, (dir.path() / "kernels/plain.cu").string());
  EXPECT_EQ(from_cu->hash(), from_json->hash());
}

TEST(TaskReader, ReadsEveryOptionalKey) {
  std::string json =
      replaced(kScaleJson, "\"sizes\"", R"("tolerance": {"rtol": 0.5}, "math": "exact",
    "specialize": false, "flops": "N", "torch": "A * 2.5", "sizes")");
  json = replaced(json, "\"block\"", R"("shared_bytes": "BLOCK*4", "block")");
  const auto task = parse_task(as_comment(json), "t.cu");
  ASSERT_TRUE(task) << task.error().message;
  EXPECT_EQ(task->tolerance, (Tolerance{0.5, 1e-5}));
  EXPECT_EQ(task->math, MathLevel::kExact);
  EXPECT_FALSE(task->specialize);
  EXPECT_EQ(task->flops->text(), "N");
  EXPECT_EQ(*task->torch, "A * 2.5");
  EXPECT_EQ(task->reference.launches[0].shared_bytes.text(), "BLOCK*4");
}

TEST(TaskReader, ArgumentsOfEveryKind) {
  const struct {
    const char* text;
    Argument want;
  } cases[] = {
      {"\"A\"", {Argument::Kind::kBuffer, "A", {}, 0}},
      {"\"N\"", {Argument::Kind::kExpr, "", *Expr::parse("N"), 0}},
      {"\"N*2+BLOCK\"", {Argument::Kind::kExpr, "", *Expr::parse("N*2+BLOCK"), 0}},
      {"7", {Argument::Kind::kExpr, "", Expr(7), 0}},
      {"\"7\"", {Argument::Kind::kExpr, "", Expr(7), 0}},
      {"-7", {Argument::Kind::kExpr, "", Expr(-7), 0}},
      {"true", {Argument::Kind::kExpr, "", Expr(1), 0}},
      {"false", {Argument::Kind::kExpr, "", Expr(0), 0}},
      {"1.0", {Argument::Kind::kNumber, "", {}, 1.0}},
      {"1e-5", {Argument::Kind::kNumber, "", {}, 1e-5}},
      {"\"1e-5\"", {Argument::Kind::kNumber, "", {}, 1e-5}},
      {"\"-0.5\"", {Argument::Kind::kNumber, "", {}, -0.5}},
  };
  for (const auto& [text, want] : cases) {
    const auto task = parse_task(as_comment(replaced(kScaleJson, "2.5", text)), "t.cu");
    ASSERT_TRUE(task) << text << ": " << task.error().message;
    EXPECT_EQ(task->reference.launches[0].args[3], want) << text;
  }
}

TEST(TaskReader, FillsOfEveryKind) {
  using Kind = Fill::Kind;
  const struct {
    const char* type;
    const char* fill;
    Fill want;
  } cases[] = {
      {"f32", R"({"uniform": [0, 2.5]})", {Kind::kUniform, 0, 2.5, ""}},
      {"f16", R"({"normal": [0, 1]})", {Kind::kNormal, 0, 1, ""}},
      {"i32", R"({"integers": [-5, 5]})", {Kind::kIntegers, -5, 5, ""}},
      {"i32", R"({"uniform": [0, 10]})", {Kind::kIntegers, 0, 10, ""}},
      {"f32", R"({"integers": [0, 3]})", {Kind::kIntegers, 0, 3, ""}},
      {"f64", R"({"constant": 1e300})", {Kind::kConstant, 1e300, 0, ""}},
      {"bool", R"({"constant": true})", {Kind::kConstant, 1, 0, ""}},
      {"f32", "0", {Kind::kConstant, 0, 0, ""}},
      {"i64", R"({"iota": [3, 2]})", {Kind::kIota, 3, 2, ""}},
      {"f32", R"({"iota": 0})", {Kind::kIota, 0, 1, ""}},
  };
  for (const auto& [type, fill, want] : cases) {
    std::string json =
        replaced(kScaleJson, R"("A", "type": "f32", )",
                 std::string(R"("A", "type": ")") + type + R"(", "fill": )" + fill + ", ");
    const auto task = parse_task(as_comment(json), "t.cu");
    ASSERT_TRUE(task) << fill << ": " << task.error().message;
    EXPECT_EQ(task->reference.buffers[0].fill, want) << type << " " << fill;
  }
}

TEST(TaskReader, DefaultsFollowTheType) {
  const struct {
    const char* type;
    Fill fill;
    Tolerance tolerance;
  } cases[] = {
      {"f32", {Fill::Kind::kUniform, -1, 1, ""}, {1e-4, 1e-5}},
      {"f64", {Fill::Kind::kUniform, -1, 1, ""}, {1e-10, 1e-12}},
      {"f16", {Fill::Kind::kUniform, -1, 1, ""}, {1e-2, 1e-2}},
      {"bf16", {Fill::Kind::kUniform, -1, 1, ""}, {1e-2, 1e-2}},
      {"e4m3", {Fill::Kind::kUniform, -1, 1, ""}, {0.13, 1e-2}},
      {"e5m2", {Fill::Kind::kUniform, -1, 1, ""}, {0.26, 1e-2}},
      {"i32", {.kind = Fill::Kind::kIntegers, .a = 0, .b = 100, .unstated = true}, {0, 0}},
      {"u8", {.kind = Fill::Kind::kIntegers, .a = 0, .b = 100, .unstated = true}, {0, 0}},
      {"bool", {Fill::Kind::kIntegers, 0, 1, ""}, {0, 0}},
  };
  for (const auto& [type, fill, tolerance] : cases) {
    std::string json(kScaleJson);
    for (std::size_t at = 0; (at = json.find("f32", at)) != std::string::npos; ++at) {
      json.replace(at, 3, type);
    }
    const auto task = parse_task(as_comment(json), "t.cu");
    ASSERT_TRUE(task) << task.error().message;
    EXPECT_EQ(task->reference.buffers[0].fill, fill) << type;
    EXPECT_EQ(task->tolerance, tolerance) << type;
  }
}

TEST(TaskReader, TheDefaultToleranceOfF32LeavesRoomForTf32) {
  const auto tolerance = [](const std::string& more, const char* type = "f32") {
    std::string json = replaced(kScaleJson, "\"sizes\"", more + "\"sizes\"");
    for (std::size_t at = 0; (at = json.find("f32", at)) != std::string::npos; ++at)
      if (json.compare(at - 1, 5, "\"f32\"") == 0) json.replace(at, 3, type);
    const auto task = parse_task(as_comment(json), "t.cu");
    EXPECT_TRUE(task) << task.error().message;
    return task->tolerance;
  };
  EXPECT_EQ(tolerance("\"math\": \"tf32\", "), (Tolerance{2e-3, 1e-5}));
  for (const char* level : {"exact", "reassociate", "tf32x3", "reduced"})
    EXPECT_EQ(tolerance(std::string("\"math\": \"") + level + "\", "), (Tolerance{1e-4, 1e-5}));
  // Stated ones stay, and other types have their own.
  EXPECT_EQ(tolerance("\"math\": \"tf32\", \"tolerance\": {\"rtol\": 1e-4}, "),
            (Tolerance{1e-4, 1e-5}));
  EXPECT_EQ(tolerance("\"math\": \"tf32\", ", "f64"), (Tolerance{1e-10, 1e-12}));
}

TEST(TaskReader, TheDefaultToleranceOfF32LeavesRoomForProductsOf8BitFloats) {
  std::string json = replaced(kScaleJson, "\"type\": \"f32\"", "\"type\": \"e4m3\"");
  const auto task = parse_task(as_comment(json), "t.cu");
  ASSERT_TRUE(task) << task.error().message;
  ASSERT_EQ(task->reference.buffers[0].type, ScalarType::kE4m3);
  ASSERT_EQ(task->reference.buffers[1].type, ScalarType::kF32);
  EXPECT_EQ(task->tolerance, (Tolerance{1e-2, 1e-5}));
}

TEST(TaskReader, FillFilesAreResolvedAndMeasured) {
  const TempDir dir;
  dir.write("data/a.bin", std::string(4096 * 4, 'x'));
  const std::string json = replaced(kScaleJson, R"("shape": ["N"]},)",
                                    R"("shape": ["N"], "fill": {"file": "data/a.bin"}},)");
  const auto task = read_task(dir.write("t.cu", as_comment(json)));
  ASSERT_TRUE(task) << task.error().message;
  const Fill& fill = task->reference.buffers[0].fill;
  EXPECT_EQ(fill.kind, Fill::Kind::kFile);
  EXPECT_TRUE(std::filesystem::path(fill.path).is_absolute());
  EXPECT_TRUE(std::filesystem::equivalent(fill.path, dir.path() / "data/a.bin"));

  dir.write("data/a.bin", std::string(4096 * 4 - 1, 'x'));
  const auto small = read_task(dir.path() / "t.cu");
  ASSERT_FALSE(small);
  EXPECT_NE(
      small.error().message.find("$.buffers[0].fill.file: holds 16383 bytes; 'A' needs 16384"),
      std::string::npos)
      << small.error().message;
}

TEST(TaskReader, AFileFillDoesNotTieTheHashToAFolder) {
  const auto hash_in = [](const TempDir& dir) {
    dir.write("a.bin", std::string(4096 * 4, 'x'));
    const std::string json = replaced(kScaleJson, R"("shape": ["N"]},)",
                                      R"("shape": ["N"], "fill": {"file": "a.bin"}},)");
    return read_task(dir.write("t.cu", as_comment(json)))->hash();
  };
  const TempDir one, two;
  EXPECT_EQ(hash_in(one), hash_in(two));
}

TEST(TaskReader, CheckSizesTakeTimedValuesForMissingNames) {
  std::string json = replaced(kScaleJson, R"({"N": 4096})", R"({"N": 4096, "R": 3})");
  const auto task = parse_task(as_comment(json), "t.cu");
  ASSERT_TRUE(task) << task.error().message;
  EXPECT_EQ(task->check_sizes,
            (std::vector<Bindings>{{{"N", 64}, {"R", 3}}, {{"N", 33}, {"R", 3}}}));
}

TEST(TaskReader, FixedShapesNeedNoSizes) {
  const auto task = parse_task(as_comment(R"({"name": "fixed",
    "buffers": [{"name": "A", "type": "f32", "shape": [128]},
                {"name": "C", "type": "f32", "shape": [128], "role": "out"}],
    "launches": [{"kernel": "scale", "grid": [1], "block": 128, "args": ["A", "C", 128, 1.5]}]})"),
                               "t.cu");
  ASSERT_TRUE(task) << task.error().message;
  EXPECT_TRUE(task->sizes.empty());
  EXPECT_EQ(task->check_sizes, (std::vector<Bindings>{{}}));
}

std::vector<Bindings> derived(const std::string& sizes, const std::string& constraints,
                              const std::string& shape) {
  std::string json = replaced(kScaleJson, R"({"N": 4096})", sizes);
  json = replaced(json, R"("check_sizes": [{"N": 64}, {"N": 33}],)", "");
  json = replaced(json, R"("BLOCK <= 1024")", constraints);
  json = replaced(json, R"("A", "type": "f32", "shape": ["N"])",
                  R"("A", "type": "f32", "shape": )" + shape);
  const auto task = parse_task(as_comment(json), "t.cu");
  EXPECT_TRUE(task) << task.error().message;
  return task ? task->check_sizes : std::vector<Bindings>{};
}

TEST(TaskReader, DerivesSmallCheckSizes) {
  EXPECT_EQ(derived(R"({"N": 4096})", "", R"(["N"])"),
            (std::vector<Bindings>{{{"N", 64}}, {{"N", 33}}}));
  // Held by a constraint: no odd variant, and no smaller than it allows.
  EXPECT_EQ(derived(R"({"N": 4096})", R"("N % 256 == 0")", R"(["N"])"),
            (std::vector<Bindings>{{{"N", 256}}}));
  EXPECT_EQ(derived(R"({"N": 3000})", R"("N % 1000 == 0")", R"(["N"])"),
            (std::vector<Bindings>{{{"N", 1000}}}));
  // A radius stays what it is.
  for (const Bindings& sizes : derived(R"({"N": 1000, "R": 3})", "", R"(["N", "R"])")) {
    EXPECT_EQ(sizes.at("R"), 3);
    EXPECT_LE(sizes.at("N"), 64);
  }
  // Many dimensions: small in all, or the emulator would be at it for minutes.
  const auto four =
      derived(R"({"N": 64, "D": 128, "H": 56, "W": 56})", "", R"(["N", "D", "H", "W"])");
  ASSERT_EQ(four.size(), 2u);
  for (const Bindings& sizes : four) {
    EXPECT_LE(sizes.at("N") * sizes.at("D") * sizes.at("H") * sizes.at("W"), 1 << 17);
  }
  EXPECT_NE(four[0], four[1]);
}

TEST(TaskReader, ChecksFewBatchesOfTilesThatAreNotTiny) {
  const auto task = parse_task(R"(/* hone {
  "name": "products",
  "sizes": {"A": 32, "B": 32, "M": 512, "N": 512, "K": 1024},
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["A", "B", "M", "K"]},
    {"name": "w", "type": "f32", "shape": ["A", "B", "K", "N"]},
    {"name": "bias", "type": "f32", "shape": ["N"]},
    {"name": "y", "type": "f32", "shape": ["A", "B", "M", "N"], "role": "out"}],
  "launches": [{"kernel": "f", "grid": ["A*B*M*N"], "block": [1], "args": ["x", "w", "bias", "y"]}]
} */
__global__ void f(const float*, const float*, const float*, float*) {}
)",
                               "t.cu");
  ASSERT_TRUE(task) << task.error().message;
  ASSERT_EQ(task->check_sizes.size(), 2U);
  for (const Bindings& sizes : task->check_sizes) {
    EXPECT_LE(sizes.at("A") * sizes.at("B"), 25);
    for (const char* name : {"M", "N", "K"}) EXPECT_GE(sizes.at(name), 15) << name;
  }
  EXPECT_NE(task->check_sizes[0].at("A"), task->check_sizes[1].at("A"));
}

TEST(TaskReader, SaysWhenNoSmallSizesCanBeDerived) {
  std::string json = replaced(kScaleJson, R"("check_sizes": [{"N": 64}, {"N": 33}],)", "");
  json = replaced(json, R"({"N": 4096})", R"({"N": 1000000})");
  json = replaced(json, R"("BLOCK <= 1024")", R"("N >= 1000000")");
  const auto task = parse_task(as_comment(json), "t.cu");
  ASSERT_FALSE(task);
  EXPECT_NE(task.error().message.find("give \"check_sizes\""), std::string::npos);
}

// One change to the good task, the place and the message that must come of it.
struct Mistake {
  const char* from;
  const char* to;
  const char* at;    // the error is where this text stands (first occurrence)
  const char* want;  // part of the message
};

TEST(TaskReader, EveryMistakeHasItsPlace) {
  const Mistake cases[] = {
      // syntax
      {"[64, 128, 256]", "[64, 128, 256,]", ",]", "$.tunables.BLOCK: trailing comma before ']'"},
      {"\"N\": 4096}", "\"N\": 4096,}", ",}", "$.sizes: trailing comma before '}'"},
      {"\"name\": \"scale\",", "\"name\": \"scale\"", "\"sizes\"",
       "$: expected ',' or '}', found '\"'"},
      {"\"name\": \"scale\"", "name: \"scale\"", "name:", "$: expected a key in double quotes"},
      {"\"name\": \"scale\"", "\"name\": 'scale'", "'scale'", "$.name: strings take double quotes"},
      {"\"name\": \"scale\",", "\"name\": \"scale,", "\"scale,",
       "$.name: this string is not closed"},
      {"\"name\": \"scale\"", "\"name\": True", "True", "'True' is not JSON"},
      {"\"name\": \"scale\"", "\"name\" \"scale\"", "\"scale\"",
       "$.name: expected ':' after the key"},
      {"\"name\": \"scale\"", "\"name\": \"sc\\ale\"", "\\ale", "unknown escape"},
      {"\"name\": \"scale\"", "\"name\": \"\\ud800\"", "\\ud800", "half of a surrogate pair"},
      {"\"name\": \"scale\",", "// a note\n", "// a note",
       "expected a key in double quotes, found '/'"},
      {"4096", "04096", "04096", "'04096' is not a number in JSON"},
      {"4096", "NaN", "NaN", "'NaN' is not a number in JSON"},
      {"4096", "1e999", "1e999", "outside the range of a double"},
      {"4096", "99999999999999999999", "99999999999999999999", "does not fit a 64-bit"},
      {"4096", "", "}", "$.sizes.N: expected a value, found '}'"},
      {"\"N\": 4096", "\"N\": 4096, \"N\": 1", "\"N\": 1", "$.sizes.N: the key 'N' is given twice"},
      {"[\"BLOCK <= 1024\"]\n}", "[\"BLOCK <= 1024\"]\n} tail", "tail",
       "after the closing brace, found 'tail'"},
      // shape of the document
      {"\"name\": \"scale\",", "", "{", "$: \"name\" is missing"},
      {"\"name\": \"scale\"", "\"name\": 5", "5,", "$.name: must be a string, found an integer"},
      {"\"name\": \"scale\"", "\"name\": \"\"", "\"\"", "$.name: is empty"},
      {"\"name\": \"scale\"", "\"name\": \"a\\nb\"", "\"a\\nb\"", "$.name: must be one line"},
      {"\"launches\"", "\"launchs\"", "\"launchs\"",
       "$.launchs: unknown key 'launchs'; did you mean 'launches'?"},
      {"\"tunables\"", "\"frobnicate\"", "\"frobnicate\"",
       "unknown key 'frobnicate'. Known keys are name"},
      {"\"sizes\"", "\"source\": \"x.cu\", \"sizes\"", "\"source\"",
       "a task comment needs no \"source\""},
      // sizes
      {"\"N\": 4096", "\"N\": 0", "0}", "$.sizes.N: is 0; must be 1 to 1099511627776"},
      {"\"N\": 4096", "\"N\": -5", "-5}", "$.sizes.N: is -5"},
      {"\"N\": 4096", "\"N\": 1099511627777", "1099511627777", "$.sizes.N: is 1099511627777"},
      {"\"N\": 4096", "\"N\": 4096.0", "4096.0",
       "$.sizes.N: must be an integer, found a number with"},
      {"\"N\": 4096", "\"N\": \"4096\"", "\"4096\"",
       "$.sizes.N: must be an integer, found a string"},
      {"{\"N\": 4096}", "[4096]", "[4096]", "$.sizes: must be an object, found a list"},
      {"\"N\": 4096", "\"N\": 4096, \"2x\": 1", "\"2x\"", "'2x' is not a name for a size"},
      {"\"N\": 4096", "\"N\": 4096, \"min\": 1", "\"min\"", "'min' is a reserved word"},
      {"\"N\": 4096", "\"N\": 4096, \"A\": 1", "\"A\", \"type\"",
       "$.buffers[0].name: 'A' is also a size"},
      // check sizes
      {"{\"N\": 33}", "{\"n\": 33}", "\"n\": 33",
       "$.check_sizes[1].n: unknown size 'n'; did you mean 'N'? Sizes are N."},
      {"{\"N\": 33}", "{\"N\": 0}", "0}]", "$.check_sizes[1].N: is 0"},
      {"[{\"N\": 64}, {\"N\": 33}]", "[]", "[]", "$.check_sizes: is empty"},
      {"[{\"N\": 64}, {\"N\": 33}]", "{\"N\": 64}", "{\"N\": 64}",
       "$.check_sizes: must be a list, found an object"},
      {"{\"N\": 33}", "33", "33]", "$.check_sizes[1]: must be an object, found an integer"},
      // buffers
      {"\"A\", \"type\": \"f32\"", "\"A\", \"type\": \"float\"", "\"float\"",
       "$.buffers[0].type: 'float' is not one of f32, f64, f16"},
      {"\"A\", \"type\": \"f32\",", "\"A\",", "{\"name\": \"A\"",
       "$.buffers[0]: \"type\" is missing"},
      {"\"role\": \"out\"", "\"role\": \"output\"", "\"output\"",
       "$.buffers[1].role: 'output' is not one of in, out, inout, scratch"},
      {"\"role\": \"out\"", "\"rol\": \"out\"", "\"rol\"",
       "$.buffers[1].rol: unknown key 'rol'; did you mean 'role'?"},
      {"\"role\": \"out\"", "\"role\": \"in\"", "[\n    {\"name\": \"A\"",
       "$.buffers: no buffer has role \"out\" or \"inout\""},
      {"\"name\": \"C\"", "\"name\": \"A\"",
       "\"A\", \"type\": \"f32\", \"shape\": [\"N\"], \"role\"",
       "$.buffers[1].name: there is already a buffer 'A'"},
      {"\"name\": \"C\"", "\"name\": \"1C\"", "\"1C\"", "$.buffers[1].name: '1C' is not a name"},
      {"\"role\": \"out\"", "\"role\": \"out\", \"fill\": 0", "\"fill\"",
       "$.buffers[1].fill: a buffer with role out starts undefined"},
      {"[\"N\"]},", "[\"N\", \"Q\"]},", "\"Q\"",
       "$.buffers[0].shape[1]: unknown name 'Q'. Sizes are N and tunables are BLOCK."},
      {"[\"N\"]},", "[\"BLOCK\"]},", "[\"BLOCK\"]},",
       "$.buffers[0].shape: depends on the tunable 'BLOCK'"},
      {"[\"N\"]},", "[]},", "[]}", "$.buffers[0].shape: has 0 entries"},
      {"[\"N\"]},", "[\"N-4096\"]},", "\"N-4096\"",
       "$.buffers[0].shape[0]: \"N-4096\" is 0; an extent must be at least 1 at the timed sizes (N "
       "= 4096)"},
      {"[\"N\"]},", "[\"N-50\"]},", "\"N-50\"",
       "is -17; an extent must be at least 1 at check_sizes[1] (N = 33)"},
      {"[\"N\"]},", "[\"N*1099511627776\"]},", "[\"N*1", "has more than 2^40 elements"},
      {"[\"N\"]},", "[\"N\"], \"fill\": {\"unifrom\": [0, 1]}},", "\"unifrom\"",
       "$.buffers[0].fill.unifrom: unknown key 'unifrom'; did you mean 'uniform'?"},
      {"[\"N\"]},", "[\"N\"], \"fill\": {\"uniform\": [1, 0]}},", "[1, 0]",
       "$.buffers[0].fill.uniform: low 1 is above high 0"},
      {"[\"N\"]},", "[\"N\"], \"fill\": {\"uniform\": [1]}},", "[1]",
       "must be [low, high], found 1 entries"},
      {"[\"N\"]},", "[\"N\"], \"fill\": {}},", "{}}", "$.buffers[0].fill: must be exactly one of"},
      {"[\"N\"]},", "[\"N\"], \"fill\": \"zeros\"},", "\"zeros\"",
       "$.buffers[0].fill: 'zeros' is none of"},
      {"[\"N\"]},", "[\"N\"], \"fill\": true},", "true}",
       "$.buffers[0].fill: must be a number or one of"},
      {"[\"N\"]},", "[\"N\"], \"fill\": {\"normal\": [0, -1]}},", "[0, -1]",
       "the deviation -1 is negative"},
      {"[\"N\"]},", "[\"N\"], \"fill\": {\"constant\": 1e39}},", "1e39", "1e+39 does not fit f32"},
      {"[\"N\"]},", "[\"N\"], \"fill\": {\"integers\": [0, 1.5]}},", "[0, 1.5]",
       "1.5 must be a whole number"},
      {"[\"N\"]},", "[\"N\"], \"fill\": {\"file\": \"none.bin\"}},", "\"none.bin\"",
       "$.buffers[0].fill.file: there is no file 'none.bin'"},
      // launches
      {"\"kernel\": \"scale\"", "\"kernel\": \"scael\"", "\"scael\"",
       "$.launches[0].kernel: the source has no kernel 'scael'; did you mean 'scale'? It has "
       "scale."},
      {"\"kernel\": \"scale\"", "\"kernel\": \"sc ale()\"", "\"sc ale()\"",
       "'sc ale()' is not a kernel name"},
      {"\"kernel\": \"scale\", ", "", "{\"grid\"", "$.launches[0]: \"kernel\" is missing"},
      {"\"block\": [\"BLOCK\"]", "\"block\": []", "[], \"args\"",
       "$.launches[0].block: has 0 entries; must have 1 to 3"},
      {"\"block\": [\"BLOCK\"]", "\"block\": [1,1,1,1]", "[1,1,1,1]", "has 4 entries"},
      {"\"block\": [\"BLOCK\"]", "\"block\": [2048]", "2048",
       "$.launches[0].block[0]: is 2048; CUDA allows 1 to 1024 in x"},
      {"\"block\": [\"BLOCK\"]", "\"block\": [64, \"BLOCK\"]", "[64, \"BLOCK\"]",
       "64 x 64 x 1 is 4096 threads"},
      {"\"ceildiv(N,BLOCK)\"", "\"ceildiv(N,BLOCKS)\"", "\"ceildiv(N,BLOCKS)\"",
       "unknown name 'BLOCKS'; did you mean 'BLOCK'?"},
      {"\"ceildiv(N,BLOCK)\"", "\"ceildiv(N\"", "\"ceildiv(N\"",
       "$.launches[0].grid[0]: column 10 of \"ceildiv(N\""},
      {"\"ceildiv(N,BLOCK)\"", "\"N/(BLOCK-64)\"", "\"N/(BLOCK-64)\"",
       "divides by zero at the timed sizes"},
      {"\"ceildiv(N,BLOCK)\"", "\"N/64\"", "\"N/64\"",
       "\"N/64\" is 0; CUDA allows 1 to 2147483647 in x at check_sizes[1] (N = 33)"},
      {"\"ceildiv(N,BLOCK)\"", "1.5", "1.5]", "must be an integer or an expression"},
      {"\"block\": [", "\"shared_bytes\": -4, \"block\": [", "-4",
       "$.launches[0].shared_bytes: is -4"},
      {"\"A\", \"C\", \"N\", 2.5", "\"A\", \"C\", \"Kk\", 2.5", "\"Kk\"",
       "$.launches[0].args[2]: unknown name 'Kk'. Buffers are A, C and sizes are N and tunables "
       "are BLOCK."},
      {"\"A\", \"C\", \"N\", 2.5", "\"a\", \"C\", \"N\", 2.5", "\"a\", \"C\"",
       "$.launches[0].args[0]: unknown name 'a'; did you mean 'A'?"},
      {"\"A\", \"C\", \"N\", 2.5", "\"A\", \"C\", \"N\", null", "null",
       "$.launches[0].args[3]: must be a buffer, a size, a number"},
      {"\"A\", \"C\", \"N\", 2.5", "\"A\", \"C+1\", \"N\", 2.5", "\"C+1\"",
       "'C' is a buffer, and cannot be part of an expression"},
      {"\"A\", \"C\", \"N\", 2.5", "\"A\", \"A\", \"N\", 2.5", "\"C\", \"type\"",
       "$.buffers[1].name: no launch takes 'C'"},
      {", \"args\": [\"A\", \"C\", \"N\", 2.5]", "", "{\"kernel\"",
       "$.launches[0]: \"args\" is missing"},
      // tunables, constraints
      {"[64, 128, 256]", "[]", "[]", "$.tunables.BLOCK: is empty"},
      {"[64, 128, 256]", "64", "64},\n  \"constraints",
       "$.tunables.BLOCK: must be a list, found an integer"},
      {"[64, 128, 256]", "[64, 64]", "64]}", "$.tunables.BLOCK[1]: the value 64 is given twice"},
      {"[64, 128, 256]", "[64, \"x\"]", "\"x\"", "$.tunables.BLOCK[1]: must be an integer"},
      {"\"BLOCK\": [64", "\"N\": [1], \"BLOCK\": [64", "\"N\": [1]",
       "$.tunables.N: 'N' is also a size"},
      {"\"BLOCK <= 1024\"", "\"BLOCK + 1024\"", "\"BLOCK + 1024\"",
       "$.constraints[0]: \"BLOCK + 1024\" is no condition"},
      {"\"BLOCK <= 1024\"", "\"BLOCK <= M\"", "\"BLOCK <= M\"",
       "$.constraints[0]: unknown name 'M'"},
      {"\"BLOCK <= 1024\"", "\"BLOCK <= 32\"", "\"BLOCK <= 32\"",
       "$.constraints[0]: \"BLOCK <= 32\" does not hold with BLOCK = 64 at the timed sizes and the "
       "first value of every tunable"},
      {"\"BLOCK <= 1024\"", "\"N % 32 == 0\"", "\"N % 32 == 0\"",
       "$.constraints[0]: \"N % 32 == 0\" does not hold with N = 33 at check_sizes[1]"},
      {"[\"BLOCK <= 1024\"]", "\"BLOCK <= 1024\"", "\"BLOCK <= 1024\"",
       "$.constraints: must be a list, found a string"},
      // the rest
      {"\"sizes\"", "\"tolerance\": {\"rtol\": -1}, \"sizes\"", "-1}",
       "$.tolerance.rtol: is -1; must not be negative"},
      {"\"sizes\"", "\"tolerance\": {\"tol\": 1}, \"sizes\"", "\"tol\"",
       "$.tolerance.tol: unknown key 'tol'"},
      {"\"sizes\"", "\"tolerance\": 1e-3, \"sizes\"", "1e-3", "$.tolerance: must be an object"},
      {"\"sizes\"", "\"math\": \"fast\", \"sizes\"", "\"fast\"",
       "$.math: 'fast' is not one of exact, reassociate, tf32x3, tf32, reduced"},
      {"\"sizes\"", "\"specialize\": 1, \"sizes\"", "1, \"sizes\"",
       "$.specialize: must be true or false"},
      {"\"sizes\"", "\"flops\": \"2*N*Z\", \"sizes\"", "\"2*N*Z\"", "$.flops: unknown name 'Z'"},
      {"\"sizes\"", "\"flops\": \"N-9999\", \"sizes\"", "\"N-9999\"",
       "$.flops: \"N-9999\" is -5903"},
      {"\"sizes\"", "\"torch\": \" \", \"sizes\"", "\" \"", "$.torch: is empty"},
  };
  for (const Mistake& mistake : cases) {
    const std::string json = replaced(kScaleJson, mistake.from, mistake.to);
    // Both forms: the place is in the file that the person edits.
    const std::string comment = "// first line\n" + as_comment(json);
    const auto task = parse_task(comment, "dir/t.cu");
    ASSERT_FALSE(task) << "accepted: " << mistake.to;
    const std::string& message = task.error().message;
    EXPECT_EQ(task.error().code, ErrorCode::kInvalidInput);
    EXPECT_NE(message.find(mistake.want), std::string::npos)
        << message << "\n  want: " << mistake.want;
    const std::size_t begin = comment.find('{');
    const std::string before = comment.substr(0, begin);
    const std::size_t at = json.find(mistake.at);
    ASSERT_NE(at, std::string::npos) << mistake.at;
    const std::string marked = before + json.substr(0, at) + "@";
    EXPECT_TRUE(message.starts_with("dir/t.cu:" + place_of(marked, "@") + ": "))
        << message << "\n  want it at " << place_of(marked, "@") << ", " << mistake.at;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
}

TEST(TaskReader, PlacesCountCharactersNotBytes) {
  const std::string text = as_comment(kScaleJson);
  const std::string odd =
      replaced(text, "\"name\": \"scale\",", "\"name\": \"\xC3\xA9\xE2\x82\xAC\", \"x\": 1,");
  const auto task = parse_task(odd, "t.cu");
  ASSERT_FALSE(task);
  EXPECT_TRUE(task.error().message.starts_with("t.cu:2:17: $.x: unknown key"))
      << task.error().message;
}

TEST(TaskReader, FilesThatAreNoTask) {
  const TempDir dir;
  const struct {
    const char* name;
    std::string text;
    const char* want;
  } cases[] = {
      {"empty.cu", "", ":1:1: the file is empty"},
      {"blank.json", " \n ", ":1:1: the file is empty"},
      {"plain.cu", std::string(kScaleSource), ":1:1: no /* hone {…} */ comment; `hone init "},
      {"prose.cu", "/* hone this kernel { well } */", "no /* hone"},
      {"string.cu", "const char* s = \"/* hone {} */\";", "no /* hone"},
      {"line.cu", "// /* hone {} */\n", "no /* hone"},
      {"open.cu", "int x;\n/* hone { \"name\": 1 }", ":2:1: this task comment is not closed"},
      {"binary.cu", std::string("abc\n\0def", 8), ":2:1: a NUL byte"},
      {"latin.cu", "/* \xE9 */", ":1:4: not UTF-8"},
      {"short.cu", "abc\xE2\x82", ":1:4: not UTF-8"},
      {"overlong.cu", "\xC0\xAF", ":1:1: not UTF-8"},
      {"surrogate.cu", "\xED\xA0\x80", ":1:1: not UTF-8"},
      {"list.json", "[1, 2]", ":1:1: $: must be an object, found a list"},
      {"cut.json", "{\"name\": \"x\", \"sizes\": {\"N\": 4", "expected ',' or '}', found the end"},
      {"word.json", "hello", ":1:1: $: expected a value, found 'hello'"},
  };
  for (const auto& [name, text, want] : cases) {
    const auto task = read_task(dir.write(name, text));
    ASSERT_FALSE(task) << name;
    EXPECT_EQ(task.error().code, ErrorCode::kInvalidInput) << name;
    EXPECT_NE(task.error().message.find(want), std::string::npos) << task.error().message;
    EXPECT_TRUE(task.error().message.starts_with((dir.path() / name).string()));
  }
  EXPECT_NE(read_task(dir.path() / "none.cu").error().message.find("there is no such file"),
            std::string::npos);
  EXPECT_NE(read_task(dir.path()).error().message.find("is a folder"), std::string::npos);
  EXPECT_NE(read_task("/dev/zero").error().message.find("is not a regular file"),
            std::string::npos);
  EXPECT_FALSE(read_task(""));
}

TEST(TaskReader, SourceOfAJsonTask) {
  const TempDir dir;
  dir.write("binary.cu", std::string("\0", 1));
  const struct {
    const char* source;
    const char* want;
  } cases[] = {
      {"", "$: \"source\" is missing"},
      {"\"source\": \"none.cu\",", "$.source: "},
      {"\"source\": \"/etc/hostname\",", "$.source: '/etc/hostname' is absolute"},
      {"\"source\": \".\",", "is a folder"},
      {"\"source\": \"binary.cu\",", "a NUL byte"},
      {"\"source\": 5,", "$.source: must be a string"},
  };
  for (const auto& [source, want] : cases) {
    const auto task = read_task(
        dir.write("t.json", replaced(kScaleJson, "\"sizes\"", std::string(source) + " \"sizes\"")));
    ASSERT_FALSE(task) << source;
    EXPECT_EQ(task.error().code, ErrorCode::kInvalidInput);
    EXPECT_NE(task.error().message.find(want), std::string::npos) << task.error().message;
    EXPECT_TRUE(task.error().message.starts_with((dir.path() / "t.json").string() + ":"));
  }
}

TEST(TaskReader, HostileInputsAreErrors) {
  const auto rejects = [](const std::string& json) {
    const auto task = parse_task(json, "t.json");
    EXPECT_FALSE(task);
    return task ? "" : task.error().message;
  };
  EXPECT_NE(rejects(std::string(100000, '[')).find("nested more than 64 deep"), std::string::npos);
  EXPECT_NE(rejects("{\"a\":" + std::string(100000, '{')).find("expected a key"),
            std::string::npos);
  std::string nested;
  for (int i = 0; i < 1000; ++i) nested += "{\"a\":";
  EXPECT_NE(rejects(nested).find("nested more than 64 deep"), std::string::npos);
  EXPECT_NE(rejects("[" + std::string(9 << 20, ' ') + "]").find("more than"), std::string::npos);
  const TempDir dir;
  dir.write("s.cu", kScaleSource);
  std::string many = "\"source\": \"s.cu\", \"sizes\": {\"N\": 1";
  for (int i = 0; i < 1200; ++i) many += ", \"s" + std::to_string(i) + "\": 1";
  const auto crowded =
      read_task(dir.write("t.json", replaced(kScaleJson, "\"sizes\": {\"N\": 4096", many)));
  ASSERT_FALSE(crowded);
  EXPECT_NE(crowded.error().message.find("$.sizes: has 1201 entries; at most 1024"),
            std::string::npos)
      << crowded.error().message;
}

TEST(TaskReader, EveryTruncationIsAnError) {
  const std::string text = as_comment(kScaleJson, "");
  for (std::size_t length = 0; length + 1 < text.size(); ++length) {
    if (text.substr(0, length).ends_with("*/")) continue;
    EXPECT_FALSE(parse_task(std::string_view(text).substr(0, length), "t.cu")) << length;
  }
}

TEST(TaskComment, IsFoundAmongOtherText) {
  const std::string text =
      "// hone {\n/* a license */\nconst char* q = \"/* hone {1} */\"; char c = '\"';\n"
      "auto r = R\"x(/* hone {2} */)x\"; int n = 1'000;\n/** hone\n {\"name\": 3} */ int y; /* "
      "hone {4} */";
  const auto comment = find_task_comment(text);
  ASSERT_TRUE(comment);
  EXPECT_EQ(comment->json, "{\"name\": 3} ");
  EXPECT_EQ(text.substr(comment->json_offset, 1), "{");
  EXPECT_EQ(text.substr(comment->comment_begin, 7), "/** hon");
  EXPECT_EQ(text.substr(comment->comment_end, 6), " int y");
  EXPECT_FALSE(find_task_comment(""));
  EXPECT_FALSE(find_task_comment("/*"));
  EXPECT_FALSE(find_task_comment("/*/ hone {} "));
  EXPECT_FALSE(find_task_comment("/* honest {} */"));
}

TEST(TaskReader, KernelNamesAreLookedUpInTheSource) {
  const auto read = [](std::string_view kernel, std::string_view source) {
    return parse_task(as_comment(replaced(kScaleJson, "\"kernel\": \"scale\"",
                                          "\"kernel\": \"" + std::string(kernel) + "\""),
                                 source),
                      "t.cu");
  };
  EXPECT_TRUE(read("scale<float, 4>", "template <class T, int V> __global__ void scale(T* p);"));
  EXPECT_TRUE(read("ns::scale", "namespace ns { __global__ void scale(); }"));
  EXPECT_TRUE(read("scale_f32", "#define MAKE(t) __global__ void scale_##t() {}\nMAKE(f32)"));
  const auto commented = read("old", "// __global__ void old() {}\n__global__ void new_one() {}");
  ASSERT_FALSE(commented);
  EXPECT_NE(commented.error().message.find("It has new_one."), std::string::npos);
  const auto bounded = read("x",
                            "__global__ void __launch_bounds__(MAX(1, 2)) fast(int a) {} "
                            "__global__ static void slow() {}");
  ASSERT_FALSE(bounded);
  EXPECT_NE(bounded.error().message.find("It has fast, slow."), std::string::npos)
      << bounded.error().message;
  const auto none = read("x", "int main() {}");
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("no __global__ function at all"), std::string::npos);
}

TEST(TaskReader, BaselinesAreTasks) {
  int read = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(std::string(HONE_SOURCE_DIR) + "/baselines")) {
    if (entry.path().extension() != ".cu") continue;
    const auto task = read_task(entry.path());
    EXPECT_TRUE(task) << task.error().message;
    ++read;
  }
  EXPECT_GE(read, 16);
}

}  // namespace
}  // namespace hone
