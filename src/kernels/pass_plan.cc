#include "nascent/kernels/pass_plan.h"

#include <algorithm>

namespace nascent::kernels {

namespace {

Halo wider(const Halo& a, const Halo& b) { return {std::max(a.h, b.h), std::max(a.w, b.w)}; }

// Units that read the same thing share its padded copy, so it needs the widest halo of them. Inputs of one shape have
// the same halo if they have any, so that its zeros stay where they are.
std::vector<Halo> shared_halos(const CellProgram& program) {
  std::vector<Halo> own;
  for (const Unit& unit : program.units) own.push_back(halo_of(program, unit));
  const auto shape = [&](const Unit& unit) {
    const ValueShape& value = program.values[unit.input.value];
    return ValueShape{unit.input.channels, value.height, value.width};
  };
  const auto widest = [&](const std::vector<Halo>& halos, const auto& alike) {
    std::vector<Halo> shared = halos;
    for (size_t i = 0; i < halos.size(); ++i) {
      for (size_t j = 0; j < halos.size(); ++j) {
        if (alike(i, j)) shared[i] = wider(shared[i], halos[j]);
      }
    }
    return shared;
  };
  const auto same_input = [&](size_t i, size_t j) { return program.units[i].input == program.units[j].input; };
  const std::vector<Halo> shared = widest(own, same_input);
  return widest(shared, [&](size_t i, size_t j) {
    return shared[i] != Halo{} && shape(program.units[i]) == shape(program.units[j]);
  });
}

}  // namespace

PassPlan::PassPlan(std::shared_ptr<const CellProgram> of, const PassKind& kind)
    : program(std::move(of)),
      kind(kind),
      readers(readers_of(*program)),
      schedule(schedule_forward(*program, kind.training)),
      packing(*program, kind.keep),
      halos(shared_halos(*program)),
      normalised(program->values.size(), false),
      folds(!kind.training && (!kind.keep || kind.inputs_only)),
      kept(program->values.size(), false),
      maker(program->values.size(), -1),
      mix_of(maker),
      plain_of(maker) {
  for (const Norm& norm : program->norms) normalised[norm.value] = true;
  for (size_t m = 0; m < program->mixes.size(); ++m) mix_of[program->mixes[m].output] = static_cast<int>(m);
  for (size_t u = 0; u < program->units.size(); ++u) {
    const Unit& unit = program->units[u];
    maker[unit.output] = static_cast<int>(u);
    if (unit.kind == Unit::Kind::plain) plain_of[unit.output] = static_cast<int>(u);
  }
  for (size_t v = 0; v < program->values.size(); ++v) {
    apart.push_back(is_apart(static_cast<int>(v)));
    lone.push_back(is_lone(static_cast<int>(v)));
  }
  if (kind.keep) plan_keeping();
}

void PassPlan::plan_keeping() {
  remade = remade_values(*program, readers);
  if (!folds) {
    for (size_t v = 0; v < kept.size(); ++v) kept[v] = !remade[v];
    return;
  }
  // So little is kept that only pools are worth making again.
  const std::vector<bool> behind = values_behind_input_gradients(*program, readers);
  for (size_t v = 0; v < kept.size(); ++v) {
    const bool max_pool = maker[v] >= 0 && program->units[maker[v]].kind == Unit::Kind::max_pool;
    remade[v] = remade[v] && max_pool;
    kept[v] = behind[v] && !remade[v];
  }
}

bool PassPlan::is_apart(int value) const {
  const int channels = padded(program->values[value].channels);
  return std::any_of(readers[value].begin(), readers[value].end(), [&](const Reader& reader) {
    const Read& read = read_of(*program, reader);
    return read.first + padded(read.channels) > channels;
  });
}

bool PassPlan::is_lone(int value) const {
  const std::vector<Reader>& by = readers[value];
  if (by.empty() || std::count(program->outputs.begin(), program->outputs.end(), value) > 0) return false;
  const Read& read = read_of(*program, by.front());
  if (read.first != 0 || padded(read.channels) != padded(program->values[value].channels)) return false;
  return std::all_of(by.begin(), by.end(), [&](const Reader& reader) {
    return !reader.is_mix && program->units[reader.index].kind == Unit::Kind::convolution &&
           program->units[reader.index].input == read;
  });
}

const BackwardSchedule& PassPlan::backward(const std::vector<bool>& visit) const {
  return backward_.of(visit, [&] { return schedule_backward(*program, readers, visit, remade, kind.training); });
}

std::shared_ptr<const PassPlan> PassPlans::of(const PassKind& kind) {
  const std::lock_guard lock(mutex_);
  for (const auto& plan : plans_) {
    if (plan->kind == kind) return plan;
  }
  return plans_.emplace_back(std::make_shared<const PassPlan>(program_, kind));
}

}  // namespace nascent::kernels
