#include "nascent/data/data_options.h"

#include "nascent/data/dataset.h"
#include "nascent/data/transform.h"

namespace nascent {

void DataOptions::declare(OptionTable& table) {
  const std::string transforms = join(Transform::Registry::instance().names(), ", ");
  auto section = table.section("data", "The images, their split and their transforms.");
  section.add("name", name, "data set").one_of(Dataset::Registry::instance().names()).flag("data");
  section.add("path", path, "folder of the data set (default: the usual places, then $NASCENT_DATA)");
  section.add("valid-fraction", valid_fraction, "fraction of the training images held out for validation")
      .range(0, 0.999);
  section
      .add("test-fraction", test_fraction,
           "fraction of the images held out for testing if an 'image-folder' or 'npy' data set has no test split")
      .range(0.001, 0.9);
  section.add("split-file", split_file,
              "file with the indices of the training split, one per line; the rest is for validation; overrides "
              "valid-fraction");
  section.add("limit", limit, "use only this many training images, chosen at random; 0: all").at_least(0);
  section.add("limit-test", limit_test, "use only this many test images, chosen at random; 0: all").at_least(0);
  section.add("batch", batch, "images per batch").range(1, 65536);
  section.add("workers", workers, "threads that prepare batches; does not affect results").range(1, 256);
  section.add("random-labels", random_labels, "replace all labels with random ones");
  section.add(
      "train-transforms", train_transforms,
      "training transforms, such as [\"pad-crop 4\", \"flip\"] (empty: the data set's defaults); known: " + transforms);
  section.add("eval-transforms", eval_transforms, "evaluation transforms (empty: the data set's defaults)");
  section.add("shape", shape, "channels, height and width of 'random' images");
  section.add("classes", classes, "number of classes of 'random'").range(2, 1000000);
  section.add("size", size, "number of 'random' images in each split").range(1, 100000000);
}

}  // namespace nascent
