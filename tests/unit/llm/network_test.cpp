// TLS and proxies: who is trusted, and who sees what.
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "client_fixture.h"

namespace hone::llm {
namespace {

using testing::HeardRequest;
using testing::http_reply;
using testing::plain_reply;
using testing::ServerPeer;
using testing::stream_reply;

/// Sets variables for a test, or takes them away.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    if (value != nullptr) {
      setenv(name, value, 1);
    } else {
      unsetenv(name);
    }
  }
  ~Environment() {
    if (old_) {
      setenv(name_, old_->c_str(), 1);
    } else {
      unsetenv(name_);
    }
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* name_;
  std::optional<std::string> old_;
};

/// A self-signed certificate for 127.0.0.1, in a file; and a server's end of TLS with it.
class Authority {
 public:
  Authority()
      : key_(EVP_EC_gen("P-256")),
        certificate_(X509_new()),
        context_(SSL_CTX_new(TLS_server_method())) {
    ASN1_INTEGER_set(X509_get_serialNumber(certificate_), 1);
    X509_set_version(certificate_, 2);
    X509_gmtime_adj(X509_getm_notBefore(certificate_), -3600);
    X509_gmtime_adj(X509_getm_notAfter(certificate_), 3600);
    X509_set_pubkey(certificate_, key_);
    X509_NAME* const name = X509_get_subject_name(certificate_);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>("hone test"), -1, -1, 0);
    X509_set_issuer_name(certificate_, name);
    X509_EXTENSION* const names =
        X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, "IP:127.0.0.1");
    X509_add_ext(certificate_, names, -1);
    X509_EXTENSION_free(names);
    X509_sign(certificate_, key_, EVP_sha256());
    std::string pattern = (std::filesystem::temp_directory_path() / "hone-ca-XXXXXX").string();
    const int fd = mkstemp(pattern.data());
    path_ = pattern;
    std::FILE* const file = fdopen(fd, "w");
    PEM_write_X509(file, certificate_);
    std::fclose(file);
    SSL_CTX_use_certificate(context_, certificate_);
    SSL_CTX_use_PrivateKey(context_, key_);
    std::signal(SIGPIPE, SIG_IGN);  // this server's end writes without MSG_NOSIGNAL
  }
  ~Authority() {
    std::filesystem::remove(path_);
    SSL_CTX_free(context_);
    X509_free(certificate_);
    EVP_PKEY_free(key_);
  }
  Authority(const Authority&) = delete;
  Authority& operator=(const Authority&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }

  /// Reads a request's beginning by TLS and answers; "" where no TLS came about.
  std::string serve(const ServerPeer& peer, const std::string& answer) const {
    SSL* const ssl = SSL_new(context_);
    SSL_set_fd(ssl, peer.fd());
    std::string heard;
    char buffer[4096];
    if (SSL_accept(ssl) == 1) {
      while (!heard.contains("\r\n\r\n")) {
        const int count = SSL_read(ssl, buffer, sizeof(buffer));
        if (count <= 0) break;
        heard.append(buffer, static_cast<std::size_t>(count));
      }
      SSL_write(ssl, answer.data(), static_cast<int>(answer.size()));
      SSL_shutdown(ssl);
    }
    SSL_free(ssl);
    return heard;
  }

 private:
  EVP_PKEY* key_;
  X509* certificate_;
  SSL_CTX* context_;
  std::string path_;
};

class Network : public ClientTest {
 protected:
  void serve_by_tls() {
    serve_script([this](ServerPeer& peer) {
      const std::string heard = authority_.serve(peer, stream_reply("by TLS"));
      std::lock_guard lock(mutex_);
      heard_ += heard;
    });
    settings_.url = fmt::format("https://127.0.0.1:{}/v1", server_->port());
    settings_.retries = 0;
  }
  [[nodiscard]] std::string heard() {
    server_.reset();
    return heard_;
  }

  // None of the machine's own.
  Environment http_{"http_proxy", nullptr}, https_{"https_proxy", nullptr},
      upper_{"HTTPS_PROXY", nullptr}, all_{"all_proxy", nullptr}, all_upper_{"ALL_PROXY", nullptr},
      none_{"no_proxy", nullptr}, none_upper_{"NO_PROXY", nullptr},
      bundle_{"CURL_CA_BUNDLE", nullptr}, cert_{"SSL_CERT_FILE", nullptr};
  Authority authority_;
  std::mutex mutex_;
  std::string heard_;
};

TEST_F(Network, TlsWithACaFile) {
  serve_by_tls();
  settings_.ca_file = authority_.path();
  EXPECT_EQ(ask().reply.value().text, "by TLS");
  EXPECT_TRUE(heard().contains("Authorization: Bearer " + std::string(kTestKey)));
}

TEST_F(Network, TlsWithACaFileFromTheEnvironment) {
  for (const char* variable : {"CURL_CA_BUNDLE", "SSL_CERT_FILE"}) {
    const Environment given(variable, authority_.path().c_str());
    client_.reset();
    serve_by_tls();
    EXPECT_EQ(ask().reply.value().text, "by TLS") << variable;
  }
}

TEST_F(Network, AnUnknownCertificateIsNotTrusted) {
  serve_by_tls();
  settings_.retries = 3;
  const Exchange exchange = ask();
  expect_failure(exchange, FailureKind::kSettings, "certificate is not trusted");
  expect_free(exchange);
  EXPECT_EQ(exchange.attempts, 1);
  EXPECT_EQ(heard(), "");
}

TEST_F(Network, ACertificateForAnotherName) {
  serve_by_tls();
  settings_.url = fmt::format("https://localhost:{}/v1", server_->port());
  settings_.ca_file = authority_.path();
  const Exchange exchange = ask();
  ASSERT_FALSE(exchange.reply);
  expect_free(exchange);
  EXPECT_EQ(heard(), "");
}

TEST_F(Network, ACaFileThatIsNone) {
  serve_by_tls();
  settings_.ca_file = "/etc/passwd";
  expect_failure(ask(), FailureKind::kSettings, "certificate");
}

TEST_F(Network, TlsToAServerWithoutIt) {
  serve([](const HeardRequest&, int) { return "HTTP/1.1 400 X\r\n\r\n"; });
  settings_.url = fmt::format("https://127.0.0.1:{}/v1", server_->port());
  settings_.retries = 0;
  settings_.connect_timeout = Milliseconds(300);
  const Exchange exchange = ask();
  expect_failure(exchange, FailureKind::kTrouble, "");
  expect_free(exchange);
}

TEST_F(Network, ProxyOfTheSettings) {
  std::string head;
  serve([&](const HeardRequest& request, int) {
    head = request.head;
    return stream_reply("by proxy");
  });
  settings_.url = "http://model.example/v1";
  settings_.proxy = fmt::format("http://127.0.0.1:{}", server_->port());
  settings_.allow_plain_key = true;
  EXPECT_EQ(ask().reply.value().text, "by proxy");
  EXPECT_TRUE(head.starts_with("POST http://model.example/v1/chat/completions ")) << head;
}

TEST_F(Network, ProxyOfTheEnvironment) {
  std::string head;
  serve([&](const HeardRequest& request, int) {
    head = request.head;
    return http_reply(403, "text/plain", "not here");
  });
  const Environment proxy("https_proxy",
                          fmt::format("http://127.0.0.1:{}", server_->port()).c_str());
  settings_.url = "https://model.example/v1";
  settings_.retries = 0;
  const Exchange exchange = ask();
  ASSERT_FALSE(exchange.reply);
  expect_free(exchange);
  EXPECT_TRUE(head.starts_with("CONNECT model.example:443 ")) << head;
  EXPECT_FALSE(head.contains(kTestKey)) << "a tunnel's proxy does not see the key";
}

TEST_F(Network, NoProxyOfTheEnvironmentForThisMachine) {
  int proxied = 0;
  testing::ScriptedServer proxy([&](ServerPeer&) { ++proxied; });
  const Environment given("http_proxy", fmt::format("http://127.0.0.1:{}", proxy.port()).c_str());
  const Environment all("all_proxy", fmt::format("http://127.0.0.1:{}", proxy.port()).c_str());
  serve([](const HeardRequest&, int) { return plain_reply("direct"); });
  EXPECT_EQ(ask().reply.value().text, "direct");
  EXPECT_EQ(proxied, 0) << "the key would have gone there in the clear";
}

TEST_F(Network, NoProxyWhereTheSettingsSaySo) {
  int proxied = 0;
  testing::ScriptedServer proxy([&](ServerPeer&) { ++proxied; });
  const Environment given("https_proxy", fmt::format("http://127.0.0.1:{}", proxy.port()).c_str());
  settings_ = settings_for(proxy);
  settings_.url = "https://nowhere.example/v1";
  settings_.proxy = "none";
  settings_.retries = 0;
  expect_failure(ask(), FailureKind::kTrouble, "resolve host");
  EXPECT_EQ(proxied, 0);
}

}  // namespace
}  // namespace hone::llm
