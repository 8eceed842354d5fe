// The program that people call. It answers at once what needs no LibTorch, whose loading takes half a second, and
// becomes the whole program (main.cc) for everything else:
//
//   verbs that it has itself        space, genotype, data, table, report, serve: NASCENT_LIGHT_VERBS in CMakeLists.txt
//   answers that never change       help, options, recipes, completions: kept by the whole program when it was built
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "nascent/cli/leads.h"
#include "nascent/cli/verb.h"
#include "nascent/cli/version.h"
#include "nascent/cluster/launch.h"
#include "nascent/core/cores.h"
#include "nascent/core/error.h"
#include "nascent/core/files.h"
#include "nascent/core/text.h"
#include "nascent/core/version.h"
#include "nascent/kernels/isa.h"
#include "nascent/program/answers.h"

namespace nascent {

std::string version_details() {
  const int threads = count(usable_cores());
  return fmt::format(
      "nascent {}\nLibTorch {}, kernels for {}, {} thread{} ('nascent --version -v' says more)\nOptional libraries: "
      "{}\n",
      version(), NASCENT_TORCH_VERSION, kernels::isa(), threads, threads == 1 ? "" : "s", NASCENT_OPTIONAL);
}

// It runs alone: see run().
bool leads(const Verb&, const Invocation&) { return true; }

namespace {

namespace fs = std::filesystem;

bool is_light(const std::vector<std::string>& words) {
  if (words == std::vector<std::string>{"--version"}) return true;
  const auto& verbs = Verb::Registry::instance();
  return (!words.empty() && verbs.contains(words[0])) ||
         (words.size() > 1 && verbs.contains(words[0] + " " + words[1]));
}

// Where this program was installed; empty where /proc is missing, as in a bare chroot.
fs::path prefix() {
  std::error_code failed;
  return fs::read_symlink("/proc/self/exe", failed).parent_path().parent_path();
}

int run(const std::vector<std::string>& words, char** argv) {
  const fs::path home = prefix();
  if (home.empty()) {
    std::fprintf(stderr, "error: /proc/self/exe cannot be read, by which Nascent finds its own files. Mount /proc.\n");
    return 1;
  }
  const fs::path whole = home / "libexec/nascent/nascent-whole";
  // One of several: the whole program knows who speaks.
  const bool alone = !cluster::launch().several();
  const fs::path answer = whole.parent_path() / "answers" / answer_name(words);
  if (alone && fs::is_regular_file(answer)) {
    const std::string text = read_file(answer);
    const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
    if (!written) std::fprintf(stderr, "error: Standard output could not be written. Is the disk full?\n");
    return written ? 0 : 1;
  }
  if (alone && is_light(words)) return run_command_line(words);
  execv(whole.c_str(), argv);
  std::fprintf(stderr, "nascent: %s cannot be started. It belongs to the installation; install Nascent again.\n",
               whole.c_str());
  return 1;
}

}  // namespace
}  // namespace nascent

int main(int argc, char** argv) { return nascent::run({argv + 1, argv + argc}, argv); }
