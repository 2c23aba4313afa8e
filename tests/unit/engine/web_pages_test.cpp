// The pages: what is on them, and that strangers' words stay words.
#include <SQLiteCpp/SQLiteCpp.h>

#include <regex>

#include "engine/page/report.h"
#include "tests/unit/engine/web_fixture.h"

namespace hone::test {
namespace {

bool has(const std::string& text, const std::string& what) {
  return text.find(what) != std::string::npos;
}

TEST_F(FilledWebTest, BoardsAreSeparateAndSayWhatIsModelled) {
  const auto page = get("/");
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.get_header_value("Content-Type"), "text/html; charset=utf-8");
  EXPECT_TRUE(has(page.body, "scale on NVIDIA H200 (measured)"));
  EXPECT_TRUE(has(page.body, "scale on emulated sm_90 (modelled, not measured)"));
  const auto tables = std::regex("<table");
  EXPECT_EQ(std::distance(std::sregex_iterator(page.body.begin(), page.body.end(), tables), {}), 2);
  EXPECT_LT(page.body.find(id('b')), page.body.find(id('a')));  // the faster one first
  const auto measured = get("/?modelled=false");
  EXPECT_FALSE(has(measured.body, "emulated sm_90 (modelled"));
  EXPECT_FALSE(has(get("/?arch=sm_80").body, "<table"));
  EXPECT_FALSE(has(get("/?device=emulated%20sm_90").body, "NVIDIA H200 (measured)"));
  EXPECT_EQ(get("/?modelled=perhaps").status, 400);
  EXPECT_EQ(get("/?rows=0").status, 400);
}

TEST_F(FilledWebTest, EveryPageIsWhole) {
  for (const std::string& path :
       {std::string("/"), "/tasks/" + task_.hash(), "/candidates/" + id('a'),
        "/candidates/" + id('a') + "?against=" + id('b'), std::string("/runs"),
        "/runs/" + std::to_string(run_), "/runs/" + std::to_string(emulated_run_)}) {
    const auto page = get(path);
    EXPECT_EQ(page.status, 200) << path;
    EXPECT_TRUE(page.body.starts_with("<!doctype html>")) << path;
    for (const char* part : {"<main id=\"main\"", "class=\"skip\"", "<nav aria-label", "</html>",
                             "<title>", "<html lang=\"en\">"})
      EXPECT_TRUE(has(page.body, part)) << path << " " << part;
    // Nothing inline.
    EXPECT_FALSE(
        std::regex_search(page.body, std::regex("<script(?! src=)|<style| style=| on[a-z]+=")))
        << path;
  }
}

TEST_F(FilledWebTest, ATaskHasBoardsBaselinesRunsAndItsReference) {
  const auto page = get("/tasks/" + task_.hash()).body;
  EXPECT_TRUE(has(page, "torch eager"));
  EXPECT_TRUE(has(page, "What others take on NVIDIA H200"));
  EXPECT_TRUE(has(page, "/runs/" + std::to_string(run_)));
  EXPECT_TRUE(has(page, "C[i] = A[i] * f;"));
  EXPECT_TRUE(has(page, "x torch eager"));
}

TEST_F(FilledWebTest, ACandidateHasItsRecipeAndWhatItChanged) {
  const auto page = get("/candidates/" + id('a')).body;
  EXPECT_TRUE(has(page, "<strong>unroll</strong>"));
  EXPECT_TRUE(has(page, "by = 4"));
  EXPECT_TRUE(has(page, "// " + hash_of('a')));
  EXPECT_TRUE(has(page, "class=\"text removed\""));
  EXPECT_TRUE(has(page, "class=\"text added\""));
  EXPECT_TRUE(has(page, "NVRTC 13.0"));
  EXPECT_TRUE(has(page, "Modelled, on emulated devices"));
  EXPECT_TRUE(has(page, "/runs/" + std::to_string(run_)));
  EXPECT_TRUE(has(page, "/tasks/" + task_.hash()));
  EXPECT_FALSE(has(page, "/* hone"));  // the task's comment is no part of what changed
  const auto wrong = get("/candidates/" + id('c')).body;
  EXPECT_TRUE(has(wrong, "race</span>"));
  EXPECT_TRUE(has(wrong, "<p>C[3]"));
  EXPECT_FALSE(has(wrong, "/export?format=cu"));  // it is not for use
  EXPECT_TRUE(has(wrong, "/export?format=json"));
  EXPECT_TRUE(has(get("/candidates/" + id('a') + "?against=" + id('b')).body, hash_of('b')));
}

TEST_F(FilledWebTest, ACandidateLinksToWhatItWasDerivedFromWhereThatIsKept) {
  EXPECT_FALSE(has(get("/candidates/" + id('a')).body, "/candidates/0123"));
  CandidateRecord child = candidate(task_, hash_of('d'));
  child.parent = id('a');
  ASSERT_TRUE(store_->put(run_, child, timed(2), gpu()));
  EXPECT_TRUE(has(get("/candidates/" + id('d')).body, "href=\"/candidates/" + id('a') + "\""));
}

TEST_F(FilledWebTest, ACandidateCanBeDownloaded) {
  const std::string page = get("/candidates/" + id('a')).body;
  for (const char* format : {"cu", "hpp", "torch", "cupy", "json"}) {
    const std::string path = "/api/v1/candidates/" + id('a') + "/export?format=" + format;
    EXPECT_TRUE(has(page, "href=\"" + path + "\"")) << format;
    const auto file = get(path);
    EXPECT_EQ(file.status, 200) << format;
    EXPECT_TRUE(has(file.get_header_value("Content-Disposition"),
                    "attachment; filename=\"hone_" + id('a')));
    EXPECT_TRUE(has(file.body, hash_of('a'))) << format;
  }
  EXPECT_EQ(get("/api/v1/candidates/" + id('a') + "/export?format=exe").status, 400);
  EXPECT_EQ(code(get("/api/v1/candidates/" + id('c') + "/export?format=cu")), "not_for_use");
  EXPECT_EQ(get("/api/v1/candidates/" + id('c') + "/export?format=json").status, 200);
}

TEST_F(FilledWebTest, ACandidateIsShownWithTheDeviceOfTheBoardThatItComesFrom) {
  // Measured 2 times as fast on one device, modelled 4 times on another.
  const std::string board = get("/").body;
  EXPECT_TRUE(has(board, "/candidates/" + id('a') + "?device=NVIDIA%20H200"));
  EXPECT_TRUE(has(board, "/candidates/" + id('a') + "?device=emulated%20sm_90"));
  const auto headline = [&](const std::string& device) {
    const std::string page = get("/candidates/" + id('a') + "?device=" + device).body;
    const auto at = page.find("class=\"headline\"");
    return at == page.npos ? std::string() : page.substr(at, 120);
  };
  EXPECT_TRUE(has(headline("NVIDIA%20H200"), "2.00 times"));
  EXPECT_TRUE(has(headline("emulated%20sm_90"), "4.00 times"));
  EXPECT_EQ(get("/candidates/" + id('a') + "?device=none").status, 404);
}

TEST_F(FilledWebTest, WhatWasNotComparedAtTheTimedSizeIsSaid) {
  const std::string kReason = "y: one block takes too long";
  Evaluation unseen = timed(9, 5);
  unseen.measurement.modelled = true;
  unseen.note = "not compared at the timed size: " + kReason;
  Evaluation in_part = unseen;
  in_part.note = "compared at the timed size: 96 elements, by 3 blocks drawn; " + unseen.note;
  Evaluation quick = unseen;
  quick.note.clear();
  quick.final_stage = false;
  put(emulated_run_, hash_of('d'), unseen, emulated());
  put(emulated_run_, hash_of('e'), in_part, emulated());
  put(emulated_run_, hash_of('f'), quick, emulated());
  Evaluation unchecked = timed(9, 5);
  unchecked.final_stage = false;
  unchecked.detail = kMuchSlower;
  put(run_, hash_of('9'), unchecked);
  const auto badge = [](const std::string& words) { return "warn\">" + words + "</span>"; };
  const std::string kNot = badge("not compared at the timed size"),
                    kPart = badge("partly compared at the timed size"),
                    kQuick = badge("quick stage only");
  const auto page = [&](char digit) { return get("/candidates/" + id(digit)).body; };
  EXPECT_TRUE(has(page('d'), kNot));
  EXPECT_TRUE(has(page('d'), kReason));
  EXPECT_TRUE(has(page('e'), kPart));
  EXPECT_TRUE(has(page('f'), kQuick));
  EXPECT_TRUE(has(page('9'), badge("unchecked")));
  EXPECT_TRUE(has(page('9'), badge("not checked at other sizes")));
  EXPECT_FALSE(has(page('f'), badge("unchecked")));
  for (const std::string& words : {kNot, kPart, kQuick})
    EXPECT_FALSE(has(page('a'), words)) << words;
  EXPECT_FALSE(has(page('c'), kQuick));  // a race: it is not believed anyway
  const std::string task = get("/tasks/" + task_.hash() + "?rows=20").body;
  for (const std::string& board : {get("/").body, task}) {
    EXPECT_TRUE(has(board, badge("not compared")));
    EXPECT_TRUE(has(board, badge("partly compared")));
    EXPECT_FALSE(has(board, kQuick));  // no board has it
  }
}

TEST_F(FilledWebTest, ADiffOfAGeneratedKernelIsFoldedAndSaysWhy) {
  CandidateRecord made = candidate(task_, hash_of('d'));
  made.recipe = {{"generate-contract", 1, "k", {}, MathLevel::kReassociate}};
  made.program.source.clear();
  for (int i = 0; i < 60; ++i) made.program.source += fmt::format("int line_{};\n", i);
  ASSERT_TRUE(store_->put(run_, made, timed(9, 5), gpu()));
  const std::string page = get("/candidates/" + id('d')).body;
  EXPECT_TRUE(has(page, "Nearly all lines differ"));
  EXPECT_TRUE(has(page, "The step generate-contract writes a kernel of its own"));
  EXPECT_FALSE(has(get("/candidates/" + id('a')).body, "Nearly all lines differ"));
}

TEST_F(FilledWebTest, NumbersAboveTheRoofAreExplained) {
  Evaluation fast = timed(5, 10);
  fast.measurement.roof_fraction = 1.2;
  EXPECT_FALSE(has(get("/tasks/" + task_.hash()).body, "ALARM"));
  put(run_, hash_of('d'), fast);
  const auto page = get("/tasks/" + task_.hash() + "?rows=20").body;
  EXPECT_TRUE(has(page, "120.0 %"));
  EXPECT_TRUE(has(page, "ALARM: 120.0 % of the roof"));
}

TEST_F(FilledWebTest, ARunIsLiveUntilItHasEnded) {
  const auto live = get("/runs/" + std::to_string(run_)).body;
  EXPECT_TRUE(has(live, "data-live=\"/api/v1/runs/" + std::to_string(run_) + "/events\""));
  EXPECT_TRUE(has(live, "2 in the final stage"));
  EXPECT_TRUE(has(live, "3.00x"));
  EXPECT_TRUE(has(live, "race"));
  EXPECT_FALSE(has(get("/runs/" + std::to_string(emulated_run_)).body, "data-live"));
}

TEST_F(FilledWebTest, WhatIsNotThereIsNotFound) {
  for (const char* path :
       {"/nothing", "/tasks/0000", "/tasks/..%2f", "/candidates/", "/candidates/xyz",
        "/candidates/%3Cscript%3E", "/candidates/abc%00def", "/runs/0", "/runs/-1", "/runs/1x",
        "/runs/99999999999999999999", "/runs/77", "/jobs", "/jobs/a", "/submit",
        "/assets/style.css", "/assets/0.style.css", "//", "/runs/1/"}) {
    const auto page = get(path);
    EXPECT_EQ(page.status, 404) << path;
    EXPECT_TRUE(has(page.body, "Not found")) << path;
    EXPECT_FALSE(has(page.body, "<script>")) << path;
  }
  EXPECT_EQ(get("/candidates/" + id('a') + "?against=zz").status, 404);
}

TEST_F(FilledWebTest, AssetsAreKeptAndPagesAskAgain) {
  const auto page = get("/");
  std::smatch found;
  ASSERT_TRUE(std::regex_search(page.body, found, std::regex("/assets/[0-9a-f]+\\.style\\.css")));
  const auto style = get(found[0]);
  EXPECT_EQ(style.status, 200);
  EXPECT_TRUE(has(style.get_header_value("Content-Type"), "text/css"));
  EXPECT_TRUE(has(style.get_header_value("Cache-Control"), "immutable"));
  const std::string tag = style.get_header_value("ETag");
  EXPECT_FALSE(tag.empty());
  const auto again = get(found[0], {{"If-None-Match", tag}});
  EXPECT_EQ(again.status, 304);
  EXPECT_EQ(again.body, "");
  EXPECT_EQ(page.get_header_value("Cache-Control"), "no-cache");
}

/// More quick results than anybody reads at once, as a search of a day leaves them.
void add_quick_points(const std::filesystem::path& file, std::int64_t run, int count) {
  SQLite::Database database(file.string(), SQLite::OPEN_READWRITE);
  database.exec("BEGIN");
  SQLite::Statement candidate(
      database,
      "INSERT INTO candidates SELECT printf('%012x', ?1), printf('%032x', "
      "?1), task_hash, program, recipe, origin, '' FROM candidates LIMIT 1");
  SQLite::Statement point(
      database,
      "INSERT INTO run_points VALUES (?1, ?2 + 1, printf('%012x', ?2), 0, 'ok', "
      "1.25, 8, NULL, NULL, '2126-01-01T00:00:00.000Z')");
  SQLite::Statement result(database,
                           "INSERT INTO results (candidate, run, task_hash, device, device_name, "
                           "arch, toolchain, driver, "
                           "hone_version, modelled, final, verdict, evaluation, found_at) SELECT "
                           "printf('%012x', ?1), run, "
                           "task_hash, device, device_name, arch, toolchain, driver, hone_version, "
                           "modelled, 0, verdict, "
                           "evaluation, found_at FROM results LIMIT 1");
  for (int i = 1; i <= count; ++i) {
    for (SQLite::Statement* statement : {&candidate, &result}) {
      statement->bind(1, i);
      statement->exec();
      statement->reset();
    }
    point.bind(1, run);
    point.bind(2, i);
    point.exec();
    point.reset();
  }
  database.exec("COMMIT");
}

TEST_F(WebTest, ALongRunsPageAndReportHaveItsFinalStages) {
  const auto run = begin(gpu());
  put(run, hash_of('d'), failed(Verdict::kRace));
  constexpr int kMany = 100'001;
  add_quick_points(file(), run, kMany);
  put(run, hash_of('e'), timed(3));
  ASSERT_TRUE(store_->end_run(run, "budget"));
  const auto report = page::report_html(*store_, rewriting_, {*store_->find_run(run)});
  ASSERT_TRUE(report) << report.error().message;
  start();
  const std::string shown = get("/runs/" + std::to_string(run)).body;
  EXPECT_TRUE(has(shown, "100002 candidates in the quick stage, 1 in the final stage"));
  for (const std::string& html : {shown, *report}) {
    EXPECT_TRUE(has(html, "budget used"));
    EXPECT_TRUE(has(html, "eeeeeeeeeeee: 3.00x, final stage"));
    EXPECT_TRUE(has(html, ">100001<"));
    EXPECT_LT(html.size(), 1'000'000U);
  }
  const auto json = get_json("/api/v1/runs/" + std::to_string(run));
  EXPECT_EQ(json["summary"]["finals"], 1) << json;
  EXPECT_EQ(json["summary"]["best"]["candidate"], std::string(12, 'e')) << json;
}

TEST_F(WebTest, ARunWhoseProgramsWereFoundAgainKeepsItsPageAndReport) {
  const auto first = begin(gpu());
  put(first, hash_of('a'), timed(3));
  ASSERT_TRUE(store_->end_run(first, "budget"));
  const auto second = begin(gpu());
  put(second, hash_of('a'), timed(3.5));
  ASSERT_TRUE(store_->end_run(second, "budget"));
  start();
  for (const auto& [run, speedup] : {std::pair(first, "3.00x"), std::pair(second, "3.50x")}) {
    const auto report = page::report_html(*store_, rewriting_, {*store_->find_run(run)});
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_TRUE(has(*report, std::string("aaaaaaaaaaaa: ") + speedup)) << *report;
    EXPECT_TRUE(has(*report, std::string("10.00 us, ") + speedup)) << "the best";
    EXPECT_TRUE(has(*report, "What it changed"));
    EXPECT_TRUE(has(*report, "<table class=\"diff\">"));
    EXPECT_TRUE(has(get("/runs/" + std::to_string(run)).body, speedup));
  }
}

TEST_F(WebTest, StrangersWordsStayWords) {
  task_.name = kHostile;
  task_.reference.source = "// " + kHostile + "\n" + task_.reference.source;
  CandidateRecord record = candidate(task_, hash_of('a'));
  record.program.source = "// " + kHostile + "\n\x01\n";
  record.recipe = {{kHostile, 1, kHostile, {{kHostile, kHostile}}, MathLevel::kReassociate}};
  record.origin = kHostile;
  record.parent = kHostile;
  Provenance where = gpu();
  where.device_name = where.toolchain = where.driver = where.sandbox = where.hone_version =
      kHostile;
  where.arch = kHostile;
  Evaluation evaluation = timed(2);
  evaluation.note = evaluation.detail = evaluation.measurement.bound = kHostile + "\xff";
  evaluation.resources = {{.kernel = kHostile}};
  ASSERT_TRUE(store_->put_task(task_));
  const auto run = store_->begin_run(task_.hash(), where, 1, kHostile, "job-1");
  ASSERT_TRUE(run);
  ASSERT_TRUE(store_->put(*run, record, evaluation, where));
  record.program_hash = hash_of('b');
  Evaluation wrong = failed(Verdict::kWrongResult);
  wrong.detail = kHostile;
  ASSERT_TRUE(store_->put(*run, record, wrong, where));
  ASSERT_TRUE(store_->end_run(*run, kHostile));
  start();
  for (const std::string& path :
       {std::string("/"), "/?task=" + std::string("%3Cscript%3Ealert(1)%22"),
        "/tasks/" + task_.hash(), "/candidates/" + std::string(12, 'a'),
        "/candidates/" + std::string(12, 'b'), std::string("/runs"),
        "/runs/" + std::to_string(*run), std::string("/runs?task=%22%3E%3Cscript%3E")}) {
    const auto page = get(path);
    EXPECT_EQ(page.status, 200) << path << page.body;
    EXPECT_FALSE(has(page.body, "<script>")) << path;
    EXPECT_FALSE(has(page.body, "<img")) << path;
    EXPECT_FALSE(has(page.body, "alert(1)\"")) << path;
    EXPECT_EQ(page.body.find('\xff'), std::string::npos) << path;
    EXPECT_EQ(page.body.find('\x01'), std::string::npos) << path;
  }
  EXPECT_TRUE(has(get("/").body, "&lt;script&gt;alert(1)&lt;/script&gt;"));
  // What no task may be called is an error on its page, not markup.
  task_.reference.buffers[0].name = kHostile;
  ASSERT_TRUE(store_->put_task(task_));
  const auto damaged = get("/tasks/" + task_.hash());
  EXPECT_EQ(damaged.status, 500);
  EXPECT_FALSE(has(damaged.body, "<script>"));
  EXPECT_FALSE(warnings_.empty());
  const auto run_json = get_json("/api/v1/runs/" + std::to_string(*run));
  EXPECT_EQ(run_json["task"], kHostile);
}

}  // namespace
}  // namespace hone::test
