#include "attack/samples.h"
#include "nascent/attack/fab.h"

namespace nascent {
namespace {

double value_at(const at::Tensor& normal, const at::Tensor& x) { return (normal * x).sum().item<double>(); }

TEST(StepToPlane, LandsOnThePlaneByTheShortestWayWithinTheBox) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const at::Tensor image = samples::uniform({1, 3, 2, 2}, 0, 1, seed);
    const at::Tensor normal = samples::uniform({1, 3, 2, 2}, -1, 1, seed + 100);
    for (const Norm norm : {Norm::linf, Norm::l2}) {
      for (const double gap : {0.3, -0.3}) {
        const Threat threat{norm};
        const at::Tensor step = step_to_plane(image, normal, at::tensor({gap}), threat);
        EXPECT_NEAR(value_at(normal, step), -gap, 1e-5);
        const at::Tensor moved = image + step;
        EXPECT_GE(moved.min().item<double>(), -1e-6);
        EXPECT_LE(moved.max().item<double>(), 1 + 1e-6);
        // No possible image as near as 0.99 of this lies beyond the plane: tried at random, towards it.
        const double length = lengths(step, norm).item<double>();
        for (int i = 0; i < 200; ++i) {
          const at::Tensor other = step + samples::uniform({1, 3, 2, 2}, -0.3, 0.3, seed * 1000 + i);
          const at::Tensor inside = threat.inside(image + other) - image;
          const double near = lengths(inside, norm).item<double>();
          if (near > 0.99 * length) continue;
          EXPECT_LT(value_at(normal, inside) * (gap > 0 ? -1 : 1), std::abs(gap) + 1e-6);
        }
      }
    }
  }
}

TEST(StepToPlane, BoundsAreSharedByPixelsThatCanStillMove) {
  // Slopes 1 and 2; the first pixel can fall by 0.1 only.
  const at::Tensor image = at::tensor({0.1f, 0.5f}).view({1, 1, 1, 2}),
                   normal = at::tensor({1.0f, 2.0f}).view({1, 1, 1, 2});
  const at::Tensor linf = step_to_plane(image, normal, at::tensor({0.6}), {Norm::linf});
  EXPECT_NEAR(linf[0][0][0][0].item<double>(), -0.1, 1e-6);
  EXPECT_NEAR(linf[0][0][0][1].item<double>(), -0.25, 1e-6);
  const at::Tensor l2 = step_to_plane(image, normal, at::tensor({0.25}), {Norm::l2});
  EXPECT_NEAR(l2[0][0][0][0].item<double>(), -0.05, 1e-6);
  EXPECT_NEAR(l2[0][0][0][1].item<double>(), -0.1, 1e-6);
}

TEST(StepToPlane, OutOfReachItGoesToTheCorner) {
  const at::Tensor image = at::full({1, 1, 1, 2}, 0.5), normal = at::tensor({1.0f, -1.0f}).view({1, 1, 1, 2});
  for (const Norm norm : {Norm::linf, Norm::l2}) {
    const at::Tensor moved = image + step_to_plane(image, normal, at::tensor({9.0}), {norm});
    EXPECT_FLOAT_EQ(moved[0][0][0][0].item<float>(), 0);
    EXPECT_FLOAT_EQ(moved[0][0][0][1].item<float>(), 1);
  }
}

}  // namespace
}  // namespace nascent
