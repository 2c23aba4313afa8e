// What a child may do, and which layers of isolation the machine granted. Plain data.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "candidates/result.h"

namespace hone::sandbox {

enum class Mode {
  kOff,         ///< a plain child process: for debugging
  kBestEffort,  ///< every layer that the machine grants
  kStrict,      ///< every layer, or the child does not start
};

/// "off", "best-effort", "strict". Errors: kInvalidInput.
[[nodiscard]] Result<Mode> parse_mode(std::string_view text);
[[nodiscard]] std::string_view to_string(Mode mode);

/// The layers, each able to be refused by a machine without the others.
enum class Layer {
  kUserNamespace,     ///< no user of the host; root's children are nobody
  kPidNamespace,      ///< sees its own processes only, all of them end with the first
  kMountNamespace,    ///< a private root with the listed paths and nothing else
  kPrivateProc,       ///< /proc of its own pid namespace
  kIpcNamespace,      ///< no System V or POSIX queues of the host
  kNetworkNamespace,  ///< no interface, not even loopback
  kNoNewPrivileges,   ///< no setuid program helps
  kCapabilities,      ///< none, and none to be had
  kLandlock,          ///< the listed paths again, enforced at every open
  kSeccomp,           ///< only the listed system calls
  kLimits,            ///< rlimits: address space, CPU, files, processes, core
  kMemoryCgroup,      ///< memory and processes by cgroup v2
};
inline constexpr int kLayerCount = 12;

[[nodiscard]] std::string_view to_string(Layer layer);

struct LayerState {
  Layer layer = Layer::kUserNamespace;
  bool active = false;
  std::string reason;  ///< why not
};

/// A path of the host that the child sees under the same name.
struct VisiblePath {
  enum class Access {
    kRead,    ///< read and execute; a folder with all that is in it
    kDevice,  ///< a device node: read, write, ioctl
    kWrite,   ///< a folder that may be written
  };
  std::string path;
  Access access = Access::kRead;
  bool optional = false;  ///< may be absent
};

/// Which system calls are let through; everything else fails with EPERM.
enum class Calls {
  kCompute,  ///< files, memory, threads, clocks; no sockets, no ioctl, no new processes
  kDevice,   ///< what a GPU driver needs besides: ioctl, memory locking, eventfd
};

struct Policy {
  std::vector<std::string> argv;         ///< argv[0] is the path of the program; no PATH search
  std::vector<std::string> environment;  ///< "NAME=value", the whole environment of the child
  std::string working_directory = "/";
  Mode mode = Mode::kBestEffort;
  std::vector<VisiblePath> paths;  ///< argv[0] is always among them; /dev/null, /dev/zero too
  Calls calls = Calls::kCompute;
  int processes = 1;         ///< 1: threads only; else fork is allowed, up to this many tasks
  std::uint64_t memory = 0;  ///< by cgroup; 0: no limit [B]
  std::uint64_t address_space = 0;    ///< 0: no limit [B]
  std::uint64_t file_size = 1 << 26;  ///< largest file it may write [B]
  std::uint64_t open_files = 1024;
  std::uint64_t cpu_s = 0;         ///< CPU time of one process, all threads; 0: no limit [s]
  int niceness = 0;                ///< added to the parent's: 0 to 19
  std::vector<int> cores;          ///< that it may run on; empty: as its parent
  double wall_s = 0;               ///< of the whole child; 0: no limit [s]
  std::uint64_t output = 1 << 26;  ///< stderr beyond this ends the child [B]
  bool inherit_stderr = false;     ///< false: kept apart, see Child::stderr_tail
  std::string helper;              ///< hone-sandbox; empty: the one beside this executable
};

/// For the helper, as CBOR: paths and variables may be any bytes. decode: kInternal when malformed.
[[nodiscard]] std::string encode(const Policy& policy);
[[nodiscard]] Result<Policy> decode_policy(std::string_view bytes);

}  // namespace hone::sandbox
