// Does what is asked of a search for an ensemble go together, and is none of it ignored? As
// search/one_shot/method_check.h does for searches by weight sharing: a method says in its facts which options it
// reads, and an option that nothing reads may not differ from its default.
#pragma once

#include <filesystem>

#include "nascent/ensemble/ensemble_options.h"
#include "nascent/ensemble/supernet.h"

namespace nascent {

// Of options as they were given. An Error names the option that cannot be honoured, and says why.
void check_ensemble_options(const EnsembleOptions& options);

// Whether so many different architectures can be drawn, and the members selected from them as asked.
void check_pool(const EnsembleOptions& options, const Space& space);

// Whether a supernet of another run is what is asked for: it is used as it is, with its images.
void check_given_supernet(const EnsembleOptions& options, const Supernet& supernet);

// Whether there are as many images as are asked for, held out and for tests.
void check_images(int64_t judge_images, int64_t test_images, const ImageData& data);

}  // namespace nascent
