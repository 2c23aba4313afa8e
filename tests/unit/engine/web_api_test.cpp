// The JSON API, and that its description is true.
#include <future>
#include <set>
#include <thread>

#include "engine/search/settings.h"
#include "engine/web/assets.h"
#include "engine/web/routes.h"
#include "tests/unit/engine/web_fixture.h"

namespace hone::test {
namespace {

using nlohmann::json;

TEST_F(FilledWebTest, BoardsAsJson) {
  const json document = json::parse(get("/api/v1/boards").body);
  ASSERT_EQ(document["boards"].size(), 2U);
  EXPECT_EQ(document["total"], 2);
  EXPECT_EQ(document["next"], nullptr);
  EXPECT_EQ(document["boards"][0]["modelled"], false);
  EXPECT_EQ(document["boards"][0]["rows"][0]["candidate"], id('b'));
  EXPECT_EQ(document["boards"][0]["rows"][0]["speedup_against"]["torch eager"], 2.0);
  const json first = json::parse(get("/api/v1/boards?limit=1&rows=1").body);
  EXPECT_EQ(first["boards"].size(), 1U);
  EXPECT_EQ(first["boards"][0]["rows"].size(), 1U);
  EXPECT_EQ(first["next"], 1);
  const json rest = json::parse(get("/api/v1/boards?limit=1&offset=1").body);
  EXPECT_EQ(rest["boards"][0]["modelled"], true);
  EXPECT_EQ(rest["next"], nullptr);
}

TEST_F(FilledWebTest, CandidatesAndTheirDifferencesAsJson) {
  const json candidate = json::parse(get("/api/v1/candidates/" + id('a')).body);
  EXPECT_EQ(candidate["finals"].size(), 2U);
  EXPECT_EQ(candidate["recipe"][0]["rewriter"], "unroll");
  const json diff =
      json::parse(get("/api/v1/candidates/" + id('a') + "/diff?against=" + id('b')).body);
  EXPECT_EQ(diff["before"], id('b'));
  ASSERT_EQ(diff["rows"].size(), 1U);
  EXPECT_EQ(diff["rows"][0]["kind"], "changed");
  EXPECT_EQ(diff["rows"][0]["left"], "// " + hash_of('b'));
  EXPECT_EQ(diff["rows"][0]["right_no"], 1);
}

TEST_F(FilledWebTest, RunsAndPointsGoOnWhereTheyStopped) {
  const json runs = json::parse(get("/api/v1/runs?limit=1").body);
  ASSERT_EQ(runs["runs"].size(), 1U);
  EXPECT_EQ(runs["runs"][0]["run"], emulated_run_);
  const json older = json::parse(get("/api/v1/runs?before=" + runs["next"].dump()).body);
  EXPECT_EQ(older["runs"][0]["run"], run_);
  EXPECT_EQ(older["next"], nullptr);
  const std::string points = "/api/v1/runs/" + std::to_string(run_) + "/points";
  const json two = json::parse(get(points + "?limit=2").body);
  ASSERT_EQ(two["points"].size(), 2U);
  const json one = json::parse(get(points + "?after=" + two["next"].dump()).body);
  ASSERT_EQ(one["points"].size(), 1U);
  EXPECT_EQ(one["points"][0]["verdict"], "race");
  EXPECT_EQ(one["points"][0]["speedup"], nullptr);
  const json run = json::parse(get("/api/v1/runs/" + std::to_string(run_)).body);
  EXPECT_EQ(run["summary"]["best"]["candidate"], id('b'));
  EXPECT_EQ(run["summary"]["verdicts"]["race"], 1);
  EXPECT_EQ(run["ended_at"], nullptr);
}

// What a model said is a stranger's text.
TEST_F(FilledWebTest, WhatAModelDidIsShown) {
  const std::string run = "/runs/" + std::to_string(run_);
  EXPECT_EQ(get_json("/api/v1" + run)["summary"]["model"], nullptr);
  EXPECT_EQ(get(run).body.find("The language model"), std::string::npos);
  ReplyRecord reply;
  reply.mode = "whole";
  reply.text = "secret thoughts";
  for (const char* outcome :
       {"program", "refused: it has <script>alert(1)</script>\x1b[31m", "no reply: trouble"}) {
    reply.id = outcome;
    reply.outcome = outcome;
    reply.input_tokens = 1000;
    reply.nano_dollars = 500'000;
    ASSERT_TRUE(store_->put_reply(run_, reply));
  }
  ASSERT_TRUE(store_->link_reply(run_, "program", id('c')));
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));  // answers may be a second old
  const json model = get_json("/api/v1" + run)["summary"]["model"];
  EXPECT_EQ(model["asked"], 3);
  EXPECT_EQ(model["replies"], 2);
  EXPECT_EQ(model["refused"], 1);
  EXPECT_EQ(model["failed"], 1);
  EXPECT_EQ(model["refusals"][0]["count"], 1);
  EXPECT_EQ(model["input_tokens"], 3000);
  EXPECT_EQ(model["dollars"], "$0.0015");
  const std::string page = get(run).body;
  EXPECT_NE(page.find("3 questions, 2 replies: 1 refused, 1 failed a gate"), std::string::npos)
      << page;
  EXPECT_NE(page.find("&lt;script&gt;alert"), std::string::npos) << page;
  EXPECT_EQ(page.find("<script>alert"), std::string::npos);
  EXPECT_EQ(page.find('\x1b'), std::string::npos);
  EXPECT_EQ(page.find("secret thoughts"), std::string::npos);
}

TEST_F(FilledWebTest, WrongParametersAreNamed) {
  for (const char* path :
       {"/api/v1/boards?limit=0", "/api/v1/boards?limit=101", "/api/v1/boards?offset=-1",
        "/api/v1/boards?rows=x", "/api/v1/boards?modelled=1", "/api/v1/boards?math=wild",
        "/api/v1/tasks?limit=99999", "/api/v1/runs?before=x", "/api/v1/runs?limit=201",
        "/api/v1/runs/1/points?limit=10001", "/api/v1/runs/1/points?after=-1"}) {
    const auto response = get(path);
    EXPECT_EQ(response.status, 400) << path;
    EXPECT_EQ(code(response), "bad_request") << path;
  }
  for (const char* path :
       {"/api/v1/x", "/api/v1/tasks/00", "/api/v1/candidates/q", "/api/v1/runs/9",
        "/api/v1/runs/9/points", "/api/v1/runs/9/events", "/api/v1/jobs", "/api/v1/jobs/a",
        "/api/v1/events/jobs", "/api/v1/jobs/a/events"}) {
    const auto response = get(path);
    EXPECT_EQ(response.status, 404) << path;
    EXPECT_EQ(code(response), "not_found") << path;
  }
}

TEST_F(FilledWebTest, UnknownParametersAreRefusedByTheApiAndIgnoredByPages) {
  const auto refused = get("/api/v1/boards?tsak=scale");
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(code(refused), "bad_request");
  EXPECT_NE(refused.body.find("'tsak'"), std::string::npos) << refused.body;
  EXPECT_NE(refused.body.find("task, device, arch"), std::string::npos) << refused.body;
  EXPECT_EQ(get("/api/v1/openapi.json?x=1").status, 400);
  EXPECT_EQ(get("/api/v1/runs/1/events?x=1").status, 400);
  EXPECT_EQ(get("/?utm_source=mail").status, 200);
}

TEST_F(FilledWebTest, PathsOfWhoSubmittedAreNotShown) {
  task_.source_path = "/home/someone/secret/scale.cu";
  task_.reference.buffers[0].fill.kind = Fill::Kind::kFile;
  task_.reference.buffers[0].fill.path = "/home/someone/secret/x.bin";
  put(begin(gpu()), hash_of('d'), timed(2, 5));
  const std::string of_task = "/api/v1/tasks/" + task_.hash(),
                    of_candidate = "/api/v1/candidates/" + id('d');
  for (const std::string& path : {of_task, of_candidate, of_candidate + "/diff",
                                  "/tasks/" + task_.hash(), "/candidates/" + id('d')}) {
    const auto response = get(path);
    EXPECT_EQ(response.status, 200) << path;
    EXPECT_EQ(response.body.find("/home/someone"), std::string::npos) << path;
  }
  EXPECT_EQ(get_json(of_task)["task"]["reference"]["buffers"][0]["fill"]["file"], "x.bin");
  EXPECT_EQ(get_json(of_candidate)["program"]["buffers"][0]["fill"]["file"], "x.bin");
}

TEST_F(FilledWebTest, WhatAsksForTheSameIsKeptOnce) {
  const auto key = [](const std::string& path, const web::Fields& query) {
    web::Request request;
    request.method = "GET";
    request.path = path;
    request.query = query;
    for (const web::Route& route : web::routes())
      if (route.pattern == path) return web::cache_key(route, request);
    return std::string("no such route");
  };
  const std::string plain = key("/api/v1/boards", {});
  EXPECT_EQ(key("/api/v1/boards", {{"limit", "20"}, {"task", ""}, {"offset", "000"}}), plain);
  EXPECT_EQ(key("/", {{"x", "1"}, {"utm", "y"}}), key("/", {}));
  EXPECT_NE(key("/api/v1/boards", {{"limit", "21"}}), plain);
  EXPECT_EQ(key("/api/v1/boards", {{"limit", "021"}}), key("/api/v1/boards", {{"limit", "21"}}));
  EXPECT_NE(key("/", {{"task", "a&arch=b"}}), key("/", {{"task", "a"}, {"arch", "b"}}));
  EXPECT_EQ(get("/runs/0" + std::to_string(run_)).status, 404);
}

TEST(TextCache, IsBounded) {
  web::TextCache cache(16, 1000);
  int made = 0;
  const auto get = [&](const std::string& key, std::size_t size) {
    return *cache.get(key, std::chrono::hours(1), [&] {
      ++made;
      return std::make_shared<const std::string>(size, 'x');
    });
  };
  for (int i = 0; i < 1000; ++i) get(std::to_string(i), 10);
  EXPECT_EQ(made, 1000);
  get("999", 10);
  EXPECT_EQ(made, 1000);  // the latest are kept
  for (int i = 0; i < 1000; ++i) get(std::to_string(i), 10);
  EXPECT_GE(made, 1984);  // the others are not
  for (int i = 0; i < 10; ++i) get("large" + std::to_string(i), 300);
  made = 0;
  for (int i = 9; i >= 0; --i) get("large" + std::to_string(i), 300);
  EXPECT_GE(made, 7);
}

TEST(TextCache, NobodyWaitsForEver) {
  web::TextCache cache(16, 1000, std::chrono::milliseconds(50));
  std::promise<void> stuck;
  std::jthread first([&] {
    (void)cache.get("a", std::chrono::hours(1), [&] {
      stuck.get_future().wait();
      return std::make_shared<const std::string>("late");
    });
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(*cache.get("a", std::chrono::hours(1),
                       [] { return std::make_shared<const std::string>("own"); }),
            "own");
  stuck.set_value();
}

TEST_F(FilledWebTest, ReadersThatAreAllHeldAreSaid) {
  auto pool = web::StorePool::open(file(), 1, 0.05);
  ASSERT_TRUE(pool);
  web::Context context{
      .stores = **pool, .rewriting = rewriting_, .broker = nullptr, .token = "", .warn = {}};
  web::Request request;
  request.method = "GET";
  const auto status = [&](const std::string& path) {
    request.path = path;
    const web::Response response = web::answer(context, request);
    if (response.status == 503) {
      EXPECT_EQ(response.headers.at(0), (std::pair<std::string, std::string>{"Retry-After", "5"}));
    }
    return response.status;
  };
  const auto held = (*pool)->with([&](const Store&) -> Result<void> {
    for (const char* path : {"/", "/runs", "/runs/1", "/api/v1/tasks", "/api/v1/runs/1/events"})
      EXPECT_EQ(status(path), 503) << path;
    EXPECT_EQ(status("/candidates/" + id('a')), 503);
    return {};
  });
  EXPECT_TRUE(held);
  EXPECT_EQ(status("/runs/2"), 200);
}

/// Enough of JSON Schema for what the document says: types, required members, $ref, enum, oneOf.
class Schema {
 public:
  explicit Schema(const json& document) : document_(document) {}

  void check(const json& value, const json& schema, const std::string& where) const {
    if (schema.contains("$ref"))
      return check(value,
                   document_.at(json::json_pointer(schema["$ref"].get<std::string>().substr(1))),
                   where);
    if (schema.contains("allOf"))
      for (const json& part : schema["allOf"]) check(value, part, where);
    if (schema.contains("oneOf")) {
      for (const json& part : schema["oneOf"]) {
        if (part.value("type", "") == "null" ? value.is_null() : !value.is_null())
          return check(value, part, where);
      }
      ADD_FAILURE() << where << " fits nothing";
    }
    if (schema.contains("type")) {
      bool fits = false;
      const json types = schema["type"].is_array() ? schema["type"] : json::array({schema["type"]});
      for (const json& type : types) fits = fits || is(value, type.get<std::string>());
      EXPECT_TRUE(fits) << where << " is " << value.dump().substr(0, 80) << ", not " << types;
    }
    if (schema.contains("enum")) {
      EXPECT_NE(std::ranges::find(schema["enum"], value), schema["enum"].end()) << where;
    }
    if (value.is_object()) {
      for (const json& name : schema.value("required", json::array()))
        EXPECT_TRUE(value.contains(name.get<std::string>())) << where << " lacks " << name;
      const json properties = schema.value("properties", json::object());
      for (const auto& [name, of] : properties.items())
        if (value.contains(name)) check(value[name], of, where + "." + name);
    }
    if (value.is_array() && schema.contains("items"))
      for (const json& item : value) check(item, schema["items"], where + "[]");
  }

 private:
  static bool is(const json& value, const std::string& type) {
    return (type == "string" && value.is_string()) || (type == "number" && value.is_number()) ||
           (type == "integer" && value.is_number_integer()) ||
           (type == "boolean" && value.is_boolean()) || (type == "object" && value.is_object()) ||
           (type == "array" && value.is_array()) || (type == "null" && value.is_null());
  }
  const json& document_;
};

std::string filled(std::string path, const std::map<std::string, std::string>& names) {
  for (const auto& [name, value] : names)
    if (const auto at = path.find("{" + name + "}"); at != path.npos)
      path.replace(at, name.size() + 2, value);
  return path;
}

TEST_F(FilledWebTest, TheDescriptionHasEveryOptionOfASearch) {
  const json document = json::parse(get("/api/v1/openapi.json").body);
  const json& properties = document["components"]["schemas"]["Submission"]["properties"];
  for (const SearchOption& option : search_options()) {
    ASSERT_TRUE(properties.contains(std::string(option.name))) << option.name;
    EXPECT_TRUE(properties[std::string(option.name)].contains("default")) << option.name;
  }
  EXPECT_EQ(properties["budget"]["default"], "60s");
  EXPECT_EQ(properties["finalists"]["maximum"], 64);
  EXPECT_EQ(properties["strategy"]["enum"].front(), "evolve");
}

TEST_F(FilledWebTest, TheDescriptionIsTrue) {
  const json document = json::parse(get("/api/v1/openapi.json").body);
  EXPECT_EQ(document["openapi"], "3.1.0");
  const Schema schema(document);
  std::set<std::pair<std::string, std::string>> described;
  for (const auto& [path, methods] : document["paths"].items()) {
    for (const auto& [method, operation] : methods.items()) {
      described.emplace(method == "get" ? "GET" : "POST", path);
      if (method != "get") continue;
      const bool candidate = path.find("candidates") != path.npos;
      std::string target = filled(
          path,
          {{"hash", task_.hash()}, {"id", candidate ? id('a') : std::to_string(emulated_run_)}});
      const bool of_jobs = path.find("jobs") != path.npos ||
                           path.find("workers") != path.npos;  // there is no queue here
      const auto response = get(target);
      const std::string status = std::to_string(response.status);
      EXPECT_EQ(status, of_jobs ? "404" : "200") << target;
      ASSERT_TRUE(operation["responses"].contains(status)) << target;
      const json& content = operation["responses"][status]["content"];
      const std::string type = response.get_header_value("Content-Type");
      ASSERT_TRUE(content.contains(type)) << target << " " << type;
      if (type == "application/json")
        schema.check(json::parse(response.body), content[type]["schema"], path);
      const auto route = std::ranges::find_if(web::routes(), [&](const web::Route& r) {
        return r.pattern == path && r.method == "GET";
      });
      std::map<std::string, std::string> known, documented;
      for (const web::Param& param : route->params) known.emplace(param.name, param.usual);
      for (const json& parameter : operation["parameters"]) {
        const json usual = parameter["schema"].value("default", json(""));
        if (parameter["in"] == "query")
          documented.emplace(parameter["name"],
                             usual.is_string() ? usual.get<std::string>() : usual.dump());
      }
      EXPECT_EQ(known, documented) << path;
      // Every parameter of the query with a wrong value: what is documented comes back.
      for (const json& parameter : operation["parameters"]) {
        if (parameter["in"] != "query") continue;
        const auto wrong = get(target + "?" + parameter["name"].get<std::string>() + "=%3Cx%3E");
        EXPECT_TRUE(operation["responses"].contains(std::to_string(wrong.status)))
            << target << " " << parameter["name"] << " " << wrong.status;
        if (wrong.status != 200)
          schema.check(json::parse(wrong.body), document["components"]["schemas"]["Error"], path);
      }
      // And a thing that is not there.
      if (path.find('{') != path.npos) {
        const auto gone = get(filled(path, {{"hash", "ffff"}, {"id", "123456789"}}));
        EXPECT_EQ(gone.status, 404) << path;
        schema.check(json::parse(gone.body), document["components"]["schemas"]["Error"], path);
      }
    }
  }
  for (const web::Route& route : web::routes()) {
    if (!route.pattern.starts_with("/api/")) continue;
    EXPECT_TRUE(described.contains({std::string(route.method), std::string(route.pattern)}))
        << route.method << " " << route.pattern << " is not described";
  }
  EXPECT_EQ(described.size(),
            static_cast<std::size_t>(std::ranges::count_if(
                web::routes(), [](const auto& r) { return r.pattern.starts_with("/api/"); })));
}

}  // namespace
}  // namespace hone::test
