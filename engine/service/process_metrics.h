// What every daemon tells Prometheus of itself: what it was built from, and what the process takes,
// under the names that Prometheus' client libraries give to it.
#pragma once

#include "engine/service/metrics.h"

namespace hone {

void declare_process_metrics(Metrics& metrics);
/// Reads /proc; to be called before each page. What cannot be read is left out.
void show_process(Metrics& metrics);

}  // namespace hone
