// The inside of hone-sandbox, the program between hone and a sandboxed one. Single-threaded.
//
//   hone -> supervisor (outside, but for the pid namespace of its children)
//             -> init (first process of the pid namespace; builds the private root)
//                  -> the program
//
// Every layer is tried; what the machine refuses is noted in `State::layers` and the rest goes on,
// unless the policy is strict. Errors that leave nothing to run end the process: `die`.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "sandbox/policy.h"

namespace hone::sandbox::jail {

// Descriptors that hone hands over; the program inherits kChannel and 0-2 only.
inline constexpr int kChannel = 3;
inline constexpr int kReport = 4;  ///< pipe: "layer …", "cgroup …", "error …" lines; closed by exec
inline constexpr int kPolicy = 5;  ///< memfd: encode(Policy)
inline constexpr int kStderrRead = 6;  ///< the program's stderr, when it is kept apart
inline constexpr int kStderrTail = 7;  ///< memfd: the end of it, written when the program has ended
inline constexpr int kProgram = 8;  ///< the program's file, where hone keeps it open; else closed

inline constexpr uid_t kNobody = 65534;

struct State {
  Policy policy;
  bool root = false;  ///< started as root: the program runs as kNobody
  int program = -1;   ///< to be executed in place of argv[0]; -1: none is handed over
  bool in_user_namespace = false;
  bool in_pid_namespace = false;
  std::vector<LayerState> layers;

  void active(Layer layer) { layers.push_back({layer, true, ""}); }
  void missing(Layer layer, std::string reason) {
    layers.push_back({layer, false, std::move(reason)});
  }
};

/// Writes "error TEXT" to hone and ends the process.
[[noreturn]] void die(std::string_view text);
/// "mount: Operation not permitted", of errno.
[[nodiscard]] std::string why(std::string_view call);
/// Writes a file that is there, as /proc and cgroups have them. errno is set when false.
[[nodiscard]] bool write_file(const std::string& path, std::string_view text);

/// Before the init process is forked: its pid namespace, and without root the user namespace.
void unshare_outer(State& state);
/// In the init process: ipc, network, mount namespace with the private root, /proc.
void unshare_inner(State& state);
/// In the init process of root: a user namespace in which only kNobody exists. `map` asks the
/// supervisor, who is outside, to write the maps; false when it could not.
void become_nobody(State& state, bool (*map)());
/// The supervisor's side of `map`: writes the maps of `pid`. errno is set when false.
[[nodiscard]] bool write_maps(pid_t pid, uid_t uid, gid_t gid);

/// Moves this process into a new cgroup with the policy's memory limit; reports its path.
void enter_cgroup(State& state);

// In the program's own process, in this order, last of all.
void set_limits(State& state);
void drop_privileges(State& state);  ///< capabilities; no new ones
void restrict_files(State& state);   ///< Landlock
void filter_calls(State& state);     ///< seccomp

}  // namespace hone::sandbox::jail
