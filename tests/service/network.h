// Machines of a test, each with a network of its own, joined by a router that drops what it is told
// to: nobody hears that a connection is cut, as when a switch dies. All are network namespaces
// without a name, so they end with this process and its children, however that ends, and those of
// other tests may have the same addresses. Needs root and `ip` (iproute2). One thread at a time.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace hone::test {

/// A network namespace, by its file descriptor.
class NetworkSpace {
 public:
  NetworkSpace();  ///< throws where it is not allowed
  NetworkSpace(NetworkSpace&& other) noexcept;
  NetworkSpace& operator=(NetworkSpace&&) = delete;
  ~NetworkSpace();
  [[nodiscard]] int fd() const { return fd_; }

 private:
  int fd_ = -1;
};

/// What is lost of a machine's packets. One way only is the harder to bear: what is asked for
/// happens, and nobody hears of it.
enum class Cut { kBoth, kSent, kReceived };

class Network {
 public:
  /// `count` machines, numbered from 0. Null where that cannot be had, with the reason.
  [[nodiscard]] static std::unique_ptr<Network> make(int count, std::string& why_not);

  /// For a child's setns() before its exec. Lives as long as this.
  [[nodiscard]] int machine(int number) const {
    return machines_[static_cast<std::size_t>(number)].fd();
  }
  [[nodiscard]] static std::string address(int number);
  /// In another thread, whose sockets are that machine's.
  void on(int number, const std::function<void()>& body) const;

  /// From the next packet on, until it is mended.
  void cut(int number, Cut what = Cut::kBoth);
  void mend(int number);

 private:
  explicit Network(int count);
  void join(int number);

  NetworkSpace router_;
  std::vector<NetworkSpace> machines_;
};

}  // namespace hone::test
