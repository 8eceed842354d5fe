#include "nascent/data/data_options.h"

#include "nascent/data/dataset.h"
#include "nascent/data/transform.h"

namespace nascent {

void DataOptions::declare(OptionTable& table) {
  const std::string transforms = join(Transform::Registry::instance().names(), ", ");
  auto section = table.section("data", "The images, their split and their transforms.");
  section.add("name", name, "data set").one_of(Dataset::Registry::instance().names()).flag("data");
  section.add("path", path, "folder of the data set (default: the usual places, then $NASCENT_DATA)");
  section.add("valid-fraction", valid_fraction, "part of the training images set aside for validation").range(0, 0.999);
  section.add("split-file", split_file,
              "file with the indices to train on, one per line; the others validate; overrides valid-fraction");
  section.add("limit", limit, "use only so many training images, chosen by the seed (0: all)").at_least(0);
  section.add("limit-test", limit_test, "use only so many test images, chosen by the seed (0: all)").at_least(0);
  section.add("batch", batch, "images per batch").range(1, 65536);
  section.add("workers", workers, "threads that prepare batches; does not change them").range(1, 256);
  section.add("random-labels", random_labels, "replace every label by a random one");
  section.add(
      "train-transforms", train_transforms,
      "applied in training, such as [\"pad-crop 4\", \"flip\"] (empty: the data set's usual ones); of " + transforms);
  section.add("eval-transforms", eval_transforms, "applied in evaluation (empty: the data set's usual ones)");
  section.add("shape", shape, "channels, height, width of the images of 'random'");
  section.add("classes", classes, "number of classes of 'random'").range(2, 1000000);
  section.add("size", size, "number of images of 'random', in either part").range(1, 100000000);
}

}  // namespace nascent
