#include "candidates/export/forms.h"
namespace hone::exporting {
Result<std::string> export_torch(const Plan&) { return invalid("not yet"); }
Result<std::string> export_cupy(const Plan&) { return invalid("not yet"); }
}  // namespace hone::exporting
