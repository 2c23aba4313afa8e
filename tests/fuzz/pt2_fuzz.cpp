// The graph of a PyTorch module: the bytes are models/model.json of a .pt2 file whose weights are
// always the same. Whatever it says, there is a task or one line that says why not.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "candidates/pytorch/import.h"
#include "candidates/task_reader.h"
#include "tests/pytorch/zip_writer.h"

namespace {

/// The weights that the models of the corpus name: w [3, 4], b [3] and m [4].
constexpr const char* kWeights = R"({"config": {
  "w": {"path_name": "weight_0", "is_param": true, "use_pickle": false, "tensor_meta": {"dtype": 7,
    "sizes": [{"as_int": 3}, {"as_int": 4}], "strides": [{"as_int": 4}, {"as_int": 1}],
    "storage_offset": {"as_int": 0}}},
  "b": {"path_name": "weight_1", "is_param": true, "use_pickle": false, "tensor_meta": {"dtype": 7,
    "sizes": [{"as_int": 3}], "strides": [{"as_int": 1}], "storage_offset": {"as_int": 0}}},
  "m": {"path_name": "weight_1", "is_param": false, "use_pickle": false, "tensor_meta": {"dtype": 7,
    "sizes": [{"as_int": 4}], "strides": [{"as_int": 1}], "storage_offset": {"as_int": 0}}}}})";

bool is_one_line(const std::string& text) {
  return !text.empty() && text.find('\n') == std::string::npos;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string model(reinterpret_cast<const char*>(data), size);
  const std::string zip =
      hone::pytorch::zip_of({{"m/models/model.json", model},
                             {"m/data/weights/model_weights_config.json", kWeights},
                             {"m/data/weights/weight_0", std::string(48, '\1')},
                             {"m/data/weights/weight_1", std::string(16, '\2')}});
  const int file = memfd_create("fuzzed.pt2", 0);
  if (file < 0 || write(file, zip.data(), zip.size()) != static_cast<ssize_t>(zip.size())) abort();
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  const auto imported = hone::pytorch::import_pt2(path, path);
  if (!imported) {
    if (!is_one_line(imported.error().message)) abort();
  } else {
    const auto task = hone::parse_task(imported->text, "fuzzed.task.cu");
    if (!task && !is_one_line(task.error().message)) abort();
  }
  close(file);
  return 0;
}
