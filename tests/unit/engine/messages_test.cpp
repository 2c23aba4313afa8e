// The queue's messages: what is sent is what is read, and what others may send breaks nothing.
#include "engine/queue/messages.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "engine/rewriting/local_rewriting.h"
#include "engine/search/requests/requests.h"
#include "tests/unit/engine/message_harness.h"

namespace hone::queue {
namespace {

Json program_json(const ConcreteProgram& program) { return program; }

void expect_same(const CheckCase& a, const CheckCase& b) {
  EXPECT_EQ(program_json(a.reference), program_json(b.reference));
  EXPECT_EQ(program_json(a.candidate), program_json(b.candidate));
  EXPECT_EQ(a.seed, b.seed);
  EXPECT_EQ(a.inputs, b.inputs);
  EXPECT_EQ(a.hidden, b.hidden);
}

TEST(QueueMessages, EverythingOfARequestTravels) {
  Maker make(1);
  for (int i = 0; i < 200; ++i) {
    const WorkMessage sent = make.work();
    const auto bytes = encode(sent);
    ASSERT_TRUE(bytes) << bytes.error().message;
    const auto got = work_from(*bytes);
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_EQ(got->job, sent.job);
    EXPECT_EQ(got->id, sent.id);
    EXPECT_EQ(got->kind, sent.kind);
    const EvaluationRequest &a = got->request, &b = sent.request;
    ASSERT_EQ(a.checks.size(), b.checks.size());
    for (std::size_t k = 0; k < a.checks.size(); ++k) expect_same(a.checks[k], b.checks[k]);
    expect_same(a.timed, b.timed);
    EXPECT_EQ(a.tolerance, b.tolerance);
    EXPECT_EQ(a.math, b.math);
    EXPECT_EQ(a.stage, b.stage);
    EXPECT_EQ(a.best_time_us, b.best_time_us);
    EXPECT_EQ(a.screen_above_us, b.screen_above_us);
    EXPECT_EQ(a.measure_first, b.measure_first);
    EXPECT_EQ(a.flops, b.flops);
    EXPECT_EQ(a.seed, b.seed);
  }
}

TEST(QueueMessages, EverythingOfAnEvaluationTravels) {
  Maker make(2);
  for (int i = 0; i < 300; ++i) {
    const ResultMessage sent = make.result();
    const auto bytes = encode(sent);
    ASSERT_TRUE(bytes) << bytes.error().message;
    const auto got = result_from(*bytes);
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_EQ(got->job + got->id + got->worker, sent.job + sent.id + sent.worker);
    ASSERT_EQ(got->evaluation.has_value(), sent.evaluation.has_value());
    if (!sent.evaluation) {
      EXPECT_EQ(got->evaluation.error().code, sent.evaluation.error().code);
      EXPECT_EQ(got->evaluation.error().message, sent.evaluation.error().message);
      continue;
    }
    const Evaluation &a = *got->evaluation, &b = *sent.evaluation;
    EXPECT_EQ(Json(a), Json(b));
    EXPECT_EQ(a.gates.compile, b.gates.compile);
    EXPECT_EQ(a.gates.check, b.gates.check);
    EXPECT_EQ(a.gates.wait, b.gates.wait);
    EXPECT_EQ(a.gates.measure, b.gates.measure);
    EXPECT_EQ(a.modelled_us, b.modelled_us);
    EXPECT_EQ(a.outpaced, b.outpaced);
    EXPECT_EQ(a.screened, b.screened);
  }
}

TEST(QueueMessages, EverythingOfAJobTravelsButItsFolder) {
  Maker make(3);
  for (int i = 0; i < 100; ++i) {
    JobMessage sent = make.job();
    sent.task.source_path = "some/folder/of/mine/scale.cu";
    const auto bytes = encode(sent);
    ASSERT_TRUE(bytes) << bytes.error().message;
    EXPECT_EQ(bytes->find("folder"), std::string::npos);
    const auto got = job_from(*bytes);
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_EQ(got->task.source_path, "scale.cu");
    EXPECT_EQ(got->task.hash(), sent.task.hash());
    EXPECT_EQ(got->task.flops, sent.task.flops);
    EXPECT_EQ(got->task.torch, sent.task.torch);
    EXPECT_EQ(got->id + got->owner, sent.id + sent.owner);
    EXPECT_EQ(got->search.budget.seconds, sent.search.budget.seconds);
    EXPECT_EQ(got->search.budget.evaluations, sent.search.budget.evaluations);
    EXPECT_EQ(got->search.seed, sent.search.seed);
    EXPECT_EQ(got->search, sent.search);
    EXPECT_EQ(got->search.strategy, sent.search.strategy);
    EXPECT_EQ(got->search.finalists, sent.search.finalists);
    EXPECT_EQ(got->search.without, sent.search.without);
    EXPECT_EQ(got->search.prescreen, sent.search.prescreen);
    EXPECT_EQ(got->model, sent.model);
    EXPECT_EQ(got->archs, sent.archs);
    EXPECT_EQ(got->priority, sent.priority);
    EXPECT_EQ(got->submitted_at, sent.submitted_at);
  }
}

TEST(QueueMessages, StatesAndWorkersTravel) {
  Maker make(4);
  for (int i = 0; i < 200; ++i) {
    const JobStatus status = make.status();
    const auto status_got = status_from(*encode(status));
    ASSERT_TRUE(status_got) << status_got.error().message;
    EXPECT_EQ(*status_got, status);
    const WorkerMessage worker = make.worker();
    const auto got = worker_from(*encode(worker));
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_EQ(got->id + got->host + got->version, worker.id + worker.host + worker.version);
    EXPECT_EQ(got->draining, worker.draining);
    EXPECT_EQ(got->started_at, worker.started_at);
    EXPECT_EQ(got->evaluated, worker.evaluated);
    EXPECT_EQ(got->in_flight, worker.in_flight);
    ASSERT_EQ(got->devices.size(), worker.devices.size());
    for (std::size_t k = 0; k < worker.devices.size(); ++k) {
      const WorkerDevice &a = got->devices[k], &b = worker.devices[k];
      EXPECT_EQ(a.pool, b.pool);
      EXPECT_EQ(a.modelled, b.modelled);
      EXPECT_EQ(a.capacity, b.capacity);
      EXPECT_EQ(a.info.name + a.info.arch + a.info.driver + a.info.toolchain + a.info.sandbox,
                b.info.name + b.info.arch + b.info.driver + b.info.toolchain + b.info.sandbox);
      EXPECT_EQ(a.info.sm_count, b.info.sm_count);
      EXPECT_EQ(a.info.memory_bytes, b.info.memory_bytes);
      EXPECT_EQ(a.info.ceilings, b.info.ceilings);
    }
  }
}

TEST(QueueMessages, ReadAndSentAgainTheyAreTheSame) {
  Maker make(5);
  for (const Type& type : types()) {
    for (int i = 0; i < 50; ++i) {
      const std::string bytes = type.make(make);
      const Outcome outcome = type.again(bytes);
      EXPECT_TRUE(outcome.ok) << outcome.text;
      EXPECT_TRUE(outcome.text == bytes) << type.name;
    }
  }
}

TEST(QueueMessages, EveryTruncationIsRefused) {
  for (const Type& type : types()) {
    const std::string bytes = made(type.name);
    for (std::size_t length = 0; length < bytes.size(); ++length)
      EXPECT_FALSE(type.again(bytes.substr(0, length)).ok) << type.name << " " << length;
    EXPECT_FALSE(type.again(bytes + '\0').ok);
  }
}

TEST(QueueMessages, FlippedBytesBreakNothing) {
  Random random(6);
  int accepted = 0;
  for (const Type& type : types()) {
    for (int i = 0; i < 3000; ++i) {
      std::string bytes = made(type.name, 1 + random.index(5));
      for (std::size_t k = 1 + random.index(3); k > 0; --k)
        bytes[random.index(bytes.size())] = static_cast<char>(random.bits());
      const Outcome once = type.again(bytes);
      if (!once.ok) continue;
      ++accepted;
      const Outcome twice = type.again(once.text);
      EXPECT_TRUE(twice.ok && twice.text == once.text) << twice.text;
    }
  }
  EXPECT_GT(accepted, 0);  // a digit of a number, say
}

TEST(QueueMessages, OtherVersionsAndTypesAreRefusedByName) {
  const std::string own = std::to_string(kQueueVersion), next = std::to_string(kQueueVersion + 1);
  for (const Type& type : types()) {
    EXPECT_REFUSED(spoilt(type.name, "/v", kQueueVersion + 1),
                   "is of version " + next + "; this hone reads version " + own);
    EXPECT_REFUSED(spoilt(type.name, "/v", "1"), "says no version");
    EXPECT_REFUSED(spoilt(type.name, "/v", nullptr), "says no version");
    EXPECT_REFUSED(spoilt(type.name, "/type", "other"),
                   "is of type 'other' (version " + own + "); a '" + type.name + "' was expected");
    EXPECT_REFUSED(spoilt(type.name, "/type", std::string("\x1b[31m\xff")), "is of type '");
    EXPECT_REFUSED(type.again(made(type.name == "work" ? "job" : "work")), "is of type");
    EXPECT_REFUSED(spoilt(type.name, "/extra", 1), "unknown key 'extra'");
    EXPECT_REFUSED(type.again(packed(3)), "says no version");
    EXPECT_REFUSED(type.again(""), type.name + " message: is not a CBOR value");
    EXPECT_REFUSED(type.again(std::string(kMaxMessage + 1, ' ')), "8388609 bytes");
  }
}

TEST(QueueMessages, EveryKeyIsAskedFor) {
  const std::set<std::string> optional = {"/task/flops", "/task/torch", "/model"};
  for (const Type& type : types()) {
    const Json json = parsed(made(type.name, 9));
    for (const auto& item : json.items()) {
      const std::string at = "/" + item.key();
      EXPECT_EQ(spoilt(type.name, at, nullptr, 9).ok, optional.contains(at)) << at;
    }
  }
  const Json task = parsed(made("job"))["task"];
  for (const auto& item : task.items()) {
    const std::string at = "/task/" + item.key();
    EXPECT_EQ(spoilt("job", at, nullptr).ok, optional.contains(at)) << at;
  }
}

TEST(QueueMessages, AnOptionOfALaterHoneIsNamedOnlyWhereItIsUsed) {
  JobMessage job = Maker(1).job();
  job.search.patience = default_settings().patience;
  EXPECT_FALSE(parsed(*encode(job)).contains("patience"));
  EXPECT_EQ(job_from(*encode(job))->search.patience, 100);
  job.search.patience = 30;
  EXPECT_EQ(parsed(*encode(job))["patience"], 30);
  EXPECT_EQ(job_from(*encode(job))->search, job.search);
  job.search.patience = 0;
  EXPECT_FALSE(encode(job));
}

// A field of a later hone: who does not use it sends what an earlier one reads, and who does is
// refused by an earlier one with the field's name, as any unknown one is.
TEST(QueueMessages, AModelIsNamedOnlyWhereItIsWanted) {
  JobMessage job = Maker(1).job();
  job.model.reset();
  EXPECT_FALSE(parsed(*encode(job)).contains("model"));
  EXPECT_FALSE(job_from(*encode(job))->model);
  job.model.emplace();
  EXPECT_EQ(parsed(*encode(job))["model"], Json::object());
  EXPECT_TRUE(job_from(*encode(job))->model);
  JobStatus status = Maker(1).status();
  status.model.reset();
  EXPECT_FALSE(parsed(*encode(status)).contains("model"));
}

TEST(QueueMessages, AModelsWishIsChecked) {
  const auto with = [](const Json& wish) { return spoilt("job", "/model", wish); };
  EXPECT_TRUE(with(Json::object()).ok);
  EXPECT_TRUE(with({{"tokens", 1}, {"nano_dollars", 0}, {"modes", {"whole"}}}).ok);
  for (const Json& tokens : {Json(0), Json(-1), Json(1.5), Json("7"), Json(1e30),
                             Json(std::numeric_limits<std::uint64_t>::max())})
    EXPECT_REFUSED(with({{"tokens", tokens}}), "job message: model.tokens: ");
  for (const Json& cost : {Json(-1), Json(0.5), Json(std::int64_t{1} << 60)})
    EXPECT_REFUSED(with({{"nano_dollars", cost}}), "job message: model.nano_dollars: ");
  EXPECT_REFUSED(with({{"modes", {"magic"}}}), "there are whole, diff and steps");
  EXPECT_REFUSED(with({{"modes", {"diff", "diff"}}}), "is given twice");
  EXPECT_REFUSED(with({{"url", "http://evil.example/v1"}}), "unknown key");
  EXPECT_REFUSED(with(7), "job message: model: ");
}

/// Every baseline's task and its requests, but for what none of ours has: inputs from files.
TEST(QueueMessages, BaselinesTravel) {
  LocalRewriting rewriting;
  for (const auto& folder : std::filesystem::directory_iterator(HONE_SOURCE_DIR "/baselines")) {
    if (!folder.is_directory()) continue;
    std::filesystem::path path;
    for (const auto& file : std::filesystem::directory_iterator(folder))
      if (file.path().extension() == ".cu" && file.path().stem() == folder.path().filename())
        path = file.path();
    const auto task = path.empty() ? invalid("") : read_task(path);
    if (!task) continue;
    SCOPED_TRACE(task->name);
    JobMessage job = Maker(1).job();
    job.task = *task;
    const auto sent = encode(job);
    ASSERT_TRUE(sent) << sent.error().message;
    EXPECT_LT(sent->size(), 64U << 10);
    EXPECT_EQ(job_from(*sent)->task.hash(), task->hash());
    auto builder = RequestBuilder::make(rewriting, *task, target_limits("sm_90"), {});
    ASSERT_TRUE(builder) << builder.error().message;
    for (const Stage stage : {Stage::kQuick, Stage::kFinal}) {
      const auto request = (*builder)->for_program(task->reference, 7, stage);
      ASSERT_TRUE(request) << request.error().message;
      const auto bytes = encode(WorkMessage{"job", "1", WorkMessage::Kind::kEvaluate, *request});
      ASSERT_TRUE(bytes) << bytes.error().message;
      EXPECT_LT(bytes->size(), 96U << 10);  // a final stage has up to 60 checks
      RecordProperty(task->name + (stage == Stage::kQuick ? "_quick_bytes" : "_final_bytes"),
                     static_cast<int>(bytes->size()));
      const auto got = work_from(*bytes);
      ASSERT_TRUE(got) << got.error().message;
      expect_same(got->request.timed, request->timed);
    }
  }
}

/// The fuzzer's corpus is of this version. HONE_UPDATE_CORPUS=1 writes it.
TEST(QueueMessages, CorpusIsOfThisVersion) {
  const std::filesystem::path folder(HONE_SOURCE_DIR "/tests/fuzz/corpus/queue");
  for (const Type& type : types()) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      const auto path = folder / (type.name + std::to_string(seed) + ".cbor");
      const std::string bytes = made(type.name, seed);
      if (std::getenv("HONE_UPDATE_CORPUS") != nullptr) {
        std::filesystem::create_directories(folder);
        std::ofstream(path, std::ios::binary) << bytes;
      }
      std::ifstream stream(path, std::ios::binary);
      const std::string stored(std::istreambuf_iterator<char>(stream), {});
      const Outcome outcome = type.again(stored);
      EXPECT_TRUE(outcome.ok) << path << ": " << outcome.text;
    }
  }
}

}  // namespace
}  // namespace hone::queue
