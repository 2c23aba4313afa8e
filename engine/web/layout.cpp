#include "engine/web/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "engine/web/assets.h"

namespace hone::web {

using page::url_part;

namespace {

struct MenuItem {
  std::string_view address, name;
};

std::string menu(const Context& context, std::string_view section) {
  std::vector<MenuItem> items = {{"/", "Boards"}, {"/runs", "Runs"}};
  if (context.broker != nullptr) {
    items.push_back({"/jobs", "Jobs"});
    items.push_back({"/workers", "Workers"});
  }
  if (context.may_submit()) items.push_back({"/submit", "Submit"});
  std::string out = R"(<nav aria-label="Main"><ul>)";
  for (const MenuItem& item : items)
    out += fmt::format(R"(<li><a href="{}"{}>{}</a></li>)", item.address,
                       item.address == section ? R"( aria-current="page")" : "", item.name);
  return out + "</ul></nav>";
}

}  // namespace

Response render(const Context& context, const Page& page) {
  std::string scripts;
  for (const std::string& name : page.scripts)
    scripts += fmt::format(R"(<script src="{}" defer></script>)", asset_address(name));
  Response response;
  response.body = fmt::format(
      R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{0} - hone</title>
<link rel="icon" href="{7}">
<link rel="stylesheet" href="{1}">{2}</head>
<body><a class="skip" href="#main">Skip to the content</a>
<header class="top"><a class="brand" href="/">hone</a>{3}</header>
<main id="main" tabindex="-1"{4}>
<h1>{0}</h1>
{5}
</main>
<footer class="soft">hone {6}. What is <em>modelled</em> was never measured on a GPU. <a href="/api/v1/openapi.json">JSON API (an OpenAPI description)</a></footer>
</body></html>
)",
      escape(page.title), asset_address("style.css"), scripts, menu(context, page.section),
      page.live.empty() ? "" : fmt::format(R"( data-live="{}")", escape(page.live)), page.html,
      HONE_VERSION, asset_address("icon.svg"));
  return response;
}

std::string failure_page(const Context& context, const Failure& failure) {
  const std::string title = failure.status == 404   ? "Not found"
                            : failure.status == 401 ? "No right to do that"
                            : failure.status == 403 ? "No right to do that"
                            : failure.status == 503 ? "Not available now"
                            : failure.status < 500  ? "That did not work"
                                                    : "An error";
  return render(context, {.title = title,
                          .html = fmt::format(R"(<p role="alert">{}</p><p class="soft">{} {}</p>)",
                                              escape(failure.message), failure.status,
                                              escape(failure.code))})
      .body;
}

std::string task_link(const std::string& hash, const std::string& name) {
  return link("/tasks/" + url_part(hash), name);
}

std::string candidate_link(const std::string& id) {
  return fmt::format(R"(<a class="mono" href="/candidates/{}">{}</a>)", url_part(id), escape(id));
}

std::string run_link(std::int64_t run) {
  return link(fmt::format("/runs/{}", run), fmt::format("run {}", run));
}

std::expected<std::int64_t, Failure> number_param(const Request& request, std::string_view name,
                                                  std::int64_t fallback, std::int64_t least,
                                                  std::int64_t most) {
  const std::string& text = request.param(name);
  if (text.empty()) return fallback;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most)
    return bad_request(fmt::format("{} is a whole number from {} to {}.", name, least, most));
  return value;
}

std::expected<BoardFilter, Failure> board_filter(const Request& request, int rows_per_board) {
  BoardFilter filter;
  filter.programs = false;  // no board shows them
  filter.task = request.param("task");
  filter.device = request.param("device");
  filter.arch = request.param("arch");
  filter.origin = request.param("origin");
  const auto rows = number_param(request, "rows", rows_per_board, 1, 1000);
  if (!rows) return std::unexpected(rows.error());
  filter.limit = static_cast<int>(*rows);
  if (const std::string& modelled = request.param("modelled"); !modelled.empty()) {
    if (modelled != "true" && modelled != "false") return bad_request("modelled is true or false.");
    filter.modelled = modelled == "true";
  }
  if (const std::string& math = request.param("math"); !math.empty()) {
    filter.math = parse_math_level(math);
    if (!filter.math) return bad_request(fmt::format("math is one of {}.", kMathLevelNames));
  }
  return filter;
}

std::expected<std::int64_t, Failure> run_id(const std::string& part) {
  std::int64_t id = 0;
  const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), id);
  if (error != std::errc() || end != part.data() + part.size() || id <= 0 || part.front() == '0')
    return not_found("There is no such run.");
  return id;
}

bool is_hex_id(std::string_view text) {
  return !text.empty() && text.size() <= 80 && std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || c == '-';
  });
}

}  // namespace hone::web
