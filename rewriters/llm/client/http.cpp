#include "rewriters/llm/client/http.h"

#include <curl/curl.h>
#include <fmt/format.h>
#include <strings.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>

#include "rewriters/llm/client/scrubber.h"

namespace hone::llm {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t kMostHeaderBytes = 256 << 10;

struct EasyCleanup {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
struct MultiCleanup {
  void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
};

/// Headers; their memory is wiped, for one of them holds the key.
class Headers {
 public:
  ~Headers() {
    for (curl_slist* item = list_; item != nullptr; item = item->next)
      explicit_bzero(item->data, std::strlen(item->data));
    curl_slist_free_all(list_);
  }
  Headers() = default;
  Headers(const Headers&) = delete;
  Headers& operator=(const Headers&) = delete;

  void add(const char* line) {
    curl_slist* const longer = curl_slist_append(list_, line);
    if (longer != nullptr) list_ = longer;
  }
  void add_key(const Key& key) {
    if (key.empty()) return;
    constexpr std::string_view prefix = "Authorization: Bearer ";
    const std::size_t size = prefix.size() + key.reveal().size();
    const auto line = std::make_unique<char[]>(size + 1);
    std::copy(prefix.begin(), prefix.end(), line.get());
    std::copy(key.reveal().begin(), key.reveal().end(), line.get() + prefix.size());
    add(line.get());
    explicit_bzero(line.get(), size);
  }
  [[nodiscard]] curl_slist* get() const { return list_; }

 private:
  curl_slist* list_ = nullptr;
};

/// Where distributions keep the authorities, should libcurl's own place, the one it was built with,
/// not be here.
std::string system_authorities() {
  for (const char* variable : {"CURL_CA_BUNDLE", "SSL_CERT_FILE"})
    if (const char* file = std::getenv(variable); file != nullptr && *file != '\0') return file;
  for (const char* file : {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
                           "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"})
    if (access(file, R_OK) == 0) return file;
  return "";
}

class Call {
 public:
  Call(const Endpoint& endpoint, const Key& key, const std::string& body, const HttpSink& sink)
      : endpoint_(endpoint), key_(key), body_(body), sink_(sink), scrubber_(key) {}

  HttpResult run(Milliseconds time, const std::stop_token& stopping);

 private:
  void set_up();
  void set_up_trust();
  /// Nothing: the transfer has ended, as `code` says.
  std::optional<HttpEnd> transfer(SteadyClock::time_point deadline,
                                  const std::stop_token& stopping);
  [[nodiscard]] HttpEnd end_of(CURLcode code) const;
  [[nodiscard]] bool connected() const;
  [[nodiscard]] std::string reason(CURLcode code) const;

  static std::size_t on_header(char* data, std::size_t, std::size_t size, void* self) {
    return static_cast<Call*>(self)->header({data, size}) ? size : 0;
  }
  static std::size_t on_body(char* data, std::size_t, std::size_t size, void* self) {
    return static_cast<Call*>(self)->body({data, size}) ? size : 0;
  }
  bool header(std::string_view line);
  bool body(std::string_view bytes);
  bool pass_on(const std::string& clean);

  const Endpoint& endpoint_;
  const Key& key_;
  const std::string& body_;
  const HttpSink& sink_;
  Scrubber scrubber_;
  Headers headers_;
  // The easy handle goes first: the multi handle must not hold it then.
  std::unique_ptr<CURLM, MultiCleanup> multi_;
  std::unique_ptr<CURL, EasyCleanup> easy_;
  char error_[CURL_ERROR_SIZE] = "";
  HttpHead head_;
  std::size_t header_bytes_ = 0;
  SteadyClock::time_point last_byte_;
  bool any_byte_ = false, stopped_ = false;
  CURLcode code_ = CURLE_OK;
};

void Call::set_up() {
  const auto set = [&](CURLoption option, auto value) {
    curl_easy_setopt(easy_.get(), option, value);
  };
  const Settings& settings = endpoint_.settings;
  set(CURLOPT_ERRORBUFFER, error_);
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_QUICK_EXIT, 1L);  // cancelling does not wait for a slow name server
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_FOLLOWLOCATION, 0L);
  set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set(CURLOPT_HTTP_CONTENT_DECODING, 0L);
  // libcurl sends a request again by itself where an old connection turns out dead: never without
  // the meter's knowing.
  set(CURLOPT_FRESH_CONNECT, 1L);
  set(CURLOPT_FORBID_REUSE, 1L);
  set(CURLOPT_URL, endpoint_.completions_url.c_str());
  set(CURLOPT_USERAGENT, "hone/" HONE_VERSION);
  set(CURLOPT_POST, 1L);
  set(CURLOPT_POSTFIELDS, body_.c_str());
  set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body_.size()));
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(settings.connect_timeout.count()));
  set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  set(CURLOPT_HEADEROPT, static_cast<long>(CURLHEADER_SEPARATE));  // a proxy does not see the key
  if (settings.proxy == "none" || (settings.proxy.empty() && endpoint_.loopback)) {
    set(CURLOPT_PROXY, "");
  } else if (!settings.proxy.empty()) {
    set(CURLOPT_PROXY, settings.proxy.c_str());
  }
  headers_.add("Content-Type: application/json");
  headers_.add(settings.stream ? "Accept: text/event-stream, application/json"
                               : "Accept: application/json");
  headers_.add("Accept-Encoding: identity");
  headers_.add("Expect:");
  headers_.add_key(key_);
  set(CURLOPT_HTTPHEADER, headers_.get());
  set(CURLOPT_HEADERFUNCTION, &Call::on_header);
  set(CURLOPT_HEADERDATA, this);
  set(CURLOPT_WRITEFUNCTION, &Call::on_body);
  set(CURLOPT_WRITEDATA, this);
  set_up_trust();
}

void Call::set_up_trust() {
  curl_easy_setopt(easy_.get(), CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  const std::string& given = endpoint_.settings.ca_file;
  const std::string file = given.empty() ? system_authorities() : given;
  if (file.empty()) return;
  curl_easy_setopt(easy_.get(), CURLOPT_CAINFO, file.c_str());
  curl_easy_setopt(easy_.get(), CURLOPT_PROXY_CAINFO, file.c_str());
  if (given.empty()) return;
  // These authorities and no others.
  curl_easy_setopt(easy_.get(), CURLOPT_CAPATH, nullptr);
  curl_easy_setopt(easy_.get(), CURLOPT_PROXY_CAPATH, nullptr);
}

bool Call::header(std::string_view line) {
  last_byte_ = SteadyClock::now();
  any_byte_ = true;
  header_bytes_ += line.size();
  if (header_bytes_ > kMostHeaderBytes) return false;
  if (line.starts_with("HTTP/")) {  // an interim reply (1xx) may have come before
    head_ = {};
    return true;
  }
  const std::size_t colon = line.find(':');
  if (colon == line.npos) return true;
  std::string_view value = line.substr(colon + 1);
  while (!value.empty() && (value.front() == ' ' || value.front() == '\t')) value.remove_prefix(1);
  while (!value.empty() && std::string_view(" \t\r\n").contains(value.back()))
    value.remove_suffix(1);
  const std::string name(line.substr(0, colon));
  const auto take = [&](const char* wanted, std::string& into) {
    if (strcasecmp(name.c_str(), wanted) == 0) into = one_line(key_, value);
  };
  take("content-type", head_.content_type);
  take("content-encoding", head_.content_encoding);
  take("retry-after", head_.retry_after);
  take("location", head_.location);
  return true;
}

bool Call::pass_on(const std::string& clean) {
  if (stopped_) return false;
  if (clean.empty()) return true;
  stopped_ = !sink_(head_, clean);
  return !stopped_;
}

bool Call::body(std::string_view bytes) {
  last_byte_ = SteadyClock::now();
  any_byte_ = true;
  long status = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &status);
  head_.status = static_cast<int>(status);
  return pass_on(scrubber_.add(bytes));
}

bool Call::connected() const {
  curl_off_t time = 0;
  curl_easy_getinfo(easy_.get(),
                    endpoint_.tls ? CURLINFO_APPCONNECT_TIME_T : CURLINFO_CONNECT_TIME_T, &time);
  return time > 0;
}

std::string Call::reason(CURLcode code) const {
  if (header_bytes_ > kMostHeaderBytes)
    return fmt::format("more than {} bytes of headers", kMostHeaderBytes);
  return one_line(key_, *error_ != '\0' ? error_ : curl_easy_strerror(code));
}

HttpEnd Call::end_of(CURLcode code) const {
  if (stopped_) return HttpEnd::kStopped;
  switch (code) {
    case CURLE_OK:
      return HttpEnd::kWhole;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
      return HttpEnd::kUntrusted;
    default:
      return connected() ? HttpEnd::kLost : HttpEnd::kUnconnected;
  }
}

std::optional<HttpEnd> Call::transfer(SteadyClock::time_point deadline,
                                      const std::stop_token& stopping) {
  const Settings& settings = endpoint_.settings;
  while (true) {
    int running = 0;
    if (curl_multi_perform(multi_.get(), &running) != CURLM_OK) {
      code_ = CURLE_FAILED_INIT;
      return std::nullopt;
    }
    if (running == 0) break;
    const auto now = SteadyClock::now();
    if (stopping.stop_requested()) return HttpEnd::kCancelled;
    if (now >= deadline) return HttpEnd::kOutOfTime;
    auto next = deadline;
    if (!connected()) last_byte_ = now;
    if (any_byte_ || settings.stream) {
      const auto idle_end = last_byte_ + settings.idle_timeout;
      if (connected() && now >= idle_end) return HttpEnd::kIdle;
      next = std::min(next, idle_end);
    }
    const auto wait = std::chrono::ceil<Milliseconds>(next - now);
    const auto most = std::clamp(wait, Milliseconds(1), Milliseconds(60'000));
    curl_multi_poll(multi_.get(), nullptr, 0, static_cast<int>(most.count()), nullptr);
  }
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &left))
    if (message->msg == CURLMSG_DONE) code_ = message->data.result;
  return std::nullopt;
}

HttpResult Call::run(Milliseconds time, const std::stop_token& stopping) {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
  multi_.reset(curl_multi_init());
  easy_.reset(curl_easy_init());
  if (!multi_ || !easy_) return {.end = HttpEnd::kUnconnected, .error = "libcurl has no memory"};
  set_up();
  HttpResult result;
  {
    const std::stop_callback wake(stopping, [this] { curl_multi_wakeup(multi_.get()); });
    last_byte_ = SteadyClock::now();
    curl_multi_add_handle(multi_.get(), easy_.get());
    const auto early = transfer(last_byte_ + time, stopping);
    // What was held back may be the end of the body, but only where no more of it can come.
    if (!early && code_ == CURLE_OK) pass_on(scrubber_.finish());
    result.end = early.value_or(end_of(code_));
  }
  long status = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &status);
  head_.status = static_cast<int>(status);
  result.sent = connected();
  result.head = head_;
  if (code_ != CURLE_OK) result.error = reason(code_);
  curl_multi_remove_handle(multi_.get(), easy_.get());
  return result;
}

}  // namespace

HttpResult http_post(const Endpoint& endpoint, const Key& key, const std::string& body,
                     Milliseconds time, const std::stop_token& stopping, const HttpSink& sink) {
  return Call(endpoint, key, body, sink).run(time, stopping);
}

}  // namespace hone::llm
