// Finds the functions of a library that was opened at run time.
#pragma once

#include <dlfcn.h>

#include <string>

namespace hone::cuda {

/// Sets `out` to the symbol `name`; keeps the first name that the library lacks in `missing`.
template <class Function>
void resolve(void* handle, const char* name, Function& out, std::string& missing) {
  out = reinterpret_cast<Function>(dlsym(handle, name));
  if (out == nullptr && missing.empty()) missing = name;
}

}  // namespace hone::cuda
