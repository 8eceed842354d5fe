// Starts a program as several ranks, as users do with mpirun, and signals one of them or all.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace nascent {

class MpiRun {
 public:
  // Nothing of it is shared with another mpirun: its files are in `folder`, its ranks talk by memory alone, and those
  // that wait leave the core to others.
  explicit MpiRun(std::filesystem::path folder) : folder_(std::move(folder)) {
    std::filesystem::create_directories(folder_ / "mpi");
  }

  struct Output {
    int exit_code = 0;  // minus the signal where one ended mpirun itself
    std::string out{}, err{};
    double seconds = 0;
  };

  // Why ranks cannot be started here; "" where they can.
  static const std::string& missing() {
    static const std::string reason = [] {
      const auto folder = std::filesystem::temp_directory_path() / ("nascent-mpirun-" + std::to_string(::getpid()));
      const Output output = MpiRun(folder).run(2, {"/bin/true"});
      std::filesystem::remove_all(folder);
      return output.exit_code == 0 ? "" : "mpirun (openmpi-bin) does not start ranks here: " + output.err;
    }();
    return reason;
  }

  // Several programs are separated by ":", each with -n N of its own: then `ranks` is 0.
  Output run(int ranks, const std::vector<std::string>& command) {
    return run(ranks, command, [](pid_t) {});
  }

  // `meanwhile` is called with the process of mpirun.
  Output run(int ranks, const std::vector<std::string>& command, const std::function<void(pid_t)>& meanwhile) {
    const auto start = std::chrono::steady_clock::now();
    const pid_t child = started(ranks, command);
    std::thread limit([child] { end_what_hangs(child); });
    meanwhile(child);
    limit.join();
    int status = 0;
    waitpid(child, &status, 0);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), text("out"), text("err"), seconds};
  }

  static bool has_ended(pid_t child) {
    siginfo_t info{};
    return waitid(P_PID, child, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == child;
  }

  // The processes of its ranks, in no order.
  static std::vector<pid_t> ranks_of(pid_t mpirun) {
    std::ifstream file("/proc/" + std::to_string(mpirun) + "/task/" + std::to_string(mpirun) + "/children");
    std::vector<pid_t> ranks;
    for (pid_t rank = 0; file >> rank;) ranks.push_back(rank);
    return ranks;
  }

 private:
  // Waits for the end, but not for ever.
  static void end_what_hangs(pid_t mpirun) {
    constexpr std::chrono::seconds kPatience{60};
    if (ends_within(mpirun, kPatience)) return;
    ADD_FAILURE() << "mpirun had not ended after " << kPatience.count() << " s and was killed";
    const std::vector<pid_t> ranks = ranks_of(mpirun);
    kill(mpirun, SIGTERM);  // it ends its ranks
    if (ends_within(mpirun, std::chrono::seconds(5))) return;
    for (const pid_t rank : ranks) kill(rank, SIGKILL);
    kill(mpirun, SIGKILL);
  }

  static bool ends_within(pid_t child, std::chrono::milliseconds patience) {
    const auto end = std::chrono::steady_clock::now() + patience;
    while (!has_ended(child)) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return true;
  }

  pid_t started(int ranks, const std::vector<std::string>& command) {
    std::vector<std::string> words = {"mpirun", "--oversubscribe", "--bind-to", "none"};
    if (ranks > 0) words.insert(words.end(), {"-n", std::to_string(ranks)});
    words.insert(words.end(), command.begin(), command.end());
    std::vector<char*> argv;
    for (auto& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    const pid_t child = fork();
    if (child != 0) return child;
    const std::string scratch = (folder_ / "mpi").string();
    for (const auto& [name, value] :
         std::vector<std::pair<const char*, const char*>>{{"OMPI_ALLOW_RUN_AS_ROOT", "1"},
                                                          {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
                                                          {"OMPI_MCA_pml", "ob1"},
                                                          {"OMPI_MCA_btl", "self,vader"},
                                                          // copies between processes are forbidden in containers
                                                          {"OMPI_MCA_btl_vader_single_copy_mechanism", "none"},
                                                          {"OMPI_MCA_plm", "isolated"},
                                                          {"OMPI_MCA_odls_base_sigkill_timeout", "0"},
                                                          {"OMPI_MCA_orte_tmpdir_base", scratch.c_str()},
                                                          {"TMPDIR", scratch.c_str()}}) {
      setenv(name, value, 1);
    }
    redirect("out", STDOUT_FILENO);
    redirect("err", STDERR_FILENO);
    execvp(argv[0], argv.data());
    _exit(127);
  }

  void redirect(const char* name, int descriptor) const {
    const int file = ::open((folder_ / "mpi" / name).c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (file >= 0) ::dup2(file, descriptor);
  }

  std::string text(const char* name) const {
    std::ostringstream all;
    all << std::ifstream(folder_ / "mpi" / name).rdbuf();
    return all.str();
  }

  std::filesystem::path folder_;
};

#define NASCENT_SKIP_WITHOUT_MPIRUN() \
  if (!MpiRun::missing().empty()) GTEST_SKIP() << MpiRun::missing()

}  // namespace nascent
