// One function per form. Private to candidates/export; export.cpp lists them.
#pragma once

#include "candidates/export/plan.h"

namespace hone::exporting {

[[nodiscard]] Result<std::string> export_cu(const Plan& plan);
[[nodiscard]] Result<std::string> export_hpp(const Plan& plan);
[[nodiscard]] Result<std::string> export_torch(const Plan& plan);
[[nodiscard]] Result<std::string> export_cupy(const Plan& plan);
[[nodiscard]] std::string export_json(const std::vector<BoardRow>& rows, const Task& task);

}  // namespace hone::exporting
