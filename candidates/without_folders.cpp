#include "candidates/without_folders.h"

#include <filesystem>
#include <string>
#include <utility>

namespace hone {
namespace {

std::string name_of(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

}  // namespace

Program without_folders(Program program) {
  for (Buffer& buffer : program.buffers) buffer.fill.path = name_of(buffer.fill.path);
  return program;
}

Task without_folders(Task task) {
  task.source_path = name_of(task.source_path);
  task.reference = without_folders(std::move(task.reference));
  return task;
}

}  // namespace hone
