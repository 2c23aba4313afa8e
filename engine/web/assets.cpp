#include "engine/web/assets.h"

#include <array>
#include <string>

#include "candidates/hash.h"
#include "engine/page/html.h"
#include "engine/web/handlers.h"

namespace hone::web {
namespace {

struct Asset {
  std::string name, type, text, hash;
};

const std::array<Asset, 6>& assets() {
  static const std::array<Asset, 6> kAssets = [] {
    std::array<Asset, 6> all = {{
        {"style.css", "text/css; charset=utf-8",
         std::string(page::stylesheet()) + std::string(embedded::kWebCss), ""},
        {"sort.js", "text/javascript; charset=utf-8", std::string(embedded::kSortJs), ""},
        {"live.js", "text/javascript; charset=utf-8", std::string(embedded::kLiveJs), ""},
        {"copy.js", "text/javascript; charset=utf-8", std::string(embedded::kCopyJs), ""},
        {"token.js", "text/javascript; charset=utf-8", std::string(embedded::kTokenJs), ""},
        {"icon.svg", "image/svg+xml", std::string(embedded::kIconSvg), ""},
    }};
    for (Asset& asset : all) asset.hash = content_hash(asset.text).substr(0, 12);
    return all;
  }();
  return kAssets;
}

const Asset* find(std::string_view name) {
  for (const Asset& asset : assets())
    if (asset.name == name) return &asset;
  return nullptr;
}

}  // namespace

std::string asset_address(std::string_view name) {
  const Asset* asset = find(name);
  return asset == nullptr ? "" : "/assets/" + asset->hash + "." + asset->name;
}

std::string_view asset_text(std::string_view name) {
  const Asset* asset = find(name);
  return asset == nullptr ? std::string_view() : asset->text;
}

Answer asset(Context&, const Request&, const Parts& parts) {
  const auto dot = parts[0].find('.');
  const Asset* asset = dot == std::string::npos ? nullptr : find(parts[0].substr(dot + 1));
  // An address of another version must not keep this version's text for a year.
  if (asset == nullptr || parts[0].substr(0, dot) != asset->hash)
    return not_found("There is no such file.");
  Response response;
  response.type = asset->type;
  response.body = asset->text;
  response.headers.emplace_back("Cache-Control", "public, max-age=31536000, immutable");
  return response;
}

}  // namespace hone::web
