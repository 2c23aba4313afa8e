#include "engine/baselines/matmul_task.h"

#include <gtest/gtest.h>

#include "candidates/task_reader.h"
#include "engine/baselines/library_baseline.h"

namespace hone {
namespace {

struct Parsed {
  const char* text;
  const char* function;
  bool a_transposed, b_transposed;
};

TEST(MatmulTask, ReadsTheProductsThatItKnows) {
  for (const Parsed& want :
       {Parsed{"torch.matmul(A, B)", "matmul", false, false},
        Parsed{" torch.mm( A ,B.t() ) ", "mm", false, true},
        Parsed{"torch.bmm(A.transpose(-2, -1), B)", "bmm", true, false},
        Parsed{"torch.mv(A, B)", "mv", false, false},
        Parsed{"torch.nn.functional.linear(A, B)", "linear", false, false},
        Parsed{"F.linear(A, B)", "linear", false, false}, Parsed{"A @ B", "matmul", false, false},
        Parsed{"A.T@B.mT", "matmul", true, true}, Parsed{"A.T.T @ B", "matmul", false, false}}) {
    const auto parsed = parse_matmul(want.text);
    ASSERT_TRUE(parsed) << want.text << ": " << parsed.error().message;
    EXPECT_EQ(parsed->function, want.function) << want.text;
    EXPECT_EQ(parsed->a.buffer, "A") << want.text;
    EXPECT_EQ(parsed->b.buffer, "B") << want.text;
    EXPECT_EQ(parsed->a.transposed, want.a_transposed) << want.text;
    EXPECT_EQ(parsed->b.transposed, want.b_transposed) << want.text;
  }
}

TEST(MatmulTask, LeavesTheRestAlone) {
  for (const char* other :
       {"", "a + b", "torch.softmax(x, dim=1)", "torch.matmul(A, B) + C",
        "torch.matmul(A, B).relu()", "torch.nn.functional.linear(A, B, bias)", "torch.matmul(A)",
        "torch.matmul(A, B", "2 * torch.matmul(A, B)", "A @ B @ C", "torch.matmul(A[0], B)",
        "torch.matmul(A, B), 1", "torch.addmm(C, A, B)", "torch.matmul(A.half(), B)",
        "x.t().contiguous()"}) {
    const auto parsed = parse_matmul(other);
    ASSERT_FALSE(parsed) << other;
    EXPECT_EQ(parsed.error().code, ErrorCode::kInvalidInput);
    EXPECT_NE(parsed.error().message.find("not one matrix product"), std::string::npos);
  }
}

using Shape = std::vector<std::int64_t>;

ConcreteProgram program(Shape a, Shape b, Shape c, ScalarType type = ScalarType::kF32,
                        ScalarType out = ScalarType::kF32) {
  ConcreteProgram p;
  p.buffers = {{"C", out, std::move(c), Role::kOut, {}},
               {"A", type, std::move(a), Role::kIn, {}},
               {"B", type, std::move(b), Role::kIn, {}}};
  return p;
}

MatmulCall call_of(const char* text, const ConcreteProgram& p,
                   MathLevel math = MathLevel::kReassociate) {
  const auto parsed = parse_matmul(text);
  EXPECT_TRUE(parsed) << text;
  const auto call = matmul_call(*parsed, p, math);
  EXPECT_TRUE(call) << text << ": " << call.error().message;
  return call.value_or(MatmulCall{});
}

TEST(MatmulTask, TakesExtentsAndLayoutFromTheBuffers) {
  const MatmulCall plain = call_of("torch.matmul(A, B)", program({3, 7}, {7, 5}, {3, 5}));
  EXPECT_EQ(plain, (MatmulCall{Library::kCublas, 1, 2, 0, 3, 5, 7}));
  const MatmulCall linear = call_of("F.linear(A, B)", program({2, 3, 7}, {5, 7}, {2, 3, 5}));
  EXPECT_EQ(linear, (MatmulCall{Library::kCublas, 1, 2, 0, 6, 5, 7, 1, 0, 0, false, true}));
  const MatmulCall tn = call_of("A.t() @ B", program({7, 3}, {7, 5}, {3, 5}));
  EXPECT_EQ(tn, (MatmulCall{Library::kCublas, 1, 2, 0, 3, 5, 7, 1, 0, 0, true, false}));
  const MatmulCall mv = call_of("torch.mv(A, B)", program({3, 7}, {7}, {3}));
  EXPECT_EQ(mv, (MatmulCall{Library::kCublas, 1, 2, 0, 3, 1, 7}));
  const MatmulCall vm = call_of("torch.matmul(A, B)", program({7}, {7, 5}, {5}));
  EXPECT_EQ(vm, (MatmulCall{Library::kCublas, 1, 2, 0, 1, 5, 7}));
  const MatmulCall bmm = call_of("torch.bmm(A, B)", program({4, 3, 7}, {4, 7, 5}, {4, 3, 5}));
  EXPECT_EQ(bmm, (MatmulCall{Library::kCublas, 1, 2, 0, 3, 5, 7, 4, 21, 35}));
  const MatmulCall heads = call_of("A @ B.mT", program({2, 4, 3, 7}, {2, 4, 5, 7}, {2, 4, 3, 5}));
  EXPECT_EQ(heads, (MatmulCall{Library::kCublas, 1, 2, 0, 3, 5, 7, 8, 21, 35, false, true}));
  const MatmulCall one_a = call_of("A @ B", program({3, 7}, {4, 7, 5}, {4, 3, 5}));
  EXPECT_EQ(one_a, (MatmulCall{Library::kCublas, 1, 2, 0, 3, 5, 7, 4, 0, 35}));
  const MatmulCall one_b = call_of("A.mT @ B", program({4, 7, 3}, {7, 5}, {4, 3, 5}));
  EXPECT_EQ(one_b, (MatmulCall{Library::kCublas, 1, 2, 0, 3, 5, 7, 4, 21, 0, true, false}));
}

TEST(MatmulTask, Tf32OnlyWhereTheTaskAllowsIt) {
  const auto p = program({3, 7}, {7, 5}, {3, 5});
  EXPECT_FALSE(call_of("A @ B", p).tf32);
  EXPECT_FALSE(call_of("A @ B", p, MathLevel::kTf32x3).tf32);
  EXPECT_TRUE(call_of("A @ B", p, MathLevel::kTf32).tf32);
  EXPECT_TRUE(call_of("A @ B", p, MathLevel::kReduced).tf32);
  const auto half = program({3, 7}, {7, 5}, {3, 5}, ScalarType::kF16);
  EXPECT_FALSE(call_of("A @ B", half, MathLevel::kReduced).tf32);
}

TEST(MatmulTask, RefusesWhatCublasDoesNot) {
  const auto refuses = [](const char* text, const ConcreteProgram& p, const char* why) {
    const auto call = matmul_call(*parse_matmul(text), p, MathLevel::kExact);
    ASSERT_FALSE(call) << text << " " << why;
    EXPECT_EQ(call.error().code, ErrorCode::kInvalidInput);
    EXPECT_NE(call.error().message.find(why), std::string::npos) << call.error().message;
  };
  const auto good = program({3, 7}, {7, 5}, {3, 5});
  refuses("A @ D", good, "'D' is not an input");
  refuses("A @ C", good, "'C' is not an input");
  refuses("torch.bmm(A, B)", good, "bmm does not take shapes [3, 7] and [7, 5]");
  refuses("A @ B", program({3, 7}, {6, 5}, {3, 5}), "7 is not 6");
  refuses("A @ B", program({3, 7}, {7, 5}, {3, 6}), "the output 'C' has 18 elements");
  refuses("A @ B", program({4, 3, 7}, {2, 7, 5}, {4, 3, 5}), "batches differ");
  refuses("A @ B", program({3, 7}, {7, 5}, {3, 5}, ScalarType::kI32),
          "does not have cuBLAS multiply i32 by i32");
  refuses("A @ B", program({3, 7}, {7, 5}, {3, 5}, ScalarType::kF64), "f64 by f64 into f32");
  auto fp8 = program({3, 7}, {7, 5}, {3, 5}, ScalarType::kE4m3);
  fp8.buffers[2].type = ScalarType::kE4m3;
  refuses("A @ B", fp8, "does not have cuBLAS multiply e4m3 by e4m3");
  auto two = good;
  two.buffers.push_back({"D", ScalarType::kF32, {1}, Role::kOut, {}});
  refuses("A @ B", two, "more than one");
  auto adds = good;
  adds.buffers[0].role = Role::kInOut;
  refuses("A @ B", adds, "more than one fresh output");
}

TEST(MatmulTask, FindsTheProductsAmongTheBaselines) {
  const std::string root = HONE_SOURCE_DIR "/baselines/";
  for (const char* name : {"matmul", "batched_matmul", "matmul_transposed_b", "matvec"}) {
    const auto task = read_task(root + name + "/" + name + ".cu");
    ASSERT_TRUE(task) << task.error().message;
    const auto product = check_matmul(*task);
    EXPECT_TRUE(product) << product.error().message;
  }
  for (const char* name : {"gelu", "softmax", "attention", "nbody"}) {
    const auto task = read_task(root + name + "/" + name + ".cu");
    ASSERT_TRUE(task) << task.error().message;
    EXPECT_FALSE(check_matmul(*task)) << name;
  }
}

}  // namespace
}  // namespace hone
