// Static files in the program, by names that change with what is in them.
#pragma once

#include <string>
#include <string_view>

namespace hone::web {

/// "style.css" => "/assets/3f2a….style.css"; the file must be there.
[[nodiscard]] std::string asset_address(std::string_view name);
/// An asset's text; empty: there is none.
[[nodiscard]] std::string_view asset_text(std::string_view name);

namespace embedded {  // generated from engine/web/assets
extern const std::string_view kWebCss, kSortJs, kLiveJs, kCopyJs, kTokenJs, kIconSvg, kOpenApi;
}

}  // namespace hone::web
