// Submitting: only with the token, only from here, and only what passes its checks.
#include <fmt/format.h>
#include <sys/stat.h>

#include <chrono>
#include <set>
#include <thread>

#include "engine/queue/lead.h"
#include "engine/web/token.h"
#include "tests/unit/engine/redis_server.h"
#include "tests/unit/engine/web_fixture.h"

namespace hone::test {
namespace {

constexpr const char* kToken = "0123456789abcdef0123456789abcdef";

class Submit : public WebTest {
 protected:
  void SetUp() override {
    WebTest::SetUp();
    RedisClientOptions patience;
    patience.deadline_s = 1;
    auto client = RedisClient::open(redis_.url(), patience);
    ASSERT_TRUE(client);
    broker_ =
        std::make_unique<queue::Broker>(std::shared_ptr<RedisClient>(std::move(*client)), "web");
    options_.broker = broker_.get();
    options_.token = kToken;
  }
  [[nodiscard]] std::size_t jobs() const {
    const auto jobs = broker_->rows({}, 100);
    return jobs ? jobs->size() : 999;
  }
  httplib::Response post(const nlohmann::json& body, httplib::Headers headers,
                         const char* type = "application/json") {
    auto result = client().Post("/api/v1/jobs", headers, body.dump(), type);
    EXPECT_TRUE(result);
    return result ? *result : httplib::Response();
  }
  static httplib::Headers with(const std::string& token) {
    return {{"Authorization", "Bearer " + token}};
  }
  [[nodiscard]] static nlohmann::json task() {
    return {{"task", as_comment(kScaleJson)}, {"archs", {"emu:sm_90"}}, {"budget", "5"}};
  }
  httplib::Response form(const std::string& token, httplib::Headers headers = {},
                         const std::string& text = as_comment(kScaleJson)) {
    auto result =
        client().Post("/submit", headers,
                      httplib::MultipartFormDataItems{{"task", text, "", ""},
                                                      {"archs", "emu:sm_90, sm_80", "", ""},
                                                      {"budget", "5", "", ""},
                                                      {"priority", "7", "", ""},
                                                      {"token", token, "", ""}});
    EXPECT_TRUE(result);
    return result ? *result : httplib::Response();
  }

  hone::testing::RedisServer redis_;
  std::unique_ptr<queue::Broker> broker_;
};

TEST_F(Submit, TheApiQueuesAJob) {
  start();
  const auto response = post(task(), with(kToken));
  ASSERT_EQ(response.status, 201) << response.body;
  const auto made = nlohmann::json::parse(response.body);
  EXPECT_EQ(made["archs"][0], "emu:sm_90");
  const std::string id = made["job"];
  EXPECT_EQ(response.get_header_value("Location"), "/api/v1/jobs/" + id);
  EXPECT_EQ(get_json("/api/v1/jobs/" + id)["state"], "queued");
  EXPECT_EQ(get_json("/api/v1/jobs")["jobs"].size(), 1U);
  EXPECT_NE(get("/jobs").body.find(id), std::string::npos);
  EXPECT_NE(get("/jobs/" + id).body.find("queued"), std::string::npos);
}

TEST_F(Submit, TheAnswerWarnsWhereNobodyServesTheJob) {
  start();
  const auto made = nlohmann::json::parse(post(task(), with(kToken)).body);
  ASSERT_EQ(made["warnings"].size(), 2U) << made.dump();
  EXPECT_NE(made["warnings"][0].get<std::string>().find("no coordinator leads"), std::string::npos);
  EXPECT_NE(made["warnings"][1].get<std::string>().find("no worker for emu:sm_90"),
            std::string::npos);
  EXPECT_NE(get("/submit").body.find("No coordinator leads now"), std::string::npos);
  auto wrong = task();
  for (const char* arch : {"sm_70x", "emu:sm_9000", "emu:"}) {
    wrong["archs"] = {arch};
    EXPECT_EQ(post(wrong, with(kToken)).status, 400) << arch;
  }
}

TEST_F(Submit, JobsAreListedByOwnerStateAndTaskAndFoundByTheBeginningOfAnId) {
  start();
  auto mine = task();
  mine["owner"] = "ada";
  const std::string id = nlohmann::json::parse(post(mine, with(kToken)).body)["job"];
  ASSERT_EQ(post(task(), with(kToken)).status, 201);
  const auto of = [&](const std::string& query) {
    return get_json("/api/v1/jobs?" + query)["jobs"].size();
  };
  EXPECT_EQ(of("owner=ada"), 1U);
  EXPECT_EQ(of("owner=ada&state=done"), 0U);
  EXPECT_EQ(of("owner=ada&state=done,queued&task=scale"), 1U);
  EXPECT_EQ(of("task=other"), 0U);
  EXPECT_EQ(get("/api/v1/jobs?state=lost").status, 400);
  const auto job = get_json("/api/v1/jobs/" + id.substr(0, id.size() - 1));
  EXPECT_EQ(job["job"], id);
  EXPECT_EQ(job["owner"], "ada");
  EXPECT_EQ(job["task"], "scale");
  EXPECT_EQ(job["budget"], "5");
  EXPECT_EQ(job["waits"], "no coordinator leads; waits for a worker for emu:sm_90");
  EXPECT_GT(job["submitted_at_ms"], 0);
}

TEST_F(Submit, AJobThatTheQueueHasForgottenStillHasItsRuns) {
  const std::string id = "6b08b474-2c47a180";
  ASSERT_TRUE(store_->put_task(task_));
  const auto run = store_->begin_run(task_.hash(), gpu(), 1, "evolve", id);
  ASSERT_TRUE(run);
  start();
  const auto page = get("/jobs/" + id);
  EXPECT_EQ(page.status, 200);
  EXPECT_NE(page.body.find("The queue does not have this job any more"), std::string::npos);
  EXPECT_NE(page.body.find("href=\"/runs/" + std::to_string(*run)), std::string::npos);
  EXPECT_EQ(get("/jobs/6b08b474-2c47a181").status, 404);
  EXPECT_EQ(get("/api/v1/jobs/" + id).status, 404);
}

TEST_F(Submit, AJobIsCancelledWithTheTokenAndOnlyWhileItRuns) {
  start();
  const std::string id = nlohmann::json::parse(post(task(), with(kToken)).body)["job"];
  const auto cancel = [&](const std::string& job, const httplib::Headers& headers) {
    auto result = client().Post("/api/v1/jobs/" + job + "/cancel", headers, "", "application/json");
    EXPECT_TRUE(result);
    return result ? *result : httplib::Response();
  };
  const auto cancelled = [&] {
    const auto set = redis_.connect()->command({"SISMEMBER", "web:cancelled", id});
    return set && set->as_integer().value_or(0) == 1;
  };
  EXPECT_EQ(cancel(id, {}).status, 401);
  EXPECT_EQ(cancel(id, with("wrong")).status, 401);
  auto foreign = with(kToken);
  foreign.emplace("Origin", "http://evil.example");
  EXPECT_EQ(cancel(id, foreign).status, 403);
  EXPECT_EQ(cancel("0none", with(kToken)).status, 404);
  EXPECT_EQ(get("/api/v1/jobs/" + id + "/cancel").status, 405);
  EXPECT_FALSE(cancelled());
  const auto done = cancel(id.substr(0, id.size() - 1), with(kToken));
  EXPECT_EQ(done.status, 202) << done.body;
  EXPECT_EQ(nlohmann::json::parse(done.body)["job"], id);
  EXPECT_TRUE(cancelled());
  ASSERT_TRUE(redis_.connect()->command({"HSET", "web:job:" + id, "state", "done"}));
  const auto late = cancel(id, with(kToken));
  EXPECT_EQ(late.status, 409);
  EXPECT_EQ(code(late), "ended");
}

TEST_F(Submit, AFileIsChosenInsteadOfPasted) {
  start();
  const auto send = [&](const std::string& file, const std::string& text) {
    auto result =
        client().Post("/submit", {},
                      httplib::MultipartFormDataItems{{"task_file", file, "scale.cu", "text/plain"},
                                                      {"task", text, "", ""},
                                                      {"arch_emu:sm_90", "1", "", ""},
                                                      {"archs", "sm_80, emu:sm_90", "", ""},
                                                      {"budget", "5", "", ""},
                                                      {"token", kToken, "", ""}});
    EXPECT_TRUE(result);
    return result ? *result : httplib::Response();
  };
  const auto none = send("", "");
  EXPECT_EQ(none.status, 400);
  EXPECT_NE(none.body.find("choose a .cu file"), std::string::npos);
  EXPECT_EQ(jobs(), 0U);
  ASSERT_EQ(send(as_comment(kScaleJson), "no task at all").status, 303);
  const auto job = get_json("/api/v1/jobs")["jobs"][0];
  EXPECT_EQ(job["task"], "scale");
  EXPECT_EQ(job["wanted_archs"], (nlohmann::json{"emu:sm_90", "sm_80"}));
}

TEST_F(Submit, TheFormAsksForWhatTheServiceHas) {
  start();
  EXPECT_EQ(get("/submit").body.find("arch_"), std::string::npos);
  queue::WorkerMessage worker;
  worker.id = "w1";
  worker.host = "here";
  worker.version = HONE_VERSION;
  worker.devices.push_back({"emu:sm_90", {.name = "emulated sm_90", .arch = "sm_90"}, true, 2});
  ASSERT_TRUE(broker_->report(worker, 60));
  const auto page = get("/submit").body;
  EXPECT_NE(page.find("name=\"arch_emu:sm_90\""), std::string::npos);
  EXPECT_EQ(page.find("name=\"llm\""), std::string::npos);  // no coordinator has one
  const auto workers = get("/workers").body;
  EXPECT_NE(workers.find("w1"), std::string::npos);
  EXPECT_NE(workers.find("emulated sm_90"), std::string::npos);
  EXPECT_NE(workers.find("No coordinator leads now"), std::string::npos);
  const auto json = get_json("/api/v1/workers")["workers"];
  ASSERT_EQ(json.size(), 1U);
  EXPECT_EQ(json[0]["worker"], "w1");
  EXPECT_EQ(json[0]["usable"], true);
  EXPECT_EQ(json[0]["devices"][0]["capacity"], 2);
}

TEST_F(Submit, AJobIsCancelledOnItsPage) {
  start();
  const std::string id = nlohmann::json::parse(post(task(), with(kToken)).body)["job"];
  const auto page = get("/jobs/" + id).body;
  EXPECT_NE(page.find("action=\"/jobs/" + id + "/cancel\""), std::string::npos);
  EXPECT_NE(page.find("no coordinator leads"), std::string::npos);
  const auto cancel = [&](const std::string& token, httplib::Headers headers = {}) {
    auto result = client().Post("/jobs/" + id + "/cancel", headers,
                                httplib::MultipartFormDataItems{{"token", token, "", ""}});
    EXPECT_TRUE(result);
    return result ? *result : httplib::Response();
  };
  EXPECT_EQ(cancel("wrong").status, 401);
  EXPECT_NE(cancel("wrong").body.find("Wrong token"), std::string::npos);
  EXPECT_EQ(cancel(kToken, {{"Origin", "http://elsewhere"}}).status, 403);
  const auto done = cancel(kToken);
  EXPECT_EQ(done.status, 303);
  EXPECT_EQ(done.get_header_value("Location"), "/jobs/" + id);
}

TEST_F(Submit, TheBestOfSeveralSearchesSaysWhoseItIs) {
  start();
  auto both = task();
  both["archs"] = {"sm_80", "emu:sm_90"};
  queue::Lead lead(*broker_);
  ASSERT_TRUE(lead.take(0).value_or(false));
  const auto shown = [&](nlohmann::json wanted, const std::string& owner) {
    wanted["owner"] = owner;  // pages are kept for a second by what they are asked for
    queue::JobStatus status;
    status.id = nlohmann::json::parse(post(wanted, with(kToken)).body)["job"];
    status.state = queue::JobState::kSearching;
    for (const std::string arch : wanted["archs"]) {
      queue::ArchProgress& progress = status.archs.emplace_back();
      progress.arch = arch;
      if (arch == "sm_80") continue;  // no worker is there
      progress.reference_time_us = 30;
      progress.best_time_us = 15;
    }
    EXPECT_TRUE(lead.set_status(status));
    return get("/jobs?owner=" + owner).body;
  };
  const std::string one = shown(task(), "ada");
  EXPECT_NE(one.find(">15.00 us (2.00x)<"), one.npos) << one;
  const std::string two = shown(both, "bob");
  EXPECT_NE(two.find(">emu:sm_90: 15.00 us (2.00x)<"), two.npos) << two;
}

TEST_F(Submit, JobsOnTheirPageAreFiltered) {
  start();
  auto mine = task();
  mine["owner"] = "ada";
  const std::string id = nlohmann::json::parse(post(mine, with(kToken)).body)["job"];
  const auto shown = [&](const std::string& query) {
    return get("/jobs?" + query).body.find(id) != std::string::npos;
  };
  EXPECT_TRUE(shown(""));
  EXPECT_TRUE(shown("owner=ada"));
  EXPECT_FALSE(shown("owner=eve"));
  EXPECT_FALSE(shown("state=done"));
  EXPECT_TRUE(shown("state=queued&task=scale"));
  EXPECT_EQ(get("/jobs?state=lost").status, 400);
}

TEST_F(Submit, NothingHappensWithoutTheToken) {
  start();
  for (const httplib::Headers& headers :
       {httplib::Headers{}, with(""), with("wrong"), with(std::string(kToken) + "0"),
        with(std::string(kToken).substr(1)),
        httplib::Headers{{"Authorization", std::string("Basic ") + kToken}},
        httplib::Headers{{"Cookie", std::string("token=") + kToken}}}) {
    const auto response = post(task(), headers);
    EXPECT_EQ(response.status, 401);
    EXPECT_EQ(code(response), "unauthorized");
    EXPECT_EQ(response.get_header_value("WWW-Authenticate"), "Bearer");
  }
  EXPECT_EQ(
      client()
          .Post("/api/v1/jobs?token=" + std::string(kToken), task().dump(), "application/json")
          ->status,
      401);
  for (const char* token : {"", "wrong"}) {
    const auto response = form(token);
    EXPECT_EQ(response.status, 401);
    EXPECT_NE(response.body.find("role=\"alert\""), std::string::npos);
    EXPECT_NE(response.body.find("__global__"), std::string::npos);  // what was written is kept
  }
  EXPECT_EQ(jobs(), 0U);
}

TEST_F(Submit, AnotherSiteCannotHaveABrowserDoIt) {
  start();
  for (const httplib::Headers& headers :
       {httplib::Headers{{"Origin", "http://evil.example"}}, httplib::Headers{{"Origin", "null"}},
        httplib::Headers{{"Origin", "http://" + host() + ".evil"}},
        httplib::Headers{{"Sec-Fetch-Site", "cross-site"}},
        httplib::Headers{{"Origin", "http://" + host()}, {"Sec-Fetch-Site", "same-site"}}})
    EXPECT_EQ(form(kToken, headers).status, 403);
  EXPECT_EQ(form(kToken, {{"Host", "evil.example"}}).status, 421);
  EXPECT_EQ(jobs(), 0U);
}

TEST_F(Submit, TheFormQueuesAJob) {
  start();
  EXPECT_NE(get("/submit").body.find("type=\"password\""), std::string::npos);
  const auto response =
      form(kToken, {{"Origin", "http://" + host()}, {"Sec-Fetch-Site", "same-origin"}});
  EXPECT_EQ(response.status, 303) << response.body;
  EXPECT_TRUE(response.get_header_value("Location").starts_with("/jobs/"));
  EXPECT_FALSE(response.has_header("Set-Cookie"));
  // A browser's lines end in CR LF; the task is the same.
  std::string lines;
  for (const char c : as_comment(kScaleJson)) lines += c == '\n' ? "\r\n" : std::string(1, c);
  EXPECT_EQ(form(kToken, {}, lines).status, 303);
  const auto queued = broker_->rows({}, 10);
  ASSERT_TRUE(queued);
  std::set<std::string> hashes;
  for (const auto& job : *queued) {
    const auto reply = redis_.connect()->command({"HGET", "web:job:" + job.status.id, "message"});
    ASSERT_TRUE(reply);
    const auto bytes = reply->as_string();
    ASSERT_TRUE(bytes);
    const auto message = queue::job_from(*bytes);
    ASSERT_TRUE(message) << message.error().message;
    hashes.insert(message->task.hash());
  }
  EXPECT_EQ(hashes, std::set<std::string>{task_.hash()});
  EXPECT_EQ(jobs(), 2U);
}

TEST_F(Submit, AJobMayWantALanguageModel) {
  start();
  const auto asks = [&] {
    return get("/submit").body.find("name=\"llm\" type=\"checkbox\" value=\"1\">") !=
           std::string::npos;
  };
  EXPECT_FALSE(asks());
  ASSERT_TRUE(redis_.connect()->command({"SET", "web:language-model", "1"}));
  EXPECT_TRUE(asks());
  const auto wish_of = [&](const std::string& id) {
    const auto reply = redis_.connect()->command({"HGET", "web:job:" + id, "message"});
    EXPECT_TRUE(reply);
    const auto message = queue::job_from(reply->as_string().value_or(""));
    EXPECT_TRUE(message) << message.error().message;
    return message ? message->model : std::nullopt;
  };
  auto body = task();
  body["llm"] = true;
  body["llm_tokens"] = 5000;
  body["llm_cost"] = "0.25";
  body["llm_modes"] = {"diff"};
  const auto api = post(body, with(kToken));
  ASSERT_EQ(api.status, 201) << api.body;
  queue::ModelWish want{.tokens = 5000, .nano_dollars = 250'000'000, .modes = {"diff"}};
  EXPECT_EQ(wish_of(nlohmann::json::parse(api.body)["job"]), want);
  const auto form = [&](const char* tokens, const char* cost, const char* llm = "1") {
    auto result =
        client().Post("/submit", httplib::Headers(),
                      httplib::MultipartFormDataItems{{"task", as_comment(kScaleJson), "", ""},
                                                      {"archs", "emu:sm_90", "", ""},
                                                      {"budget", "5", "", ""},
                                                      {"llm", llm, "", ""},
                                                      {"llm_tokens", tokens, "", ""},
                                                      {"llm_cost", cost, "", ""},
                                                      {"token", kToken, "", ""}});
    EXPECT_TRUE(result);
    return result ? *result : httplib::Response();
  };
  const auto page = form("", "1");
  ASSERT_EQ(page.status, 303) << page.body;
  want = {.tokens = {}, .nano_dollars = 1'000'000'000, .modes = {}};
  EXPECT_EQ(wish_of(page.get_header_value("Location").substr(6)), want);
  for (const auto& [tokens, cost] : {std::pair("0", ""), {"1e9", ""}, {"", "cheap"}, {"", "-1"}}) {
    const auto refused = form(tokens, cost);
    EXPECT_EQ(refused.status, 400) << tokens << " " << cost;
    EXPECT_NE(refused.body.find("value=\"1\" checked"), std::string::npos)
        << "what was chosen stays";
    EXPECT_EQ(refused.body.find("--llm"), std::string::npos) << "a form has no options";
  }
  const auto unasked = form("1000", "", "");
  EXPECT_EQ(unasked.status, 400);
  EXPECT_NE(unasked.body.find("tick its box"), std::string::npos) << unasked.body;
  EXPECT_EQ(jobs(), 2U);
}

TEST_F(Submit, RefusesWhatFailsItsChecks) {
  start();
  const auto wrong = [&](const std::string& name, const nlohmann::json& value) {
    auto body = task();
    body[name] = value;
    const auto response = post(body, with(kToken));
    EXPECT_EQ(response.status, 400) << name << " " << value << response.body;
  };
  wrong("task", "");
  wrong("task", 3);
  wrong("task", "no task comment");
  wrong("task", as_comment(kScaleJson, "__global__ void other() {}"));
  wrong("task", as_comment(replaced(kScaleJson, R"("shape": ["N"]},)",
                                    R"("shape": ["N"], "fill": {"file": "/etc/passwd"}},)")));
  // What a file holds, and whether it is there at all, is nobody's business.
  std::set<std::string> answers;
  for (const char* path : {"/etc/passwd", "../../../../../etc/passwd", "/no/such/file", "x.bin", "",
                           "/etc", "file:///etc/passwd"}) {
    auto body = task();
    body["task"] =
        as_comment(replaced(kScaleJson, R"("shape": ["N"]},)",
                            fmt::format(R"("shape": ["N"], "fill": {{"file": "{}"}}}},)", path)));
    const auto response = post(body, with(kToken));
    EXPECT_EQ(response.status, 400) << path;
    answers.insert(response.body);
    EXPECT_NE(form(kToken, {}, body["task"]).body.find("inputs from files cannot be submitted"),
              std::string::npos);
  }
  EXPECT_EQ(answers.size(), 1U);
  EXPECT_NE(answers.begin()->find("inputs from files cannot be submitted"), std::string::npos)
      << *answers.begin();
  wrong("task", "{\"source\": \"/etc/passwd\"}");
  wrong("archs", {"x"});
  wrong("archs", "sm_90");
  wrong("archs", nlohmann::json::array());  // and no worker is there to tell
  wrong("budget", "soon");
  wrong("strategy", "luck");
  wrong("priority", 101);
  wrong("finalists", 0);
  wrong("without", {"no-such-rule"});
  wrong("other", 1);
  wrong("llm", 1);
  wrong("llm", "http://evil.example/v1");
  wrong("llm_tokens", 1000);  // without llm
  wrong("llm_tokens", 0);
  wrong("llm_modes", {"magic"});
  EXPECT_EQ(post(task(), with(kToken), "text/plain").status, 415);
  EXPECT_EQ(post(nlohmann::json::array(), with(kToken)).status, 400);
  EXPECT_EQ(form(kToken, {}, "<script>alert(1)</script>").status, 400);
  EXPECT_EQ(form(kToken, {}, "<script>alert(1)</script>").body.find("<script>alert"),
            std::string::npos);
  EXPECT_EQ(jobs(), 0U);
}

TEST_F(Submit, NumbersAreNotBentToFit) {
  start();
  const auto answer = [&](const std::string& name, const char* value) {
    std::string body = task().dump();
    body.back() = ',';
    body += "\"" + name + "\": " + value + "}";
    const auto result = client().Post("/api/v1/jobs", with(kToken), body, "application/json");
    return result ? *result : httplib::Response();
  };
  const std::pair<const char*, const char*> ranges[] = {{"priority", "from -100 to 100"},
                                                        {"finalists", "from 1 to 64"},
                                                        {"seed", "from 0 to 18446744073709551615"}};
  for (const auto& [name, range] : ranges)
    for (const char* value : {"1.5", "3e30", "-1e300", "4294967297e10", "18446744073709551616",
                              "-101", "true", "\"7\"", "null", "[1]", "-9223372036854775808"}) {
      const auto refused = answer(name, value);
      EXPECT_EQ(refused.status, 400) << name << " " << value;
      EXPECT_NE(refused.body.find(name), std::string::npos) << refused.body;
      EXPECT_NE(refused.body.find(range), std::string::npos) << refused.body;
    }
  EXPECT_EQ(answer("priority", "4294967297").status, 400);  // 1, where it is cut to 32 bits
  EXPECT_EQ(answer("finalists", "4294967298").status, 400);
  EXPECT_EQ(jobs(), 0U);
  EXPECT_EQ(answer("priority", "-100").status, 201);
  EXPECT_EQ(answer("finalists", "64").status, 201);
  EXPECT_EQ(answer("seed", "18446744073709551615").status, 201);
}

TEST_F(Submit, ASubmissionWithoutAQueueIsSaidAndKept) {
  start();
  const std::string hostile = as_comment(kScaleJson) + "// </textarea>" + kHostile;
  redis_.kill();
  for (int i = 0; i < 2; ++i) {
    const auto api = post(task(), with(kToken));
    EXPECT_EQ(api.status, 503);
    EXPECT_EQ(code(api), "unavailable");
    EXPECT_NE(api.body.find("nothing was submitted"), std::string::npos) << api.body;
    EXPECT_TRUE(api.has_header("Retry-After"));
    EXPECT_EQ(api.body.find("127.0.0.1"), std::string::npos);  // where it is is nobody's business
  }
  const auto page = form(kToken, {}, hostile);
  EXPECT_EQ(page.status, 503);
  EXPECT_TRUE(page.has_header("Retry-After"));
  EXPECT_NE(page.body.find("role=\"alert\">The queue cannot be reached now"), std::string::npos);
  EXPECT_NE(page.body.find("__global__"), std::string::npos);
  EXPECT_NE(page.body.find("&lt;/textarea&gt;&lt;script&gt;"), std::string::npos);
  for (const char* typed : {"value=\"emu:sm_90, sm_80\"", "value=\"5\"", "value=\"7\""})
    EXPECT_NE(page.body.find(typed), std::string::npos) << typed;
  EXPECT_EQ(page.body.find(kToken), std::string::npos);
  {
    const std::lock_guard lock(mutex_);
    EXPECT_EQ(warnings_.size(), 3U);
  }
  redis_.start();
  EXPECT_EQ(jobs(), 0U);  // nothing was left behind
  EXPECT_EQ(form(kToken).status, 303);
  EXPECT_EQ(post(task(), with(kToken)).status, 201);
  EXPECT_EQ(jobs(), 2U);
}

TEST_F(Submit, AHungQueueIsSaidToo) {
  start();
  redis_.pause();
  EXPECT_EQ(post(task(), with(kToken)).status, 503);
  EXPECT_EQ(form(kToken).status, 503);
  redis_.resume();
  EXPECT_EQ(jobs(), 0U);
}

TEST_F(Submit, WhoWaitedForASilentQueueDoesNotAskItAgain) {
  start();
  redis_.pause();
  const auto began = std::chrono::steady_clock::now();
  std::vector<std::jthread> readers;
  for (int i = 0; i < 8; ++i) readers.emplace_back([&] { EXPECT_EQ(get("/jobs").status, 503); });
  readers.clear();
  // Each by itself would be a second, one after the other.
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(5));
  redis_.resume();
}

TEST_F(Submit, TooMuchIsNotRead) {
  options_.limits.payload = 64 << 10;
  start();
  auto body = task();
  body["task"] = std::string(100 << 10, ' ') + body["task"].get<std::string>();
  const auto response = post(body, with(kToken));
  EXPECT_EQ(response.status, 413);
  EXPECT_EQ(code(response), "too_large");
  const auto page = form(kToken, {}, std::string(100 << 10, ' '));
  EXPECT_EQ(page.status, 413);
  for (const std::string& said : {response.body, page.body}) {
    EXPECT_NE(said.find("A request may have 64 KiB at most"), std::string::npos) << said;
    EXPECT_NE(said.find("hone submit FILE --redis URL"), std::string::npos) << said;
  }
}

/// A module that PyTorch exported was "no task comment", or more than a task may have.
TEST_F(Submit, AModuleIsToldWhereItIsTaken) {
  start();
  EXPECT_NE(get("/submit").body.find("a task that reads files, run <code>hone submit FILE --redis "
                                     "URL</code> where they are"),
            std::string::npos);
  for (const std::size_t bytes : {30UL, 600UL << 10}) {
    auto body = task();
    body["task"] = "PK\x03\x04" + std::string(bytes, 'x');
    for (const auto& refused : {post(body, with(kToken)), form(kToken, {}, body["task"])}) {
      EXPECT_EQ(refused.status, 400);
      EXPECT_NE(refused.body.find("This is no text. Only the text of a .cu file is taken here."),
                std::string::npos)
          << refused.body;
    }
  }
  EXPECT_EQ(jobs(), 0U);
}

TEST_F(Submit, WhatUnpacksOrHasNoLengthIsNotRead) {
  start();
  httplib::Headers packed = with(kToken);
  packed.emplace("Content-Encoding", "gzip");
  EXPECT_EQ(post(task(), packed).status, 415);
  const auto endless = client().Post(
      "/api/v1/jobs", with(kToken),
      [](std::size_t, httplib::DataSink& sink) {
        sink.write("{}", 2);
        sink.done();
        return true;
      },
      "application/json");
  ASSERT_TRUE(endless);
  EXPECT_EQ(endless->status, 411);
  EXPECT_EQ(jobs(), 0U);
}

TEST_F(Submit, OffUnlessTheServerSaysSo) {
  options_.token.clear();
  start();
  EXPECT_EQ(post(task(), with("")).status, 404);
  EXPECT_EQ(form("").status, 404);
  EXPECT_EQ(get("/submit").status, 404);
  EXPECT_EQ(get("/jobs").status, 200);  // they may be looked at
}

TEST_F(Submit, ASilentQueueIsSaid) {
  start();
  redis_.kill();
  const auto page = get("/jobs");
  EXPECT_EQ(page.status, 503);
  EXPECT_TRUE(page.has_header("Retry-After"));
  EXPECT_EQ(get("/").status, 200);
}

TEST(Token, ComesFromAFileThatOnlyItsOwnerReads) {
  const TempDir folder;
  const auto file = folder.write("token", std::string(kToken) + "\nmore\n");
  ASSERT_EQ(chmod(file.c_str(), 0600), 0);
  EXPECT_EQ(web::read_token(file).value_or(""), kToken);
  for (const mode_t mode : {0640, 0604, 0660, 0644, 0622}) {
    ASSERT_EQ(chmod(file.c_str(), mode), 0);
    const auto token = web::read_token(file);
    ASSERT_FALSE(token) << mode;
    EXPECT_NE(token.error().message.find("chmod 600"), std::string::npos);
  }
  for (const char* text :
       {"", "short\n", "with spaces in the middle", "\n0123456789abcdef0123456"}) {
    const auto bad = folder.write("bad", text);
    ASSERT_EQ(chmod(bad.c_str(), 0600), 0);
    EXPECT_FALSE(web::read_token(bad)) << text;
  }
  EXPECT_FALSE(web::read_token(folder.path()));
  EXPECT_FALSE(web::read_token(folder.path() / "none"));
  EXPECT_TRUE(web::same_secret(kToken, kToken));
  EXPECT_FALSE(web::same_secret("", kToken));
}

}  // namespace
}  // namespace hone::test
