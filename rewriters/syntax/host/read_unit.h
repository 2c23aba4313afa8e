// Reads a whole CUDA file, host code and all, as `hone init` needs it: what the host allocates,
// copies and launches, and the device code that the launches need, cut out. Statements that do not
// parse are skipped. Thread-safe; free of Clang, like parse.h.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "candidates/result.h"

namespace hone::syntax {

/// An integer of host code: its value as the file stands, and what it is made of.
struct HostExpr {
  enum class Op { kConstant, kName, kAdd, kSub, kMul, kDiv, kMod, kCeilDiv, kMin, kMax };
  Op op = Op::kConstant;
  std::int64_t value = 0;
  int name = -1;  ///< kName: index into UnitFacts::names
  std::vector<std::shared_ptr<const HostExpr>> operands;
};
using HostInt = std::shared_ptr<const HostExpr>;  ///< null: unknown

/// A named constant of host code: `int n = 1 << 20`, `#define N 1024`, `atoi(argv[1])`.
struct HostName {
  std::string name;  ///< unique
  std::string place;
  bool guessed = false;  ///< nothing says its value
  bool baked = false;    ///< device code uses the same constant
};

/// What the host fills a buffer with, as far as one statement shows it.
struct HostFill {
  enum class Kind { kUnknown, kUniform, kIntegers, kConstant, kIota } kind = Kind::kUnknown;
  double low = 0;  ///< constant: the value
  double high = 0;
};

struct HostBuffer {
  std::string name;  ///< the pointer's name in host code; may be empty
  std::string place;
  HostInt bytes;
  bool on_host = false;  ///< malloc, new, an array: never passed to a kernel unless it is mapped
  std::optional<HostFill> fill;
};

struct HostArgument {
  enum class Kind { kUnknown, kBuffer, kInteger, kReal } kind = Kind::kUnknown;
  int buffer = -1;  ///< index into UnitFacts::buffers
  HostInt integer;  ///< kBuffer: offset in bytes
  double real = 0;
  std::string text;             ///< as written
  bool from_arguments = false;  ///< of the program: its value is that without any
};

struct HostLaunch {
  std::string kernel;  ///< as a task names it: "ns::scale<float, 4>"
  std::string plain;   ///< the function's name alone
  std::string place;
  HostInt grid[3];
  HostInt block[3];
  HostInt shared_bytes;
  std::vector<HostArgument> args;  ///< parameters passed by value as records are spread
  bool in_loop = false;
};

/// What happens to buffers and kernels, in order.
struct HostEvent {
  enum class Kind { kLaunch, kWrite, kZero, kRead } kind;
  int index;      ///< of the launch, or of the buffer
  HostFill fill;  ///< kWrite
};

struct UnitFacts {
  std::vector<HostName> names;
  std::vector<HostBuffer> buffers;
  std::vector<HostLaunch> launches;
  std::vector<HostEvent> events;
  std::vector<std::string> notes;
};

struct DeviceCode {
  std::string text;                  ///< what the kernels need, in order, nothing of the host
  std::vector<std::string> kernels;  ///< names, in order
  std::map<std::string, std::string> records;  ///< of one number type: "Body" -> "f32"
  std::vector<std::string> problems;           ///< "file.cu:12: …": what cannot be in a task
  std::vector<std::string> notes;
};

struct WholeUnit {
  UnitFacts facts;
  DeviceCode device;
};

struct ReadUnitOptions {
  std::string path;                             ///< how messages name the file
  std::map<std::string, std::string> defines;   ///< -D
  std::map<std::string, std::int64_t> guesses;  ///< values for names that nothing says; else 1024
  std::vector<std::string> kernels;  ///< plain names; empty: all that are launched, or all
};

/// Errors: kInvalidInput, no kernel, or device code that does not parse: "file.cu:12: …".
[[nodiscard]] Result<WholeUnit> read_unit(const std::string& source,
                                          const ReadUnitOptions& options);

}  // namespace hone::syntax
