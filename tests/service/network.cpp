#include "tests/service/network.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <thread>
#include <utility>

namespace hone::test {
namespace {

[[noreturn]] void give_up(const std::string& what) { throw std::runtime_error(what); }

/// In a thread of its own, for a thread that changes its network does not get the old one back.
void aside(const std::function<void()>& body) {
  std::exception_ptr thrown;
  std::thread([&] {
    try {
      body();
    } catch (...) {
      thrown = std::current_exception();
    }
  }).join();
  if (thrown) std::rethrow_exception(thrown);
}

void inside(const NetworkSpace& space, const std::function<void()>& body) {
  aside([&] {
    if (setns(space.fd(), CLONE_NEWNET) != 0)
      give_up(fmt::format("setns: {}", std::strerror(errno)));
    body();
  });
}

/// Lines of `ip`, without the word.
void ip(const NetworkSpace& space, const std::string& lines) {
  inside(space, [&] {
    const std::string command =
        "PATH=$PATH:/usr/sbin:/sbin ip -batch - 2>&1 <<'END'\n" + lines + "END";
    std::string said;
    FILE* out = popen(command.c_str(), "r");
    if (out == nullptr) give_up("popen failed");
    for (int c = fgetc(out); c != EOF; c = fgetc(out)) said += static_cast<char>(c);
    const int status = pclose(out);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127) give_up("there is no `ip` (iproute2)");
    if (status != 0) give_up("ip: " + said);
  });
}

/// `name` below net.ipv4.
void set(const NetworkSpace& space, const std::string& name, bool on) {
  inside(space, [&] {
    const std::string path = "/proc/sys/net/ipv4/" + name;
    std::ofstream(path) << (on ? "1" : "0");
    int is = -1;
    std::ifstream(path) >> is;
    if (is != static_cast<int>(on)) give_up(path + " cannot be set");
  });
}

}  // namespace

NetworkSpace::NetworkSpace() {
  aside([this] {
    if (unshare(CLONE_NEWNET) != 0)
      give_up(fmt::format("no new network namespace: {}", std::strerror(errno)));
    fd_ = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    if (fd_ < 0) give_up(fmt::format("/proc/thread-self/ns/net: {}", std::strerror(errno)));
  });
}
NetworkSpace::NetworkSpace(NetworkSpace&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
NetworkSpace::~NetworkSpace() {
  if (fd_ >= 0) close(fd_);
}

std::unique_ptr<Network> Network::make(int count, std::string& why_not) {
  try {
    return std::unique_ptr<Network>(new Network(count));
  } catch (const std::exception& e) {
    why_not = e.what();
    return nullptr;
  }
}

Network::Network(int count) {
  set(router_, "ip_forward", true);
  for (int number = 0; number < count; ++number) join(number);
}

std::string Network::address(int number) { return fmt::format("10.77.{}.2", number); }

void Network::on(int number, const std::function<void()>& body) const {
  inside(machines_[static_cast<std::size_t>(number)], body);
}

void Network::join(int number) {
  const NetworkSpace& machine = machines_.emplace_back();
  ip(router_, fmt::format("link add m{0} type veth peer name eth0 netns /proc/{1}/fd/{2}\n"
                          "addr add 10.77.{0}.1/30 dev m{0}\n"
                          "link set m{0} up\n",
                          number, getpid(), machine.fd()));
  ip(machine, fmt::format("link set lo up\n"
                          "addr add {1}/30 dev eth0\n"
                          "link set eth0 up\n"
                          "route add default via 10.77.{0}.1\n",
                          number, address(number)));
}

void Network::cut(int number, Cut what) {
  if (what != Cut::kReceived) set(router_, fmt::format("conf/m{}/forwarding", number), false);
  if (what != Cut::kSent)
    ip(router_, fmt::format("route replace blackhole {}/32\n", address(number)));
}

void Network::mend(int number) {
  set(router_, fmt::format("conf/m{}/forwarding", number), true);
  ip(router_, fmt::format("route flush exact {}/32 type blackhole\n", address(number)));
}

}  // namespace hone::test
