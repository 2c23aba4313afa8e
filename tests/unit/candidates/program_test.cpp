#include "candidates/program.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/unit/candidates/helpers.h"

namespace hone {
namespace {

Expr expr(const std::string& text) { return *Expr::parse(text); }

Program small_program() {
  Program program;
  program.source = "__global__ void k() {}";
  program.defines = {{"BLOCK", "32"}, {"NAME", "not a number"}};
  program.buffers = {{"A",
                      ScalarType::kF16,
                      {expr("M"), expr("N*2")},
                      Role::kIn,
                      {Fill::Kind::kNormal, 0.5, 2, ""}},
                     {"C", ScalarType::kI64, {expr("N")}, Role::kOut, {}}};
  Launch launch;
  launch.kernel = "k<float>";
  launch.grid = {expr("ceildiv(N,BLOCK)"), expr("M")};
  launch.block = {expr("BLOCK")};
  launch.shared_bytes = expr("BLOCK*4");
  launch.args = {{Argument::Kind::kBuffer, "A", {}, 0},
                 {Argument::Kind::kBuffer, "C", {}, 0},
                 {Argument::Kind::kExpr, "", expr("M*N"), 0},
                 {Argument::Kind::kExpr, "", Expr(-7), 0},
                 {Argument::Kind::kNumber, "", {}, 1.0}};
  program.launches = {launch};
  return program;
}

TEST(Instantiate, GivesConcreteValues) {
  const auto concrete = instantiate(small_program(), {{"M", 3}, {"N", 100}});
  ASSERT_TRUE(concrete) << concrete.error().message;
  EXPECT_EQ(concrete->buffers[0].shape, (std::vector<std::int64_t>{3, 200}));
  EXPECT_EQ(concrete->buffers[0].elements(), 600);
  EXPECT_EQ(concrete->buffers[0].bytes(), 1200);
  EXPECT_EQ(concrete->buffers[1].bytes(), 800);
  const ConcreteLaunch& launch = concrete->launches.at(0);
  EXPECT_EQ(launch.grid, (Dim3{4, 3, 1}));
  EXPECT_EQ(launch.block, (Dim3{32, 1, 1}));
  EXPECT_EQ(launch.shared_bytes, 128);
  EXPECT_EQ(std::get<BufferIndex>(launch.args[1]).index, 1);
  EXPECT_EQ(std::get<std::int64_t>(launch.args[2]), 300);
  EXPECT_EQ(std::get<std::int64_t>(launch.args[3]), -7);
  EXPECT_EQ(std::get<double>(launch.args[4]), 1.0);
}

TEST(Instantiate, ScratchThatNothingTakesIsOfOneElement) {
  Program program = small_program();
  for (const char* name : {"fused_away", "kept"})
    program.buffers.push_back({name, ScalarType::kF32, {expr("N")}, Role::kScratch, {}});
  program.launches[0].args.push_back({Argument::Kind::kBuffer, "kept", {}, 0});
  EXPECT_FALSE(program.uses("fused_away"));
  EXPECT_TRUE(program.uses("kept"));
  const auto concrete = instantiate(program, {{"M", 3}, {"N", 100}});
  ASSERT_TRUE(concrete) << concrete.error().message;
  EXPECT_EQ(concrete->buffers[2].shape, std::vector<std::int64_t>{1});
  EXPECT_EQ(concrete->buffers[3].shape, std::vector<std::int64_t>{100});
  EXPECT_EQ(std::get<BufferIndex>(concrete->launches[0].args.back()).index, 3);
}

TEST(Instantiate, ErrorsNameTheirPlace) {
  const Bindings good{{"M", 3}, {"N", 100}};
  const struct {
    const char* name;
    void (*spoil)(Program&);
    Bindings sizes;
    const char* want;
  } cases[] = {
      {"unknown name", [](Program& p) { p.buffers[0].shape[1] = expr("Q"); }, good,
       "buffers[0].shape[1]: \"Q\": unknown name 'Q'"},
      {"zero extent", [](Program& p) { p.buffers[1].shape[0] = expr("N-100"); }, good,
       "buffers[1].shape[0]: \"N-100\" is 0"},
      {"zero size", [](Program&) {}, {{"M", 0}, {"N", 1}}, "sizes.M: is 0"},
      {"negative size", [](Program&) {}, {{"M", 1}, {"N", -4}}, "sizes.N: is -4"},
      {"too many elements", [](Program& p) { p.buffers[0].shape = {Expr(1 << 30), Expr(1 << 11)}; },
       good, "buffers[0].shape: buffer 'A' has more than 2^40"},
      {"element overflow",
       [](Program& p) { p.buffers[0].shape = {Expr(1LL << 40), Expr(1LL << 40)}; }, good,
       "buffers[0].shape: buffer 'A' has more than 2^40"},
      {"zero grid", [](Program& p) { p.launches[0].grid[0] = expr("N/128"); }, good,
       "launches[0].grid[0]: \"N/128\" is 0; CUDA allows 1 to 2147483647 in x"},
      {"grid x", [](Program& p) { p.launches[0].grid[0] = Expr(1LL << 31); }, good,
       "launches[0].grid[0]"},
      {"grid y", [](Program& p) { p.launches[0].grid[1] = Expr(65536); }, good,
       "launches[0].grid[1]: is 65536; CUDA allows 1 to 65535 in y"},
      {"block x", [](Program& p) { p.launches[0].block[0] = Expr(1025); }, good,
       "launches[0].block[0]"},
      {"block z", [](Program& p) { p.launches[0].block = {Expr(1), Expr(1), Expr(65)}; }, good,
       "launches[0].block[2]: is 65; CUDA allows 1 to 64 in z"},
      {"block product", [](Program& p) { p.launches[0].block = {Expr(32), Expr(33)}; }, good,
       "launches[0].block: 32 x 33 x 1 is 1056 threads"},
      {"no grid", [](Program& p) { p.launches[0].grid.clear(); }, good, "launches[0].grid: has 0"},
      {"four dimensions", [](Program& p) { p.launches[0].grid.resize(4, Expr(1)); }, good,
       "launches[0].grid: has 4"},
      {"negative shared", [](Program& p) { p.launches[0].shared_bytes = Expr(-1); }, good,
       "launches[0].shared_bytes: is -1"},
      {"no such buffer", [](Program& p) { p.launches[0].args[0].buffer = "Z"; }, good,
       "launches[0].args[0]: there is no buffer 'Z'"},
      {"argument overflow",
       [](Program& p) { p.launches[0].args[2].expr = expr("9223372036854775807*N"); }, good,
       "launches[0].args[2]:"},
  };
  for (const auto& c : cases) {
    Program program = small_program();
    c.spoil(program);
    const auto concrete = instantiate(program, c.sizes);
    ASSERT_FALSE(concrete) << c.name;
    EXPECT_EQ(concrete.error().code, ErrorCode::kInvalidInput);
    EXPECT_TRUE(concrete.error().message.starts_with(c.want))
        << c.name << ": " << concrete.error().message;
  }
}

TEST(Instantiate, AcceptsTheLimits) {
  Program program = small_program();
  program.launches[0].grid = {Expr((1LL << 31) - 1), Expr(65535), Expr(65535)};
  program.launches[0].block = {Expr(4), Expr(4), Expr(64)};
  program.buffers[0].shape = {Expr(1LL << 40)};
  EXPECT_TRUE(instantiate(program, {{"M", 3}, {"N", 100}}));
}

TEST(ProgramJson, RoundTrips) {
  const Program program = small_program();
  const nlohmann::json json = program;
  const auto back = program_from_json(nlohmann::json::parse(json.dump()));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, program);
  // A number stays a number, even a whole one.
  EXPECT_EQ(back->launches[0].args[4].kind, Argument::Kind::kNumber);
  EXPECT_EQ(back->launches[0].args[3].kind, Argument::Kind::kExpr);
}

TEST(ProgramJson, EveryFillRoundTrips) {
  for (const Fill& fill :
       {Fill{Fill::Kind::kUniform, -2, 3, ""}, Fill{Fill::Kind::kNormal, 1, 2, ""},
        Fill{Fill::Kind::kIntegers, 0, 9, ""}, Fill{Fill::Kind::kConstant, 0.1, 0, ""},
        Fill{Fill::Kind::kIota, 5, -1, ""}, Fill{Fill::Kind::kFile, 0, 0, "/data/x.bin"}}) {
    Program program = small_program();
    program.buffers[0].fill = fill;
    const auto back = program_from_json(nlohmann::json(program));
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(back->buffers[0].fill, fill);
  }
}

TEST(ProgramJson, ConcreteRoundTripsThroughCbor) {
  auto concrete = instantiate(small_program(), {{"M", 3}, {"N", 100}});
  ASSERT_TRUE(concrete);
  concrete->buffers[1].fill = {Fill::Kind::kFile, 0, 0, "/x"};
  const nlohmann::json json = *concrete;
  const auto back =
      concrete_program_from_json(nlohmann::json::from_cbor(nlohmann::json::to_cbor(json)));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(nlohmann::json(*back), json);
  EXPECT_EQ(std::get<BufferIndex>(back->launches[0].args[1]).index, 1);
  EXPECT_EQ(std::get<double>(back->launches[0].args[4]), 1.0);
  EXPECT_EQ(back->buffers[1].fill.path, "/x");
}

TEST(ProgramJson, BadJsonIsAnErrorWithItsPath) {
  const nlohmann::json good = small_program();
  const nlohmann::json concrete = *instantiate(small_program(), {{"M", 3}, {"N", 100}});
  const auto spoilt = [](nlohmann::json json, const char* pointer, nlohmann::json value) {
    json[nlohmann::json::json_pointer(pointer)] = std::move(value);
    return json;
  };
  EXPECT_NE(program_from_json(spoilt(good, "/buffers/0/type", "f99"))
                .error()
                .message.find("$.buffers[0].type: 'f99' is not one of f32"),
            std::string::npos);
  EXPECT_NE(program_from_json(spoilt(good, "/defines/BLOCK", 5))
                .error()
                .message.find("$.defines.BLOCK: must be a string, found an integer"),
            std::string::npos);
  EXPECT_NE(concrete_program_from_json(spoilt(concrete, "/launches/0/args/0/buffer", 2))
                .error()
                .message.find("$.launches[0].args[0].buffer: is 2"),
            std::string::npos);
  EXPECT_FALSE(concrete_program_from_json(spoilt(concrete, "/buffers/0/shape/0", -1)));
  EXPECT_FALSE(concrete_program_from_json(spoilt(concrete, "/launches/0/grid", {1, 1})));
  for (const nlohmann::json& json :
       {nlohmann::json(), nlohmann::json(3), nlohmann::json::array()}) {
    EXPECT_FALSE(program_from_json(json));
    EXPECT_FALSE(concrete_program_from_json(json));
    EXPECT_FALSE(task_from_json(json));
  }
}

TEST(TaskJson, RoundTripsAndKeepsTheHash) {
  Task task = test::scale_task();
  task.flops = expr("2*N");
  task.torch = "A * 2.5";
  const nlohmann::json json = task;
  const auto back = task_from_json(nlohmann::json::parse(json.dump()));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(nlohmann::json(*back), json);
  EXPECT_EQ(back->reference, task.reference);
  EXPECT_EQ(back->hash(), task.hash());
}

TEST(TaskHash, CountsWhatChangesTheTask) {
  const Task task = test::scale_task();
  const std::string hash = task.hash();
  EXPECT_EQ(hash.size(), 32u);
  const auto changed = [&](auto change) {
    Task other = task;
    change(other);
    return other.hash() != hash;
  };
  EXPECT_FALSE(changed([](Task& t) { t.name = "other"; }));
  EXPECT_FALSE(changed([](Task& t) { t.source_path = "/elsewhere/x.cu"; }));
  EXPECT_FALSE(changed([](Task& t) { t.torch = "A"; }));
  EXPECT_TRUE(changed([](Task& t) { t.reference.source += "// more"; }));
  EXPECT_TRUE(changed([](Task& t) { t.sizes["N"] = 4097; }));
  EXPECT_TRUE(changed([](Task& t) { t.check_sizes[0]["N"] = 65; }));
  EXPECT_TRUE(changed([](Task& t) { t.tolerance.rtol = 1; }));
  EXPECT_TRUE(changed([](Task& t) { t.math = MathLevel::kExact; }));
  EXPECT_TRUE(changed([](Task& t) { t.specialize = false; }));
  EXPECT_TRUE(changed([](Task& t) { t.tunables["BLOCK"] = {64}; }));
  EXPECT_TRUE(changed([](Task& t) { t.constraints.clear(); }));
  EXPECT_TRUE(changed([](Task& t) { t.reference.buffers[0].type = ScalarType::kF64; }));
  EXPECT_TRUE(changed([](Task& t) { t.reference.launches[0].args[3].number = 3; }));
}

}  // namespace
}  // namespace hone
