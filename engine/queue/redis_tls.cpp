#include "engine/queue/redis_tls.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

namespace hone {
namespace {

/// OpenSSL's own socket BIO writes without MSG_NOSIGNAL: a lost connection would be a SIGPIPE.
int bio_write(BIO* bio, const char* data, int size) {
  BIO_clear_retry_flags(bio);
  const int fd = static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio)));
  const ssize_t count = send(fd, data, static_cast<std::size_t>(size), MSG_NOSIGNAL);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_write(bio);
  return static_cast<int>(count);
}
int bio_read(BIO* bio, char* into, int size) {
  BIO_clear_retry_flags(bio);
  const int fd = static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio)));
  const ssize_t count = recv(fd, into, static_cast<std::size_t>(size), 0);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_read(bio);
  return static_cast<int>(count);
}
long bio_control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

BIO_METHOD* socket_method() {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "redis socket");
    BIO_meth_set_write(made, bio_write);
    BIO_meth_set_read(made, bio_read);
    BIO_meth_set_ctrl(made, bio_control);
    return made;
  }();
  return method;
}

/// The reason in OpenSSL's queue of errors, and empties it.
std::string openssl_reason() {
  const unsigned long code = ERR_peek_last_error();
  ERR_clear_error();
  if (code == 0) return "the connection was lost";
  const char* reason = ERR_reason_error_string(code);
  return reason != nullptr ? reason : fmt::format("OpenSSL error {:x}", code);
}

struct ContextDeleter {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
struct SslDeleter {
  void operator()(SSL* ssl) const { SSL_free(ssl); }
};
using ContextPointer = std::unique_ptr<SSL_CTX, ContextDeleter>;
using SslPointer = std::unique_ptr<SSL, SslDeleter>;

class TlsSocket final : public RedisSocket {
 public:
  explicit TlsSocket(int fd) : fd_(fd) {}
  ~TlsSocket() override {
    if (ssl_ && healthy_) SSL_shutdown(ssl_.get());  // says goodbye, does not wait
    ssl_.reset();
    ERR_clear_error();
    close(fd_);
  }

  Result<void> start(ContextPointer context, const RedisUrl& url);
  Result<void> shake_hands(const RedisUrl& url, const RedisWait& wait, bool& may_pass);

  Result<RedisProgress> read(std::span<char> into) override {
    std::size_t count = 0;
    ERR_clear_error();
    const int outcome = SSL_read_ex(ssl_.get(), into.data(), into.size(), &count);
    return progress(outcome, count);
  }
  Result<RedisProgress> write(std::span<const char> bytes) override {
    std::size_t count = 0;
    ERR_clear_error();
    const int outcome = SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &count);
    return progress(outcome, count);
  }
  [[nodiscard]] int fd() const override { return fd_; }

 private:
  Result<RedisProgress> progress(int outcome, std::size_t count) {
    if (outcome == 1) return RedisProgress{count, POLLIN};
    switch (SSL_get_error(ssl_.get(), outcome)) {
      case SSL_ERROR_WANT_READ:
        return RedisProgress{0, POLLIN};
      case SSL_ERROR_WANT_WRITE:
        return RedisProgress{0, POLLOUT};
      case SSL_ERROR_ZERO_RETURN:
        return fail(ErrorCode::kInfrastructure, "the server closed the connection");
      default:
        healthy_ = false;
        return fail(ErrorCode::kInfrastructure,
                    fmt::format("the connection was lost (TLS: {})", openssl_reason()));
    }
  }

  int fd_;
  SslPointer ssl_;
  bool healthy_ = true;
};

std::unexpected<Error> wrong_setting(const RedisUrl& url, std::string_view what) {
  return fail(ErrorCode::kEnvironment, fmt::format("TLS to Redis at {}: {}", url.display(), what));
}

/// Where distributions keep the authorities, should OpenSSL's own place, the one it was built with,
/// not be here.
void trust_the_system(SSL_CTX* context) {
  SSL_CTX_set_default_verify_paths(context);
  for (const char* file : {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
                           "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"}) {
    if (access(file, R_OK) == 0 && SSL_CTX_load_verify_file(context, file) == 1) break;
  }
  ERR_clear_error();
}

Result<ContextPointer> make_context(const RedisUrl& url) {
  ERR_clear_error();
  ContextPointer context(SSL_CTX_new(TLS_client_method()));
  if (!context) return wrong_setting(url, openssl_reason());
  SSL_CTX* const raw = context.get();
  SSL_CTX_set_min_proto_version(raw, TLS1_2_VERSION);
  SSL_CTX_set_options(raw, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_mode(raw, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_verify(raw, url.insecure ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, nullptr);
  if (!url.ca_file.empty()) {
    if (SSL_CTX_load_verify_file(raw, url.ca_file.c_str()) != 1)
      return wrong_setting(url, fmt::format("no certificates in the cafile '{}' ({}); it must be "
                                            "a PEM file that can be read",
                                            url.ca_file, openssl_reason()));
  } else if (!url.insecure) {
    trust_the_system(raw);
  }
  if (!url.cert_file.empty()) {
    // A key with a passphrase would ask at the terminal.
    SSL_CTX_set_default_passwd_cb(raw, [](char*, int, int, void*) { return -1; });
    if (SSL_CTX_use_certificate_chain_file(raw, url.cert_file.c_str()) != 1)
      return wrong_setting(url, fmt::format("cannot use the certificate '{}' ({}); it must be PEM",
                                            url.cert_file, openssl_reason()));
    if (SSL_CTX_use_PrivateKey_file(raw, url.key_file.c_str(), SSL_FILETYPE_PEM) != 1)
      return wrong_setting(url, fmt::format("cannot use the key '{}' ({}); it must be PEM, without "
                                            "a passphrase, and belong to the certificate",
                                            url.key_file, openssl_reason()));
  }
  return context;
}

Result<void> TlsSocket::start(ContextPointer context, const RedisUrl& url) {
  ssl_.reset(SSL_new(context.get()));
  BIO* const bio = ssl_ ? BIO_new(socket_method()) : nullptr;
  if (bio == nullptr) return wrong_setting(url, openssl_reason());
  BIO_set_data(bio, reinterpret_cast<void*>(static_cast<std::intptr_t>(fd_)));
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl_.get(), bio, bio);
  // A certificate names addresses and names in different places.
  unsigned char address[sizeof(in6_addr)];
  const bool is_address = inet_pton(AF_INET, url.host.c_str(), address) == 1 ||
                          inet_pton(AF_INET6, url.host.c_str(), address) == 1;
  bool ok = is_address || SSL_set_tlsext_host_name(ssl_.get(), url.host.c_str()) == 1;
  if (ok && !url.insecure) {
    ok = is_address
             ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl_.get()), url.host.c_str()) == 1
             : SSL_set1_host(ssl_.get(), url.host.c_str()) == 1;
  }
  if (!ok) return wrong_setting(url, "this host cannot be looked for in a certificate");
  return {};
}

Result<void> TlsSocket::shake_hands(const RedisUrl& url, const RedisWait& wait, bool& may_pass) {
  while (true) {
    ERR_clear_error();
    const int outcome = SSL_connect(ssl_.get());
    if (outcome == 1) return {};
    const int error = SSL_get_error(ssl_.get(), outcome);
    if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) {
      healthy_ = false;
      const long verdict = SSL_get_verify_result(ssl_.get());
      if (verdict != X509_V_OK && !url.insecure) {
        ERR_clear_error();
        const bool name =
            verdict == X509_V_ERR_HOSTNAME_MISMATCH || verdict == X509_V_ERR_IP_ADDRESS_MISMATCH;
        return wrong_setting(url, fmt::format("its certificate is not trusted ({}); {}",
                                              X509_verify_cert_error_string(verdict),
                                              name ? "use the name that the certificate is for"
                                                   : "give who signed it with ?cafile=/path"));
      }
      // A server that is killed right now looks like a lost connection, any other failure lasts.
      may_pass = error == SSL_ERROR_SYSCALL ||
                 ERR_GET_REASON(ERR_peek_last_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING;
      return wrong_setting(url, fmt::format("the handshake failed ({}); does the server speak TLS "
                                            "1.2 or newer on this port (else write redis://), and "
                                            "does it ask for a certificate (cert and key)?",
                                            openssl_reason()));
    }
    if (auto ok = wait.check("waiting for the TLS handshake"); !ok) {
      healthy_ = false;
      may_pass = true;
      if (wait.stopped()) return ok;
      return wrong_setting(
          url, fmt::format("{}; does the server speak TLS on this port (else write redis://)?",
                           ok.error().message));
    }
    pollfd item{fd_, static_cast<short>(error == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT), 0};
    poll(&item, 1, wait.poll_ms());
  }
}

}  // namespace

Result<std::unique_ptr<RedisSocket>> open_redis_tls(int fd, const RedisUrl& url,
                                                    const RedisWait& wait, bool& may_pass) {
  auto socket = std::make_unique<TlsSocket>(fd);
  may_pass = false;
  auto context = make_context(url);
  if (!context) return std::unexpected(context.error());
  if (auto ok = socket->start(std::move(*context), url); !ok) return std::unexpected(ok.error());
  if (auto ok = socket->shake_hands(url, wait, may_pass); !ok) return std::unexpected(ok.error());
  return socket;
}

}  // namespace hone
