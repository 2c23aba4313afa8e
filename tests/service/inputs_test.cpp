// Inputs from files go to the workers by the hash of their bytes: a module's weights, and any other
// file that a task reads.
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "candidates/sent_file.h"
#include "candidates/store/store.h"
#include "candidates/task_reader.h"
#include "engine/queue/inputs.h"
#include "engine/queue/sha256.h"
#include "engine/service/input_cache.h"
#include "engine/service/sent_files.h"
#include "tests/e2e/process.h"
#include "tests/service/daemon.h"
#include "tests/service/small_disk.h"
#include "tests/unit/engine/redis_server.h"

namespace hone {
namespace {

using hone::testing::hone;
using hone::testing::ProcessResult;
using hone::testing::RedisServer;
using hone::testing::TemporaryFolder;

constexpr int kElements = 4096;

/// Each element of x goes to the place that a file says: with any numbers but a permutation, two
/// threads write to one place, and no reference that races is admitted.
constexpr const char* kScatter = R"CU(/* hone {
  "name": "scatter", "sizes": {"N": 4096}, "check_sizes": [{"N": 4096}],
  "buffers": [{"name": "place", "type": "i32", "shape": ["N"], "fill": {"file": "places.bin", "offset": 8}},
              {"name": "x", "type": "f32", "shape": ["N"]},
              {"name": "y", "type": "f32", "shape": ["N"], "role": "inout", "fill": 0}],
  "launches": [{"kernel": "scatter", "grid": ["ceildiv(N,256)"], "block": [256],
                "args": ["place", "x", "y", "N"]}]
} */
__global__ void scatter(const int* place, const float* x, float* y, int N) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) y[place[i]] = 2 * x[i];
}
)CU";

class SentInputs : public ::testing::Test {
 protected:
  SentInputs() {
    std::vector<int> places = {-1, -1};  // before the offset
    for (int i = 0; i < kElements; ++i) places.push_back((i * 1025 + 7) % kElements);
    folder_.write("places.bin",
                  {reinterpret_cast<const char*>(places.data()), places.size() * sizeof(int)});
    task_ = folder_.write("scatter.cu", kScatter);
  }

  /// `hone submit` of it.
  [[nodiscard]] ProcessResult submit(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {"submit",   task_, "--arch",  "emu:sm_90",
                                      "--budget", "3",   "--redis", server_.url_text(),
                                      "--json",   "-"};
    words.insert(words.end(), more.begin(), more.end());
    return hone(words);
  }
  [[nodiscard]] ProcessResult watch(const ProcessResult& submitted) const {
    return hone({"watch", submitted.json()["job"], "--redis", server_.url_text()});
  }
  /// The one that the server has.
  [[nodiscard]] std::string input_key() const {
    const auto keys = server_.connect()->command({"KEYS", "hone:input:*"});
    const auto list = keys ? keys->as_array() : std::unexpected(keys.error());
    if (!list || list->size() != 1) return "";
    return std::string((*list)[0].as_string().value_or(""));
  }
  [[nodiscard]] std::int64_t number(std::initializer_list<std::string_view> command) const {
    const auto reply = server_.connect()->command(command);
    return reply ? reply->as_integer().value_or(-9) : -9;
  }
  [[nodiscard]] std::unique_ptr<queue::Broker> broker() const {
    auto client = RedisClient::open(server_.url(), {});
    EXPECT_TRUE(client) << client.error().message;
    return std::make_unique<queue::Broker>(std::shared_ptr<RedisClient>(std::move(*client)),
                                           "hone");
  }
  struct Service {
    explicit Service(const RedisServer& server, const TemporaryFolder& folder,
                     const std::vector<std::string>& more = {})
        : worker([&] {
            std::vector<std::string> words = {"worker", "--device", "emu:sm_90", "--redis",
                                              server.url_text()};
            words.insert(words.end(), more.begin(), more.end());
            return words;
          }()),
          coordinator(
              {"coordinator", "--db", folder.file("hone.db"), "--redis", server.url_text()}) {}
    test::Daemon worker, coordinator;
    [[nodiscard]] std::string log() const { return worker.log() + coordinator.log(); }
  };

  RedisServer server_;
  TemporaryFolder folder_;
  std::string task_;
};

TEST_F(SentInputs, AreWhatTheWorkersSee) {
  const Service service(server_, folder_);
  const auto job = submit({"--wait"});
  EXPECT_EQ(job.status, 0) << job.out << job.err << service.log();
  EXPECT_EQ(job.json()["state"], "done") << job.out;
  EXPECT_TRUE(job.err.contains("sent 1 input from files, 16384 bytes")) << job.err;
  EXPECT_TRUE(service.worker.log().contains("event=input_fetched")) << service.log();
  // Of like mean and deviation they would be no permutation.
  const auto made_up = submit({"--wait", "--describe-files"});
  EXPECT_NE(made_up.status, 0) << made_up.out << made_up.err;
  EXPECT_TRUE(made_up.err.contains("inputs of like mean and deviation")) << made_up.err;
  EXPECT_EQ(made_up.json()["state"], "failed") << made_up.out;
}

TEST_F(SentInputs, AreSentOnce) {
  const auto first = submit();
  EXPECT_TRUE(first.err.contains("sent 1 input from files")) << first.err;
  const nlohmann::json one = {{"sent", 1}, {"there", 0}, {"bytes", 4 * kElements}};
  EXPECT_EQ(first.json()["inputs"], one);
  const std::string key = input_key();
  ASSERT_FALSE(key.empty());
  EXPECT_EQ(number({"HSTRLEN", key, "0"}), 4 * kElements);
  EXPECT_EQ(number({"HLEN", "hone:inputs"}), 1);
  // Would be overwritten by a second upload.
  EXPECT_EQ(number({"HSET", key, "0", "other"}), 0);
  const auto again = submit();
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_FALSE(again.err.contains("sent ")) << again.err;
  EXPECT_TRUE(again.err.contains("1 input from files was on the server already")) << again.err;
  EXPECT_EQ(number({"HSTRLEN", key, "0"}), 5);
}

TEST_F(SentInputs, ThatSomebodyChangedFailTheJobAndAreSentAgain) {
  const auto job = submit();
  ASSERT_EQ(job.status, 0) << job.err;
  const std::string key = input_key();
  EXPECT_EQ(number({"HSET", key, "0", std::string(4 * kElements, 'x')}), 0);
  const Service service(server_, folder_);
  const auto watched = watch(job);
  EXPECT_NE(watched.status, 0) << watched.out << watched.err;
  const std::string said = watched.out + watched.err;
  EXPECT_TRUE(said.contains("'place' of places.bin: under the SHA-256 " +
                            key.substr(key.rfind(':') + 1) + " are other bytes"))
      << said << service.log();
  EXPECT_TRUE(service.coordinator.log().contains("event=input_unusable")) << service.log();
  EXPECT_EQ(number({"EXISTS", key}), 0);
  const auto again = submit({"--wait"});
  EXPECT_EQ(again.status, 0) << again.out << again.err << service.log();
  EXPECT_TRUE(again.err.contains("sent 1 input from files")) << again.err;
}

TEST_F(SentInputs, ThatAreGoneFailTheJob) {
  const auto job = submit();
  ASSERT_EQ(job.status, 0) << job.err;
  EXPECT_EQ(number({"DEL", input_key()}), 1);
  const Service service(server_, folder_);
  const auto watched = watch(job);
  EXPECT_NE(watched.status, 0);
  EXPECT_TRUE((watched.out + watched.err).contains("the server does not have the input"))
      << watched.out << watched.err << service.log();
}

TEST_F(SentInputs, AreLimitedInSize) {
  std::ofstream(folder_.file("places.bin")).close();
  std::filesystem::resize_file(folder_.file("places.bin"), (std::int64_t{1} << 30) + 64);
  std::string text = kScatter;
  for (std::size_t at; (at = text.find("\"N\": 4096")) != std::string::npos;)
    text.replace(at, 9, "\"N\": 268435457");
  folder_.write("scatter.cu", text);
  const auto refused = submit();
  EXPECT_EQ(refused.status, 2) << refused.err;
  EXPECT_TRUE(refused.err.contains("an input of at most 1024.0 MiB can be sent")) << refused.err;
  EXPECT_TRUE(refused.err.contains("--describe-files")) << refused.err;
  EXPECT_TRUE(refused.err.contains("hone import --parts")) << refused.err;
  EXPECT_EQ(input_key(), "");
  EXPECT_EQ(number({"EXISTS", "hone:jobs"}), 0);
}

TEST_F(SentInputs, OfAllJobsAreLimitedInSize) {
  const std::string other = "hone:input:" + std::string(64, 'a');
  EXPECT_EQ(number({"HSET", other, "bytes", "4294960000"}), 1);
  EXPECT_EQ(number({"HSET", "hone:inputs", std::string(64, 'a'), "4294960000"}), 1);
  const auto refused = submit();
  EXPECT_NE(refused.status, 0);
  EXPECT_TRUE(refused.err.contains("the inputs have 16384 bytes in all")) << refused.err;
  EXPECT_TRUE(
      refused.err.contains("the server has 4096.0 MiB of other jobs' inputs already, of at "
                           "most 4096.0 MiB"))
      << refused.err;
  EXPECT_TRUE(refused.err.contains("--describe-files")) << refused.err;
  EXPECT_EQ(number({"EXISTS", "hone:jobs"}), 0);
  EXPECT_EQ(number({"DEL", other}), 1);  // as one that expires
  EXPECT_EQ(submit().status, 0);
  EXPECT_EQ(number({"HLEN", "hone:inputs"}), 1);
}

TEST_F(SentInputs, AServerWithoutMemoryRefuses) {
  ASSERT_TRUE(server_.connect()->command({"CONFIG", "SET", "maxmemory", "1"}));
  const auto refused = submit();
  EXPECT_NE(refused.status, 0);
  EXPECT_TRUE(refused.err.contains("used memory > 'maxmemory'")) << refused.err;
  EXPECT_TRUE(refused.err.contains("--describe-files")) << refused.err;
}

TEST_F(SentInputs, StayForAsLongAsAJobWaits) {
  ASSERT_EQ(submit().status, 0);
  const std::string key = input_key();
  EXPECT_GT(number({"TTL", key}), 86'400);
  EXPECT_EQ(number({"EXPIRE", key, "100"}), 1);
  const test::Daemon coordinator(
      {"coordinator", "--db", folder_.file("hone.db"), "--redis", server_.url_text()});
  for (int i = 0; i < 300 && number({"TTL", key}) <= 100; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_GT(number({"TTL", key}), 86'400) << coordinator.log();
}

/// Nobody on the coordinator's machine has the file.
TEST_F(SentInputs, AreFetchedForVerify) {
  std::string candidate;
  {
    const Service service(server_, folder_);
    const auto job = submit({"--wait"});
    ASSERT_EQ(job.status, 0) << job.out << job.err << service.log();
    candidate = job.json()["archs"][0]["best_candidate"];
  }
  const auto verify = [&](const std::string& server) {
    return hone({"verify", candidate, "--db", folder_.file("hone.db"), "--redis", server});
  };
  setenv("XDG_CACHE_HOME", folder_.file("own").c_str(), 1);
  const auto away = verify("unix://" + folder_.file("none"));
  EXPECT_NE(away.status, 0) << away.out;
  EXPECT_TRUE(away.err.contains("inputs that were sent to a service")) << away.err;
  const std::string key = input_key();
  EXPECT_EQ(number({"RENAME", key, "hone:elsewhere"}), -9);  // a word, no number
  const auto gone = verify(server_.url_text());
  EXPECT_NE(gone.status, 0) << gone.out;
  EXPECT_TRUE(gone.err.contains("'place' of places.bin: the server does not have the input"))
      << gone.err;
  EXPECT_EQ(number({"RENAME", "hone:elsewhere", key}), -9);
  const auto verified = verify(server_.url_text());
  EXPECT_EQ(verified.status, 0) << verified.out << verified.err;
  EXPECT_TRUE(verified.out.contains("stands")) << verified.out;
  unsetenv("XDG_CACHE_HOME");
  const auto exported = hone(
      {"export", candidate, "--db", folder_.file("hone.db"), "--output", folder_.file("best.cu")});
  EXPECT_EQ(exported.status, 0) << exported.err;
}

/// Another job of the same task came with other numbers: `hone verify` took these.
TEST_F(SentInputs, OfAnOlderJobAreThoseThatVerifyReads) {
  std::string candidate;
  {
    const Service service(server_, folder_);
    const auto job = submit({"--wait"});
    ASSERT_EQ(job.status, 0) << job.out << job.err << service.log();
    candidate = job.json()["archs"][0]["best_candidate"];
  }
  const std::string key = input_key(), hash = key.substr(key.rfind(':') + 1);
  {
    const auto store = Store::open(folder_.file("hone.db"));
    ASSERT_TRUE(store) << store.error().message;
    const auto row = (*store)->find_candidate(candidate);
    ASSERT_TRUE(row) << row.error().message;
    auto later = (*store)->find_task(row->candidate.task_hash);
    ASSERT_TRUE(later) << later.error().message;
    ASSERT_EQ(sent_file(later->reference.buffers[0].fill.path)->sha256, hash);
    later->reference.buffers[0].fill.path = to_path({std::string(64, 'b'), "places.bin"});
    ASSERT_TRUE((*store)->put_task(*later));
    ASSERT_TRUE((*store)->begin_run(row->candidate.task_hash, row->provenance, 1, "evolve", "later",
                                    &*later));
  }
  setenv("XDG_CACHE_HOME", folder_.file("own").c_str(), 1);
  const auto verify = [&] {
    return hone(
        {"verify", candidate, "--db", folder_.file("hone.db"), "--redis", server_.url_text()});
  };
  const auto verified = verify();
  EXPECT_EQ(verified.status, 0) << verified.out << verified.err;
  EXPECT_TRUE(verified.out.contains("stands")) << verified.out;
  EXPECT_EQ(verify().status, 0) << "once more, of the run of the first verify";
  std::filesystem::remove_all(folder_.file("own"));
  EXPECT_EQ(number({"DEL", key}), 1);
  const auto gone = verify();
  EXPECT_NE(gone.status, 0) << gone.out;
  EXPECT_TRUE(gone.err.contains(
      "'place' of places.bin: the server does not have the input with the SHA-256 " + hash))
      << gone.err;
  unsetenv("XDG_CACHE_HOME");
}

TEST_F(SentInputs, ThatChangeMeanwhileAreNotSent) {
  auto task = read_task(task_);
  ASSERT_TRUE(task) << task.error().message;
  const auto hashed = with_hashed_files(std::move(*task));
  ASSERT_TRUE(hashed) << hashed.error().message;
  const auto redis = broker();
  folder_.write("places.bin", std::string(8 + 4 * kElements, 'z'));
  const auto sent = send_files(*redis, hashed->ranges);
  ASSERT_FALSE(sent);
  EXPECT_TRUE(sent.error().message.contains("places.bin changed while it was sent"))
      << sent.error().message;
  EXPECT_EQ(number({"HEXISTS", input_key(), "whole"}), 0);
  std::filesystem::resize_file(folder_.file("places.bin"), 100);
  EXPECT_FALSE(send_files(*redis, hashed->ranges));
  EXPECT_NE(submit().status, 0);
}

/// A finalist is timed by two workers that agree; each has a disk of its own.
TEST_F(SentInputs, ReachEveryWorker) {
  const Service service(server_, folder_);
  const test::Daemon second(
      {"worker", "--device", "emu:sm_90", "--redis", server_.url_text(), "--name", "second"});
  for (int i = 0; i < 200 && !second.log().contains("event=worker_ready"); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const auto job = submit({"--wait"});
  EXPECT_EQ(job.status, 0) << job.out << job.err << service.log() << second.log();
  EXPECT_TRUE(service.worker.log().contains("event=input_fetched")) << service.log();
  EXPECT_TRUE(second.log().contains("event=input_fetched")) << second.log();
}

/// Whatever becomes of the server's.
TEST_F(SentInputs, StayOnAWorkersDisk) {
  const Service service(server_, folder_);
  ASSERT_EQ(submit({"--wait"}).status, 0) << service.log();
  EXPECT_EQ(number({"DEL", input_key()}), 1);
  const auto known = submit({"--wait"});
  EXPECT_EQ(known.status, 0) << known.err;
  EXPECT_TRUE(known.err.contains("sent 1 input")) << known.err;
  const std::string log = service.worker.log();
  ASSERT_NE(log.find("event=input_fetched"), log.npos) << log;
  EXPECT_EQ(log.find("event=input_fetched"), log.rfind("event=input_fetched")) << log;
}

/// Ranges of one file that one task reads: as several weights of one module.
TEST_F(SentInputs, AreRangesOfAFile) {
  std::string text = kScatter;
  const std::string x = R"({"name": "x", "type": "f32", "shape": ["N"]})";
  text.replace(text.find(x), x.size(),
               R"({"name": "x", "type": "i32", "shape": ["N"], "fill": {"file": "places.bin"}},
              {"name": "z", "type": "i32", "shape": ["N"], "fill": {"file": "places.bin"}})");
  text.replace(text.find("const float* x"), 14, "const int* x");
  folder_.write("scatter.cu", text);
  const Service service(server_, folder_);
  const auto job = submit({"--wait"});
  EXPECT_EQ(job.status, 0) << job.out << job.err << service.log();
  EXPECT_EQ(job.json()["state"], "done") << job.out;
  EXPECT_TRUE(job.err.contains("sent 2 inputs from files, 32768 bytes")) << job.err;
  EXPECT_EQ(number({"HLEN", "hone:inputs"}), 2);
}

class InputCopies : public SentInputs {
 protected:
  /// Sends so many bytes; the hash.
  std::string send(char what, std::int64_t bytes = 400'000) {
    Sha256 hash;
    const std::string content(static_cast<std::size_t>(bytes), what);
    hash.add(content);
    const queue::Input input{hash.hex(), bytes};
    queue::Inputs inputs(*broker_);
    const auto missing = inputs.offer(std::vector{input});
    EXPECT_TRUE(missing) << missing.error().message;
    const auto put = inputs.put(input, [&](std::int64_t offset, std::int64_t size) {
      return Result<std::string>(
          content.substr(static_cast<std::size_t>(offset), static_cast<std::size_t>(size)));
    });
    EXPECT_TRUE(put) << put.error().message;
    return input.sha256;
  }
  [[nodiscard]] InputCache cache(const std::filesystem::path& folder) {
    std::filesystem::create_directories(folder);
    return {*broker_, {folder, 1 << 20}, [this](const LogEvent&) { ++fetched_; }};
  }
  std::unique_ptr<queue::Broker> broker_ = broker();
  int fetched_ = 0;
};

TEST_F(InputCopies, AreBoundedAndTheOldestGoes) {
  const std::filesystem::path folder = folder_.file("inputs");
  const std::string a = send('a'), b = send('b'), c = send('c');
  InputCache copies = cache(folder);
  ASSERT_TRUE(copies.use(a));
  std::filesystem::last_write_time(
      folder / a, std::filesystem::file_time_type::clock::now() - std::chrono::minutes(1));
  auto used = copies.use(b);
  ASSERT_TRUE(used);
  EXPECT_EQ(std::filesystem::file_size((*used)->path()), 400'000U);
  ASSERT_TRUE(copies.use(c));
  EXPECT_FALSE(std::filesystem::exists(folder / a));
  EXPECT_EQ(fetched_, 3);
  // What is in use stays; with all in use there is no room.
  std::filesystem::last_write_time(
      folder / b, std::filesystem::file_time_type::clock::now() - std::chrono::minutes(2));
  auto other = copies.use(a);
  ASSERT_TRUE(other);
  EXPECT_TRUE(std::filesystem::exists(folder / b));
  EXPECT_FALSE(std::filesystem::exists(folder / c));
  const auto none = copies.use(c);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kEnvironment);
  EXPECT_TRUE(none.error().message.contains("--input-cache")) << none.error().message;
  used->reset();
  EXPECT_TRUE(copies.use(c));
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    EXPECT_FALSE(entry.path().filename().string().starts_with("unfinished")) << entry.path();
}

/// The leader looks at it when another job fails for it.
TEST_F(InputCopies, OnlyDamagedOnesAreDeletedOfTheServer) {
  const std::string good = send('a'), bad = send('b');
  queue::Inputs inputs(*broker_);
  EXPECT_TRUE(inputs.check(good));
  const std::string begun(64, 'c');
  ASSERT_TRUE(inputs.offer(std::vector{queue::Input{begun, 10}}));
  EXPECT_FALSE(inputs.check(begun));
  EXPECT_EQ(number({"EXISTS", "hone:input:" + begun}), 1);
  EXPECT_EQ(number({"HSET", "hone:input:" + bad, "0", std::string(400'000, 'x')}), 0);
  EXPECT_FALSE(inputs.check(bad));
  EXPECT_EQ(number({"EXISTS", "hone:input:" + bad}), 0);
  EXPECT_EQ(number({"EXISTS", "hone:input:" + good}), 1);
}

/// Sizes and pieces that no submitter writes.
TEST_F(InputCopies, ThatNobodySentAreRefused) {
  queue::Inputs inputs(*broker_);
  std::int64_t written = 0;
  const auto write = [&](std::string_view piece, std::int64_t) {
    written += std::ssize(piece);
    return Result<void>();
  };
  for (const auto& [bytes, piece] : std::vector<std::pair<std::string, std::string>>{
           {"-1", "x"}, {"0", "x"}, {"1e9", "x"}, {"2000000000", "x"}, {"9", "x"}, {"", ""}}) {
    const std::string hash(64, 'e');
    EXPECT_GE(number({"HSET", "hone:input:" + hash, "bytes", bytes, "whole", "1", "0", piece}), 0);
    const auto got = inputs.get(hash, write);
    ASSERT_FALSE(got) << bytes;
    EXPECT_EQ(got.error().code, ErrorCode::kInvalidInput) << got.error().message;
  }
  EXPECT_LE(written, 1);
  EXPECT_TRUE(server_.connect()->command({"SET", "hone:input:" + std::string(64, 'f'), "text"}));
  EXPECT_FALSE(inputs.get(std::string(64, 'f'), write));
  EXPECT_FALSE(inputs.put({std::string(64, 'd'), 1}, [](std::int64_t, std::int64_t) {
    return Result<std::string>("x");
  })) << "nobody took room for it";
  EXPECT_EQ(number({"EXISTS", "hone:input:" + std::string(64, 'd')}), 0);
}

TEST_F(InputCopies, ThatAreDamagedAreFetchedAnew) {
  const std::filesystem::path folder = folder_.file("inputs");
  const std::string a = send('a');
  ASSERT_TRUE(cache(folder).use(a));
  std::ofstream(folder / a, std::ios::binary) << "short";
  const auto mended = cache(folder).use(a);
  ASSERT_TRUE(mended) << mended.error().message;
  EXPECT_EQ(std::filesystem::file_size((*mended)->path()), 400'000U);
  EXPECT_EQ(fetched_, 2);
}

/// To load them takes a second, and each of a job's evaluations would.
TEST_F(InputCopies, ThatAreDamagedOnTheServerAreNotFetchedAgainAtOnce) {
  constexpr std::int64_t kBytes = 60 << 20;
  const std::string bad = send('b', kBytes);
  EXPECT_EQ(number({"HSET", "hone:input:" + bad, "59", std::string(1 << 20, 'x')}), 0);
  InputCache copies(*broker_, {folder_.file(""), 4 * kBytes}, [](const LogEvent&) {});
  const auto first = copies.use(bad);
  ASSERT_FALSE(first);
  EXPECT_EQ(first.error().code, ErrorCode::kInvalidInput);
  EXPECT_EQ(number({"DEL", "hone:input:" + bad}), 1);
  const auto second = copies.use(bad);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().message, first.error().message) << "the server was asked again";
}

TEST_F(InputCopies, ThatAreFetchedAtTheSameTimeHaveRoomForAll) {
  constexpr std::int64_t kBytes = 60 << 20;
  const std::string names[] = {send('a', kBytes), send('b', kBytes)};
  InputCache copies(*broker_, {folder_.file(""), kBytes + (kBytes >> 1)}, [](const LogEvent&) {});
  std::vector<std::future<Result<std::shared_ptr<const InputCache::Use>>>> uses;
  for (const std::string& name : names)
    uses.push_back(std::async(std::launch::async, [&copies, &name] { return copies.use(name); }));
  const auto a = uses[0].get(), b = uses[1].get();
  EXPECT_NE(a.has_value(), b.has_value());
}

/// What a submitter that lies wrote beside the pieces does not keep the right ones away.
TEST_F(InputCopies, AreWholeWithMoreFieldsThanPieces) {
  Sha256 hash;
  hash.add("right");
  const queue::Input input{hash.hex(), 5};
  EXPECT_EQ(number({"HSET", "hone:input:" + input.sha256, "bytes", "9", "7", "x"}), 2);
  queue::Inputs inputs(*broker_);
  ASSERT_TRUE(inputs.offer(std::vector{input}));
  const auto put =
      inputs.put(input, [](std::int64_t, std::int64_t) { return Result<std::string>("right"); });
  EXPECT_TRUE(put) << put.error().message;
  EXPECT_TRUE(inputs.check(input.sha256));
}

TEST_F(InputCopies, OfSeveralPiecesArriveWhole) {
  InputCache copies(*broker_, {folder_.file(""), 8 << 20}, [](const LogEvent&) {});
  const auto used = copies.use(send('p', 2'500'001));
  ASSERT_TRUE(used) << used.error().message;
  EXPECT_EQ(std::filesystem::file_size((*used)->path()), 2'500'001U);
}

/// The example of the standard (FIPS 180-2, B.1), in two pieces.
TEST(Sha256, IsThatOfTheStandard) {
  Sha256 hash;
  hash.add("a");
  hash.add("bc");
  EXPECT_EQ(hash.hex(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(InputCopiesByTls, ArriveWhole) {
  const RedisServer server({.tls = true});
  auto client = RedisClient::open(server.url(), {});
  ASSERT_TRUE(client) << client.error().message;
  queue::Broker broker(std::shared_ptr<RedisClient>(std::move(*client)), "hone");
  queue::Inputs inputs(broker);
  std::string content(5'000'000, '\0');
  for (std::size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * 7919 >> 5);
  Sha256 hash;
  hash.add(content);
  const queue::Input input{hash.hex(), std::ssize(content)};
  ASSERT_TRUE(inputs.offer(std::vector{input}));
  const auto put = inputs.put(input, [&](std::int64_t offset, std::int64_t size) {
    return Result<std::string>(
        content.substr(static_cast<std::size_t>(offset), static_cast<std::size_t>(size)));
  });
  ASSERT_TRUE(put) << put.error().message;
  const auto got =
      inputs.get(input.sha256, [](std::string_view, std::int64_t) { return Result<void>(); });
  EXPECT_TRUE(got) << got.error().message;
}

TEST(InputCopiesOnAFullDisk, AreAnErrorOfTheWorker) {
  std::string why_not;
  const auto disk = test::SmallDisk::make(1 << 20, why_not);
  if (!disk) GTEST_SKIP() << "no small file system here: " << why_not;
  const RedisServer server;
  auto client = RedisClient::open(server.url(), {});
  ASSERT_TRUE(client) << client.error().message;
  queue::Broker broker(std::shared_ptr<RedisClient>(std::move(*client)), "hone");
  queue::Inputs inputs(broker);
  Sha256 hash;
  const std::string content(600'000, 'a');
  hash.add(content);
  const queue::Input input{hash.hex(), 600'000};
  ASSERT_TRUE(inputs.offer(std::vector{input}));
  ASSERT_TRUE(inputs.put(input, [&](std::int64_t, std::int64_t) { return content; }));
  disk->fill();
  InputCache copies(broker, {disk->path(), 8 << 20}, [](const LogEvent&) {});
  const auto full = copies.use(input.sha256);
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, ErrorCode::kEnvironment) << full.error().message;
  disk->free();
  EXPECT_TRUE(copies.use(input.sha256));
}

}  // namespace
}  // namespace hone
