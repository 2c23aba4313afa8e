#include "candidates/expr.h"

#include <gtest/gtest.h>

#include <limits>

namespace hone {
namespace {

constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

TEST(Expr, Evaluates) {
  const Bindings bindings{{"M", 7}, {"N", 100}, {"K", -3}, {"zero", 0}, {"_x1", 5}};
  const struct {
    const char* text;
    std::int64_t want;
  } cases[] = {
      {"0", 0},
      {" 42 ", 42},
      {"M", 7},
      {"_x1", 5},
      {"1+2*3", 7},
      {"(1+2)*3", 9},
      {"10-3-2", 5},
      {"100/7/2", 7},
      {"100 % 7 * 2", 4},
      {"-M", -7},
      {"--M", 7},
      {"-(M+1)", -8},
      {"2*-3", -6},
      {"-7/2", -3},
      {"-7%2", -1},
      {"ceildiv(N,16)", 7},
      {"ceildiv(96,16)", 6},
      {"ceildiv(-7,2)", -3},
      {"ceildiv(7,-2)", -3},
      {"ceildiv(-7,-2)", 4},
      {"min(3,M,K)", -3},
      {"max(3,M,K)", 7},
      {"min(max(1,2),ceildiv(9,2))", 2},
      {"N % 4 == 0", 1},
      {"N != 100", 0},
      {"M < N && N <= 100", 1},
      {"M > N || N >= 100", 1},
      {"1 + 1 == 2", 1},
      {"(1 < 2) + (3 < 4)", 2},
      {"0 || 0 && 1 || 5", 1},
      {"zero != 0 && N % zero == 0", 0},  // the right side is not evaluated
      {"zero == 0 || N % zero == 0", 1},
      {"9223372036854775807", kMax},
      {"-9223372036854775808", kMin},
  };
  for (const auto& [text, want] : cases) {
    const auto expr = Expr::parse(text);
    ASSERT_TRUE(expr) << text << ": " << expr.error().message;
    const auto value = expr->eval(bindings);
    ASSERT_TRUE(value) << text << ": " << value.error().message;
    EXPECT_EQ(*value, want) << text;
  }
}

TEST(Expr, ParseErrorsNameTheColumn) {
  const struct {
    const char* text;
    const char* want;
  } cases[] = {
      {"", "is empty"},
      {"   ", "is empty"},
      {"1 +", "column 4 of \"1 +\": expected an integer, a name or '(', found the end"},
      {"(1", "column 3 of \"(1\": expected ')', found the end"},
      {"1 2", "column 3 of \"1 2\": expected an operator or the end, found '2'"},
      {"ceildiv(N)", "ceildiv takes two arguments, found 1"},
      {"ceildiv(N,)", "column 11"},
      {"ceildiv(N,2,3)", "found 3"},
      {"min(1)", "min takes two or more arguments"},
      {"pow(2,3)", "column 1 of \"pow(2,3)\": unknown function 'pow'"},
      {"a < b < c", "comparisons do not chain"},
      {"1 < 2 == 1", "comparisons do not chain"},
      {"1.5", "expected an integer"},
      {"1e5", "expected an integer"},
      {"16u", "expected an integer"},
      {"N = 2", "column 3"},
      {"N & 2", "found '&'"},
      {"!N", "found '!'"},
      {"a ? b : c", "found '?'"},
      {"N\xC3\xA9", "found '\xC3\xA9'"},
      {"9223372036854775808", "does not fit 64 bits"},
      {"99999999999999999999999", "does not fit 64 bits"},
  };
  for (const auto& [text, want] : cases) {
    const auto expr = Expr::parse(text);
    ASSERT_FALSE(expr) << text;
    EXPECT_EQ(expr.error().code, ErrorCode::kInvalidInput);
    EXPECT_NE(expr.error().message.find(want), std::string::npos)
        << text << ": " << expr.error().message;
  }
}

TEST(Expr, EvalErrors) {
  const Bindings bindings{{"big", kMax}, {"small", kMin}, {"zero", 0}};
  const struct {
    const char* text;
    const char* want;
  } cases[] = {
      {"Kk + 1", "unknown name 'Kk'"},
      {"big + 1", "overflows"},
      {"small - 1", "overflows"},
      {"big * 2", "overflows"},
      {"-small", "overflows"},
      {"small / -1", "overflows"},
      {"small % -1", "overflows"},
      {"ceildiv(small, -1)", "overflows"},
      {"1 / zero", "divides by zero"},
      {"1 % zero", "divides by zero"},
      {"ceildiv(1, zero)", "divides by zero"},
      {"min(1, 1/zero)", "divides by zero"},
  };
  for (const auto& [text, want] : cases) {
    const auto expr = Expr::parse(text);
    ASSERT_TRUE(expr) << expr.error().message;
    const auto value = expr->eval(bindings);
    ASSERT_FALSE(value) << text;
    EXPECT_NE(value.error().message.find(want), std::string::npos) << value.error().message;
    EXPECT_NE(value.error().message.find(text), std::string::npos) << value.error().message;
  }
}

TEST(Expr, DeepAndLongInputsAreRefusedOrWork) {
  const auto nested = [](int depth) {
    return std::string(depth, '(') + "1" + std::string(depth, ')');
  };
  EXPECT_TRUE(Expr::parse(nested(150)));
  for (const std::string& text :
       {nested(250), std::string(2000, '('), std::string(2000, '-') + "1"}) {
    const auto expr = Expr::parse(text);
    ASSERT_FALSE(expr);
    EXPECT_NE(expr.error().message.find("nested"), std::string::npos) << expr.error().message;
  }
  std::string chain = "1";
  while (chain.size() < 4000) chain += "+1";
  const auto sum = Expr::parse(chain);
  ASSERT_TRUE(sum);
  EXPECT_EQ(*sum->eval({}), static_cast<std::int64_t>((chain.size() + 1) / 2));
  EXPECT_FALSE(Expr::parse(chain + chain));
}

TEST(Expr, NamesAndConditions) {
  EXPECT_EQ(Expr::parse("ceildiv(N,16)*M+N")->names(), (std::set<std::string>{"M", "N"}));
  EXPECT_TRUE(Expr::parse("3*4")->is_constant());
  EXPECT_TRUE(Expr(5).is_constant());
  EXPECT_EQ(*Expr(-5).eval({}), -5);
  EXPECT_EQ(*Expr().eval({}), 0);
  EXPECT_EQ(Expr::parse("  a+b ")->text(), "a+b");
  for (const char* text : {"a<b", "(a<b)", "a%2==0&&b>1", "a!=b||(c>=1&&d<=2)"}) {
    EXPECT_TRUE(Expr::parse(text)->is_condition()) << text;
  }
  for (const char* text : {"a", "a+b", "a<b&&c", "(a<b)+1", "min(a<b,1)", "-1"}) {
    EXPECT_FALSE(Expr::parse(text)->is_condition()) << text;
  }
}

}  // namespace
}  // namespace hone
