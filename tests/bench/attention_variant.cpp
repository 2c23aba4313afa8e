#include <cstdio>
#include "candidates/task_reader.h"
#include "rewriters/lift/fuse.h"
#include "rewriters/lift/nest.h"
#include "rewriters/generators/attention/analysis.h"
#include <fmt/format.h>
int main(int n, char** a) {
  for (int i = 1; i < n; ++i) {
    auto task = hone::read_task(a[i]);
    if (!task) { fmt::print("{}\n", task.error().message); continue; }
    auto p = hone::lift::lift(task->reference, task->sizes);
    if (!p) { fmt::print("{}\n", p.error().message); continue; }
    for (auto& l : p->launches) if (!l.refusal.empty()) fmt::print("REFUSED {}\n", l.refusal);
    auto s = hone::lift::sites(*p);
    if (s.empty()) continue;
    fmt::print("{}: {} nests {}\n", a[i], s[0].launches.size(), s[0].nests.size());
    hone::RewriteContext context;
    hone::generators::Goal goal{p->nodes.get(), s[0].nests, &p->concrete, &context};
    auto r = hone::generators::attention::analyse(goal);
    if (!r) { fmt::print("   {}\n", r.error().message); continue; }
    fmt::print("   {} scale {} logits {} allowed {} key {} finite {}\n   Q {} K {} V {}\n  value {} element {}\n", r->describe(), r->scale.value_or(-1), to_string(*p->nodes, r->logits), to_string(*p->nodes, r->allowed), r->always_a_key, r->finite,
      to_string(*p->nodes, r->query.value),to_string(*p->nodes, r->key.value),to_string(*p->nodes, r->values.value),to_string(*p->nodes, r->value), to_string(*p->nodes, r->element));
  }
}
