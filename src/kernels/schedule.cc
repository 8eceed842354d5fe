#include "nascent/kernels/schedule.h"

#include <algorithm>
#include <tuple>

namespace nascent::kernels {

namespace {

std::vector<Read> reads_of(const CellProgram& program, const Step& step) {
  if (!step.is_mix) return {program.units[step.index].input};
  std::vector<Read> reads;
  const Mix& mix = program.mixes[step.index];
  for (const Term& term : mix.terms) reads.push_back(term.read);
  for (const Term& term : mix.bypass) reads.push_back(term.read);
  return reads;
}

int output_of(const CellProgram& program, const Step& step) {
  return step.is_mix ? program.mixes[step.index].output : program.units[step.index].output;
}

bool is_plain(const CellProgram& program, const Step& step) {
  return !step.is_mix && program.units[step.index].kind == Unit::Kind::plain;
}

template <class Part>
std::vector<Part>& wave_at(Waves<Part>& waves, int depth) {
  if (depth >= static_cast<int>(waves.size())) waves.resize(depth + 1);
  return waves[depth];
}

struct Placed {
  Step step;
  int depth;  // in its phase
  int value;  // that a unit reads: units that share a padded input follow each other
};

// Values with the place in `steps` of what makes them; inputs come first.
std::vector<int> order_of_values(const CellProgram& program) {
  std::vector<int> order(program.values.size(), -1);
  for (size_t i = 0; i < program.steps.size(); ++i) order[output_of(program, program.steps[i])] = static_cast<int>(i);
  return order;
}

}  // namespace

ForwardSchedule schedule_forward(const CellProgram& program, bool batch_statistics) {
  ForwardSchedule schedule;
  schedule.phase.assign(program.values.size(), 0);
  schedule.last.assign(program.values.size(), 0);
  std::vector<int> depth(program.values.size(), 0);
  std::vector<std::vector<Placed>> placed;
  std::vector<bool> plain(program.values.size(), false);  // made by plain units
  const auto barrier = [&](const Read& read) { return (read.norm >= 0 && batch_statistics) || plain[read.value]; };
  for (const Step& step : program.steps) {
    int phase = 0, level = 0;
    const std::vector<Read> reads = reads_of(program, step);
    for (const Read& read : reads) phase = std::max(phase, schedule.phase[read.value] + (barrier(read) ? 1 : 0));
    for (const Read& read : reads) {
      if (schedule.phase[read.value] == phase) level = std::max(level, depth[read.value] + 1);
      schedule.last[read.value] = std::max(schedule.last[read.value], phase);
    }
    const int output = output_of(program, step);
    schedule.phase[output] = schedule.last[output] = phase;
    depth[output] = level;
    if (phase >= static_cast<int>(placed.size())) {
      placed.resize(phase + 1);
      schedule.plain.resize(phase + 1);
    }
    if (is_plain(program, step)) {
      plain[output] = true;
      schedule.plain[phase].push_back(step.index);
      continue;
    }
    placed[phase].push_back({step, level, step.is_mix ? -1 : program.units[step.index].input.value});
  }
  for (std::vector<Placed>& phase : placed) {
    std::stable_sort(phase.begin(), phase.end(), [](const Placed& a, const Placed& b) {
      return std::tie(a.depth, a.value) < std::tie(b.depth, b.value);
    });
    schedule.phases.emplace_back();
    schedule.waves.emplace_back();
    for (const Placed& item : phase) {
      schedule.phases.back().push_back(item.step);
      wave_at(schedule.waves.back(), item.depth).push_back(item.step);
    }
  }
  return schedule;
}

std::vector<bool> remade_values(const CellProgram& program, const std::vector<std::vector<Reader>>& readers) {
  std::vector<bool> remade(program.values.size(), false), between(program.values.size(), false);
  const auto normalised = [&](const Reader& reader) { return !reader.is_mix && read_of(program, reader).norm >= 0; };
  const auto mixed = [](const Reader& reader) { return reader.is_mix; };
  const auto plain = [&](const Reader& reader) {
    return !reader.is_mix && program.units[reader.index].kind == Unit::Kind::plain;
  };
  for (const Step& step : program.steps) {
    if (step.is_mix) {
      const Mix& mix = program.mixes[step.index];
      const std::vector<Reader>& by = readers[mix.output];
      const bool is_output = std::count(program.outputs.begin(), program.outputs.end(), mix.output) > 0;
      // A plain unit keeps what it reads.
      remade[mix.output] =
          mix.terms.size() == 1 && mix.bypass.empty() && !is_output && std::none_of(by.begin(), by.end(), plain);
      continue;
    }
    const Unit& unit = program.units[step.index];
    const std::vector<Reader>& by = readers[unit.output];
    const bool separable = unit.kind == Unit::Kind::convolution && !unit.depthwise.empty() &&
                           is_cheap(unit.depthwise.size(), unit.input.channels);
    // One between two others is not made from one that is made again.
    between[unit.output] =
        separable && !between[unit.input.value] && !by.empty() && std::all_of(by.begin(), by.end(), normalised);
    const bool pool = unit.is_pool() && !by.empty() && std::all_of(by.begin(), by.end(), mixed);
    remade[unit.output] = between[unit.output] || pool;
  }
  return remade;
}

std::vector<bool> values_behind_input_gradients(const CellProgram& program,
                                                const std::vector<std::vector<Reader>>& readers) {
  std::vector<bool> behind(program.values.size(), false);
  const auto reads_numbers = [&](const Reader& reader) {
    if (read_of(program, reader).relu) return true;
    if (reader.is_mix) return false;
    const Unit::Kind kind = program.units[reader.index].kind;
    return kind == Unit::Kind::max_pool || kind == Unit::Kind::plain;
  };
  for (size_t v = 0; v < readers.size(); ++v)
    behind[v] = std::any_of(readers[v].begin(), readers[v].end(), reads_numbers);
  for (const Unit& unit : program.units) {
    if (unit.kind == Unit::Kind::max_pool) behind[unit.output] = true;
  }
  return behind;
}

namespace {

// From the last step to the first: what is made from a value reads it too.
void schedule_remade(const CellProgram& program, const std::vector<std::vector<Reader>>& readers,
                     const std::vector<bool>& remade, BackwardSchedule& schedule) {
  schedule.again.resize(schedule.phases.size());
  schedule.needed.resize(program.values.size());
  for (auto step = program.steps.rbegin(); step != program.steps.rend(); ++step) {
    const int value = output_of(program, *step);
    if (!remade[value]) continue;
    BackwardSchedule::Span span{.first = static_cast<int>(schedule.phases.size()), .last = -1};
    const auto read_in = [&](int phase) {
      if (phase < 0) return;
      span.first = std::min(span.first, phase);
      span.last = std::max(span.last, phase);
    };
    read_in(schedule.phase[value]);
    for (const Reader& reader : readers[value]) {
      const int made = reader.is_mix ? program.mixes[reader.index].output : program.units[reader.index].output;
      if (reader.is_mix) read_in(schedule.phase[made]);
      if (remade[made] && schedule.needed[made].last >= 0) read_in(schedule.needed[made].first);
    }
    if (span.last < 0) continue;
    if (!step->is_mix) read_in(schedule.phase[program.units[step->index].input.value]);
    schedule.needed[value] = span;
    if (step->is_mix || program.units[step->index].is_pool())
      schedule.again[span.first].insert(schedule.again[span.first].begin(), *step);
  }
}

}  // namespace

BackwardSchedule schedule_backward(const CellProgram& program, const std::vector<std::vector<Reader>>& readers,
                                   const std::vector<bool>& visit, const std::vector<bool>& remade,
                                   bool batch_statistics) {
  BackwardSchedule schedule;
  schedule.phase.assign(program.values.size(), -1);
  std::vector<int>& phase = schedule.phase;
  const auto barrier = [&](const Read& read) { return read.norm >= 0 && batch_statistics ? 1 : 0; };
  const auto term_of = [&](const Reader& reader) -> const Term& {
    const Mix& mix = program.mixes[reader.index];
    return reader.is_bypass ? mix.bypass[reader.term] : mix.terms[reader.term];
  };
  // The phase in which the gradient of what a unit made is known, or that of what a plain unit reads.
  const auto ready = [&](const Unit& unit) {
    const int value = unit.output;
    if (unit.kind == Unit::Kind::plain) return phase[value] + 1;
    int at = 0;
    for (const Reader& reader : readers[value]) {
      if (reader.is_mix) {
        at = std::max(at, phase[program.mixes[reader.index].output] + barrier(term_of(reader).read));
      } else {
        at = std::max(at, phase[value] + barrier(program.units[reader.index].input));
      }
    }
    return at;
  };
  const std::vector<int> order = order_of_values(program);
  std::vector<int> values;
  for (size_t v = 0; v < program.values.size(); ++v) {
    if (visit[v]) values.push_back(static_cast<int>(v));
  }
  std::stable_sort(values.begin(), values.end(), [&](int a, int b) { return order[a] > order[b]; });
  for (const int value : values) {
    phase[value] = 0;
    for (const Reader& reader : readers[value]) {
      phase[value] = std::max(
          phase[value], reader.is_mix ? phase[program.mixes[reader.index].output] : ready(program.units[reader.index]));
    }
  }
  const auto barrier_behind = [&](int value) {
    for (const Reader& reader : readers[value]) {
      if (!reader.is_mix) return barrier(program.units[reader.index].input);
    }
    return 0;
  };
  // Gradients between two units are kept from one to the other, so the later the better.
  for (auto value = values.rbegin(); value != values.rend(); ++value) {
    if (order[*value] < 0 || program.steps[order[*value]].is_mix) continue;
    const Unit& maker = program.units[program.steps[order[*value]].index];
    if (phase[maker.input.value] < 0) continue;
    phase[*value] = phase[maker.input.value] - (maker.kind == Unit::Kind::plain ? 1 : barrier_behind(*value));
  }
  // Behind what reads the value itself, or reads what a unit makes of it, in the same phase.
  std::vector<int> depth(program.values.size(), 0);
  for (const int value : values) {
    const auto follow = [&](int other) {
      if (phase[other] == phase[value]) depth[value] = std::max(depth[value], depth[other] + 1);
    };
    for (const Reader& reader : readers[value]) {
      if (reader.is_mix) {
        follow(program.mixes[reader.index].output);
        continue;
      }
      const int made = program.units[reader.index].output;
      follow(made);
      for (const Reader& next : readers[made]) {
        if (next.is_mix) follow(program.mixes[next.index].output);
      }
    }
    if (phase[value] >= static_cast<int>(schedule.phases.size())) {
      schedule.phases.resize(phase[value] + 1);
      schedule.waves.resize(phase[value] + 1);
    }
    schedule.phases[phase[value]].push_back(value);
    wave_at(schedule.waves[phase[value]], depth[value]).push_back(value);
  }
  schedule_remade(program, readers, remade, schedule);
  return schedule;
}

}  // namespace nascent::kernels
