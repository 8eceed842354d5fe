#include <gmock/gmock.h>

#include "cli/program.h"
#include "nascent/core/text.h"

namespace nascent {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

class CompletionTest : public ProgramTest {
 protected:
  // What bash offers for the last of the words.
  std::vector<std::string> offered(const std::vector<std::string>& words) const {
    const std::string script = path("completion.bash");
    write_file(script, nascent({"completion", "bash"}).out);
    std::string typed = "nascent";
    for (const auto& word : words) typed += " '" + word + "'";
    const std::string commands =
        fmt::format("source '{}'; COMP_WORDS=({}); COMP_CWORD={}; _nascent; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
                    script, typed, words.size());
    const auto result = run_program({"bash", "-u", "-e", "-c", commands}, "");
    EXPECT_TRUE(result && result->exit_code == 0 && result->err.empty()) << (result ? result->err : "no bash");
    return split(result ? result->out : "", '\n');
  }
};

TEST_F(CompletionTest, BashOffersVerbsFlagsAndNames) {
  EXPECT_THAT(offered({"sea"}), Contains("search"));
  EXPECT_THAT(offered({"sea"}), Not(Contains("train")));
  EXPECT_THAT(offered({"search", "--epo"}), Contains("--epochs"));
  EXPECT_THAT(offered({"search", "--recipe", "gaea-d"}), Contains("gaea-darts"));
  EXPECT_THAT(offered({"search", "--space", "nasb"}), Contains("nasbench201"));
  EXPECT_THAT(offered({"train", "--data", "cif"}), Contains("cifar10"));
  EXPECT_THAT(offered({"genotype", "darts"}), Contains("darts-v2"));
  EXPECT_THAT(offered({"train", "--genotype", "darts"}), Contains("darts-v2"));
  EXPECT_THAT(offered({"search", "--update", "exp"}), Contains("exponentiated-gradient"));
}

// zsh and fish are not everywhere: where they are, they must read their scripts.
TEST_F(CompletionTest, OtherShellsReadTheirScripts) {
  for (const std::string shell : {"bash", "zsh", "fish"}) {
    const auto made = nascent({"completion", shell});
    EXPECT_EQ(made.exit_code, 0) << made.err;
    EXPECT_THAT(made.out, HasSubstr("search"));
    EXPECT_THAT(made.out, HasSubstr("darts-v2"));
    write_file(path(shell), made.out);
    const auto read = run_program({shell, "-n", path(shell)}, "");
    if (!read) continue;
    EXPECT_EQ(read->exit_code, 0) << shell << ": " << read->err;
  }
  const auto unknown = nascent({"completion", "fihs"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("'fish'"));
}

TEST_F(CompletionTest, TheManualPageHasEveryVerb) {
  const auto page = nascent({"options", "--man"});
  EXPECT_EQ(page.exit_code, 0) << page.err;
  EXPECT_TRUE(page.out.starts_with(".TH NASCENT 1"));
  for (const std::string verb : {"search", "train", "eval", "score", "table", "completion"})
    EXPECT_THAT(page.out, HasSubstr(".SS nascent " + verb));
  EXPECT_THAT(page.out, HasSubstr("\\-\\-epochs"));
}

}  // namespace
}  // namespace nascent
