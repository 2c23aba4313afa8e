// Preloaded into a process, it sets its clock forward by HONE_TEST_CLOCK_AHEAD_S seconds.
#include <dlfcn.h>
#include <sys/time.h>
#include <time.h>

#include <cstdlib>

namespace {

time_t ahead_s() {
  static const time_t seconds = [] {
    const char* text = std::getenv("HONE_TEST_CLOCK_AHEAD_S");
    return text == nullptr ? time_t{0} : static_cast<time_t>(std::atoll(text));
  }();
  return seconds;
}

}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  using Function = int (*)(clockid_t, timespec*);
  static const auto real = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "clock_gettime"));
  const int status = real(clock, time);
  const bool tells_the_date = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
  if (status == 0 && tells_the_date) time->tv_sec += ahead_s();
  return status;
}

extern "C" int gettimeofday(timeval* time, void* /*zone*/) noexcept {
  timespec now{};
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
  *time = {now.tv_sec, now.tv_nsec / 1000};
  return 0;
}

extern "C" time_t time(time_t* out) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  if (out != nullptr) *out = now.tv_sec;
  return now.tv_sec;
}
