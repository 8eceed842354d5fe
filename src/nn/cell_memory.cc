#include "nascent/nn/cell_memory.h"

#include <algorithm>

#include "nascent/kernels/memory.h"
#include "nascent/kernels/packing.h"
#include "nascent/kernels/schedule.h"

namespace nascent {

namespace {

using kernels::BackwardSchedule;
using kernels::CellProgram;
using kernels::ForwardSchedule;
using kernels::Mix;
using kernels::Packing;
using kernels::Read;
using kernels::Reader;
using kernels::Resident;
using kernels::Term;
using kernels::Unit;

constexpr double kBytes = sizeof(float);

class CellBudget {
 public:
  CellBudget(const CellProgram& program, int float_inputs, int batch, int threads)
      : program_(program),
        float_inputs_(float_inputs),
        batch_(batch),
        threads_(threads),
        readers_(kernels::readers_of(program)),
        remade_(kernels::remade_values(program, readers_)),
        packing_(program, /*backward=*/true),
        maker_(program.values.size(), -1),
        mix_(program.values.size(), -1) {
    for (size_t u = 0; u < program.units.size(); ++u) maker_[program.units[u].output] = static_cast<int>(u);
    for (size_t m = 0; m < program.mixes.size(); ++m) mix_[program.mixes[m].output] = static_cast<int>(m);
  }

  CellMemory run() const {
    const double scratch = kBytes * threads_ * 8 * static_cast<double>(largest_image());  // of floats
    return {.kept = kBytes * static_cast<double>(kept()),
            .weights = kBytes * static_cast<double>(packing_.floats()),
            .forward = kBytes * static_cast<double>(passing()) + scratch,
            .backward = kBytes * static_cast<double>(gradients()) + scratch};
  }

 private:
  int channels(int value) const { return kernels::padded(program_.values[value].channels); }
  size_t numbers(int value) const { return program_.values[value].pixels() * channels(value); }
  // In floats that take the same memory.
  size_t image(int value) const { return kernels::floats_for(numbers(value), program_.precision); }
  bool is_made(size_t value) const { return value >= static_cast<size_t>(program_.inputs); }

  size_t largest_image() const {
    size_t most = 0;
    for (size_t v = 0; v < program_.values.size(); ++v) most = std::max(most, numbers(static_cast<int>(v)));
    return most;
  }

  // Inputs that cannot be read where they are, in whole vectors and as what they are stored as, are copied.
  bool is_imported(int value) const {
    if (value < float_inputs_ && program_.precision != kernels::Precision::single) return true;
    if (program_.values[value].channels != channels(value)) return true;
    return std::any_of(readers_[value].begin(), readers_[value].end(), [&](const Reader& reader) {
      const Read& read = kernels::read_of(program_, reader);
      return read.channels != kernels::padded(read.channels);
    });
  }

  size_t kept() const {
    size_t floats = 0;
    for (size_t v = 0; v < program_.values.size(); ++v) {
      const int value = static_cast<int>(v);
      if (is_made(v) ? !remade_[v] : is_imported(value)) floats += image(value) * batch_;
    }
    return floats;
  }

  size_t passing() const {
    const ForwardSchedule schedule = kernels::schedule_forward(program_, /*batch_statistics=*/true);
    std::vector<Resident> residents;
    for (size_t v = program_.inputs; v < program_.values.size(); ++v) {
      if (remade_[v]) residents.push_back({image(static_cast<int>(v)) * batch_, schedule.phase[v], schedule.last[v]});
    }
    return kernels::plan_memory(residents).floats;
  }

  // All values that a gradient passes through: inputs, states, and what lies between two units.
  std::vector<bool> visited() const {
    std::vector<bool> visit(program_.values.size(), false);
    for (size_t v = 0; v < visit.size(); ++v) {
      const bool read_by_unit =
          std::any_of(readers_[v].begin(), readers_[v].end(), [](const Reader& reader) { return !reader.is_mix; });
      const bool plain = maker_[v] >= 0 && program_.units[maker_[v]].kind == Unit::Kind::plain;
      visit[v] = !is_made(v) || mix_[v] >= 0 || plain || read_by_unit;
    }
    return visit;
  }

  // Gradients of states live until what they were computed from has been visited; what was not kept is made again.
  size_t gradients() const {
    const BackwardSchedule schedule =
        kernels::schedule_backward(program_, readers_, visited(), remade_, /*batch_statistics=*/true);
    const auto phase = [&](int value) { return std::max(schedule.phase[value], 0); };
    const auto maker_phase = [&](int value) {
      return maker_[value] < 0 ? phase(value) : phase(program_.units[maker_[value]].input.value);
    };
    std::vector<Resident> residents;
    for (size_t v = program_.inputs; v < program_.values.size(); ++v) {
      const int value = static_cast<int>(v);
      int last = std::max(phase(value), maker_phase(value));
      if (mix_[v] >= 0) {
        const Mix& mix = program_.mixes[mix_[v]];
        for (const auto* terms : {&mix.terms, &mix.bypass}) {
          for (const Term& term : *terms) last = std::max({last, phase(term.read.value), maker_phase(term.read.value)});
        }
      }
      if (schedule.phase[v] >= 0) residents.push_back({image(value) * batch_, phase(value), last});
      if (const auto& [first, end] = schedule.needed[v]; end >= 0)
        residents.push_back({image(value) * batch_, first, end});
    }
    const int groups = std::min(batch_, 4 * threads_);
    return kernels::plan_memory(residents).floats + packing_.gradient_floats() * groups;
  }

  const CellProgram& program_;
  int float_inputs_, batch_, threads_;
  std::vector<std::vector<Reader>> readers_;
  std::vector<bool> remade_;
  Packing packing_;
  std::vector<int> maker_, mix_;  // per value: the unit or mixture that makes it, -1: none
};

}  // namespace

CellMemory cell_memory(const kernels::CellProgram& program, int float_inputs, int batch, int threads) {
  return CellBudget(program, float_inputs, batch, threads).run();
}

}  // namespace nascent
