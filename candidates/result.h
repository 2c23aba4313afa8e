// Errors as values. Every function that can fail across a module boundary returns Result<T>.
#pragma once

#include <expected>
#include <string>
#include <utility>

namespace hone {

/// Why an operation failed, as far as a caller can act on it. Closed: extend it deliberately.
enum class ErrorCode {
  kInvalidInput,    ///< the user's task, argument or file is wrong; exit status 2
  kTaskFailed,      ///< the reference fails its own checks (compile, fault, …); exit status 1
  kEnvironment,     ///< something is not installed or not permitted; exit status 3
  kInfrastructure,  ///< a child died, a pipe broke: worth one retry
  kRefused,         ///< a rewriter cannot prove that a step is legal
  kIo,              ///< a file or the database could not be read or written
  kInternal,        ///< a bug of ours
};

/// `message` is one line for a person: where, what is wrong, what would be right.
struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;
};

template <class T>
using Result = std::expected<T, Error>;

inline std::unexpected<Error> fail(ErrorCode code, std::string message) {
  return std::unexpected(Error{code, std::move(message)});
}
inline std::unexpected<Error> invalid(std::string message) {
  return fail(ErrorCode::kInvalidInput, std::move(message));
}
inline std::unexpected<Error> refused(std::string message) {
  return fail(ErrorCode::kRefused, std::move(message));
}

}  // namespace hone
