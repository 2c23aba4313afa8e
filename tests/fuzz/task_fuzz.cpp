// Task files: the comment, the JSON, every key. What is accepted must survive being written and
// read again, and its programs being made at every size.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "candidates/program.h"
#include "candidates/task.h"
#include "candidates/task_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (const char* name : {"fuzzed.cu", "fuzzed.json"}) {
    const auto task = hone::parse_task(text, name);
    if (!task) {
      if (task.error().message.empty()) abort();
      continue;
    }
    const nlohmann::json stored = *task;
    const auto again = hone::task_from_json(stored);
    if (!again || again->hash() != task->hash()) abort();
    for (const auto& sizes : task->check_sizes) (void)hone::instantiate(task->reference, sizes);
    (void)hone::instantiate(task->reference, task->sizes);
  }
  return 0;
}
