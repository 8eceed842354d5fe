// Adversarial images to look at and to go on with.
#pragma once

#include <filesystem>

#include "nascent/attack/campaign.h"

namespace nascent {

// Writes into a run's folder:
//   adversarial.nascent    a State: `clean`, `labels`, `indices`, and the kept images of each attack
//   adversarial/N.png      image N of the data set: clean, its change times 10 on grey, adversarial
//   adversarial/grid.png   all of these, larger
// The pictures are of images that the strongest attack on the whole victim fooled.
void write_gallery(const Campaign& campaign, int pictures, const std::filesystem::path& folder);

}  // namespace nascent
