// Andriushchenko et al. 2020: random squares that are kept where they help. Asks for answers only, so it also fools
// what hides its gradients.
#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "nascent/attack/attack.h"
#include "nascent/attack/objective.h"
#include "nascent/attack/random_start.h"

namespace nascent {
namespace {

// The share of the pixels that a window covers halves after so many of 10000 queries.
constexpr std::array kHalvings = {10, 50, 200, 500, 1000, 2000, 4000, 6000, 8000};

double window_share(double first, int query, int queries) {
  const auto place = static_cast<int>(10000.0 * query / queries);
  const auto halvings = std::count_if(kHalvings.begin(), kHalvings.end(), [&](int after) { return place > after; });
  return first / std::pow(2, static_cast<double>(halvings));
}

struct Geometry {
  int channels, height, width;
  int64_t plane() const { return int64_t{height} * width; }
  int64_t count() const { return channels * plane(); }
};

struct Window {
  int top, left, side;
};

Window draw_window(RandomStream& random, const Geometry& geometry, int side) {
  const int top = static_cast<int>(random.below(geometry.height - side + 1));
  return {top, static_cast<int>(random.below(geometry.width - side + 1)), side};
}

float random_sign(RandomStream& random) { return (random() & 1) != 0 ? 1.0f : -1.0f; }

template <class Action>
void for_pixels(const Geometry& geometry, int channel, const Window& window, Action action) {
  for (int y = 0; y < window.side; ++y) {
    for (int x = 0; x < window.side; ++x) {
      action(channel * geometry.plane() + int64_t{window.top + y} * geometry.width + window.left + x, y, x);
    }
  }
}

// ---- L-infinity: every change is a square of plus or minus eps, a sign per channel.

void start_linf(RandomStream& random, const Geometry& geometry, float eps, float* step) {
  for (int c = 0; c < geometry.channels; ++c) {
    for (int x = 0; x < geometry.width; ++x) {
      const float value = eps * random_sign(random);
      for (int y = 0; y < geometry.height; ++y) step[c * geometry.plane() + int64_t{y} * geometry.width + x] = value;
    }
  }
}

void change_linf(RandomStream& random, const Geometry& geometry, double share, float eps, float* step) {
  const int most = std::min(geometry.height, geometry.width);
  const int side = std::clamp(static_cast<int>(std::lround(std::sqrt(share * static_cast<double>(geometry.plane())))),
                              1, std::max(1, most - 1));
  const Window window = draw_window(random, geometry, side);
  for (int c = 0; c < geometry.channels; ++c) {
    const float value = eps * random_sign(random);
    for_pixels(geometry, c, window, [&](int64_t at, int, int) { step[at] = value; });
  }
}

// ---- L2: two hills of opposite sign side by side, which take over the length of another window.

// Higher the nearer to the middle: the sum of 1/(k+1)^2 from the distance to the middle on.
double hill(int y, int x, int height, int width) {
  const int away = std::max(std::abs(y - height / 2), std::abs(x - width / 2)), reach = std::max(height, width) / 2 + 1;
  double value = 0;
  for (int k = away; k < reach; ++k) value += 1.0 / ((k + 1.0) * (k + 1.0));
  return value;
}

// A window of length 1; turned on its side half of the time.
std::vector<double> draw_hills(RandomStream& random, int side) {
  std::vector<double> hills(static_cast<size_t>(side) * side);
  const int half = side / 2;
  const bool turned = random.uniform() < 0.5;
  double squares = 0;
  for (int y = 0; y < side; ++y) {
    for (int x = 0; x < side; ++x) {
      const double value = y < half ? hill(y, x, half, side) : -hill(y - half, x, side - half, side);
      hills[turned ? x * side + y : y * side + x] = value;
      squares += value * value;
    }
  }
  for (double& value : hills) value /= std::sqrt(squares);
  return hills;
}

double length_of(const float* step, int64_t count) {
  double squares = 0;
  for (int64_t i = 0; i < count; ++i) squares += double{step[i]} * step[i];
  return std::sqrt(squares);
}

void rescale(float* step, int64_t count, double length) {
  const double factor = length / std::max(length_of(step, count), 1e-12);
  for (int64_t i = 0; i < count; ++i) step[i] = static_cast<float>(step[i] * factor);
}

void start_l2(RandomStream& random, const Geometry& geometry, float eps, float* step) {
  std::fill(step, step + geometry.count(), 0.0f);
  const int side = std::max(1, std::min(geometry.height, geometry.width) / 5);
  // What does not fill a window is left free on both sides.
  for (int top = geometry.height % side / 2; top + side <= geometry.height; top += side) {
    for (int left = geometry.width % side / 2; left + side <= geometry.width; left += side) {
      const std::vector<double> hills = draw_hills(random, side);
      for (int c = 0; c < geometry.channels; ++c) {
        const float sign = random_sign(random);
        for_pixels(geometry, c, {top, left, side}, [&](int64_t at, int y, int x) {
          step[at] += sign * static_cast<float>(hills[static_cast<size_t>(y) * side + x]);
        });
      }
    }
  }
  rescale(step, geometry.count(), eps);
}

// One channel: a hill is laid over what is in the first window, which takes over the length that both windows had and a
// share of what is spare.
void change_channel(const Geometry& geometry, int channel, const Window& here, const Window& there,
                    const std::vector<double>& hills, double sign, double spare, float* step) {
  const auto square_at = [&](int64_t at) { return double{step[at]} * step[at]; };
  const auto overlaps = [&](int y, int x) {  // of the second window with the first
    return there.top + y >= here.top && there.top + y < here.top + here.side && there.left + x >= here.left &&
           there.left + x < here.left + here.side;
  };
  double own = 0, other = 0;
  for_pixels(geometry, channel, here, [&](int64_t at, int, int) { own += square_at(at); });
  for_pixels(geometry, channel, there, [&](int64_t at, int y, int x) { other += overlaps(y, x) ? 0 : square_at(at); });
  std::vector<double> fresh(hills.size());
  double squares = 0;
  for_pixels(geometry, channel, here, [&](int64_t at, int y, int x) {
    const size_t i = static_cast<size_t>(y) * here.side + x;
    fresh[i] = sign * hills[i] + step[at] / (std::sqrt(own) + 1e-12);
    squares += fresh[i] * fresh[i];
  });
  const double scale = std::sqrt((own + other + spare) / (squares + 1e-24));
  for_pixels(geometry, channel, there, [&](int64_t at, int, int) { step[at] = 0; });
  for_pixels(geometry, channel, here, [&](int64_t at, int y, int x) {
    step[at] = static_cast<float>(fresh[static_cast<size_t>(y) * here.side + x] * scale);
  });
}

void change_l2(RandomStream& random, const Geometry& geometry, double share, float eps, float* step) {
  const int most = std::min(geometry.height, geometry.width);
  int side = std::max(3, static_cast<int>(std::lround(std::sqrt(share * static_cast<double>(geometry.plane())))));
  side = std::min(side + (side % 2 == 0 ? 1 : 0), most);
  const Window here = draw_window(random, geometry, side), there = draw_window(random, geometry, side);
  const double length = length_of(step, geometry.count());
  const double spare = std::max(double{eps} * eps - length * length, 0.0);  // what the box has cut off
  const std::vector<double> hills = draw_hills(random, side);
  for (int c = 0; c < geometry.channels; ++c) {
    change_channel(geometry, c, here, there, hills, random_sign(random), spare / geometry.channels, step);
  }
  rescale(step, geometry.count(), eps);
}

class Square : public Attack {
 public:
  using Attack::Attack;

  Outcome run(const Victim& victim, const Attacked& attacked, const Threat& threat) const override {
    Remaining left(attacked, /*leave=*/true);  // an image that is fooled has nothing left to gain
    for (int restart = 0; restart < restarts() && !left.empty(); ++restart) climb(victim, threat, restart, left);
    return left.outcome();
  }

 private:
  // Tries of all images that are left, each from its own stream.
  struct Tries {
    std::vector<RandomStream> streams;
    at::Tensor best;  // steps, contiguous
    at::Tensor lead;  // what the victim's wrong answers lead by
  };

  void climb(const Victim& victim, const Threat& threat, int restart, Remaining& left) const {
    const at::Tensor& images = left.now().images;
    const Geometry geometry{static_cast<int>(images.size(1)), static_cast<int>(images.size(2)),
                            static_cast<int>(images.size(3))};
    Tries tries;
    for (const int64_t index : left.now().indices)
      tries.streams.push_back(image_stream(settings_.seed, "square", index, restart));
    tries.lead = at::full({left.now().size()}, -INFINITY);
    tries.best = at::zeros(images.sizes(), at::kFloat);
    for (int query = 0; query < settings_.queries; ++query) {
      const at::Tensor steps = propose(tries, geometry, threat, query);
      const at::Tensor x = threat.project(left.now().images + steps, left.now().images);
      const at::Tensor logits = victim.logits(x), lead = margin(left.now())(logits);
      const at::Tensor better = lead.gt(tries.lead);
      // What the box cuts off is not part of a step.
      tries.best = at::where(over_pixels(better), x - left.now().images, tries.best).contiguous();
      tries.lead = at::where(better, lead, tries.lead);
      if (const auto rows = left.leave(x, left.now().fooled(logits))) {
        if (left.empty()) return;
        keep(tries, *rows);
      }
    }
    const at::Tensor x = threat.project(left.now().images + tries.best, left.now().images);
    left.finish(x, at::zeros({left.now().size()}, at::kBool));
  }

  at::Tensor propose(Tries& tries, const Geometry& geometry, const Threat& threat, int query) const {
    at::Tensor steps = tries.best.clone();
    const double share = window_share(settings_.window, query, settings_.queries);
    const auto eps = static_cast<float>(threat.eps);
    for (size_t n = 0; n < tries.streams.size(); ++n) {
      float* step = steps.data_ptr<float>() + static_cast<int64_t>(n) * geometry.count();
      RandomStream& random = tries.streams[n];
      if (query == 0) {
        threat.norm == Norm::linf ? start_linf(random, geometry, eps, step) : start_l2(random, geometry, eps, step);
      } else if (threat.norm == Norm::linf) {
        change_linf(random, geometry, share, eps, step);
      } else {
        change_l2(random, geometry, share, eps, step);
      }
    }
    return steps;
  }

  static void keep(Tries& tries, const at::Tensor& rows) {
    std::vector<RandomStream> streams;
    for (int64_t i = 0; i < rows.numel(); ++i) streams.push_back(tries.streams[rows.data_ptr<int64_t>()[i]]);
    tries.streams = std::move(streams);
    tries.best = tries.best.index_select(0, rows).contiguous();
    tries.lead = tries.lead.index_select(0, rows);
  }
};

NASCENT_REGISTER(
    Attack, "square", "random squares, kept where they help; needs answers only (Andriushchenko et al. 2020)",
    [](const AttackSettings& settings) { return std::make_unique<Square>(settings); },
    AttackFacts{.gradients = false, .takes_target = true, .reads = {"queries", "window", "restarts"}});

}  // namespace
}  // namespace nascent
