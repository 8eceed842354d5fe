// What a pass can do more simply where norms are constants and no gradients of parameters are wanted.
#include <algorithm>

#include "nascent/kernels/cell_run.h"

namespace nascent::kernels {

const CellRun::NormCoefficients* CellRun::norm_of(const Read& read) const {
  if (read.norm < 0) return nullptr;
  const int maker = maker_[read.value];
  return maker >= 0 && ends_[maker].norm == read.norm ? nullptr : &norms_[read.norm];
}

bool CellRun::ends_in_product(int unit) const {
  return program_->units[unit].kind == Unit::Kind::convolution && !program_->units[unit].dense.empty() &&
         !packing_.unit(unit).winograd;
}

// A norm is then known beforehand. Where everybody reads a value through the same norm, the norm becomes part
// of the weights that make the value.
void CellRun::plan_ends() {
  const int units = static_cast<int>(program_->units.size());
  ends_.resize(units);
  for (int u = 0; u < units; ++u) ends_[u].value = program_->units[u].output;
  for (const Mix& mix : program_->mixes) terms_left_.push_back(mix.terms);
  if (!folds_) return;
  const auto readers = readers_of(*program_);
  for (int u = 0; u < units; ++u) {
    const std::vector<Reader>& mine = readers[program_->units[u].output];
    if (!ends_in_product(u) || mine.empty()) continue;
    const int norm = read_of(*program_, mine[0]).norm;
    const auto same = [&](const Reader& reader) { return read_of(*program_, reader).norm == norm; };
    if (norm < 0 || !std::all_of(mine.begin(), mine.end(), same)) continue;
    ends_[u].norm = norm;
    ends_[u].start = norms_[norm].shift;
  }
  if (schedule_.phases.size() == 1) plan_sums();
}

// A value that is only read by one state, as it is, is added to that state when it is made. The first one to do so
// begins with what all of them begin with.
void CellRun::plan_sums() {
  const auto readers = readers_of(*program_);
  std::vector<int> first(program_->mixes.size(), -1);
  for (const Step& step : schedule_.phases[0]) {
    if (step.is_mix || !ends_in_product(step.index)) continue;
    UnitEnd& end = ends_[step.index];
    const std::vector<Reader>& mine = readers[end.value];
    if (mine.size() != 1 || !mine[0].is_mix || mine[0].is_bypass) continue;
    const int index = mine[0].index;
    const Mix& mix = program_->mixes[index];
    const Term& term = mix.terms[mine[0].term];
    const bool whole = term.read.channels == program_->values[end.value].channels;
    if (mix.partial > 1 || !whole || term.weight >= 0 || term.read.relu || norm_of(term.read)) continue;
    auto& left = terms_left_[index];
    left.erase(std::find_if(left.begin(), left.end(), [&](const Term& other) { return other.read == term.read; }));
    end.value = mix.output;
    end.adds = first[index] >= 0;
    if (!end.adds) {
      first[index] = step.index;
      continue;
    }
    std::vector<float>& start = ends_[first[index]].start;
    start.resize(std::max(start.size(), end.start.size()), 0.0f);
    for (size_t c = 0; c < end.start.size(); ++c) start[c] += end.start[c];
  }
  for (size_t index = 0; index < first.size(); ++index) {
    auto& left = terms_left_[index];
    const int state = program_->mixes[index].output;
    if (first[index] >= 0 && !left.empty())
      left.insert(left.begin(), {.read = {.value = state, .channels = program_->values[state].channels}});
  }
}

}  // namespace nascent::kernels
