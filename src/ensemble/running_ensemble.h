// An ensemble that grows member by member from a pool, and what its loss would be with one more. Sums over the members
// are kept, so that a candidate costs one pass over the images however many members there are; and where probabilities
// are averaged, only those of the labels matter.
//
//   const SelectionPool pool(members, labels, Combination::probabilities);
//   RunningEnsemble ensemble(pool);
//   ensemble.add(3);
//   ensemble.loss_with(5);  // of members 3 and 5
#pragma once

#include <vector>

#include "nascent/ensemble/combination.h"

namespace nascent {

// Candidates, in the form that running sums need. Holds on to `members` and `labels`; tables are not copied, because
// 400 of 10 000 images and 10 classes take 160 MB.
class SelectionPool {
 public:
  SelectionPool(std::vector<const Probabilities*> members, const Labels& labels, Combination how);
  SelectionPool(const Members& members, const Labels& labels, Combination how);

  size_t size() const { return members_.size(); }
  int64_t images() const { return static_cast<int64_t>(labels_.size()); }
  const Probabilities& member(size_t index) const { return *members_[index]; }
  const Labels& labels() const { return labels_; }
  Combination how() const { return how_; }
  // The probability that a member gives each image's label.
  const std::vector<float>& truth(size_t member) const { return truth_[member]; }

 private:
  std::vector<const Probabilities*> members_;
  const Labels& labels_;
  Combination how_;
  std::vector<std::vector<float>> truth_;
};

class RunningEnsemble {
 public:
  explicit RunningEnsemble(const SelectionPool& pool);

  void add(size_t member);
  // Mean negative log-likelihood; of the ensemble as it is, and with one member more.
  double loss() const;
  double loss_with(size_t member) const;
  // In the order they were added; a member may be there several times.
  const std::vector<size_t>& members() const { return members_; }

 private:
  double loss_of_probabilities(const float* more, double count) const;
  double loss_of_logits(const Probabilities* more, double count) const;

  const SelectionPool* pool_;
  std::vector<size_t> members_;
  std::vector<float> sums_;  // of the labels' probabilities, or of all logits
};

}  // namespace nascent
