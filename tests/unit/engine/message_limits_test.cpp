// What a message of the queue may hold: every limit, and that mistakes are named with their place.
#include <cmath>

#include "tests/unit/engine/message_harness.h"

namespace hone::queue {
namespace {

TEST(QueueMessages, IdsAreOfAStrictAlphabet) {
  for (const char* id : {"a", "sm_90:NVIDIA-H200", "0.1", "-", "Z9_"}) EXPECT_TRUE(is_id(id)) << id;
  EXPECT_TRUE(is_id(std::string(80, 'a')));
  EXPECT_FALSE(is_id(std::string(81, 'a')));
  for (const char* id : {"", " ", "a b", "a*", "a/b", "a\n", "é", "{a}", "a\"", "?", "[x]"})
    EXPECT_FALSE(is_id(id)) << id;
  EXPECT_FALSE(is_id(std::string_view("a\0b", 3)));
  for (const auto& [type, key] :
       std::vector<std::pair<std::string, std::string>>{{"work", "/job"},
                                                        {"work", "/id"},
                                                        {"result", "/worker"},
                                                        {"job", "/id"},
                                                        {"job", "/strategy"},
                                                        {"job", "/archs/0"},
                                                        {"status", "/id"},
                                                        {"worker", "/id"}}) {
    EXPECT_REFUSED(spoilt(type, key, "a b"), "'a b' is no id");
    EXPECT_FALSE(spoilt(type, key, std::string(81, 'a')).ok);
    EXPECT_FALSE(spoilt(type, key, 3).ok);
  }
}

/// A valid evaluation of one check at which things can be broken.
WorkMessage small_work() {
  ConcreteProgram p;
  p.source = "__global__ void scale() {}";
  p.buffers = {{"x", ScalarType::kF32, {4, 4}, Role::kIn, {}},
               {"y", ScalarType::kF32, {16}, Role::kOut, {}}};
  p.launches = {{"scale", {1, 1, 1}, {128, 1, 1}, 0, {BufferIndex{0}, BufferIndex{1}}}};
  WorkMessage message{"job", "evaluation"};
  message.request.checks = {{p, p, 1}, {p, p, 2}, {p, p, 3}};
  message.request.timed = {p, p, 4};
  return message;
}

void expect_unsendable(const WorkMessage& message, const std::string& why) {
  const auto bytes = encode(message);
  ASSERT_FALSE(bytes) << why;
  EXPECT_EQ(bytes.error().code, ErrorCode::kInvalidInput);
  EXPECT_NE(bytes.error().message.find(why), std::string::npos) << bytes.error().message;
}

void expect_unsendable(const std::function<void(WorkMessage&)>& spoil, const std::string& why) {
  WorkMessage message = small_work();
  spoil(message);
  expect_unsendable(message, why);
}

TEST(WorkMessages, SourcesThatOccurTwiceTravelOnce) {
  const auto bytes = encode(small_work());
  ASSERT_TRUE(bytes) << bytes.error().message;
  EXPECT_EQ(parsed(*bytes)["sources"].size(), 1U);
  const auto at = bytes->find("void scale");
  EXPECT_EQ(bytes->find("void scale", at + 1), std::string::npos);
  WorkMessage two = small_work();
  two.request.checks[1].candidate.source += "//";
  EXPECT_EQ(parsed(*encode(two))["sources"].size(), 2U);
}

TEST(WorkMessages, MistakesAreNamedWithTheirPlace) {
  Json json = parsed(*encode(small_work()));
  const auto with = [&](const char* pointer, const Json& value) {
    Json changed = json;
    changed[Json::json_pointer(pointer)] = value;
    return type("work").again(packed(changed));
  };
  EXPECT_REFUSED(with("/checks/2/candidate/buffers/0/type", "f99"),
                 "work message: checks[2].candidate.buffers[0].type: 'f99' is not one of f32");
  EXPECT_REFUSED(with("/checks/1/reference/launches/0/args/1", Json({{"buffer", 2}})),
                 "work message: checks[1].reference.launches[0].args[1].buffer: is 2");
  EXPECT_REFUSED(with("/timed/candidate/launches/0/args/1", Json({{"buffer", 1}, {"at", 2}})),
                 "unknown key 'at'");
  EXPECT_REFUSED(with("/timed/reference/source", 1), "timed.reference.source: is 1");
  EXPECT_REFUSED(with("/timed/reference/source", "text"), "timed.reference.source: must be");
  EXPECT_REFUSED(with("/checks/0/inputs", 99), "checks[0].inputs: is 99");
  EXPECT_REFUSED(with("/checks/0/seed", -1), "checks[0].seed: must be an integer of at least 0");
  EXPECT_REFUSED(with("/kind", "erase"), "kind: 'erase' is not one of admit, evaluate");
  EXPECT_REFUSED(with("/stage", "last"), "stage: 'last' is not one of");
  EXPECT_REFUSED(with("/math", "wild"), "math: 'wild' is not one of");
  EXPECT_REFUSED(with("/sources", Json::array()), "sources: is empty");
  EXPECT_REFUSED(with("/sources/0", std::string("\xff")), "sources[0]: must be UTF-8 text");
  EXPECT_REFUSED(with("/sources/0", std::string("a\0b", 3)), "sources[0]: must be UTF-8 text");
  EXPECT_REFUSED(with("/tolerance/more", 1), "tolerance.more: unknown key");
  for (const char* number : {"/best_time_us", "/flops", "/screen_above_us", "/tolerance/rtol"}) {
    EXPECT_FALSE(with(number, -1).ok) << number;
    EXPECT_FALSE(with(number, std::nan("")).ok) << number;
    EXPECT_FALSE(with(number, INFINITY).ok) << number;
    EXPECT_FALSE(with(number, "fast").ok) << number;
  }
  EXPECT_TRUE(with("/screen_above_us", "inf").ok);
  EXPECT_FALSE(with("/best_time_us", "inf").ok);
}

TEST(WorkMessages, WhatNoDeviceTakesIsNotSent) {
  const auto candidate = [](auto spoil) {
    return [spoil](WorkMessage& m) { spoil(m.request.checks[0].candidate); };
  };
  using P = ConcreteProgram;
  expect_unsendable(candidate([](P& p) { p.buffers[0].fill = {Fill::Kind::kFile, 0, 0, "/x"}; }),
                    "checks[0].candidate.buffers[0].fill: an input from a file has the SHA-256");
  expect_unsendable(candidate([](P& p) {
                      p.buffers[0].fill = {Fill::Kind::kFile, 0, 0,
                                           to_path({std::string(64, '0'), "\xff"})};
                    }),
                    "an input from a file has the SHA-256");
  expect_unsendable(candidate([](P& p) { p.buffers[1].fill.path = "/x"; }),
                    "only an input from a file has a path");
  expect_unsendable(candidate([](P& p) { p.buffers[0].fill.a = 2; }), "a range of 2 to 1 is none");
  expect_unsendable(candidate([](P& p) { p.buffers[0].fill.b = NAN; }), "must be finite");
  expect_unsendable(candidate([](P& p) { p.buffers[0].name = "a b"; }), "'a b' is not a name");
  expect_unsendable(candidate([](P& p) { p.buffers[0].name = "y"; }), "already a buffer 'y'");
  expect_unsendable(candidate([](P& p) { p.buffers[0].shape = {0}; }), "must be 1 to");
  expect_unsendable(candidate([](P& p) { p.buffers[0].shape.assign(9, 1); }), "at most 8");
  expect_unsendable(candidate([](P& p) { p.buffers.resize(257, p.buffers[0]); }), "at most 256");
  expect_unsendable(candidate([](P& p) { p.launches.resize(257, p.launches[0]); }), "at most 256");
  expect_unsendable(candidate([](P& p) { p.launches.clear(); }), "there must be a launch");
  expect_unsendable(candidate([](P& p) { p.launches[0].args.resize(1025, 1.0); }), "at most 1024");
  expect_unsendable(candidate([](P& p) { p.launches[0].kernel = "f();"; }), "not a kernel name");
  expect_unsendable(candidate([](P& p) { p.launches[0].grid[1] = 65536; }), "65536 in y");
  expect_unsendable(candidate([](P& p) { p.launches[0].block[2] = 65; }), "65 in z");
  expect_unsendable(candidate([](P& p) { p.launches[0].block = {1024, 2, 1}; }), "1024 threads");
  expect_unsendable(candidate([](P& p) { p.launches[0].block.fill(INT32_MAX); }), "CUDA allows");
  expect_unsendable(candidate([](P& p) { p.launches[0].grid[0] = 0; }), "must be 1 to");
  expect_unsendable(candidate([](P& p) { p.launches[0].args[0] = BufferIndex{-1}; }), "is -1");
  expect_unsendable(candidate([](P& p) { p.launches[0].args[0] = NAN; }), "must be finite");
  expect_unsendable(candidate([](P& p) { p.defines = {{"-I/", "1"}}; }), "no name for a macro");
  expect_unsendable(candidate([](P& p) { p.defines = {{"A", std::string(1025, 'x')}}; }),
                    "defines.A: is too long");
  expect_unsendable(candidate([](P& p) {
                      for (int i = 0; i < 257; ++i) p.defines["A" + std::to_string(i)] = "1";
                    }),
                    "defines: has 257 entries");
  expect_unsendable(candidate([](P& p) { p.source.assign(kMaxSources + 1, ' '); }),
                    "has 1048577 bytes");
  expect_unsendable(candidate([](P& p) { p = {}; }), "checks[0]: \"candidate\" is missing");
}

TEST(WorkMessages, AreNotTooMany) {
  expect_unsendable([](WorkMessage& m) { m.request.checks.resize(193, m.request.checks[0]); },
                    "checks: has 193 entries; at most 192");
  expect_unsendable(
      [](WorkMessage& m) { m.request.timed.candidate.source.assign(kMaxSources - 10, ' '); },
      "sources: the sources have more than 1048576 bytes in all");
  WorkMessage message = small_work();
  message.request.checks.resize(192, message.request.checks[0]);
  EXPECT_TRUE(encode(message));
  expect_unsendable([](WorkMessage& m) { m.id = "a/b"; }, "id: 'a/b' is no id");
  expect_unsendable([](WorkMessage& m) { m.request.flops = -1; }, "flops: is -1");
  expect_unsendable([](WorkMessage& m) { m.request.tolerance.atol = NAN; }, "tolerance.atol: must");
  // Large without one part being so.
  message = small_work();
  for (ConcreteLaunch& launch : message.request.timed.reference.launches)
    launch.args.assign(1024, 0.1);
  message.request.timed.reference.launches.resize(256, message.request.timed.reference.launches[0]);
  message.request.checks.assign(2, message.request.timed);
  expect_unsendable(message, "too many parts");
  message = small_work();
  message.request.timed.candidate.launches[0].kernel.assign(1000, 'k');
  message.request.timed.candidate.launches.resize(256, message.request.timed.candidate.launches[0]);
  message.request.checks.assign(60, message.request.timed);
  expect_unsendable(message, "bytes; at most 8388608 are accepted");
}

TEST(WorkMessages, AnAdmissionNeedsNoCandidate) {
  WorkMessage message = small_work();
  message.kind = WorkMessage::Kind::kAdmit;
  message.request.timed.candidate = {};
  const auto bytes = encode(message);
  ASSERT_TRUE(bytes) << bytes.error().message;
  EXPECT_TRUE(work_from(*bytes)->request.timed.candidate.launches.empty());
}

TEST(ResultMessages, TextsAreCleanedAndCut) {
  Maker make(8);
  ResultMessage message{"job", "evaluation", "worker", make.evaluation()};
  message.evaluation->detail = std::string("red \x1b[31m \xff \0 end", 18);
  message.evaluation->note = std::string(100'000, 'x');
  message.evaluation->measurement.counters = {{"a\x07", 1}};
  const auto got = result_from(*encode(message));
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->evaluation->detail, "red ?[31m ?  end");
  EXPECT_EQ(got->evaluation->note.size(), 8192U);
  EXPECT_EQ(got->evaluation->measurement.counters.begin()->first, "a?");
  message.evaluation = fail(ErrorCode::kInfrastructure, "the \x1b[2J runner died");
  EXPECT_EQ(result_from(*encode(message))->evaluation.error().message, "the ?[2J runner died");
  // A sender that does not clean.
  Json json = parsed(*encode(message));
  json["error"]["message"] = "\xc3\x28\x1b";
  EXPECT_EQ(result_from(packed(json))->evaluation.error().message, "?(?");
  json["error"]["message"] = std::string(8193, 'x');
  EXPECT_REFUSED(type("result").again(packed(json)), "error.message: has 8193 bytes");
  json["error"] = {{"code", "bad_luck"}, {"message", ""}};
  EXPECT_REFUSED(type("result").again(packed(json)), "error.code: 'bad_luck' is not one of");
  json["evaluation"] = 1;
  EXPECT_REFUSED(type("result").again(packed(json)), "there is an evaluation, too");
}

TEST(ResultMessages, NumbersThatAreNoneAreRefused) {
  Maker make(8);
  ResultMessage good{"job", "evaluation", "worker", make.evaluation()};
  good.evaluation->resources.resize(1);
  const auto refused = [&](auto spoil) {
    ResultMessage message = good;
    spoil(*message.evaluation);
    EXPECT_TRUE(implausible(*message.evaluation, false));
    const auto bytes = encode(message);
    ASSERT_FALSE(bytes);
    EXPECT_TRUE(bytes.error().message.starts_with("result message: evaluation"));
  };
  for (const double bad : {std::nan(""), double{INFINITY}, -1.0}) {
    refused([&](Evaluation& e) { e.max_rel_error = bad; });
    refused([&](Evaluation& e) { e.reference_error = bad; });
    refused([&](Evaluation& e) { e.elapsed_s = bad; });
    refused([&](Evaluation& e) { e.measurement.time_us = bad; });
    refused([&](Evaluation& e) { e.measurement.speedup = bad; });
    refused([&](Evaluation& e) { e.measurement.ci95_high = bad; });
    refused([&](Evaluation& e) { e.measurement.roof_fraction = bad; });
    refused([&](Evaluation& e) { e.measurement.samples_us = {bad}; });
    refused([&](Evaluation& e) { e.measurement.reference_samples_us = {1, bad}; });
    refused([&](Evaluation& e) { e.resources[0].occupancy = bad; });
  }
  refused([](Evaluation& e) { e.measurement.counters["x"] = NAN; });
  refused([](Evaluation& e) { e.measurement.samples_us.resize(100'001); });
  refused([](Evaluation& e) { e.resources.resize(257); });
  refused([](Evaluation& e) { e.resources[0].registers = -1; });
  refused([](Evaluation& e) { e.resources[0].registers = 5000; });
  refused([](Evaluation& e) {
    for (int i = 0; i < 257; ++i) e.measurement.counters[std::to_string(i)] = 1;
  });
  Json json = parsed(*encode(good));
  for (const char* number : {"/own/modelled_us", "/own/gates/wait"}) {
    for (const Json& bad : {Json(-1), Json(std::nan("")), Json("inf"), Json()}) {
      Json changed = json;
      changed[Json::json_pointer(number)] = bad;
      EXPECT_FALSE(type("result").again(packed(changed)).ok) << number;
    }
  }
}

TEST(JobMessages, NameNoFiles) {
  Maker make(3);
  JobMessage message = make.job();
  message.task.reference.buffers[0].fill = {Fill::Kind::kFile, 0, 0, "/etc/hostname"};
  const auto bytes = encode(message);
  ASSERT_FALSE(bytes);
  EXPECT_NE(bytes.error().message.find("'x': its file was not sent"), std::string::npos);
  for (const std::string& path :
       {std::string("/etc/hostname"), "sha256:" + std::string(64, '0') + "/../x",
        "sha256:" + std::string(63, '0') + "/x", std::string("x")}) {
    EXPECT_REFUSED(spoilt("job", "/task/reference/buffers/0/fill", {{"file", path}}),
                   "task.reference.buffers[0].fill: an input from a file has the SHA-256");
  }
  for (const char* path : {"/tmp/scale.cu", "a/b.cu", "..", ".", "x\x1b.cu", "a/"})
    EXPECT_REFUSED(spoilt("job", "/task/source_path", path), "task.source_path: must be");
}

TEST(JobMessages, OfTasksThatAreNoneAreRefused) {
  const auto refused = [](const char* key, const Json& value, const std::string& why) {
    EXPECT_REFUSED(spoilt("job", key, value), why);
  };
  refused("/task/name", "two\nlines", "task.name: must be one line");
  refused("/task/name", std::string(300, 'x'), "task.name: must be one line");
  refused("/task/torch", "\x1b", "task.torch: must be one line");
  refused("/task/sizes/N", 0, "task.sizes.N: is 0");
  refused("/task/sizes/bad name", 1, "task.sizes['bad name']: is no name");
  refused("/task/sizes/M", 1, "task.check_sizes[0]: binds other names");
  refused("/task/check_sizes", Json(std::vector<Json>(65, {{"N", 1}})), "at most 64");
  refused("/task/tunables/BLOCK", Json::array(), "must have 1 to 1024 values");
  refused("/task/tunables/BLOCK", {256}, "begins with another value");
  refused("/task/tunables/OTHER", {256}, "begins with another value");
  refused("/task/constraints/0", "N", "task.constraints[0]: is no condition");
  refused("/task/constraints/0", "N >", "task.constraints[0]: column");
  refused("/task/tolerance/rtol", -1, "task.tolerance.rtol: is -1");
  refused("/task/tolerance/other", 1, "unknown key");
  refused("/task/reference/launches", Json::array(), "there must be a launch");
  refused("/task/reference/launches/0/block", {4096}, "CUDA allows");
  refused("/task/reference/launches/0/args", Json(std::vector<int>(1025, 1)), "at most 1024");
  refused("/task/reference/source", std::string(kMaxSources + 1, ' '), "1048577 bytes");
  refused("/task/reference/source", "\xff", "must be UTF-8 text");
  refused("/task/reference/defines/a-b", "1", "no name for a macro");
  refused("/task/reference/buffers/0/name", "1x", "is not a name");
}

TEST(JobMessages, OptionsHaveLimits) {
  const auto refused = [](const char* key, const Json& value) {
    EXPECT_REFUSED(spoilt("job", key, value), std::string(key).substr(1, 5));
  };
  for (const double bad : {-1.0, std::nan(""), double{INFINITY}, 1e9})
    refused("/budget/seconds", bad);
  refused("/budget/evaluations", -1);
  refused("/budget/evaluations", 1.5);
  refused("/finalists", 101);
  refused("/finalists", -1);
  refused("/priority", 101);
  refused("/priority", -101);
  refused("/submitted_at", -1);
  refused("/owner", std::string(257, 'x'));
  refused("/archs", Json::array());
  refused("/archs", Json({"sm_90", "sm_90"}));
  refused("/archs", Json(std::vector<std::string>(17, "sm_90")));
  refused("/disabled", Json(std::vector<std::string>(257, "x")));
  refused("/disabled", Json({"a b"}));
  refused("/prescreen", 1);
  refused("/seed", -1);
}

TEST(JobMessages, FinalistsHaveTheRangeThatTheCommandLineHas) {
  EXPECT_REFUSED(spoilt("job", "/finalists", 0), "finalists");
  EXPECT_REFUSED(spoilt("job", "/finalists", kMostFinalists + 1), "finalists");
  EXPECT_EQ(parsed(spoilt("job", "/finalists", kMostFinalists).text)["finalists"], kMostFinalists);
}

TEST(StatusMessages, HaveLimits) {
  std::uint64_t seed = 1;
  while (parsed(made("status", seed))["archs"].empty()) ++seed;
  const auto refused = [&](const char* key, const Json& value, const std::string& why) {
    EXPECT_REFUSED(spoilt("status", key, value, seed), why);
  };
  refused("/state", "lost", "state: 'lost' is not one of queued");
  refused("/archs/0/counts/verdicts/ok", -1, "archs[0].counts.verdicts.ok: is -1");
  refused("/archs/0/counts/verdicts/ok", nullptr, "\"ok\" is missing");
  refused("/archs/0/counts/verdicts/odd", 1, "unknown key");
  refused("/archs/0/best_candidate", "a b", "is no id");
  refused("/archs/0/best_time_us", -1, "archs[0].best_time_us: is -1");
  refused("/archs/0/best_recipe", std::string(8193, 'x'), "has 8193 bytes");
  refused("/error", std::string(8193, 'x'), "error: has 8193 bytes");
}

TEST(WorkerMessages, HaveLimits) {
  std::uint64_t seed = 1;
  while (parsed(made("worker", seed))["devices"].empty()) ++seed;
  const auto refused = [&](const char* key, const Json& value, const std::string& why) {
    EXPECT_REFUSED(spoilt("worker", key, value, seed), why);
  };
  const Json device = parsed(made("worker", seed))["devices"][0];
  refused("/devices", Json(std::vector<Json>(65, device)), "devices: has 65 entries");
  refused("/devices/0/pool", "a b", "devices[0].pool: 'a b' is no id");
  refused("/devices/0/capacity", 0, "devices[0].capacity: is 0");
  refused("/devices/0/sm_count", -1, "devices[0].sm_count: is -1");
  refused("/devices/0/memory_bytes", 1e12, "devices[0].memory_bytes: must be an integer");
  refused("/devices/0/name", std::string(257, 'x'), "devices[0].name: has 257 bytes");
  refused("/devices/0/ceilings/l2_bytes_per_s", -1, "devices[0].ceilings.l2_bytes_per_s: must be");
  refused("/devices/0/ceilings/extra", 1, "devices[0].ceilings.extra: unknown key");
  refused("/evaluated", -1, "evaluated: is -1");
  refused("/draining", 0, "draining: must be true or false");
}

TEST(Pools, AreIdsOfInterchangeableDevices) {
  const auto pool = [](const std::string& name, const std::string& arch, bool modelled) {
    DeviceInfo info;
    info.name = name;
    info.arch = arch;
    const std::string pool = pool_of(info, modelled);
    EXPECT_TRUE(is_id(pool)) << pool;
    return pool;
  };
  EXPECT_EQ(pool("NVIDIA H200", "sm_90", false), "sm_90:NVIDIA-H200");
  EXPECT_EQ(pool("NVIDIA H100 80GB HBM3", "sm_90", false), "sm_90:NVIDIA-H100-80GB-HBM3");
  EXPECT_EQ(pool("emulated sm_90 (H200 profile)", "sm_90", true), "emu:sm_90");
  EXPECT_EQ(pool("emulated sm_90 (H100 profile)", "sm_90", true), "emu:sm_90:H100");
  EXPECT_EQ(pool("emulated sm_90 (H200 profile 1f2e3d4c)", "sm_90", true),
            "emu:sm_90:H200-1f2e3d4c");
  EXPECT_EQ(pool("", "", false), "unknown:unknown");
  EXPECT_NE(pool("emu", "emu", false), pool("emu", "emu", true));
  (void)pool("a\x1b*{}\n:::é" + std::string(200, 'x'), std::string(200, ':') + "sm", false);
  (void)pool("(" + std::string(200, '*'), std::string(200, 'x'), true);
  (void)pool(")(", "sm_90", true);
  auto evaluator = Evaluator::open(*DeviceSpec::parse("emu:sm_90"));
  ASSERT_TRUE(evaluator) << evaluator.error().message;
  EXPECT_EQ(pool_of((*evaluator)->info(), true), "emu:sm_90");
}

}  // namespace
}  // namespace hone::queue
