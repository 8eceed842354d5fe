#include "nascent/kernels/schedule.h"

#include <gtest/gtest.h>

#include "kernels/random_cell.h"

namespace nascent::kernels {
namespace {

// input -> conv -> norm, relu -> conv -> norm -> state; the input also goes straight into the state.
CellProgram chain() {
  CellProgram program;
  program.inputs = 1;
  program.parameters = {9, 9};
  const int input = program.add_value({1, 4, 4}), first = program.add_value({1, 4, 4}),
            second = program.add_value({1, 4, 4}), state = program.add_value({1, 4, 4});
  program.norms = {{.value = first}, {.value = second}};
  const Read whole{.value = input, .channels = 1};
  program.add(Unit{.input = whole, .output = first, .dense = {{}}, .dense_weight = 0});
  program.add(Unit{.input = {.value = first, .channels = 1, .norm = 0, .relu = true},
                   .output = second,
                   .dense = {{}},
                   .dense_weight = 1});
  program.add(Mix{.output = state, .terms = {{.read = {.value = second, .channels = 1, .norm = 1}}, {.read = whole}}});
  program.outputs = {state};
  return program;
}

TEST(Schedule, StatisticsOverTheBatchSeparatePhases) {
  const ForwardSchedule schedule = schedule_forward(chain(), true);
  ASSERT_EQ(schedule.phases.size(), 3u);
  EXPECT_FALSE(schedule.phases[0][0].is_mix);
  EXPECT_TRUE(schedule.phases[2][0].is_mix);
  EXPECT_EQ(schedule.last[0], 2);  // the input is read by the state
}

TEST(Schedule, RunningStatisticsNeedOnePhaseOnly) { EXPECT_EQ(schedule_forward(chain(), false).phases.size(), 1u); }

// What a step reads was made in an earlier wave, phase, or not at all.
TEST(Schedule, WavesWaitForWhatTheyRead) {
  for (const bool batch_statistics : {true, false}) {
    const CellProgram program = random_cell({.seed = 1, .channels = 8, .plain = false});
    const ForwardSchedule schedule = schedule_forward(program, batch_statistics);
    std::vector<bool> made(program.values.size(), false);
    for (int input = 0; input < program.inputs; ++input) made[input] = true;
    size_t steps = 0;
    bool several = false;
    for (const Waves<Step>& waves : schedule.waves) {
      for (const std::vector<Step>& wave : waves) {
        std::vector<int> results;
        for (const Step& step : wave) {
          ++steps;
          if (!step.is_mix) {
            EXPECT_TRUE(made[program.units[step.index].input.value]);
            results.push_back(program.units[step.index].output);
            continue;
          }
          for (const Term& term : program.mixes[step.index].terms) EXPECT_TRUE(made[term.read.value]);
          results.push_back(program.mixes[step.index].output);
        }
        several = several || wave.size() > 1;
        for (const int value : results) made[value] = true;
      }
    }
    EXPECT_EQ(steps, program.steps.size());
    EXPECT_TRUE(several);  // so there is something to divide
  }
}

TEST(Schedule, BackwardVisitsWhatReadsAValueFirst) {
  const CellProgram program = chain();
  const auto readers = readers_of(program);
  const BackwardSchedule schedule =
      schedule_backward(program, readers, {true, true, false, true}, std::vector<bool>(4), true);
  EXPECT_EQ(schedule.phase[3], 0);   // the state: its sums
  EXPECT_EQ(schedule.phase[1], 1);   // then the second convolution
  EXPECT_EQ(schedule.phase[2], -1);  // its result has no gradient of its own
  EXPECT_EQ(schedule.phase[0], 2);
}

// A state that is one value, on it three separable convolutions in a row, one with many taps, and two pools, of which
// one is read by a unit; all of them make up the output.
TEST(Schedule, WhatIsCheapToMakeIsMadeAgain) {
  CellProgram program;
  program.inputs = 1;
  program.parameters = {1, 1, 1};
  enum { input, state, first, second, third, large, behind_large, read_pool, pool, dense, output, count };
  for (int value = 0; value < count; ++value) program.add_value({1, 4, 4});
  program.norms = {{.value = first}, {.value = second}, {.value = third}, {.value = large}};
  const auto whole = [](int value, int norm = -1) { return Read{.value = value, .channels = 1, .norm = norm}; };
  const auto separable = [&](const Read& from, int to, size_t taps) {
    program.add(Unit{.input = from,
                     .output = to,
                     .depthwise = std::vector<TapAt>(taps),
                     .dense = {{}},
                     .depthwise_weight = 0,
                     .dense_weight = 1});
  };
  program.add(Mix{.output = state, .terms = {{.read = whole(input)}}});
  separable(whole(state), first, 9);
  separable(whole(first, 0), second, 9);
  separable(whole(second, 1), third, 9);
  separable(whole(state), large, 80);
  separable(whole(large, 3), behind_large, 9);
  program.add(Unit{.kind = Unit::Kind::avg_pool, .input = whole(state), .output = read_pool});
  program.add(Unit{.kind = Unit::Kind::max_pool, .input = whole(state), .output = pool});
  program.add(Unit{.input = whole(read_pool), .output = dense, .dense = {{}}, .dense_weight = 2});
  program.add(Mix{
      .output = output,
      .terms = {
          {.read = whole(third, 2)}, {.read = whole(behind_large)}, {.read = whole(pool)}, {.read = whole(dense)}}});
  program.outputs = {output};
  const auto readers = readers_of(program);
  const std::vector<bool> remade = remade_values(program, readers);
  // Not the second convolution: what it is made from is not there.
  for (int value = 0; value < count; ++value)
    EXPECT_EQ(remade[value], value == state || value == first || value == pool) << value;

  std::vector<bool> visit(count, true);
  visit[third] = visit[behind_large] = visit[pool] = visit[dense] = false;
  const BackwardSchedule schedule = schedule_backward(program, readers, visit, remade, true);
  const auto span = [&](int value) { return std::pair(schedule.needed[value].first, schedule.needed[value].last); };
  // Phases: the output's sums, the second convolution's, the first one's, then the state.
  EXPECT_EQ(schedule.phase[state], 3);
  EXPECT_EQ(span(pool), std::pair(0, 3));   // from the sums to its gradient
  EXPECT_EQ(span(state), std::pair(0, 3));  // the pool is made of it
  EXPECT_EQ(span(first), std::pair(2, 3));
  EXPECT_EQ(span(second).second, -1);
  ASSERT_EQ(schedule.again[0].size(), 2u);
  EXPECT_TRUE(schedule.again[0][0].is_mix);  // before what is made of it
  for (const int phase : {1, 2, 3}) EXPECT_TRUE(schedule.again[phase].empty());
}

// input -> conv -> plain -> state, in both modes: what the plain unit reads is there for all images, and its result
// and its gradient for all images before anybody reads them.
TEST(Schedule, PlainUnitsSeparatePhases) {
  CellProgram program;
  program.inputs = 1;
  program.parameters = {1};
  for (int value = 0; value < 4; ++value) program.add_value({1, 4, 4});
  const auto whole = [](int value) { return Read{.value = value, .channels = 1}; };
  program.add(Unit{.input = whole(0), .output = 1, .dense = {{}}, .dense_weight = 0});
  program.add(Unit{.kind = Unit::Kind::plain, .input = whole(1), .output = 2, .plain = 0});
  program.add(Mix{.output = 3, .terms = {{.read = whole(2)}, {.read = whole(1)}}});
  program.outputs = {3};
  for (const bool batch_statistics : {true, false}) {
    const ForwardSchedule forward = schedule_forward(program, batch_statistics);
    ASSERT_EQ(forward.phases.size(), 2u);
    EXPECT_EQ(forward.phases[0].size(), 1u);
    EXPECT_EQ(forward.plain, (std::vector<std::vector<int>>{{1}, {}}));
    EXPECT_EQ(forward.last[1], 1);
    const BackwardSchedule backward = schedule_backward(program, readers_of(program), {true, true, true, true},
                                                        std::vector<bool>(4), batch_statistics);
    EXPECT_EQ(backward.phase, (std::vector<int>{1, 1, 0, 0}));
  }
}

TEST(Schedule, PlainUnitsReadValuesAsTheyAre) {
  CellProgram program = chain();
  program.units[1].kind = Unit::Kind::plain;
  EXPECT_THROW(readers_of(program), std::logic_error);
}

TEST(Schedule, AValueReadNormalisedHasNoOtherReaders) {
  CellProgram program = chain();
  program.mixes[0].terms.push_back({.read = {.value = 1, .channels = 1}});
  EXPECT_THROW(readers_of(program), std::logic_error);
}

TEST(Schedule, AValueReadNormalisedIsReadWhole) {
  CellProgram program = chain();
  EXPECT_NO_THROW(readers_of(program));
  program.values[1].channels = 2;
  EXPECT_THROW(readers_of(program), std::logic_error);
}

TEST(CellProgram, HaloCoversTheTapsAtTheLastPixel) {
  CellProgram program;
  program.inputs = 1;
  program.add_value({1, 5, 4});
  program.add_value({1, 3, 2});
  const Unit reduce{
      .input = {.value = 0, .channels = 1}, .output = 1, .dense = {{0, 0}, {1, 1}}, .stride_h = 2, .stride_w = 2};
  const Halo halo = halo_of(program, reduce);
  EXPECT_EQ(halo.h, 1);  // row 5 of rows 0 to 4
  EXPECT_EQ(halo.w, 0);
}

}  // namespace
}  // namespace nascent::kernels
