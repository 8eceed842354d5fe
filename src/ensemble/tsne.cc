#include "nascent/ensemble/tsne.h"

#include <algorithm>
#include <cmath>

#include "nascent/core/random.h"

namespace nascent {
namespace {

using Matrix = std::vector<std::vector<double>>;

constexpr int kExaggerated = 250;  // iterations at the start in which neighbours attract more
constexpr double kExaggeration = 12;

Matrix squared_distances(const Matrix& rows) {
  Matrix distances(rows.size(), std::vector<double>(rows.size()));
  for (size_t i = 0; i < rows.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      double sum = 0;
      for (size_t d = 0; d < rows[i].size(); ++d) sum += (rows[i][d] - rows[j][d]) * (rows[i][d] - rows[j][d]);
      distances[i][j] = distances[j][i] = sum;
    }
  }
  return distances;
}

// Neighbour probabilities of point i at a precision, and their entropy.
double neighbours(const std::vector<double>& distances, size_t i, double precision, std::vector<double>& row) {
  double nearest = INFINITY;
  for (size_t j = 0; j < distances.size(); ++j) {
    if (j != i) nearest = std::min(nearest, distances[j]);
  }
  double sum = 0, weighted = 0;
  for (size_t j = 0; j < distances.size(); ++j) {
    row[j] = j == i ? 0 : std::exp(-precision * (distances[j] - nearest));
    sum += row[j];
    weighted += row[j] * (distances[j] - nearest);
  }
  for (double& p : row) p /= sum;
  return std::log(sum) + precision * weighted / sum;
}

// The precision at which the entropy is that of `perplexity` equal neighbours, by bisection.
void fit_neighbours(const std::vector<double>& distances, size_t i, double perplexity, std::vector<double>& row) {
  double low = 0, high = INFINITY, precision = 1;
  for (int step = 0; step < 100; ++step) {
    const double gap = neighbours(distances, i, precision, row) - std::log(perplexity);
    if (std::abs(gap) < 1e-6) return;
    (gap > 0 ? low : high) = precision;
    precision = std::isinf(high) ? precision * 2 : (low + high) / 2;
  }
}

Matrix joint_probabilities(const Matrix& rows, double perplexity) {
  const size_t n = rows.size();
  const Matrix distances = squared_distances(rows);
  Matrix conditional(n, std::vector<double>(n)), joint(n, std::vector<double>(n));
  for (size_t i = 0; i < n; ++i) fit_neighbours(distances[i], i, perplexity, conditional[i]);
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < n; ++j) {
      joint[i][j] = std::max((conditional[i][j] + conditional[j][i]) / (2 * static_cast<double>(n)), 1e-12);
    }
  }
  return joint;
}

class Layout {
 public:
  Layout(Matrix joint, const TsneOptions& options)
      : joint_(std::move(joint)), options_(options), points_(joint_.size()), speed_(joint_.size()) {
    for (size_t i = 0; i < points_.size(); ++i) {
      RandomStream random(options.seed, "t-sne", {i});
      points_[i] = {1e-4 * random.normal(), 1e-4 * random.normal()};
      gains_.push_back({1, 1});
    }
  }

  std::vector<PlanePoint> run() {
    for (int step = 0; step < options_.iterations; ++step) move(step);
    return points_;
  }

 private:
  std::vector<PlanePoint> gradient(double exaggeration) const {
    const size_t n = points_.size();
    Matrix near(n, std::vector<double>(n));
    double sum = 0;
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = 0; j < i; ++j) {
        const double dx = points_[i][0] - points_[j][0], dy = points_[i][1] - points_[j][1];
        near[i][j] = near[j][i] = 1 / (1 + dx * dx + dy * dy);
        sum += 2 * near[i][j];
      }
    }
    std::vector<PlanePoint> result(n);
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = 0; j < n; ++j) {
        if (j == i) continue;
        const double force = 4 * (exaggeration * joint_[i][j] - near[i][j] / sum) * near[i][j];
        for (size_t d = 0; d < 2; ++d) result[i][d] += force * (points_[i][d] - points_[j][d]);
      }
    }
    return result;
  }

  void move(int step) {
    const bool early = step < std::min(kExaggerated, options_.iterations / 4);
    const auto slope = gradient(early ? kExaggeration : 1);
    const double momentum = early ? 0.5 : 0.8;
    PlanePoint centre{};
    for (size_t i = 0; i < points_.size(); ++i) {
      for (size_t d = 0; d < 2; ++d) {
        // A coordinate that goes on in its direction speeds up, one that turns slows down (Jacobs 1988).
        const bool turns = (slope[i][d] > 0) == (speed_[i][d] > 0);
        gains_[i][d] = std::max(0.01, turns ? gains_[i][d] * 0.8 : gains_[i][d] + 0.2);
        speed_[i][d] = momentum * speed_[i][d] - options_.rate * gains_[i][d] * slope[i][d];
        points_[i][d] += speed_[i][d];
        centre[d] += points_[i][d] / static_cast<double>(points_.size());
      }
    }
    for (PlanePoint& point : points_) {
      for (size_t d = 0; d < 2; ++d) point[d] -= centre[d];
    }
  }

  Matrix joint_;
  TsneOptions options_;
  std::vector<PlanePoint> points_, speed_, gains_;
};

}  // namespace

std::vector<PlanePoint> tsne(const std::vector<std::vector<double>>& rows, const TsneOptions& options) {
  if (rows.size() < 3) {
    std::vector<PlanePoint> line;
    for (size_t i = 0; i < rows.size(); ++i) line.push_back({static_cast<double>(i), 0});
    return line;
  }
  const double most = std::max(1.0, (static_cast<double>(rows.size()) - 1) / 3);
  TsneOptions usable = options;
  usable.perplexity = std::min(options.perplexity, most);
  // Few points take large steps apart: their rate falls with their number.
  usable.rate = std::min(options.rate, std::max(10.0, static_cast<double>(rows.size())));
  return Layout(joint_probabilities(rows, usable.perplexity), usable).run();
}

}  // namespace nascent
