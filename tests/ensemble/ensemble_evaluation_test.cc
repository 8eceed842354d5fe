#include "nascent/ensemble/ensemble_evaluation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "errors.h"

namespace nascent {
namespace {

using testing::HasSubstr;

TEST(EnsembleEvaluation, RefusesWhatItWouldNotReadBeforeModelsAreLoaded) {
  EnsembleEvaluationOptions options;
  options.models = {"missing.nascent"};
  options.perplexity = 12;
  const auto refusal = [&] { return error_of([&] { evaluate_ensembles(options); }); };
  EXPECT_THAT(refusal(), HasSubstr("only --tsne reads it"));
  options.tsne = true;
  EXPECT_THAT(refusal(), HasSubstr("missing.nascent"));
}

}  // namespace
}  // namespace nascent
