// A supernet that a search has trained, as its run left it: the space, the data with its split, the shared weights.
#pragma once

#include <filesystem>
#include <memory>

#include "nascent/data/image_data.h"
#include "nascent/ensemble/fairness.h"
#include "nascent/search/one_shot/posterior.h"
#include "nascent/search/search_options.h"

namespace nascent {

// As the run of a search was asked for.
SearchOptions search_options_of(const std::filesystem::path& folder);
// The space that they name, without the operations that --exclude names.
std::shared_ptr<const Space> searched_space(const SearchOptions& options);

struct Supernet {
  SearchOptions options{};
  std::shared_ptr<const Space> space{};  // that its paths were drawn from
  std::shared_ptr<ImageData> data{};
  std::shared_ptr<Network> network{};
  State state{};  // of the run's last checkpoint

  // Held-out images: as they are, in order; and shuffled, to learn from.
  std::unique_ptr<Loader> judging() const;
  std::unique_ptr<Loader> learning(const std::string& purpose) const;
  std::unique_ptr<Loader> testing() const;
  // Training images, for batch norms.
  std::unique_ptr<Loader> training() const;
  int64_t steps() const;  // that it was trained for
};

// From the folder of a search (or of an ensemble search, which has it in a folder of its own). An Error where the run
// is not done, where its space is not `space` ("": any), or where it held out no images.
Supernet load_supernet(const std::filesystem::path& folder, const std::string& space = "");

// How often its candidates were trained; an Error where the relaxation samples nothing.
Fairness fairness_of(const Supernet& supernet);

}  // namespace nascent
