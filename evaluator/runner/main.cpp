// hone-runner: the child that compiles, emulates or measures what strangers wrote. Started by hone
// with a socket on descriptor 3; of no use to a person.
#include <sys/prctl.h>

#include <cstdio>
#include <cstring>
#include <string_view>

#include "evaluator/runner/list_files.h"
#include "evaluator/runner/serve.h"

int main(int argc, char** argv) {
  prctl(PR_SET_NAME, "hone-runner");  // executed by a descriptor it has none
  const std::string_view mode = argc == 2 ? argv[1] : "";
  if (argc == 3 && std::string_view(argv[1]) == "files") return hone::runner::list_files(argv[2]);
  if (mode == "compile") return hone::runner::serve_compile();
  if (mode == "emulate") return hone::runner::serve_emulate();
  if (mode == "measure") return hone::runner::serve_measure("measure");
  if (mode == "library") return hone::runner::serve_measure("library");
  if (mode == "--version") {
    std::puts("hone-runner " HONE_VERSION);
    return 0;
  }
  std::fputs("hone-runner is started by hone; run `hone --help`\n", stderr);
  return 2;
}
