// What attacks maximise: one value per image, larger where the victim is nearer to being wrong.
#pragma once

#include "nascent/attack/attacked.h"
#include "nascent/attack/victim.h"

namespace nascent {

// The loss of the images that are attacked now; those with aims are drawn towards them.
using Objective = Victim::Loss (*)(const Attacked& attacked);

Victim::Loss cross_entropy(const Attacked& attacked);
// Difference of logits ratio (Croce and Hein 2020): the margin over the distance between the first and the third logit,
// so that scaling the logits changes nothing; towards an aim, over the first less the mean of the third and fourth.
Victim::Loss logits_ratio(const Attacked& attacked);
// The best other logit less the label's, or the aim's less the best other's: positive where the image is fooled.
Victim::Loss margin(const Attacked& attacked);

// The `count` classes with the largest logits that are not the label, best first: [N, count].
at::Tensor best_other_classes(const at::Tensor& logits, const at::Tensor& labels, int64_t count);

// Logits of classes less the label's, and their gradients, as one batch of images times classes in portions.
struct ClassDifferences {
  at::Tensor values;     // [N, K]
  at::Tensor gradients;  // [N, K, C, H, W]
};
ClassDifferences class_differences(const Victim& victim, const at::Tensor& images, const at::Tensor& labels,
                                   const at::Tensor& classes);

}  // namespace nascent
